//! [`BodyReader`]: reads bodies, with one variant for each framing, chosen once by the head.

use crate::error::Violation;
use crate::fields::Fields;
use crate::h1::chunked::{BodyPiece, Chunked};
use crate::h1::framing::Framing;
use crate::limits::Limits;

/// Reads a body. It is `Copy`, so that a copy can look ahead.
#[derive(Clone, Copy, Debug)]
pub(super) enum BodyReader {
    Length(u64),
    Chunked(Chunked),
    UntilClose { total: u64 },
}

impl BodyReader {
    pub(super) fn new(framing: Framing, padding_allowed: bool) -> Self {
        match framing {
            Framing::Length(length) => Self::Length(length),
            Framing::Chunked => Self::Chunked(Chunked::new(padding_allowed)),
            Framing::UntilClose | Framing::Tunnel => Self::UntilClose { total: 0 },
        }
    }

    /// Reads from the front of `input`; returns the number of bytes consumed and the piece.
    pub(super) fn read(
        &mut self,
        input: &[u8],
        trailers: &mut Fields,
        limits: &Limits,
    ) -> Result<(usize, BodyPiece), Violation> {
        match self {
            Self::Length(0) => Ok((0, BodyPiece::End { trailers: false })),
            Self::Length(left) => {
                let n = usize::try_from(*left).unwrap_or(usize::MAX).min(input.len());
                *left -= n as u64;
                Ok((n, if n == 0 { BodyPiece::NeedMore } else { BodyPiece::Data(0..n) }))
            }
            Self::Chunked(chunked) => chunked.read(input, trailers, limits),
            Self::UntilClose { .. } if input.is_empty() => Ok((0, BodyPiece::NeedMore)),
            Self::UntilClose { total } => {
                // Up to the limit first: the result must not depend on how the input was cut.
                let room = limits.body_bytes_max.map_or(u64::MAX, |max| max.saturating_sub(*total));
                let n = usize::try_from(room).unwrap_or(usize::MAX).min(input.len());
                if n == 0 {
                    return Err(Violation::BodyTooLarge);
                }
                *total = total.saturating_add(n as u64);
                Ok((n, BodyPiece::Data(0..n)))
            }
        }
    }

    /// Checks that the body is complete, as the peer will send no more.
    pub(super) fn at_end(&self) -> Result<(), Violation> {
        match self {
            Self::Length(0) | Self::UntilClose { .. } => Ok(()),
            Self::Length(_) | Self::Chunked(_) => Err(Violation::BodyCutShort),
        }
    }

    /// How many bytes are still to come, if that is known.
    pub(super) fn remaining(&self) -> Option<u64> {
        match self {
            Self::Length(left) => Some(*left),
            Self::Chunked(_) | Self::UntilClose { .. } => None,
        }
    }
}
