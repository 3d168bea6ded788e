//! Origins that stop before the end.

use std::time::Duration;

use super::context::Then;
use crate::answer;
use crate::log::Ended;
use crate::wire::{Gone, Stream, Wire};

/// Between the last byte and a reset, so that the client has read what was sent: a reset may
/// overtake it.
const BEFORE_RESET: Duration = Duration::from_millis(20);

pub(super) async fn reset<S: Stream>(
    wire: &mut Wire<S>,
    sent: u64,
    announced: u64,
) -> Result<Then, Gone> {
    part(wire, sent, announced).await?;
    wire.pause(BEFORE_RESET).await?;
    Ok(Then::Drop(Ended::PlannedFault))
}

pub(super) async fn truncated<S: Stream>(
    wire: &mut Wire<S>,
    sent: u64,
    announced: u64,
) -> Result<Then, Gone> {
    part(wire, sent, announced).await?;
    Ok(Then::Close(Ended::PlannedFault))
}

async fn part<S: Stream>(wire: &mut Wire<S>, sent: u64, announced: u64) -> Result<(), Gone> {
    answer::begin_head(wire, 200);
    answer::field(wire, "content-length", announced);
    wire.put(b"\r\n");
    wire.body(0, sent).await
}

/// A chunk of 1,000 bytes, and half of a second one.
pub(super) async fn truncated_chunk<S: Stream>(wire: &mut Wire<S>) -> Result<Then, Gone> {
    chunked_head(wire);
    wire.chunks(1_000).await?;
    wire.put(b"3e8\r\n");
    wire.body(1_000, 500).await?;
    Ok(Then::Close(Ended::PlannedFault))
}

/// A chunk of 1,000 bytes, and no more.
pub(super) async fn missing_last_chunk<S: Stream>(wire: &mut Wire<S>) -> Result<Then, Gone> {
    chunked_head(wire);
    wire.chunks(1_000).await?;
    Ok(Then::Close(Ended::PlannedFault))
}

pub(super) fn chunked_head<S: Stream>(wire: &mut Wire<S>) {
    answer::begin_head(wire, 200);
    wire.put(b"transfer-encoding: chunked\r\n\r\n");
}
