//! Content that is gathered in memory.

use bytes::{Bytes, BytesMut};

/// The least memory that is taken at once for content of several pieces.
const SEGMENT_BYTES_MIN: usize = 16 << 10;

/// Content that is not copied if it came in one piece. That of several is gathered in segments, each a quarter of what
/// there is, so that no more than that is taken in vain, and joined at the end.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    only: Bytes,
    segments: Vec<Vec<u8>>,
    len: usize,
}

impl Gathered {
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn push(&mut self, piece: Bytes) {
        self.len += piece.len();
        if self.segments.is_empty() && self.only.is_empty() {
            self.only = piece;
            return;
        }
        let only = std::mem::take(&mut self.only);
        self.copy(&only);
        self.copy(&piece);
    }

    fn copy(&mut self, mut bytes: &[u8]) {
        if let Some(last) = self.segments.last_mut() {
            let (fits, rest) = bytes.split_at(bytes.len().min(last.capacity() - last.len()));
            last.extend_from_slice(fits);
            bytes = rest;
        }
        if !bytes.is_empty() {
            let room = bytes.len().max(self.len / 4).max(SEGMENT_BYTES_MIN);
            let mut segment = Vec::with_capacity(room);
            segment.extend_from_slice(bytes);
            self.segments.push(segment);
        }
    }

    pub(super) fn into_pieces(self) -> Vec<Bytes> {
        match self.segments.is_empty() {
            true => vec![self.only],
            false => self.segments.into_iter().map(Bytes::from).collect(),
        }
    }

    pub(super) fn into_bytes(mut self) -> Bytes {
        match self.segments.len() {
            0 => self.only,
            1 => self.segments.remove(0).into(),
            _ => {
                let mut all = BytesMut::with_capacity(self.len);
                for segment in self.segments {
                    all.extend_from_slice(&segment);
                }
                all.freeze()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let mut content = Gathered::default();
        content.push(Bytes::new());
        content.push(piece.clone());
        assert_eq!(content.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn pieces_are_joined_and_little_memory_is_taken_in_vain() {
        let pieces: Vec<Vec<u8>> = (0..3000_usize).map(|n| vec![n as u8; 7 * n % 5000]).collect();
        let mut content = Gathered::default();
        for piece in &pieces {
            content.push(Bytes::from(piece.clone()));
            let taken: usize = content.segments.iter().map(Vec::capacity).sum();
            assert!(taken <= content.len() * 5 / 4 + SEGMENT_BYTES_MIN, "{taken}");
        }
        assert_eq!(content.len(), pieces.concat().len());
        assert_eq!(content.into_bytes(), pieces.concat());
    }
}
