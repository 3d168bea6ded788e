//! Sends good responses: heads and bodies.

use std::io::Write;

use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::request::ReceivedRequest;

/// The framing of a response's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResponseFraming {
    Length,
    Chunked,
    ChunkedTrailers,
}

/// A good response.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OriginResponse<'a> {
    pub(crate) status: u16,
    pub(crate) framing: ResponseFraming,
    /// Length of the body in bytes; ignored where the status allows none.
    pub(crate) body: u64,
    /// For the field `location`.
    pub(crate) location: Option<&'a str>,
    /// Whether the server wants to close after this.
    pub(crate) close: bool,
}

impl OriginResponse<'_> {
    /// 200, with a length.
    pub(crate) const fn ok(body: u64) -> Self {
        Self { status: 200, framing: ResponseFraming::Length, body, location: None, close: false }
    }
}

/// Appends a status line and the fields every response has; fields may follow.
pub(crate) fn begin_head<S: ByteStream>(connection: &mut OriginConnection<S>, status: u16) {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    let reason = reason.unwrap_or("Testbed");
    connection.line.status(status);
    // Writing to memory cannot fail.
    let _ = write!(
        connection.out(),
        "HTTP/1.1 {status} {reason}\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n"
    );
}

/// Appends one field.
pub(crate) fn field<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    name: &str,
    value: impl std::fmt::Display,
) {
    let _ = write!(connection.out(), "{name}: {value}\r\n");
}

/// Sends the response. Returns whether the connection can take another request.
pub(crate) async fn send<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
    response: &OriginResponse<'_>,
) -> Result<bool, Disconnected> {
    let bodiless = matches!(response.status, 100..=199 | 204 | 304);
    let keep = request.keep_alive && !response.close;
    begin_head(connection, response.status);
    if let Some(location) = response.location {
        field(connection, "location", location);
    }
    if !keep {
        field(connection, "connection", "close");
    }
    match response.framing {
        _ if bodiless => {}
        ResponseFraming::Length => field(connection, "content-length", response.body),
        ResponseFraming::Chunked => field(connection, "transfer-encoding", "chunked"),
        ResponseFraming::ChunkedTrailers => {
            field(connection, "transfer-encoding", "chunked");
            field(connection, "trailer", "x-length, x-testbed");
        }
    }
    connection.put(b"\r\n");
    if bodiless || request.method == "HEAD" {
        connection.flush().await?;
        return Ok(keep);
    }
    match response.framing {
        ResponseFraming::Length => connection.body(0, response.body).await?,
        ResponseFraming::Chunked => {
            connection.chunks(response.body).await?;
            connection.put(b"0\r\n\r\n");
        }
        ResponseFraming::ChunkedTrailers => {
            connection.chunks(response.body).await?;
            connection.put(b"0\r\n");
            field(connection, "x-length", response.body);
            field(connection, "x-testbed", "trailer");
            connection.put(b"\r\n");
        }
    }
    connection.flush().await?;
    Ok(keep)
}
