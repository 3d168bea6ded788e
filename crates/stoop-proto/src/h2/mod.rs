//! HTTP/2 (RFC 9113), one machine for both roles.
//!
//! [`Connection::receive`] reads from the front of a slice up to one event; what is to be sent goes to
//! a [`Sink`](crate::Sink). Nothing is queued but frames of the connection itself: content is asked
//! for when there is room for it ([`Connection::next_to_send`]). See `README.md` beside this file for
//! how bytes flow.
//!
//! ```
//! use std::time::Instant;
//! use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts, h2};
//!
//! let now = Instant::now();
//! let (mine, theirs) = (Limits::client(), Limits::server());
//! let (mut client, mut server) = (h2::Connection::client(&mine), h2::Connection::server(&theirs));
//!
//! let mut request = RequestHead::new(http::Method::GET, "/")?;
//! request.fields_mut().push("host", b"example.com")?;
//! let mut wire = Vec::new();
//! client.open(&request, "https", BodySize::Exact(0), &mut wire).unwrap();
//!
//! // Preface and SETTINGS come first, and are no event but that the peer's settings are known.
//! let first = server.receive(now, &wire, true, &theirs);
//! assert_eq!(first.event, h2::Event::Settings);
//! let second = server.receive(now, &wire[first.consumed..], true, &theirs);
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

mod bdp;
mod budget;
mod code;
mod connection;
mod dictionary;
mod encode;
mod fault;
mod frame;
mod kind;
mod map;
mod priority;
mod section;
mod settings;
mod state;
mod streams;
mod window;

pub use code::ErrorCode;
pub use connection::{Connection, Refusal};
pub use fault::Fault;
pub use priority::Priority;
pub use settings::{Role, Settings};
pub use state::{StreamInput, StreamState};
pub use streams::StreamKey;

/// What a client says first: RFC 9113 §3.4.
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// How many bytes one frame may have, header included: what a caller of [`Connection::receive`] has to
/// have room for.
pub const FRAME_BYTES_MAX: usize = frame::HEADER_BYTES + frame::PAYLOAD_MAX as usize;

/// What `receive` read from the front of its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// So many bytes are done with. Spans of the event lie within them.
    pub consumed: usize,
    /// What they were.
    pub event: Event,
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Nothing new can be said before more bytes come.
    NeedMore,
    /// A request is next and was said not to be wanted now, or too many frames wait to be sent.
    Paused,
    /// The peer's SETTINGS came: [`Connection::peer_settings`] are other ones now.
    Settings,
    /// A stream was opened; [`Connection::take_request`] has its head. Servers only.
    Request {
        /// The stream.
        key: StreamKey,
        /// Whether the request has no content.
        end: bool,
    },
    /// An interim (1xx) response came; [`Connection::take_response`] has it. Clients only.
    Interim {
        /// The stream.
        key: StreamKey,
    },
    /// The response came; [`Connection::take_response`] has its head. Clients only.
    Response {
        /// The stream.
        key: StreamKey,
        /// Whether it has no content.
        end: bool,
    },
    /// Content, as a span of the input. Once it was used up, [`Connection::consumed`] is to be told.
    Data {
        /// The stream.
        key: StreamKey,
        /// Where it stands in the input; empty only at the end.
        span: Range<usize>,
        /// Whether it is the last.
        end: bool,
    },
    /// A trailer section ended the content; [`Connection::take_trailers`] has it.
    Trailers {
        /// The stream.
        key: StreamKey,
    },
    /// A stream is over before its end. Its key means nothing from here on.
    Reset {
        /// The stream.
        key: StreamKey,
        /// Why.
        why: Reset,
    },
    /// The peer will not answer streams that are opened from now on; [`Connection::go_away_text`]
    /// has what it said beside the code.
    GoAway {
        /// Why.
        code: ErrorCode,
    },
    /// The connection is over: [`Connection::fault`] says why, if somebody is to blame. All streams
    /// are gone.
    Closed,
}

/// Why a stream was over before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// The peer said so.
    Peer(ErrorCode),
    /// The peer did something that ends it; the peer was told.
    Fault(Fault),
    /// The peer has closed the connection and did not come to this stream (RFC 9113 §6.8).
    Unprocessed,
}

impl Reset {
    /// Whether the peer surely did nothing of what the stream asked for, so that it may be asked
    /// again whatever it is (RFC 9113 §8.7).
    pub fn is_unprocessed(self) -> bool {
        matches!(self, Self::Unprocessed | Self::Peer(ErrorCode::REFUSED_STREAM))
    }
}
