//! [`Connection`]: the machine of one connection, for either role.
//!
//! `receive` reads frames; `headers`, `content` and `control` handle the frames of each sort; `open` and
//! `respond` begin messages, `send` writes the rest of them; `resets` ends streams, and `end` the
//! connection, with its timeouts; `inspect` has the queries.

use std::ops::Range;
use std::time::Instant;

use crate::Sink;
use crate::fields::Fields;
use crate::h2::bdp::Bdp;
use crate::h2::budget::Bucket;
use crate::h2::fault::Fault;
use crate::h2::frame::{Header, kind};
use crate::h2::priority::Priority;
use crate::h2::section::{Section, SectionOptions};
use crate::h2::settings::{Role, Settings};
use crate::h2::streams::Streams;
use crate::h2::window::{self, ReceiveWindow, SendWindow};
use crate::h2::{Event, PREFACE};
use crate::hpack::{Decoder, Encoder};
use crate::limits::{Http2Limits, Limits};

mod content;
mod control;
mod end;
mod headers;
mod inspect;
mod open;
mod receive;
mod resets;
mod respond;
mod send;

pub use open::Refusal;

use content::DataFrame;
use end::Shutdown;
use headers::PartialBlock;
use resets::ResetStreams;

/// The capacity that empty buffers keep.
const BUFFER_KEPT_MAX: usize = 4 * 1024;

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
    reading: Reading,
    /// A header block that is not complete.
    partial: Option<Box<PartialBlock>>,
    decoder: Decoder,
    encoder: Encoder,
    section: Section,
    trailers: Option<Box<Fields>>,
    streams: Streams,
    /// The number of streams that the peer has opened and that have not ended.
    peer_streams: u32,
    /// The highest stream that the peer has opened, and the next that we may open.
    last_peer_stream: u32,
    next_local_stream: u32,
    /// The identifiers that the peer left out last: they were never opened, and cannot be any more.
    skipped_ids: Range<u32>,
    send: SendWindow,
    receive: ReceiveWindow,
    /// The most streams that this end opens at a time, whatever the peer allows.
    local_streams_max: u32,
    /// The intended size of the windows, of a stream and of the connection.
    stream_window: u32,
    connection_window: u32,
    /// The window of a new stream.
    initial_window: u32,
    bdp: Bdp,
    peer_settings: Settings,
    header_table_bytes: u32,
    /// Whether the peer's SETTINGS were received, and whether it has acknowledged ours.
    settings_received: bool,
    settings_acknowledged: bool,
    /// The queued frames of the connection, and their number.
    control: Vec<u8>,
    control_frames: u32,
    /// The header block that is being encoded.
    block: Vec<u8>,
    resets: ResetStreams,
    /// Priorities of streams that are not opened yet: RFC 9218 §7.
    early_priorities: Vec<(u32, Priority)>,
    reset_bucket: Bucket,
    abandoned_bucket: Bucket,
    overhead_bucket: Bucket,
    shutdown: Shutdown,
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
    /// The machine of a client that has just connected.
    pub fn client(limits: &Limits) -> Self {
        Self::new(Role::Client, limits)
    }

    /// The machine of a server that has just accepted a connection.
    pub fn server(limits: &Limits) -> Self {
        Self::new(Role::Server, limits)
    }

    fn new(role: Role, limits: &Limits) -> Self {
        let http2 = &limits.http2;
        let stream_window = http2.stream_window_bytes.clamp(window::INITIAL, window::MAX);
        let connection_window = http2.connection_window_bytes.clamp(window::INITIAL, window::MAX);
        let mut connection = Self {
            role,
            reading: match role {
                Role::Server => Reading::Preface,
                Role::Client => Reading::Frame,
            },
            partial: None,
            decoder: Decoder::new(Settings::INITIAL.header_table_bytes),
            encoder: Encoder::new(http2.encoder_table_bytes_max),
            section: Section::default(),
            trailers: None,
            streams: Streams::default(),
            peer_streams: 0,
            last_peer_stream: 0,
            next_local_stream: 1,
            skipped_ids: 0..0,
            local_streams_max: http2.streams_max,
            send: SendWindow::new(window::INITIAL),
            receive: ReceiveWindow::new(connection_window),
            stream_window,
            connection_window,
            initial_window: stream_window,
            bdp: Bdp::default(),
            peer_settings: Settings::INITIAL,
            header_table_bytes: http2.decoder_table_bytes_max,
            settings_received: false,
            settings_acknowledged: false,
            control: Vec::new(),
            control_frames: 0,
            block: Vec::new(),
            resets: ResetStreams::default(),
            early_priorities: Vec::new(),
            reset_bucket: Bucket::default(),
            abandoned_bucket: Bucket::default(),
            overhead_bucket: Bucket::default(),
            shutdown: Shutdown::default(),
        };
        connection.queue_preface(limits);
        connection
    }

    /// Queues the connection preface: RFC 9113 §3.4.
    fn queue_preface(&mut self, limits: &Limits) {
        let http2 = &limits.http2;
        let ours = Settings {
            header_table_bytes: http2.decoder_table_bytes_max,
            initial_window_bytes: self.stream_window,
            header_list_bytes_max: u32::try_from(limits.head_bytes_max).unwrap_or(u32::MAX),
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
            self.control.extend_from_slice(PREFACE);
        }
        ours.put(&Settings::INITIAL, &mut self.control);
        // §6.9.2: only WINDOW_UPDATE changes the connection's window.
        let more = self.connection_window - window::INITIAL;
        if more > 0 {
            self.control(kind::WINDOW_UPDATE, 0, 0, &more.to_be_bytes());
        }
    }

    /// Whether frames of the connection are queued, which [`transmit`](Self::transmit) sends.
    #[inline]
    pub fn has_control(&self) -> bool {
        !self.control.is_empty()
    }

    /// Sends the queued frames of the connection.
    #[inline]
    pub fn transmit(&mut self, now: Instant, limits: &Limits, out: &mut impl Sink) {
        if !self.settings_acknowledged {
            self.await_settings(now, limits);
        }
        self.put_control(out);
    }

    /// Writes the queued frames of the connection, ahead of its streams' frames: header blocks must keep
    /// their order.
    #[inline]
    fn put_control(&mut self, out: &mut impl Sink) {
        if self.control.is_empty() {
            return;
        }
        out.put(&self.control);
        self.control.clear();
        self.control.shrink_to(BUFFER_KEPT_MAX);
        self.control_frames = 0;
    }

    /// Queues a frame of the connection, unless it is closed.
    fn control(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        if self.shutdown.is_closed() {
            return;
        }
        let len = payload.len() as u32;
        self.control.extend_from_slice(&Header { len, kind, flags, stream }.bytes());
        self.control.extend_from_slice(payload);
        self.control_frames += 1;
    }

    fn section_options(&self, http2: &Http2Limits) -> SectionOptions {
        SectionOptions {
            extended_connect: http2.extended_connect,
            equal_lengths: self.role == Role::Client,
        }
    }

    /// Whether a stream was never opened. One above the last in our final GOAWAY counts as opened.
    fn is_idle(&self, id: u32) -> bool {
        let by_client = id % 2 == 1;
        match (self.role, by_client) {
            (Role::Server, true) => id > self.last_peer_stream && !self.shutdown.is_beyond_last(id),
            (Role::Client, true) => id >= self.next_local_stream,
            // There is no push.
            (_, false) => true,
        }
    }

    /// Counts bytes that were used up for the connection's window, and queues WINDOW_UPDATE if it is due.
    fn credit(&mut self, bytes: u32) {
        self.receive.consume(bytes);
        if let Some(increment) = self.receive.update(self.connection_window) {
            self.control(kind::WINDOW_UPDATE, 0, 0, &increment.to_be_bytes());
        }
    }
}

/// The result of a frame: an event, no event, or a fault that ends the connection.
type FrameResult = Result<Option<Event>, Fault>;
