//! Reads the header of a connection, in time.

use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use stoop_io::{AnyTransport, FillResult, PeerAddress, Timer, Transport, now};

use super::parse;
use super::parsed::{HEADER_BYTES_MAX, Parsed};
use crate::limits::after;

/// Reads the header at the front of a transport.
pub(in crate::server) struct HeaderReader {
    pub(in crate::server) io: AnyTransport,
    pub(in crate::server) timer: Timer,
    by: Instant,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) enum HeaderResult {
    /// It was read, and the transport has the client's address. The proxy's, if that is another.
    Read(Option<PeerAddress>),
    /// There is none: the connection is to be closed.
    Refused,
}

impl HeaderReader {
    pub(in crate::server) fn new(io: AnyTransport, timer: Timer, within: Duration) -> Self {
        Self { io, timer, by: after(now(), within) }
    }

    /// The server is to stop: what is on its way has this long to come.
    pub(in crate::server) fn hurry(&mut self, within: Duration) {
        self.by = self.by.min(after(now(), within));
    }

    pub(in crate::server) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<HeaderResult> {
        loop {
            match parse(self.io.received()) {
                Parsed::Complete { bytes, client } => {
                    self.io.consume(bytes);
                    let proxy = client.map(|client| {
                        let proxy = self.io.peer();
                        self.io.set_peer(PeerAddress::Inet(client));
                        proxy
                    });
                    return Poll::Ready(HeaderResult::Read(proxy));
                }
                Parsed::Malformed => return Poll::Ready(HeaderResult::Refused),
                Parsed::Partial => {}
            }
            match self.io.poll_fill(cx, HEADER_BYTES_MAX) {
                Poll::Ready(Ok(FillResult::Bytes(_))) => {}
                Poll::Ready(Ok(FillResult::End | FillResult::Full) | Err(_)) => {
                    return Poll::Ready(HeaderResult::Refused);
                }
                Poll::Pending => {
                    let is_late = now() >= self.by || self.timer.poll(cx, Some(self.by)).is_ready();
                    return match is_late {
                        true => Poll::Ready(HeaderResult::Refused),
                        false => Poll::Pending,
                    };
                }
            }
        }
    }
}
