//! Heads and bodies of answers that are as they should be.

use std::io::Write;

use crate::request::Request;
use crate::wire::{Gone, Stream, Wire};

/// How an answer's body is framed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framing {
    Length,
    Chunked,
    ChunkedTrailers,
}

/// A good answer, whole.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    /// Length of the body in bytes; ignored where the status allows none.
    pub(crate) body: u64,
    /// For the field `location`.
    pub(crate) location: Option<&'a str>,
    /// Whether the server wants to close after this.
    pub(crate) close: bool,
}

impl Answer<'_> {
    /// 200, with a length.
    pub(crate) const fn ok(body: u64) -> Self {
        Self { status: 200, framing: Framing::Length, body, location: None, close: false }
    }
}

/// Appends a status line and the fields every answer has; fields may follow.
pub(crate) fn begin_head<S: Stream>(wire: &mut Wire<S>, status: u16) {
    let reason = http::StatusCode::from_u16(status).ok().and_then(|s| s.canonical_reason());
    let reason = reason.unwrap_or("Testbed");
    wire.line.status(status);
    // Writing to memory cannot fail.
    let _ = write!(
        wire.out(),
        "HTTP/1.1 {status} {reason}\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n"
    );
}

/// Appends one field.
pub(crate) fn field<S: Stream>(wire: &mut Wire<S>, name: &str, value: impl std::fmt::Display) {
    let _ = write!(wire.out(), "{name}: {value}\r\n");
}

/// Sends the answer. Says whether the connection can take another request.
pub(crate) async fn send<S: Stream>(
    wire: &mut Wire<S>,
    request: &Request,
    answer: &Answer<'_>,
) -> Result<bool, Gone> {
    let bodiless = matches!(answer.status, 100..=199 | 204 | 304);
    let keep = request.keep_alive && !answer.close;
    begin_head(wire, answer.status);
    if let Some(location) = answer.location {
        field(wire, "location", location);
    }
    if !keep {
        field(wire, "connection", "close");
    }
    match answer.framing {
        _ if bodiless => {}
        Framing::Length => field(wire, "content-length", answer.body),
        Framing::Chunked => field(wire, "transfer-encoding", "chunked"),
        Framing::ChunkedTrailers => {
            field(wire, "transfer-encoding", "chunked");
            field(wire, "trailer", "x-length, x-testbed");
        }
    }
    wire.put(b"\r\n");
    if bodiless || request.method == "HEAD" {
        wire.flush().await?;
        return Ok(keep);
    }
    match answer.framing {
        Framing::Length => wire.body(0, answer.body).await?,
        Framing::Chunked => {
            wire.chunks(answer.body).await?;
            wire.put(b"0\r\n\r\n");
        }
        Framing::ChunkedTrailers => {
            wire.chunks(answer.body).await?;
            wire.put(b"0\r\n");
            field(wire, "x-length", answer.body);
            field(wire, "x-testbed", "trailer");
            wire.put(b"\r\n");
        }
    }
    wire.flush().await?;
    Ok(keep)
}
