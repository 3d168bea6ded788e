//! Receives the content of a response into memory.

use std::fmt::{self, Display, Formatter};
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use stoop::{Error, ErrorKind, Phase, Response};

use super::{BodyBudget, Capture, Reservation, Truncated};

/// How content is received.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    pub(crate) budget: Arc<BodyBudget>,
    /// Where content is cut; none where what is longer is an error.
    pub(crate) cut_at: Option<u64>,
    /// How many bytes are kept; what follows them is counted only.
    pub(crate) keep_max: usize,
}

/// A response that was received, and why not all of it was, if so.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(crate) capture: Capture,
    /// How long the content was.
    pub(crate) received: u64,
    pub(crate) fault: Option<CollectFault>,
}

/// Why content was not received to its end.
#[derive(Debug)]
pub(crate) enum CollectFault {
    /// The client's own error.
    Client(Error),
    /// The memory for content was taken until the deadline.
    NoRoom,
}

impl CollectFault {
    /// The kind of error, as records have it.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Client(error) => error.kind().as_str(),
            Self::NoRoom => ErrorKind::TotalTimeout.as_str(),
        }
    }

    /// Where it arose.
    pub(crate) fn phase(&self) -> Phase {
        match self {
            Self::Client(error) => error.phase(),
            Self::NoRoom => Phase::Receive,
        }
    }
}

impl Display for CollectFault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => error.fmt(f),
            Self::NoRoom => f.write_str(
                "the deadline was over while it waited for memory that other content took",
            ),
        }
    }
}

impl Collector {
    /// Receives the content of `response`, until `deadline` where it has to wait for memory.
    pub(crate) async fn collect(
        &self,
        response: &mut Response,
        deadline: Option<Instant>,
    ) -> Collected {
        let mut capture = Capture::head(response);
        let mut reservation = Reservation::default();
        let (mut content, mut received) = (Gathered::default(), 0);
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
                    break Some(CollectFault::Client(error));
                }
            };
            let room = cut_at - received;
            let is_cut = piece.len() > room;
            piece.truncate(room);
            received += piece.len();
            piece.truncate(self.keep_max.saturating_sub(content.len()));
            if self.budget.grow(&mut reservation, piece.len(), deadline).await.is_err() {
                capture.truncated = Some(Truncated::Time);
                break Some(CollectFault::NoRoom);
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
        Collected { capture, received: received as u64, fault }
    }
}

/// Content that is not copied if it came in one piece.
#[derive(Debug)]
enum Gathered {
    One(Bytes),
    More(BytesMut),
}

impl Default for Gathered {
    fn default() -> Self {
        Self::One(Bytes::new())
    }
}

impl Gathered {
    fn len(&self) -> usize {
        match self {
            Self::One(piece) => piece.len(),
            Self::More(all) => all.len(),
        }
    }

    fn push(&mut self, piece: Bytes) {
        match self {
            Self::One(first) if first.is_empty() => *first = piece,
            Self::One(first) => {
                let mut all = BytesMut::with_capacity(2 * (first.len() + piece.len()));
                all.extend_from_slice(first);
                all.extend_from_slice(&piece);
                *self = Self::More(all);
            }
            Self::More(all) => all.extend_from_slice(&piece),
        }
    }

    fn into_bytes(self) -> Bytes {
        match self {
            Self::One(piece) => piece,
            Self::More(all) => all.freeze(),
        }
    }
}
