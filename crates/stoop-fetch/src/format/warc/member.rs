//! A record of a WARC file as bytes: as it is, or as a member of gzip of its own.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// Records up to this length are compressed by [`SHORT_LEVEL`], unless a level above the default is asked for. A better
/// level makes a table of codes for each of them, which saves some 50 bytes.
const SHORT_BYTES: usize = 2 << 10;

/// The level of zlib that has one table for all.
const SHORT_LEVEL: u32 = 1;

/// The level of zlib by default.
pub(super) const DEFAULT_LEVEL: u32 = 6;

/// Compresses records, each as one member (WARC 1.1, annex D).
#[derive(Debug)]
pub(super) struct Members {
    level: u32,
    /// Compresses by the level, once a record needs it.
    deflate: Option<Compress>,
    /// Compresses short records.
    deflate_short: Option<Compress>,
}

/// The head of a member: deflate, no time, no name, an unknown system (RFC 1952 §2.3).
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

impl Clone for Members {
    /// The same, with a state of its own.
    fn clone(&self) -> Self {
        Self::new(self.level)
    }
}

impl Members {
    /// Compresses by a level of 1 to 9; 0 leaves records as they are.
    pub(super) fn new(level: u32) -> Self {
        Self { level: level.min(9), deflate: None, deflate_short: None }
    }

    /// Whether records are compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.level > 0
    }

    /// Appends a record, which is the parts one after the other.
    pub(super) fn push(&mut self, parts: &[&[u8]], into: &mut Vec<u8>) {
        if self.level == 0 {
            parts.iter().for_each(|part| into.extend_from_slice(part));
            return;
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let (level, deflate) = match length <= SHORT_BYTES && self.level <= DEFAULT_LEVEL {
            true => (SHORT_LEVEL, &mut self.deflate_short),
            false => (self.level, &mut self.deflate),
        };
        let deflate = deflate.get_or_insert_with(|| Compress::new(Compression::new(level), false));
        deflate.reset();
        let mut sum = Crc::new();
        into.extend_from_slice(&GZIP_HEAD);
        for part in parts {
            sum.update(part);
            compress(deflate, part, FlushCompress::None, into);
        }
        compress(deflate, &[], FlushCompress::Finish, into);
        into.extend_from_slice(&sum.sum().to_le_bytes());
        into.extend_from_slice(&sum.amount().to_le_bytes());
    }
}

/// Compresses all of `input`; with `Finish`, to the end of the stream.
fn compress(deflate: &mut Compress, input: &[u8], flush: FlushCompress, into: &mut Vec<u8>) {
    let start = deflate.total_in();
    loop {
        let used = usize::try_from(deflate.total_in() - start).expect("no more than the input");
        into.reserve(input.len().saturating_sub(used) / 2 + 256);
        let status = deflate.compress_vec(&input[used..], into, flush);
        let status = status.map_err(io::Error::from).expect("memory takes all");
        let used = usize::try_from(deflate.total_in() - start).expect("no more than the input");
        let is_done = match flush {
            FlushCompress::Finish => status == Status::StreamEnd,
            _ => used == input.len(),
        };
        if is_done {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;

    use super::*;

    #[test]
    fn each_record_is_a_member_of_its_own() {
        let mut members = Members::new(6);
        let mut bytes = Vec::new();
        let noise: Vec<u8> =
            (0..100_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        members.push(&[b"head\r\n", &noise, b"\r\n\r\n"], &mut bytes);
        let first = bytes.len();
        members.push(&[b"second"], &mut bytes);
        let mut text = Vec::new();
        MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("gzip");
        assert_eq!(text, [b"head\r\n", &noise[..], b"\r\n\r\nsecond"].concat());
        text.clear();
        MultiGzDecoder::new(&bytes[first..]).read_to_end(&mut text).expect("gzip");
        assert_eq!(text, b"second");
    }

    #[test]
    fn short_records_are_fast_unless_a_higher_level_is_asked_for() {
        let record = b"WARC/1.1\r\nWARC-Type: request\r\n".repeat(20);
        let length = |level| {
            let mut bytes = Vec::new();
            Members::new(level).push(&[&record], &mut bytes);
            let mut text = Vec::new();
            MultiGzDecoder::new(&bytes[..]).read_to_end(&mut text).expect("gzip");
            assert_eq!(text, record);
            bytes.len()
        };
        assert_eq!(length(6), length(1));
        assert!(length(9) < length(6));
    }

    #[test]
    fn level_zero_leaves_records_as_they_are() {
        let mut bytes = Vec::new();
        Members::new(0).push(&[b"a", b"b"], &mut bytes);
        assert_eq!(bytes, b"ab");
    }
}
