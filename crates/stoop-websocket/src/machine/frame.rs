//! Frame headers (RFC 6455 §5.2): reading them with every check that a header alone allows, and writing them.

use crate::machine::fault::Fault;

/// Bytes of the payload of a control frame (RFC 6455 §5.5).
pub const CONTROL_BYTES_MAX: usize = 125;

/// Bytes of the longest header: two, a length of eight, and a key of four.
pub(crate) const HEADER_BYTES_MAX: usize = 14;

const FIN: u8 = 0x80;
const RSV1: u8 = 0x40;
const RSV2_AND_3: u8 = 0x30;
const MASKED: u8 = 0x80;

/// What a frame is (RFC 6455 §11.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Opcode {
    Continuation,
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

impl Opcode {
    const fn from_bits(bits: u8) -> Option<Self> {
        Some(match bits {
            0x0 => Self::Continuation,
            0x1 => Self::Text,
            0x2 => Self::Binary,
            0x8 => Self::Close,
            0x9 => Self::Ping,
            0xA => Self::Pong,
            _ => return None,
        })
    }

    const fn bits(self) -> u8 {
        match self {
            Self::Continuation => 0x0,
            Self::Text => 0x1,
            Self::Binary => 0x2,
            Self::Close => 0x8,
            Self::Ping => 0x9,
            Self::Pong => 0xA,
        }
    }

    pub(crate) const fn is_control(self) -> bool {
        self.bits() >= 0x8
    }
}

/// What the frames of a peer have to be like, by its role and by what was agreed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FrameRules {
    /// The peer is a client (RFC 6455 §5.1).
    pub(crate) is_masked: bool,
    /// A set RSV1 marks a compressed message (RFC 7692 §6).
    pub(crate) may_compress: bool,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) is_final: bool,
    /// RSV1, on the first frame of a message.
    pub(crate) is_compressed: bool,
    pub(crate) opcode: Opcode,
    pub(crate) key: Option<[u8; 4]>,
    pub(crate) len: u64,
}

impl FrameHeader {
    /// Reads the header at the front of `input`, and how many bytes it has; `None` if more are needed. What is
    /// wrong is found with the first byte that shows it.
    #[inline]
    pub(crate) fn read(input: &[u8], rules: FrameRules) -> Result<Option<(Self, usize)>, Fault> {
        let Some(&first) = input.first() else { return Ok(None) };
        let opcode = Opcode::from_bits(first & 0x0F);
        let is_compressed = first & RSV1 != 0;
        // RFC 7692 §6: the bit is for the first frame of a message, and not for control frames.
        let may_compress =
            rules.may_compress && matches!(opcode, Some(Opcode::Text | Opcode::Binary));
        if first & RSV2_AND_3 != 0 || is_compressed && !may_compress {
            return Err(Fault::ReservedBit);
        }
        let opcode = opcode.ok_or(Fault::ReservedOpcode)?;
        let is_final = first & FIN != 0;
        if opcode.is_control() && !is_final {
            return Err(Fault::ControlFragmented);
        }
        let Some(&second) = input.get(1) else { return Ok(None) };
        let is_masked = second & MASKED != 0;
        match (rules.is_masked, is_masked) {
            (true, false) => return Err(Fault::MaskMissing),
            (false, true) => return Err(Fault::MaskForbidden),
            (true, true) | (false, false) => {}
        }
        let short = second & !MASKED;
        if opcode.is_control() && usize::from(short) > CONTROL_BYTES_MAX {
            return Err(Fault::ControlTooLong);
        }
        let Some((len, at)) = read_length(short, &input[2..])? else { return Ok(None) };
        let at = 2 + at;
        let (key, end) = if is_masked {
            let Some(key) = input[at..].first_chunk::<4>() else { return Ok(None) };
            (Some(*key), at + 4)
        } else {
            (None, at)
        };
        Ok(Some((Self { is_final, is_compressed, opcode, key, len }, end)))
    }

