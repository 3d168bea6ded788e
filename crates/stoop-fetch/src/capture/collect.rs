//! Receives the content of a response into memory.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::{Bytes, BytesMut};
use stoop::{Error, ErrorKind, Response};

use super::{BodyBudget, Capture, Reservation, Truncated};

/// How content is received.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) budget: Arc<BodyBudget>,
    /// Where content is cut; none where what is longer is an error.
    pub(crate) cut_at: Option<u64>,
    /// The exchanges of a job are kept, too.
    pub(crate) has_exchanges: bool,
    /// How many bytes are kept; what follows them is counted only.
    pub(crate) keep_max: usize,
}

/// A response that was received, and why not all of it was, if so.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) capture: Capture,
    /// How long the content was.
    pub(crate) received: u64,
    pub(crate) fault: Option<Error>,
    /// How long it waited for memory.
    pub(crate) waited: Duration,
}

/// The clock of what is fetched. It stands still while content waits for memory: the server is not asked for any then.
pub(crate) trait Clock {
    /// It stands still from now on.
    fn stop(&self);

    /// It goes on.
    fn go_on(&self);
}

/// No clock.
impl Clock for () {
    fn stop(&self) {}

    fn go_on(&self) {}
}

impl Collector {
    /// Receives the content of `response`. Where it has to wait for memory, that is no time of its deadline: the
    /// client's stands still, and so does `clock`.
    pub(crate) async fn collect(&self, response: &mut Response, clock: &impl Clock) -> Collected {
        let mut capture = Capture::head(response);
        let mut reservation = Reservation::default();
        let (mut content, mut received, mut waited) = (Gathered::default(), 0, Duration::ZERO);
        let cut_at = self.cut_at.map_or(usize::MAX, |at| usize::try_from(at).unwrap_or(usize::MAX));
        let fault = loop {
            let mut piece = match response.body_mut().chunk().await {
                Ok(Some(piece)) => piece,
                Ok(None) => break None,
                Err(error) => {
                    capture.truncated = Some(match error.kind() {
                        ErrorKind::TotalTimeout | ErrorKind::ReadTimeout => Truncated::Time,
                        ErrorKind::BodyTooLarge => Truncated::Length,
                        _ => Truncated::Disconnect,
                    });
                    break Some(error);
                }
            };
            let room = cut_at - received;
            let is_cut = piece.len() > room;
            piece.truncate(room);
            received += piece.len();
            piece.truncate(self.keep_max.saturating_sub(content.len()));
            if let Err(missing) = self.budget.grow(&mut reservation, piece.len()) {
                response.body_mut().pause();
                clock.stop();
                let since = Instant::now();
                self.budget.wait(&mut reservation, missing).await;
                waited += since.elapsed();
                clock.go_on();
            }
            if !piece.is_empty() {
                content.push(piece);
            }
            if is_cut {
                capture.truncated = Some(Truncated::Length);
                break None;
            }
        };
        capture.content = content.into_bytes();
        capture.reservation = Some(Arc::new(reservation));
        Collected { capture, received: received as u64, fault, waited }
    }
}

/// The least memory that is taken at once for content of several pieces.
const SEGMENT_BYTES_MIN: usize = 16 << 10;

/// Content that is not copied if it came in one piece. That of several is gathered in segments, each a quarter of what
/// there is, so that no more than that is taken in vain, and joined at the end.
#[derive(Debug, Default)]
struct Gathered {
    only: Bytes,
    segments: Vec<Vec<u8>>,
    len: usize,
}

impl Gathered {
    fn len(&self) -> usize {
        self.len
    }

    fn push(&mut self, piece: Bytes) {
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

    fn into_bytes(mut self) -> Bytes {
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
