//! Behaviours whose connections look reusable for longer than they are.

use std::time::Duration;

use super::context::AfterResponse;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::request::ReceivedRequest;
use crate::response::{self, OriginResponse};

/// Answers without announcing a close, and then closes. A request that is under way in that
/// moment finds the connection closed or reset, and was not processed.
pub(super) async fn stale<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
    after: Duration,
) -> Result<AfterResponse, Disconnected> {
    response::send(connection, request, &OriginResponse::ok(100)).await?;
    connection.line.end(EntryEnd::Complete);
    tokio::time::sleep(after).await;
    Ok(AfterResponse::Drop(EntryEnd::Complete))
}
