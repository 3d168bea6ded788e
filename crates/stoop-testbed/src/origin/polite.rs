//! Behaviours of servers that say how much they bear: by a Retry-After, and by robots.txt.

use std::sync::atomic::Ordering::Relaxed;

use super::context::{AfterResponse, ScriptSettings};
use crate::connection::{ByteStream, OriginConnection};
use crate::request::ReceivedRequest;
use crate::response;

/// Whether a request that has come is one of the first `requests`.
pub(super) fn is_busy(settings: &ScriptSettings, requests: u64) -> bool {
    settings.asked.fetch_add(1, Relaxed) < requests
}

/// 429, with the seconds that the client is to wait.
pub(super) fn busy<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    retry_after: u64,
) -> AfterResponse {
    response::begin_head(connection, 429);
    response::field(connection, "retry-after", retry_after);
    connection.put(b"content-length: 0\r\n\r\n");
    AfterResponse::Again
}

/// Whether a request is for robots.txt.
pub(super) fn asks_for_robots(request: &ReceivedRequest) -> bool {
    request.target == "/robots.txt"
}

/// The file.
pub(super) fn robots<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    text: &str,
) -> AfterResponse {
    response::begin_head(connection, 200);
    response::field(connection, "content-length", text.len());
    connection.put(b"\r\n");
    connection.put(text.as_bytes());
    AfterResponse::Again
}
