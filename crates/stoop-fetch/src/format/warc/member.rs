//! A record of a WARC file as bytes: as it is, or as a member of gzip of its own.

use std::fmt::{self, Debug, Formatter};
use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress, Status};
use libdeflater::{CompressionLvl, Compressor};

/// Records up to this length are compressed by [`SHORT_LEVEL`], unless a level above the default is asked for. A better
/// level makes a table of codes for each of them, which saves some 50 bytes.
const SHORT_BYTES: usize = 2 << 10;

/// The level of zlib that has one table for all.
const SHORT_LEVEL: u32 = 1;

/// Longer records, up to this length, are compressed by libdeflate, which takes a record as a whole, and its output has to
/// have room for all of that. All others are compressed by zlib, piece by piece; it makes short ones smaller.
const WHOLE_BYTES: usize = 1 << 20;

/// The level by default, of both.
pub(super) const DEFAULT_LEVEL: u32 = 6;

/// Compresses records, each as one member (WARC 1.1, annex D).
pub(super) struct Members {
    level: u32,
    /// What compresses short records by [`SHORT_LEVEL`], those that are taken as a whole, and all others, once a record
    /// needs it.
    short: Option<Compress>,
    whole: Option<WholeRecords>,
    other: Option<Compress>,
}

/// Compresses records that are taken as a whole.
struct WholeRecords {
    compressor: Compressor,
    /// A record, and as much as a member can have.
    record: Vec<u8>,
    member: Vec<u8>,
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
        Self { level: level.min(9), short: None, whole: None, other: None }
    }

    /// Whether records are compressed.
    pub(super) fn is_compressed(&self) -> bool {
        self.level > 0
    }

    /// Appends a record, which is the parts one after the other.
    pub(super) fn push(&mut self, parts: &[&[u8]], into: &mut Vec<u8>) {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let (level, deflate) = match length {
            _ if self.level == 0 => {
                return parts.iter().for_each(|part| into.extend_from_slice(part));
            }
            ..=SHORT_BYTES if self.level <= DEFAULT_LEVEL => (SHORT_LEVEL, &mut self.short),
            ..=SHORT_BYTES => (self.level, &mut self.other),
            _ if length <= WHOLE_BYTES => {
                let whole = self.whole.get_or_insert_with(|| WholeRecords::new(self.level));
                return whole.push(parts, into);
            }
            _ => (self.level, &mut self.other),
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

impl WholeRecords {
    fn new(level: u32) -> Self {
        let level = CompressionLvl::new(level.cast_signed()).unwrap_or_default();
        Self { compressor: Compressor::new(level), record: Vec::new(), member: Vec::new() }
    }

    fn push(&mut self, parts: &[&[u8]], into: &mut Vec<u8>) {
        self.record.clear();
        parts.iter().for_each(|part| self.record.extend_from_slice(part));
        let bound = self.compressor.gzip_compress_bound(self.record.len());
        if self.member.len() < bound {
            self.member.resize(bound, 0);
        }
        let compressed = self.compressor.gzip_compress(&self.record, &mut self.member);
        into.extend_from_slice(&self.member[..compressed.expect("room for the longest member")]);
    }
}

impl Debug for Members {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members").field("level", &self.level).finish_non_exhaustive()
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
    fn records_of_any_length_are_what_they_were() {
        let noise: Vec<u8> =
            (0..=WHOLE_BYTES as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for level in [1, 6, 9] {
            let mut members = Members::new(level);
            for length in [0, 1, SHORT_BYTES, SHORT_BYTES + 1, WHOLE_BYTES, WHOLE_BYTES + 1, 3000] {
                let (one, other) = noise[..length].split_at(length / 3);
                let (mut bytes, mut text) = (b"before".to_vec(), Vec::new());
                members.push(&[one, other], &mut bytes);
                MultiGzDecoder::new(&bytes[6..]).read_to_end(&mut text).expect("gzip");
                assert!(text == noise[..length], "{length} bytes by level {level}");
            }
        }
    }

    #[test]
    fn level_zero_leaves_records_as_they_are() {
        let mut bytes = Vec::new();
        Members::new(0).push(&[b"a", b"b"], &mut bytes);
        assert_eq!(bytes, b"ab");
    }
}
