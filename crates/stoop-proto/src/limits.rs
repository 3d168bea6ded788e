//! The limits of the protocol machines, each with the consequence of exceeding it.

use std::time::{Duration, Instant};

/// The longest wait, whatever a limit says: an [`Instant`] can overflow.
const FOREVER: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns the instant `time` after `from`, at most thirty years: [`Duration::MAX`] is no limit.
#[inline]
pub fn after(from: Instant, time: Duration) -> Instant {
    from + time.min(FOREVER)
}

/// The largest number of field lines in a head, whatever [`Limits::fields_max`] says: parsing keeps its
/// index of them on the stack.
pub const FIELDS_CEILING: usize = 512;

/// Bounds on what a peer may send. Sizes are in bytes.
///
/// [`Limits::server`] suits requests, [`Limits::client`] responses, which are larger in practice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Request line, without its CRLF: 16 KiB (RFC 9112 §3 asks for 8,000 at least). Beyond it:
    /// 414.
    pub request_line_bytes_max: usize,
    /// Start line and field lines together, to the empty line: 64 KiB for requests, 256 KiB for
    /// responses and the interim responses before them. Beyond it: 431, or an error at the client.
    pub head_bytes_max: usize,
    /// Field lines in a head or trailer section: 128 for requests, 500 for responses; at most
    /// [`FIELDS_CEILING`]. Beyond it: 431, or an error at the client.
    pub fields_max: usize,
    /// A chunk-size line with its extensions, without its CRLF: 4 KiB. Beyond it: 400.
    pub chunk_line_bytes_max: usize,
    /// Chunk extensions of one body beyond the content they came with, a byte for a byte: 16 KiB.
    /// Past it: 400.
    pub chunk_extensions_bytes_max: u64,
    /// A trailer section, to the empty line: 16 KiB. Beyond it: 431.
    pub trailers_bytes_max: usize,
    /// Content of one message, after transfer coding: unlimited, because bodies are streamed.
    /// Beyond it: 413, or at the client an error when it is read.
    pub body_bytes_max: Option<u64>,
    /// Requests read and not yet answered on one HTTP/1 connection: 16, and 1 at least. At it,
    /// reading stops until one has been answered.
    pub pipelined_max: usize,
    /// Interim (1xx) responses before a final one: 16. Beyond it: an error at the client.
    pub interim_max: usize,
    /// Limits of HTTP/2 alone.
    pub http2: Http2Limits,
}

/// Bounds on what a peer may do over HTTP/2. Sizes are in bytes. Of the other [`Limits`] those on
/// heads, trailers, content and interim responses hold as well: a field line then counts its name,
/// its value and 32 bytes (RFC 9113 §6.5.2).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Http2Limits {
    /// Streams that a client may have open at a time: 100. Beyond it: REFUSED_STREAM. Our client opens
    /// no more than 256, whatever the server allows.
    pub streams_max: u32,
    /// Content of a stream that may be on its way or unread: 64 KiB for requests, 256 KiB for
    /// responses, and 65,535 at least. Beyond it: FLOW_CONTROL_ERROR.
    pub stream_window_bytes: u32,
    /// The size to which `stream_window_bytes` may grow where the connection's bandwidth and delay need
    /// it: 1 MiB for requests, 4 MiB for responses.
    pub stream_window_bytes_max: u32,
    /// Content of all streams together that may be on its way or unread: 1 MiB for requests, 4 MiB for
    /// responses, and 65,535 at least. Beyond it: FLOW_CONTROL_ERROR.
    pub connection_window_bytes: u32,
    /// The size to which `connection_window_bytes` may grow: 2 MiB for requests, 16 MiB for responses. Streams whose
    /// content is not read for a while add their windows to it, so that they do not hold up the others.
    pub connection_window_bytes_max: u32,
    /// The dynamic table that the peer's encoder may make us keep: 4,096.
    pub decoder_table_bytes_max: u32,
    /// The dynamic table of our encoder, if the peer allows as much: 1,024 for responses, 4,096 for
    /// requests.
    pub encoder_table_bytes_max: u32,
    /// Answers to PING and SETTINGS, and other control frames, that are queued because the peer does not
    /// read: 1,000. At it, reading stops.
    pub control_frames_max: u32,
    /// Streams that a client resets, or makes us reset: 200 at once and 20 a second; four exchanges that
    /// end well give one back. Beyond it: ENHANCE_YOUR_CALM (CVE-2023-44487, CVE-2025-8671).
    pub resets: Rate,
    /// Streams that a client resets before the request is answered, so that its handler ran for nothing:
    /// 200 at once and 20 a second; eight exchanges that end well give one back, so that one in nine may
    /// be cancelled at any rate. Beyond it: ENHANCE_YOUR_CALM.
    pub abandoned_requests: Rate,
    /// Frames that cause work and carry no message (PING, SETTINGS, PRIORITY, WINDOW_UPDATE, empty DATA,
    /// late and unknown ones): 10,000 at once and 330 a second; content that is sent and completed
    /// exchanges give some back. Beyond it: ENHANCE_YOUR_CALM.
    pub overhead_frames: Rate,
    /// The time for the peer to acknowledge our SETTINGS: 10 s. Beyond it: SETTINGS_TIMEOUT.
    /// [`Duration::MAX`] is no limit.
    pub settings_timeout: Duration,
    /// The time for the peer to answer a PING: 10 s. Beyond it the connection is closed. The time begins
    /// again as long as the peer takes what was sent before the PING. [`Duration::MAX`] is no limit.
    pub ping_timeout: Duration,
    /// Whether clients may request tunnels of other protocols (RFC 8441): no.
    pub extended_connect: bool,
}

/// A rate limit: how often something may happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many at once.
    pub burst: u32,
    /// How many a second after that.
    pub per_second: u32,
}

impl Http2Limits {
    const fn server() -> Self {
        Self {
            streams_max: 100,
            stream_window_bytes: 65_535,
            stream_window_bytes_max: 1 << 20,
            connection_window_bytes: 1 << 20,
            connection_window_bytes_max: 2 << 20,
            decoder_table_bytes_max: 4_096,
            encoder_table_bytes_max: 1_024,
            control_frames_max: 1_000,
            resets: Rate { burst: 200, per_second: 20 },
            abandoned_requests: Rate { burst: 200, per_second: 20 },
            overhead_frames: Rate { burst: 10_000, per_second: 330 },
            settings_timeout: Duration::from_secs(10),
            ping_timeout: Duration::from_secs(10),
            extended_connect: false,
        }
    }

    const fn client() -> Self {
        Self {
            streams_max: 256,
            stream_window_bytes: 256 * 1024,
            stream_window_bytes_max: 4 << 20,
            connection_window_bytes: 4 << 20,
            connection_window_bytes_max: 16 << 20,
            encoder_table_bytes_max: 4_096,
            ..Self::server()
        }
    }
}

impl Limits {
    /// The defaults for reading requests.
    pub const fn server() -> Self {
        Self {
            request_line_bytes_max: 16 * 1024,
            head_bytes_max: 64 * 1024,
            fields_max: 128,
            chunk_line_bytes_max: 4 * 1024,
            chunk_extensions_bytes_max: 16 * 1024,
            trailers_bytes_max: 16 * 1024,
            body_bytes_max: None,
            pipelined_max: 16,
            interim_max: 16,
            http2: Http2Limits::server(),
        }
    }

    /// The defaults for reading responses.
    pub const fn client() -> Self {
        Self {
            head_bytes_max: 256 * 1024,
            fields_max: 500,
            http2: Http2Limits::client(),
            ..Self::server()
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        Self::server()
    }
}
