//! HTTP/2 (RFC 9113): one machine for both roles.
//!
//! [`Connection::receive`] reads from the front of a slice up to one event; output goes to a
//! [`Sink`](crate::Sink). Only frames of the connection itself are queued: the caller sends content when
//! there is room for it ([`Connection::next_to_send`]). `README.md` beside this file shows how bytes flow.
//!
//! ```
//! use std::time::Instant;
//! use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts, h2};
//!
//! let now = Instant::now();
//! let mut client = h2::Connection::client(Limits::client());
//! let mut server = h2::Connection::server(Limits::server());
//!
//! let mut request = RequestHead::new(http::Method::GET, "/")?;
//! request.fields_mut().push("host", b"example.com")?;
//! let mut wire = Vec::new();
//! client.open(&request, "https", BodySize::Exact(0), &mut wire).unwrap();
//!
//! // Preface and SETTINGS come first; their one event is that the peer's settings are known.
//! let first = server.receive(now, &wire, true);
//! assert_eq!(first.event, h2::Event::Settings);
//! let second = server.receive(now, &wire[first.consumed..], true);
//! let h2::Event::Request { key, end: true } = second.event else { panic!("{second:?}") };
//! let mut head = RequestHead::default();
//! server.take_request(&mut head);
//! assert_eq!((head.target(), head.authority()), ("/", "example.com"));
//!
//! let mut out = Vec::new();
//! let parts = ResponseParts::new(http::StatusCode::OK);
//! server.respond(key, &parts, BodySize::Exact(2), &mut out)?;
//! server.data(key, "hi".into(), true, &mut out)?;
//! assert!(out.ends_with(b"hi") && !server.is_open(key));
//! # Ok::<(), stoop_proto::Misuse>(())
//! ```

use std::ops::Range;

use http::StatusCode;

mod bdp;
mod budget;
mod code;
mod connection;
mod control_queue;
mod dictionary;
mod early_priorities;
mod encode;
mod fault;
mod flow;
mod frame;
mod header_coding;
mod kind;
mod last_block;
mod map;
mod ping;
mod priority;
mod section;
mod settings;
mod settings_exchange;
mod shutdown;
mod state;
mod stream_ids;
mod streams;
mod window;

pub use code::ErrorCode;
pub use connection::{Connection, Refusal, RefusedRequests};
pub use fault::Fault;
pub use priority::Priority;
pub use settings::{Role, Settings};
pub use state::{StreamInput, StreamState};
pub use streams::StreamKey;

/// The client's connection preface: RFC 9113 §3.4.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The largest frame in bytes, header included: a caller of [`Connection::receive`] needs room for it.
pub const FRAME_BYTES_MAX: usize = frame::HEADER_BYTES + frame::PAYLOAD_MAX as usize;

/// The result of `receive`: an event read from the front of the input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// The number of bytes consumed. Spans of the event lie within them.
    pub consumed: usize,
    /// The event.
    pub event: Event,
}

/// An event that `receive` reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// More bytes are needed.
    NeedMore,
    /// A request is next and the caller wants none now, or too many frames wait to be sent.
    Paused,
    /// The peer's SETTINGS came: [`Connection::peer_settings`] may have changed.
    Settings,
    /// The peer opened a stream; [`Connection::take_request`] returns its head. Servers only.
    Request {
        /// The stream.
        key: StreamKey,
        /// Whether the request has no content.
        end: bool,
    },
    /// An interim (1xx) response came; [`Connection::take_response`] returns it. Clients only.
    Interim {
        /// The stream.
        key: StreamKey,
    },
    /// The final response came; [`Connection::take_response`] returns its head. Clients only.
    Response {
        /// The stream.
        key: StreamKey,
        /// Whether the response has no content.
        end: bool,
    },
    /// Content, as a span of the input. Once it is used up, [`Connection::consumed`] is to be called.
    Data {
        /// The stream.
        key: StreamKey,
        /// The content's position in the input; empty only at the end.
        span: Range<usize>,
        /// Whether it is the last.
        end: bool,
    },
    /// A trailer section ended the content; [`Connection::take_trailers`] returns it.
    Trailers {
        /// The stream.
        key: StreamKey,
    },
    /// A stream ended before its messages did. Its key is invalid from here on.
    Reset {
        /// The stream.
        key: StreamKey,
        /// The reason.
        reason: ResetReason,
        /// The status of the response that is sent before RST_STREAM: a server answers content that is too large, where
        /// no response has begun.
        answer: Option<StatusCode>,
    },
    /// The peer will not answer streams that are opened from now on; [`Connection::go_away_text`]
    /// returns the text beside the code.
    GoAway {
        /// The reason.
        code: ErrorCode,
    },
    /// The connection is closed: [`Connection::fault`] returns the peer's fault, if there was one. All
    /// streams are gone.
    Closed,
}

/// Why a stream ended before its messages did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResetReason {
    /// The peer sent RST_STREAM.
    Peer(ErrorCode),
    /// The peer committed a fault that ends the stream; RST_STREAM is sent.
    Fault(Fault),
    /// The peer has sent GOAWAY and did not process this stream (RFC 9113 §6.8).
    Unprocessed,
}

impl ResetReason {
    /// Whether the peer certainly did not process the request, so that it may be retried whatever its
    /// method (RFC 9113 §8.7).
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::Unprocessed | Self::Peer(ErrorCode::REFUSED_STREAM))
    }
}
