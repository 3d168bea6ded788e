//! [`Machine`]: the state of one connection.

use std::collections::VecDeque;

use bytes::Bytes;

use crate::limits::Limits;
use crate::machine::assembly::Assembly;
use crate::machine::deflate::{AgreedDeflate, Compressor, Inflater};
use crate::machine::frame::FrameRules;

/// One end of a WebSocket connection, from the end of its handshake on.
///
/// [`Machine::receive`] reads; [`Machine::send`], [`Machine::ping`], [`Machine::pong`] and [`Machine::close`]
/// write to a buffer, and so does [`Machine::flush`], what the machine itself has to send.
pub struct Machine {
    pub(crate) rules: FrameRules,
    pub(crate) message_bytes_max: usize,
    pub(crate) inflated_message_bytes_max: usize,
    pub(crate) frame_bytes_max: u64,
    pub(crate) receiving: Receiving,
    pub(crate) sending: Sending,
    /// The keys of a client; a server has none (RFC 6455 §5.1).
    pub(crate) keys: Option<fn() -> [u8; 4]>,
    /// The data frame of which payload is missing.
    pub(crate) frame: Option<DataFrame>,
    pub(crate) assembly: Option<Assembly>,
    pub(crate) deflate: Option<Box<PerMessageDeflate>>,
    /// The payloads of the newest Pings without an answer.
    pub(crate) pongs: VecDeque<Bytes>,
    /// The payload of the Close frame that the machine has to send.
    pub(crate) close: Option<Vec<u8>>,
}

/// What may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Receiving {
    Open,
    /// A Close frame has come.
    Closed,
    /// The peer is at fault: nothing is read any more.
    Failed,
}

/// What may still be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sending {
    Open,
    /// A Close frame was sent: nothing may follow it (RFC 6455 §5.5.1).
    Closed,
}

/// A data frame whose header was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataFrame {
    pub(crate) is_final: bool,
    /// As it is for the next byte.
    pub(crate) key: Option<[u8; 4]>,
    /// Bytes of payload that are missing.
    pub(crate) missing: u64,
}

/// The state of permessage-deflate, in both directions.
pub(crate) struct PerMessageDeflate {
    pub(crate) compressor: Compressor,
    pub(crate) inflater: Inflater,
}

impl Machine {
    /// The server's end.
    pub fn server(limits: &Limits, deflate: Option<AgreedDeflate>) -> Self {
        Self::new(limits, deflate, None)
    }

    /// The client's end. Each frame is masked with a key of `keys`, which have to be unpredictable (RFC 6455 §5.3,
    /// §10.3).
    pub fn client(limits: &Limits, deflate: Option<AgreedDeflate>, keys: fn() -> [u8; 4]) -> Self {
        Self::new(limits, deflate, Some(keys))
    }

    fn new(limits: &Limits, deflate: Option<AgreedDeflate>, keys: Option<fn() -> [u8; 4]>) -> Self {
        Self {
            rules: FrameRules { is_masked: keys.is_none(), may_compress: deflate.is_some() },
            message_bytes_max: limits.message_bytes_max,
            inflated_message_bytes_max: limits
                .inflated_message_bytes_max
                .min(limits.message_bytes_max),
            frame_bytes_max: limits.frame_bytes_max,
            receiving: Receiving::Open,
            sending: Sending::Open,
            keys,
            frame: None,
            assembly: None,
            deflate: deflate.map(|agreed| {
                Box::new(PerMessageDeflate {
                    compressor: Compressor::new(&agreed),
                    inflater: Inflater::new(&agreed),
                })
            }),
            pongs: VecDeque::new(),
            close: None,
        }
    }

    /// Whether this is the server's end.
    pub fn is_server(&self) -> bool {
        self.keys.is_none()
    }

    /// Whether messages may be sent: no Close frame has been, nor has to be.
    pub fn may_send(&self) -> bool {
        self.sending == Sending::Open && self.receiving == Receiving::Open
    }

    /// Whether a message has begun whose end has not come.
    pub fn is_within_message(&self) -> bool {
        self.assembly.is_some()
    }

    /// Whether what comes may be compressed: as many bytes as are given to [`Machine::receive`] are then a
    /// thousand times as many at worst.
    pub fn may_inflate(&self) -> bool {
        self.deflate.is_some()
    }

    /// Whether nothing more is read: a Close frame has come, or the peer was at fault.
    pub fn has_received_all(&self) -> bool {
        self.receiving != Receiving::Open
    }
}
