//! Behaviours that end a response too early.

use std::time::Duration;

use super::context::AfterResponse;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::response;

/// The pause between the last byte and a reset, so that the client has read what was sent: a reset may
/// overtake it.
const RESET_DELAY: Duration = Duration::from_millis(20);

pub(super) async fn reset<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    sent: u64,
    announced: u64,
) -> Result<AfterResponse, Disconnected> {
    part(connection, sent, announced).await?;
    connection.pause(RESET_DELAY).await?;
    Ok(AfterResponse::Drop(EntryEnd::PlannedFault))
}

pub(super) async fn truncated<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    sent: u64,
    announced: u64,
) -> Result<AfterResponse, Disconnected> {
    part(connection, sent, announced).await?;
    Ok(AfterResponse::Close(EntryEnd::PlannedFault))
}

async fn part<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    sent: u64,
    announced: u64,
) -> Result<(), Disconnected> {
    response::begin_head(connection, 200);
    response::field(connection, "content-length", announced);
    connection.put(b"\r\n");
    connection.body(0, sent).await
}

/// A chunk of 1,000 bytes, and half of a second one.
pub(super) async fn truncated_chunk<S: ByteStream>(
    connection: &mut OriginConnection<S>,
) -> Result<AfterResponse, Disconnected> {
    chunked_head(connection);
    connection.chunks(1_000).await?;
    connection.put(b"3e8\r\n");
    connection.body(1_000, 500).await?;
    Ok(AfterResponse::Close(EntryEnd::PlannedFault))
}

/// A chunk of 1,000 bytes, and no more.
pub(super) async fn missing_last_chunk<S: ByteStream>(
    connection: &mut OriginConnection<S>,
) -> Result<AfterResponse, Disconnected> {
    chunked_head(connection);
    connection.chunks(1_000).await?;
    Ok(AfterResponse::Close(EntryEnd::PlannedFault))
}

pub(super) fn chunked_head<S: ByteStream>(connection: &mut OriginConnection<S>) {
    response::begin_head(connection, 200);
    connection.put(b"transfer-encoding: chunked\r\n\r\n");
}
