//! Content that is gathered in memory.

use bytes::{Bytes, BytesMut};

/// The least memory that is taken at once for content of several pieces.
const SEGMENT_BYTES_MIN: usize = 16 << 10;

/// Room for all of content is made once this part of its length is there.
const EXPECTED_PART: usize = 4;

/// Content that is not copied if it came in one piece. That of several is gathered in segments, each a quarter of what
/// there is, so that no more than that is taken in vain, and joined at the end. Where its length was told, and a quarter of
/// it is there, room can be made for all of it: then it is not copied again, and never there twice.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    only: Bytes,
    segments: Vec<Vec<u8>>,
    len: usize,
    /// How long it will be; 0 if that is not known.
    expected: usize,
    /// There is room for all of it.
    has_room: bool,
}

impl Gathered {
    /// Nothing yet of content of that length, if it is known.
    pub(super) fn expecting(length: Option<usize>) -> Self {
        Self { expected: length.unwrap_or(0), ..Self::default() }
    }

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

    /// How much is missing, if that is known, and it is time to make room for all: a quarter is there.
    pub(super) fn missing(&self) -> Option<usize> {
        let is_due = !self.has_room && self.len >= self.expected.div_ceil(EXPECTED_PART);
        self.expected.checked_sub(self.len).filter(|missing| is_due && *missing > 0)
    }

    /// Makes room for all.
    pub(super) fn make_room(&mut self) {
        let mut all = Vec::with_capacity(self.expected);
        all.extend_from_slice(&std::mem::take(&mut self.only));
        self.segments.drain(..).for_each(|segment| all.extend_from_slice(&segment));
        self.segments.push(all);
        self.has_room = true;
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
    fn content_of_a_known_length_is_copied_once_from_a_quarter_of_it_on() {
        let whole: Vec<u8> = (0..1_000_000_u32).map(|n| (n >> 7) as u8).collect();
        // As long as was told, and longer.
        for length in [whole.len(), whole.len() / 2] {
            let mut content = Gathered::expecting(Some(length));
            let mut rooms = 0;
            for piece in whole.chunks(7_000) {
                content.push(Bytes::copy_from_slice(piece));
                if let Some(missing) = content.missing() {
                    assert_eq!(content.len() + missing, length);
                    assert!((length / 4..length / 4 + 7_000).contains(&content.len()));
                    content.make_room();
                    rooms += 1;
                }
            }
            let (place, is_one) = (content.segments[0].as_ptr(), content.segments.len() == 1);
            assert_eq!((rooms, is_one), (1, length == whole.len()));
            let bytes = content.into_bytes();
            assert!(bytes == whole && (!is_one || bytes.as_ptr() == place));
        }
        let mut unknown = Gathered::expecting(None);
        unknown.push(Bytes::from_static(b"content"));
        assert_eq!(unknown.missing(), None);
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
