//! [`Limits`]: what a connection may take, in bytes and in time.

use std::time::Duration;

/// Bounds on what a peer may send, on what waits for it, and on how long it may be silent or take nothing.
///
/// ```
/// use std::time::Duration;
/// use stoop_websocket::Limits;
///
/// let mut limits = Limits::default();
/// limits.message_bytes_max = 64 * 1024;
/// limits.ping_interval = Duration::MAX; // No pings.
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a message that is received: 16 MiB. Beyond it: close code 1009 and
    /// [`Fault::MessageTooLarge`](crate::Fault::MessageTooLarge).
    pub message_bytes_max: usize,
    /// Bytes of a message that is received compressed, once it is decompressed: 1 MiB, and
    /// [`message_bytes_max`](Self::message_bytes_max) if that is less. DEFLATE makes a thousand bytes of one, so that a
    /// peer has next to nothing to send for them. Beyond it as there.
    pub inflated_message_bytes_max: usize,
    /// Bytes of the payload of a frame that is received: 16 MiB. A frame is not held apart from its message, and
    /// most clients send each message as one frame, so that a lower limit would only bound messages again.
    /// Beyond it: close code 1009 and [`Fault::FrameTooLarge`](crate::Fault::FrameTooLarge).
    pub frame_bytes_max: u64,
    /// Bytes that wait because the peer does not read: 1 MiB. Beyond it a message waits to be sent; one that was
    /// begun is taken whole, so that no more than this and one message wait.
    pub write_buffer_bytes_max: usize,
    /// How long a peer may be silent before it is sent a Ping: 30 s, below the 60 s after which proxies often give up
    /// a connection. It is measured in steps of itself, while messages are waited for: a Ping leaves after one to two
    /// intervals. [`Duration::MAX`] is no limit.
    pub ping_interval: Duration,
    /// How long the peer may take to send anything at all after a Ping: 20 s. Beyond it:
    /// [`Error::PingTimeout`](crate::Error::PingTimeout). [`Duration::MAX`] is no limit.
    pub ping_timeout: Duration,
    /// How long a message may take from when more of it is first waited for: 60 s, in which 16 MiB come at 2.3 Mbit/s.
    /// Beyond it: close code 1008 and [`Fault::MessageTooSlow`](crate::Fault::MessageTooSlow). [`Duration::MAX`] is
    /// no limit: then a peer that has begun a message may have its memory for as long as it answers Pings.
    pub message_timeout: Duration,
    /// How long the peer may take nothing of what is sent to it: 30 s, as
    /// [`ServerTime::send`](stoop::ServerTime::send). The wait begins when the stream does not take a write or a flush at once, and
    /// again whenever it takes more, or the peer does of what the stream has taken, where that is
    /// [known](crate::WebSocket::with_backlog): over TCP on Linux, by HTTP/1 and HTTP/2. Where it is not, as with a stream of one's
    /// own, only what the stream takes counts, and a kernel takes nothing more until a third of its send buffer is free again: a peer
    /// has to take about 1 MB within the limit on Linux, and the limit is to be as long as that may take.
    ///
    /// It is looked at eight times within the limit, and so found an eighth of it late at most, over HTTP/2 a quarter. A stream
    /// of HTTP/2 takes 64 KiB at a time. Beyond it: [`Error::SendTimeout`](crate::Error::SendTimeout), whatever the
    /// peer sends meanwhile. [`Duration::MAX`] is no limit: then sending waits for as long as the peer likes.
    pub send_timeout: Duration,
    /// How long a closing handshake may take, the end of the transport included: 5 s. Beyond it the
    /// connection is dropped (RFC 6455 §7.1.1). [`Duration::MAX`] is no limit.
    pub close_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            message_bytes_max: 16 << 20,
            inflated_message_bytes_max: 1 << 20,
            frame_bytes_max: 16 << 20,
            write_buffer_bytes_max: 1 << 20,
            ping_interval: Duration::from_secs(30),
            ping_timeout: Duration::from_secs(20),
            message_timeout: Duration::from_secs(60),
            send_timeout: Duration::from_secs(30),
            close_timeout: Duration::from_secs(5),
        }
    }
}
