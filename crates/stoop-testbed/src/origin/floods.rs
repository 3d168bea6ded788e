//! Origins that send what they should not, or too much of it.

use std::time::Duration;

use super::behaviour::BadChunk;
use super::context::Then;
use super::cuts::chunked_head;
use crate::answer::{self, Answer};
use crate::body;
use crate::log::Ended;
use crate::request::Request;
use crate::wire::{Gone, Stream, Wire};

/// One of the fields that heads are filled with: 100 bytes.
const FILLER: &str = "x-filler: abcdefghijklmnopqrstuvwxyz.abcdefghijklmnopqrstuvwxyz.\
                      abcdefghijklmnopqrstuvwxyz.0123456\r\n";

/// Fields or values go out in pieces of about this size.
const PIECE_BYTES: usize = 16 * 1024;

/// These bytes and nothing else.
pub(super) fn literal<S: Stream>(wire: &mut Wire<S>, bytes: &[u8]) -> Then {
    wire.put(bytes);
    Then::Close(Ended::PlannedFault)
}

pub(super) fn bad_chunk<S: Stream>(wire: &mut Wire<S>, kind: BadChunk) -> Then {
    chunked_head(wire);
    wire.put(b"5\r\nHello\r\n");
    literal(wire, kind.bytes())
}

pub(super) async fn large_head<S: Stream>(
    wire: &mut Wire<S>,
    request: &Request,
    bytes: u64,
) -> Result<Then, Gone> {
    answer::begin_head(wire, 200);
    answer::field(wire, "content-length", 0);
    for _ in 0..bytes / FILLER.len() as u64 {
        wire.put(FILLER.as_bytes());
        if wire.out().len() > PIECE_BYTES {
            wire.flush().await?;
        }
    }
    if !request.keep_alive {
        answer::field(wire, "connection", "close");
    }
    wire.put(b"\r\n");
    Ok(Then::Again)
}

pub(super) async fn endless_head<S: Stream>(wire: &mut Wire<S>) -> Result<Then, Gone> {
    answer::begin_head(wire, 200);
    loop {
        while wire.out().len() < PIECE_BYTES {
            wire.put(FILLER.as_bytes());
        }
        wire.flush().await?;
    }
}

pub(super) async fn endless_field<S: Stream>(wire: &mut Wire<S>) -> Result<Then, Gone> {
    answer::begin_head(wire, 200);
    wire.put(b"x-filler: ");
    loop {
        wire.put(&[b'a'; PIECE_BYTES]);
        wire.flush().await?;
    }
}

pub(super) async fn endless_body<S: Stream>(
    wire: &mut Wire<S>,
    every: Duration,
) -> Result<Then, Gone> {
    chunked_head(wire);
    let (_, payload) = body::whole_chunk();
    loop {
        wire.chunks(payload).await?;
        wire.pause(every).await?;
    }
}

pub(super) async fn interim<S: Stream>(
    wire: &mut Wire<S>,
    request: &Request,
    count: Option<u64>,
) -> Result<Then, Gone> {
    let mut sent = 0;
    while count.is_none_or(|count| sent < count) {
        wire.put(b"HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload\r\n\r\n");
        sent += 1;
        if wire.out().len() > PIECE_BYTES {
            wire.flush().await?;
        }
    }
    let keep = answer::send(wire, request, &Answer::ok(100)).await?;
    Ok(if keep { Then::Again } else { Then::Close(Ended::Complete) })
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