    /// Appends the header, in the fewest bytes (RFC 6455 §5.2).
    #[inline]
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        let first = if self.is_final { FIN } else { 0 }
            | if self.is_compressed { RSV1 } else { 0 }
            | self.opcode.bits();
        match (self.len, self.key) {
            (len @ 0..=125, None) => out.extend_from_slice(&[first, len as u8]),
            _ => self.write_long(first, out),
        }
    }

    #[inline(never)]
    fn write_long(&self, first: u8, out: &mut Vec<u8>) {
        let masked = if self.key.is_some() { MASKED } else { 0 };
        match self.len {
            len @ 0..=125 => out.extend_from_slice(&[first, masked | len as u8]),
            len @ 126..=0xFFFF => {
                let [high, low] = (len as u16).to_be_bytes();
                out.extend_from_slice(&[first, masked | 126, high, low]);
            }
            len => {
                out.extend_from_slice(&[first, masked | 127]);
                out.extend_from_slice(&len.to_be_bytes());
            }
        }
        if let Some(key) = self.key {
            out.extend_from_slice(&key);
        }
    }
}

/// The length that `short` begins, and how many bytes follow it; `None` if some of them are missing.
#[inline]
fn read_length(short: u8, input: &[u8]) -> Result<Option<(u64, usize)>, Fault> {
    match short {
        126 => {
            let Some(bytes) = input.first_chunk::<2>() else { return Ok(None) };
            let len = u16::from_be_bytes(*bytes);
            if len < 126 {
                return Err(Fault::LengthNotMinimal);
            }
            Ok(Some((len.into(), 2)))
        }
        127 => {
            let Some(bytes) = input.first_chunk::<8>() else { return Ok(None) };
            let len = u64::from_be_bytes(*bytes);
            if len >> 63 != 0 {
                return Err(Fault::LengthTooLarge);
            }
            if len <= 0xFFFF {
                return Err(Fault::LengthNotMinimal);
            }
            Ok(Some((len, 8)))
        }
        len => Ok(Some((len.into(), 0))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: FrameRules = FrameRules { is_masked: true, may_compress: false };
    const CLIENT: FrameRules = FrameRules { is_masked: false, may_compress: false };
    const DEFLATE: FrameRules = FrameRules { is_masked: false, may_compress: true };

    /// Reads `input`, of which no shorter part may say anything else.
    fn read(input: &[u8], rules: FrameRules) -> Result<(FrameHeader, usize), Fault> {
        for len in 0..input.len() {
            match FrameHeader::read(&input[..len], rules) {
                Ok(None) => {}
                Ok(Some((header, end))) => {
                    assert_eq!(end, len, "{input:x?}");
                    assert_eq!(FrameHeader::read(input, rules), Ok(Some((header, end))));
                    return Ok((header, end));
                }
                Err(fault) => {
                    assert_eq!(FrameHeader::read(input, rules), Err(fault), "{input:x?}");
                    return Err(fault);
                }
            }
        }
        FrameHeader::read(input, rules).map(|read| read.expect("a whole header"))
    }

    /// RFC 6455 §5.7: the examples.
    #[test]
    fn headers_of_the_examples_are_read_and_written() {
        let header = |is_final, opcode, key, len| FrameHeader {
            is_final,
            is_compressed: false,
            opcode,
            key,
            len,
        };
        let key = Some([0x37, 0xfa, 0x21, 0x3d]);
        let examples: &[(&[u8], FrameRules, FrameHeader)] = &[
            (&[0x81, 0x05], CLIENT, header(true, Opcode::Text, None, 5)),
            (&[0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d], SERVER, header(true, Opcode::Text, key, 5)),
            (&[0x01, 0x03], CLIENT, header(false, Opcode::Text, None, 3)),
            (&[0x80, 0x02], CLIENT, header(true, Opcode::Continuation, None, 2)),
            (&[0x89, 0x05], CLIENT, header(true, Opcode::Ping, None, 5)),
            (&[0x8a, 0x85, 0x37, 0xfa, 0x21, 0x3d], SERVER, header(true, Opcode::Pong, key, 5)),
            (&[0x82, 0x7e, 0x01, 0x00], CLIENT, header(true, Opcode::Binary, None, 256)),
            (
                &[0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0],
                CLIENT,
                header(true, Opcode::Binary, None, 65536),
            ),
        ];
        for (bytes, rules, expected) in examples {
            assert_eq!(read(bytes, *rules), Ok((*expected, bytes.len())));
            let mut written = Vec::new();
            expected.write(&mut written);
            assert_eq!(written, *bytes);
        }
    }

    /// RFC 6455 §5.1: who masks.
    #[test]
    fn clients_mask_and_servers_do_not() {
        assert_eq!(read(&[0x81, 0x05], SERVER), Err(Fault::MaskMissing));
        assert_eq!(read(&[0x81, 0x85, 1, 2, 3, 4], CLIENT), Err(Fault::MaskForbidden));
    }

    /// RFC 6455 §5.2: "MUST be 0 unless an extension is negotiated that defines meanings".
    #[test]
    fn reserved_bits_are_refused() {
        for bits in 1..8_u8 {
            assert_eq!(read(&[0x81 | bits << 4, 0], CLIENT), Err(Fault::ReservedBit), "{bits}");
        }
        let (header, _) = read(&[0xC1, 0], DEFLATE).unwrap();
        assert!(header.is_compressed);
        // RFC 7692 §6.1: neither on later frames of a message nor on control frames.
        for first in [0xC0, 0xC8, 0xC9, 0xCA, 0xE1, 0xD1] {
            assert_eq!(read(&[first, 0], DEFLATE), Err(Fault::ReservedBit), "{first:x}");
        }
    }

    /// RFC 6455 §5.2: "If an unknown opcode is received, the receiving endpoint MUST _Fail_".
    #[test]
    fn reserved_opcodes_are_refused() {
        for opcode in [3, 4, 5, 6, 7, 0xB, 0xC, 0xD, 0xE, 0xF] {
            assert_eq!(read(&[0x80 | opcode, 0], CLIENT), Err(Fault::ReservedOpcode));
        }
    }

    /// RFC 6455 §5.2: "the minimal number of bytes MUST be used", "the most significant bit MUST be 0".
    #[test]
    fn lengths_are_minimal_and_have_63_bits() {
        assert_eq!(read(&[0x82, 126, 0, 125], CLIENT), Err(Fault::LengthNotMinimal));
        assert_eq!(read(&[0x82, 126, 0, 126], CLIENT).unwrap().0.len, 126);
        let long = |len: u64| [&[0x82, 127][..], &len.to_be_bytes()].concat();
        assert_eq!(read(&long(0xFFFF), CLIENT), Err(Fault::LengthNotMinimal));
        assert_eq!(read(&long(0x1_0000), CLIENT).unwrap().0.len, 0x1_0000);
        assert_eq!(read(&long(1 << 63), CLIENT), Err(Fault::LengthTooLarge));
        assert_eq!(read(&long((1 << 63) - 1), CLIENT).unwrap().0.len, (1 << 63) - 1);
    }

    /// RFC 6455 §5.5: "MUST have a payload length of 125 bytes or less and MUST NOT be fragmented".
    #[test]
    fn control_frames_are_short_and_whole() {
        for opcode in [0x8, 0x9, 0xA] {
            assert_eq!(read(&[opcode, 0], CLIENT), Err(Fault::ControlFragmented));
            assert_eq!(read(&[0x80 | opcode, 126, 0, 126], CLIENT), Err(Fault::ControlTooLong));
            assert_eq!(read(&[0x80 | opcode, 125], CLIENT).unwrap().0.len, 125);
        }
    }
}
