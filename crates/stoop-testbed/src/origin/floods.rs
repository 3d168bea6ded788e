//! Behaviours that send malformed messages, or too much.

use std::time::Duration;

use super::behaviour::BadChunk;
use super::context::AfterResponse;
use super::cuts::chunked_head;
use crate::body;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;
use crate::request::ReceivedRequest;
use crate::response::{self, OriginResponse};

/// One of the fields that heads are filled with: 100 bytes.
const FILLER: &str = "x-filler: abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.\
                      abcdefghijklmnopqrstuvwxyz.0123456\r\n";

/// Fields or values go out in pieces of about this size.
const PIECE_BYTES: usize = 16 * 1024;

/// Sends these bytes and nothing else.
pub(super) fn literal<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    bytes: &[u8],
) -> AfterResponse {
    connection.put(bytes);
    AfterResponse::Close(EntryEnd::PlannedFault)
}

pub(super) fn bad_chunk<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    kind: BadChunk,
) -> AfterResponse {
    chunked_head(connection);
    connection.put(b"5\r\nHello\r\n");
    literal(connection, kind.bytes())
}

pub(super) async fn large_head<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
    bytes: u64,
) -> Result<AfterResponse, Disconnected> {
    response::begin_head(connection, 200);
    response::field(connection, "content-length", 0);
    for _ in 0..bytes / FILLER.len() as u64 {
        connection.put(FILLER.as_bytes());
        if connection.out().len() > PIECE_BYTES {
            connection.flush().await?;
        }
    }
    if !request.keep_alive {
        response::field(connection, "connection", "close");
    }
    connection.put(b"\r\n");
    Ok(AfterResponse::Again)
}

pub(super) async fn endless_head<S: ByteStream>(
    connection: &mut OriginConnection<S>,
) -> Result<AfterResponse, Disconnected> {
    response::begin_head(connection, 200);
    loop {
        while connection.out().len() < PIECE_BYTES {
            connection.put(FILLER.as_bytes());
        }
        connection.flush().await?;
    }
}

pub(super) async fn endless_field<S: ByteStream>(
    connection: &mut OriginConnection<S>,
) -> Result<AfterResponse, Disconnected> {
    response::begin_head(connection, 200);
    connection.put(b"x-filler: ");
    loop {
        connection.put(&[b'a'; PIECE_BYTES]);
        connection.flush().await?;
    }
}

pub(super) async fn endless_body<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    every: Duration,
) -> Result<AfterResponse, Disconnected> {
    chunked_head(connection);
    let (_, payload) = body::whole_chunk();
    loop {
        connection.chunks(payload).await?;
        connection.pause(every).await?;
    }
}

pub(super) async fn interim<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    request: &ReceivedRequest,
    count: Option<u64>,
) -> Result<AfterResponse, Disconnected> {
    let mut sent = 0;
    while count.is_none_or(|count| sent < count) {
        connection.put(b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n");
        sent += 1;
        if connection.out().len() > PIECE_BYTES {
            connection.flush().await?;
        }
    }
    let keep = response::send(connection, request, &OriginResponse::ok(100)).await?;
    Ok(if keep { AfterResponse::Again } else { AfterResponse::Close(EntryEnd::Complete) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_filler_is_a_field_of_100_bytes() {
        assert_eq!(FILLER.len(), 100);
        assert!(FILLER.ends_with("\r\n"));
    }
}
