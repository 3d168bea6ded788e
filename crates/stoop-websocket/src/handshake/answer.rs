//! [`AnswerFault`]: what is wrong with a server's answer to a handshake, and the checks (RFC 6455 §4.1).

use std::fmt;

use stoop::{Fields, ResponseHead, Version};

use crate::grammar;
use crate::handshake::key::accept_of;
use crate::machine::{AgreedDeflate, Deflate, NotAgreed};

/// A server has opened a connection on terms that were not asked for, or does not show that it speaks WebSocket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AnswerFault {
    /// Upgrade is not `websocket`.
    Upgrade,
    /// Connection does not list `upgrade`.
    Connection,
    /// Sec-WebSocket-Accept is missing, or not that of the key.
    Accept,
    /// Sec-WebSocket-Protocol names a subprotocol that was not offered, or several.
    Protocol,
    /// Sec-WebSocket-Extensions is not what was offered.
    Extensions(NotAgreed),
}

impl fmt::Display for AnswerFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Upgrade => f.write_str("Upgrade is not websocket (RFC 6455 §4.1)"),
            Self::Connection => f.write_str("Connection does not list upgrade (RFC 6455 §4.1)"),
            Self::Accept => {
                f.write_str("Sec-WebSocket-Accept does not belong to the key (RFC 6455 §4.1)")
            }
            Self::Protocol => f.write_str("the subprotocol was not offered (RFC 6455 §4.1)"),
            Self::Extensions(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AnswerFault {}

/// Checks the head that opened a connection; `key` is that of a request over HTTP/1.1. Returns the subprotocol and
/// what was agreed on compression.
pub(crate) fn verify(
    head: &ResponseHead,
    key: Option<&str>,
    protocols: &[String],
    deflate: Option<&Deflate>,
) -> Result<(Option<String>, Option<AgreedDeflate>), AnswerFault> {
    let fields = head.fields();
    if let Some(key) = key
        && head.version() < Version::HTTP_2
    {
        if !single(fields, "upgrade").is_some_and(|it| it.eq_ignore_ascii_case(b"websocket")) {
            return Err(AnswerFault::Upgrade);
        }
        if !fields.lists("connection", "upgrade") {
            return Err(AnswerFault::Connection);
        }
        let accept = accept_of(key.as_bytes());
        if single(fields, "sec-websocket-accept") != Some(accept.as_bytes()) {
            return Err(AnswerFault::Accept);
        }
    }
    let mut chosen = None;
    if fields.first("sec-websocket-protocol").is_some() {
        let named = single(fields, "sec-websocket-protocol");
        let offered = protocols.iter().find(|offered| named == Some(offered.as_bytes()));
        chosen = Some(offered.ok_or(AnswerFault::Protocol)?.clone());
    }
    let extensions = fields.all("sec-websocket-extensions");
    let agreed = match deflate {
        Some(deflate) => deflate.verify(extensions).map_err(AnswerFault::Extensions)?,
        None => {
            for field in extensions {
                let listed = grammar::extensions(field);
                if !listed.ok_or(AnswerFault::Extensions(NotAgreed::Malformed))?.is_empty() {
                    return Err(AnswerFault::Extensions(NotAgreed::NotOffered));
                }
            }
            None
        }
    };
    Ok((chosen, agreed))
}

/// The value of a field that may stand once.
fn single<'a>(fields: &'a Fields, name: &'a str) -> Option<&'a [u8]> {
    let mut values = fields.all(name);
    let value = values.next()?;
    values.next().is_none().then_some(value)
}
