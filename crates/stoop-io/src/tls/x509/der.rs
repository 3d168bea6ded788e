//! DER (X.690 §10), as far as certificates need it.

pub(super) const BOOLEAN: u8 = 0x01;
pub(super) const INTEGER: u8 = 0x02;
pub(super) const OCTET_STRING: u8 = 0x04;
pub(super) const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const SEQUENCE: u8 = 0x30;
pub(super) const SET: u8 = 0x31;

/// What is left of a sequence of DER's tags, lengths and values.
pub(super) struct Der<'a>(pub(super) &'a [u8]);

impl<'a> Der<'a> {
    /// The next tag and value; none at the end, and where there is no DER: a tag or a length in another form than the
    /// shortest, a length that is indefinite (X.690 §10.1), or one beyond what is there.
    pub(super) fn next(&mut self) -> Option<(u8, &'a [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk()?;
        // Tags of more than one byte are in no field that is read.
        if tag & 0x1f == 0x1f {
            return None;
        }
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            // Up to 16 MiB, and more than a handshake may carry.
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                let length = bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
                if bytes[0] == 0 || length <= 0x7f {
                    return None;
                }
                (length, rest)
            }
            _ => return None,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, value))
    }

    /// The value of a tag that has nothing behind it.
    pub(super) fn only(mut self, expected: u8) -> Option<&'a [u8]> {
        self.expect(expected).filter(|_| self.0.is_empty())
    }

    pub(super) fn expect(&mut self, expected: u8) -> Option<&'a [u8]> {
        self.next().filter(|(tag, _)| *tag == expected).map(|(_, value)| value)
    }
}
