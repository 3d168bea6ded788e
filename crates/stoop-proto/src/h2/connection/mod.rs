//! [`Connection`]: the machine of one connection, for either role.
//!
//! `receive` reads frames; `headers`, `content` and `control` handle the frames of each sort; `open` and
//! `respond` begin messages, `send` writes the rest of them; `resets` ends streams, and `end` the
//! connection, with its timeouts; `inspect` has the queries.

use std::sync::Arc;
use std::time::Instant;

use crate::Sink;
use crate::h2::Event;
use crate::h2::budget::AbuseBudget;
use crate::h2::control_queue::ControlQueue;
use crate::h2::early_priorities::EarlyPriorities;
use crate::h2::fault::Fault;
use crate::h2::flow::FlowControl;
use crate::h2::header_coding::HeaderCoding;
use crate::h2::ping::Ping;
use crate::h2::section::SectionOptions;
use crate::h2::settings::{Role, Settings};
use crate::h2::settings_exchange::SettingsExchange;
use crate::h2::shutdown::Shutdown;
use crate::h2::stream_ids::StreamIds;
use crate::h2::streams::Streams;
use crate::hpack::Encoder;
use crate::limits::Limits;

mod content;
mod control;
mod end;
mod headers;
mod inspect;
mod open;
mod receive;
mod refused;
mod resets;
mod respond;
mod send;

pub use open::Refusal;

use content::DataFrame;
use refused::RefusedCounts;
pub use refused::RefusedRequests;
use resets::ResetStreams;

/// One end of a connection.
///
/// Call [`receive`](Self::receive) with all bytes received and not consumed until it returns
/// [`Event::NeedMore`], then [`transmit`](Self::transmit) to send the connection's own frames. A key
/// names a stream from the event or the call that opened it to the one that ends it; after that it may
/// name another, so call [`is_open`](Self::is_open) after the end of either direction. On a
/// [closed](Self::is_closed) connection only `transmit` has an effect.
#[derive(Debug)]
pub struct Connection {
    role: Role,
    limits: Arc<Limits>,
    reading: Reading,
    headers: HeaderCoding,
    streams: Streams,
    ids: StreamIds,
    resets: ResetStreams,
    early_priorities: EarlyPriorities,
    flow: FlowControl,
    settings: SettingsExchange,
    control: ControlQueue,
    budget: AbuseBudget,
    ping: Ping,
    shutdown: Shutdown,
    refused: RefusedCounts,
}

/// The kind of the next bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    Preface,
    Frame,
    /// The rest of a DATA frame.
    Content(DataFrame),
    /// The rest of a payload that is skipped.
    Skip {
        left: u32,
        payload: SkippedPayload,
    },
}

/// The kind of a payload that is skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SkippedPayload {
    /// DATA of a stream that has ended.
    Content,
    /// A frame of an unknown type, or debug data of GOAWAY.
    Frame,
}

impl Connection {
    /// The machine of a client that has just connected. Connections may share their limits.
    pub fn client(limits: impl Into<Arc<Limits>>) -> Self {
        Self::new(Role::Client, limits.into())
    }

    /// The machine of a server that has just accepted a connection. Connections may share their limits.
    pub fn server(limits: impl Into<Arc<Limits>>) -> Self {
        Self::new(Role::Server, limits.into())
    }

    fn new(role: Role, limits: Arc<Limits>) -> Self {
        let http2 = &limits.http2;
        let mut connection = Self {
            role,
            reading: match role {
                Role::Server => Reading::Preface,
                Role::Client => Reading::Frame,
            },
            headers: HeaderCoding::new(http2),
            streams: Streams::default(),
            ids: StreamIds::new(role),
            resets: ResetStreams::default(),
            early_priorities: EarlyPriorities::default(),
            flow: FlowControl::new(http2),
            settings: SettingsExchange::new(http2.decoder_table_bytes_max),
            control: ControlQueue::default(),
            budget: AbuseBudget::default(),
            ping: Ping::default(),
            shutdown: Shutdown::default(),
            refused: RefusedCounts::default(),
            limits,
        };
        connection.queue_preface();
        connection
    }

    /// Queues the connection preface: RFC 9113 §3.4.
    fn queue_preface(&mut self) {
        let http2 = &self.limits.http2;
        let ours = Settings {
            header_table_bytes: http2.decoder_table_bytes_max,
            initial_window_bytes: self.flow.initial_size(),
            header_list_bytes_max: u32::try_from(self.limits.head_bytes_max).unwrap_or(u32::MAX),
            ..Settings::INITIAL
        };
        let ours = match self.role {
            Role::Client => Settings { push: false, ..ours },
            Role::Server => Settings {
                streams_max: http2.streams_max,
                extended_connect: http2.extended_connect,
                no_rfc7540_priorities: true,
                ..ours
            },
        };
        if self.role == Role::Client {
            self.control.preface();
        }
        self.control.settings(&ours);
        let increment = self.flow.first_increment();
        if increment > 0 {
            self.control.window_update(0, increment);
        }
    }

    /// Whether frames of the connection are queued, which [`transmit`](Self::transmit) sends.
    #[inline]
    pub fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Sends the queued frames of the connection.
    #[inline]
    pub fn transmit(&mut self, now: Instant, out: &mut impl Sink) {
        self.settings.sent(now, self.limits.http2.settings_timeout);
        self.control.write_to(out);
    }

    /// Sends a header block, behind the queued frames: blocks must keep their order.
    #[inline]
    fn send_headers(
        &mut self,
        id: u32,
        end: bool,
        out: &mut impl Sink,
        encode: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) {
        self.control.write_to(out);
        self.headers.send((id, end), self.settings.peer().frame_bytes_max, out, encode);
    }

    fn section_options(&self) -> SectionOptions {
        SectionOptions {
            extended_connect: self.limits.http2.extended_connect,
            equal_lengths: self.role == Role::Client,
        }
    }

    /// Whether a stream was never opened. One above the last in our final GOAWAY counts as opened.
    fn is_idle(&self, id: u32) -> bool {
        let is_passed_over =
            self.role == Role::Server && id % 2 == 1 && self.shutdown.is_beyond_last(id);
        self.ids.is_idle(id) && !is_passed_over
    }

    /// Counts a frame that causes work and carries no message: such frames have a budget.
    fn count_overhead(&mut self, now: Instant) -> Result<(), Fault> {
        self.budget.count_overhead(now, &self.limits.http2)
    }

    /// Counts bytes that were used up for the connection's window, and queues WINDOW_UPDATE if it is due.
    fn credit(&mut self, bytes: u32) {
        if let Some(increment) = self.flow.consumed(bytes) {
            self.control.window_update(0, increment);
        }
    }
}

/// The result of a frame: an event, no event, or a fault that ends the connection.
type FrameResult = Result<Option<Event>, Fault>;
