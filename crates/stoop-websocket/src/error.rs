//! [`Error`]: how a connection fails, and whose fault it is.

use std::fmt;
use std::io;

use stoop::Culprit;

use crate::machine::{CloseCode, Fault};
use crate::message::Misuse;

/// A WebSocket connection that failed, or a call that cannot be carried out.
///
/// A connection that both ends closed by a Close frame has not failed, whatever its code.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The connection beneath failed.
    Io(io::Error),
    /// The connection beneath ended without a Close frame: the abnormal closure that RFC 6455 §7.1.5 has 1006 for.
    EndedEarly,
    /// The peer broke the protocol or went past a limit. It was told so by a Close frame.
    Fault(Fault),
    /// The peer sent nothing for [`ping_interval`](crate::Limits::ping_interval), nor within
    /// [`ping_timeout`](crate::Limits::ping_timeout) after a Ping.
    PingTimeout,
    /// The peer took nothing of what was sent to it for [`send_timeout`](crate::Limits::send_timeout). What was left is
    /// not sent.
    SendTimeout,
    /// The peer did not answer a Close frame within [`close_timeout`](crate::Limits::close_timeout).
    CloseTimeout,
    /// The caller's call is not carried out; the connection is as it was.
    Misuse(Misuse),
}

impl Error {
    /// Whose fault it is.
    pub fn culprit(&self) -> Culprit {
        match self {
            Self::Io(_) | Self::PingTimeout | Self::SendTimeout | Self::CloseTimeout => {
                Culprit::Network
            }
            Self::EndedEarly | Self::Fault(_) => Culprit::Peer,
            Self::Misuse(_) => Culprit::Caller,
        }
    }

    /// The code of the Close frame that the peer was sent about it.
    pub fn close_code(&self) -> Option<CloseCode> {
        match self {
            Self::Fault(fault) => Some(fault.close_code()),
            Self::Io(_)
            | Self::EndedEarly
            | Self::PingTimeout
            | Self::SendTimeout
            | Self::CloseTimeout
            | Self::Misuse(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the connection failed: {error}"),
            Self::EndedEarly => f.write_str("the peer ended the connection without a Close frame"),
            Self::Fault(fault) => write!(f, "the peer is at fault: {fault}"),
            Self::PingTimeout => f.write_str("the peer is silent, and did not answer a Ping"),
            Self::SendTimeout => f.write_str("the peer takes nothing of what is sent to it"),
            Self::CloseTimeout => f.write_str("the peer did not answer a Close frame in time"),
            Self::Misuse(misuse) => misuse.fmt(f),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            Self::Fault(fault) => Some(fault),
            Self::Misuse(misuse) => Some(misuse),
            Self::EndedEarly | Self::PingTimeout | Self::SendTimeout | Self::CloseTimeout => None,
        }
    }
}

impl From<Misuse> for Error {
    fn from(misuse: Misuse) -> Self {
        Self::Misuse(misuse)
    }
}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}
