//! HTTP/1.0 and HTTP/1.1 (RFC 9112): a machine for each role.
//!
//! `receive` reads from the front of a slice up to one event; the methods that send write to a
//! [`Sink`](crate::Sink). `README.md` beside this file shows how bytes flow.

use std::ops::Range;

use crate::error::Violation;

mod chunked;
mod client;
mod diagnosis;
mod framing;
mod head;
mod lines;
mod parsed;
mod plain;
mod reader;
mod scan;
mod server;
mod state;
mod writer;

pub use client::Client;
pub use server::{ResponseContext, Server};
pub use state::{Half, Input};

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
    /// A head was read into the caller's head; `end` if no body follows.
    Head {
        /// Whether the message is complete with its head.
        end: bool,
    },
    /// An interim (1xx) response was read into the caller's head; the final one follows. Clients
    /// only.
    Interim,
    /// Content, as a span of the input.
    Data(Range<usize>),
    /// The message is complete.
    End {
        /// Whether a trailer section came; `take_trailers` returns it.
        trailers: bool,
    },
    /// The bytes belong to another protocol from here on; none were consumed.
    Tunnel,
    /// Nothing is read now: as many requests as allowed wait for their responses, one of them may
    /// switch protocols, or the last message was read.
    Paused,
    /// The peer ended the connection between messages, where it may.
    Closed,
    /// The peer broke the protocol; nothing more will be read.
    Violation(Violation),
}

impl Received {
    const fn nothing(event: Event) -> Self {
        Self { consumed: 0, event }
    }
}
