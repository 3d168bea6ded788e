//! [`Deflate`]: what an end wants of permessage-deflate, and the negotiation (RFC 7692 §7.1).

use std::fmt;

use crate::grammar::{self, Extension};
use crate::machine::deflate::agreement::{AgreedDeflate, Direction};

/// The extension's name.
const NAME: &str = "permessage-deflate";

/// The smallest window that DEFLATE's implementation compresses with: zlib has none of 8 bits without a header.
const WINDOW_BITS_MIN: u8 = 9;

/// The largest window, which is meant where none is named.
const WINDOW_BITS_MAX: u8 = 15;

/// What an end wants of permessage-deflate (RFC 7692).
///
/// By default neither end keeps its window from one message to the next. A window and its tables are some 320 KiB for
/// the end that compresses (200 KiB with the smallest window) and 48 KiB for the other; they are then lent to a message and not held by an idle connection. With
/// context takeover small messages that resemble each other become smaller still, and each connection holds its own.
///
/// ```
/// use stoop_websocket::Deflate;
///
/// let mut deflate = Deflate::default();
/// assert_eq!(
///     deflate.offer(),
///     "permessage-deflate; server_no_context_takeover; client_no_context_takeover; client_max_window_bits"
/// );
/// deflate.server_context_takeover = true;
/// deflate.client_context_takeover = true;
/// deflate.server_window_bits_max = 12;
/// assert_eq!(deflate.offer(), "permessage-deflate; server_max_window_bits=12; client_max_window_bits");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Deflate {
    /// The effort of compressing: 1, the fastest, to 9; values beyond are the nearest of these. 1 by default: messages
    /// are many and small, and a higher level mostly finds repetitions that are far apart.
    pub level: u8,
    /// Bytes below which a message is sent as it is: 256. Of a smaller one, without the window of those before it, next
    /// to nothing is saved.
    pub message_bytes_min: usize,
    /// Whether the server keeps its window from one message to the next: no.
    pub server_context_takeover: bool,
    /// Whether the client keeps its window from one message to the next: no.
    pub client_context_takeover: bool,
    /// The base-2 logarithm of the server's window at most, 9 to 15: 15. Values beyond are the nearest of these.
    pub server_window_bits_max: u8,
    /// The base-2 logarithm of the client's window at most, 9 to 15: 15. Values beyond are the nearest of these. A
    /// server with less than 15 declines a client that does not say that it can be told so.
    pub client_window_bits_max: u8,
}

impl Default for Deflate {
    fn default() -> Self {
        Self {
            level: 1,
            message_bytes_min: 256,
            server_context_takeover: false,
            client_context_takeover: false,
            server_window_bits_max: WINDOW_BITS_MAX,
            client_window_bits_max: WINDOW_BITS_MAX,
        }
    }
}

impl Deflate {
    /// The value of Sec-WebSocket-Extensions by which a client offers it.
    pub fn offer(&self) -> String {
        let mut offer = NAME.to_owned();
        if !self.server_context_takeover {
            offer += "; server_no_context_takeover";
        }
        if !self.client_context_takeover {
            offer += "; client_no_context_takeover";
        }
        match self.server_bits() {
            WINDOW_BITS_MAX => {}
            bits => offer += &format!("; server_max_window_bits={bits}"),
        }
        match self.client_bits() {
            WINDOW_BITS_MAX => offer += "; client_max_window_bits",
            bits => offer += &format!("; client_max_window_bits={bits}"),
        }
        offer
    }

    /// A server's choice among the offers in `fields`, the values of Sec-WebSocket-Extensions: the first that
    /// it can accept, and the value that says so; `None` if there is no such offer.
    ///
    /// # Errors
    /// [`NotAgreed::Malformed`] if a value is no list of extensions.
    pub fn accept<'a>(
        &self,
        fields: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<(AgreedDeflate, String)>, NotAgreed> {
        for field in fields {
            let offers = grammar::extensions(field).ok_or(NotAgreed::Malformed)?;
            let offers = offers.iter().filter(|offer| offer.name.eq_ignore_ascii_case(NAME));
            if let Some(accepted) = offers.filter_map(|offer| self.accept_offer(offer)).next() {
                return Ok(Some(accepted));
            }
        }
        Ok(None)
    }

    /// RFC 7692 §7.1: an offer with anything undefined in it is declined.
    fn accept_offer(&self, offer: &Extension) -> Option<(AgreedDeflate, String)> {
        let offer = Parameters::read(offer, true)?;
        let server_bits = self.server_bits().min(offer.server_bits.unwrap_or(WINDOW_BITS_MAX));
        if server_bits < WINDOW_BITS_MIN {
            return None;
        }
        let client_bits = match offer.client_bits {
            Some(hint) => self.client_bits().min(hint.unwrap_or(WINDOW_BITS_MAX)),
            None if self.client_bits() < WINDOW_BITS_MAX => return None,
            None => WINDOW_BITS_MAX,
        };
        let server_keeps = self.server_context_takeover && !offer.server_keeps_none;
        let client_keeps = self.client_context_takeover && !offer.client_keeps_none;
        let mut answer = NAME.to_owned();
        if !server_keeps {
            answer += "; server_no_context_takeover";
        }
        if !client_keeps {
            answer += "; client_no_context_takeover";
        }
        if offer.server_bits.is_some() || server_bits < WINDOW_BITS_MAX {
            answer += &format!("; server_max_window_bits={server_bits}");
        }
        if client_bits < WINDOW_BITS_MAX {
            answer += &format!("; client_max_window_bits={client_bits}");
        }
        let outgoing = Direction { keeps_context: server_keeps, window_bits: server_bits };
        let incoming = Direction { keeps_context: client_keeps, window_bits: client_bits };
        Some((self.agreed(outgoing, incoming), answer))
    }

    /// What a server's answer to [`Deflate::offer`] says, given as the values of Sec-WebSocket-Extensions; `None` if it
    /// agrees to no extension.
    ///
    /// # Errors
    /// If the server answers what was not offered: the connection has to fail (RFC 6455 §4.1, RFC 7692 §7.1).
    pub fn verify<'a>(
        &self,
        fields: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<Option<AgreedDeflate>, NotAgreed> {
        let mut answers = Vec::new();
        for field in fields {
            answers.extend(grammar::extensions(field).ok_or(NotAgreed::Malformed)?);
        }
        let [answer] = answers.as_slice() else {
            return if answers.is_empty() { Ok(None) } else { Err(NotAgreed::NotOffered) };
        };
        if !answer.name.eq_ignore_ascii_case(NAME) {
            return Err(NotAgreed::NotOffered);
        }
        let answer = Parameters::read(answer, false).ok_or(NotAgreed::Parameter)?;
        let server_bits = answer.server_bits.unwrap_or(WINDOW_BITS_MAX);
        if server_bits > self.server_bits() {
            return Err(NotAgreed::Parameter);
        }
        let client_bits = answer.client_bits.flatten().unwrap_or(WINDOW_BITS_MAX);
        let client_keeps = self.client_context_takeover && !answer.client_keeps_none;
        // A hint holds without an answer (RFC 7692 §7.1.1.2, §7.1.2.2).
        let client_bits = client_bits.min(self.client_bits());
        let outgoing = Direction { keeps_context: client_keeps, window_bits: client_bits };
        let incoming =
            Direction { keeps_context: !answer.server_keeps_none, window_bits: server_bits };
        Ok(Some(self.agreed(outgoing, incoming)))
    }

    fn agreed(&self, outgoing: Direction, incoming: Direction) -> AgreedDeflate {
        let message_bytes_min = match outgoing.window_bits {
            // Nothing says that a message has to be compressed (RFC 7692 §6), and zlib cannot with such a window.
            ..WINDOW_BITS_MIN => usize::MAX,
            _ => self.message_bytes_min.max(1),
        };
        AgreedDeflate { outgoing, incoming, level: self.level.clamp(1, 9), message_bytes_min }
    }

    fn server_bits(&self) -> u8 {
        self.server_window_bits_max.clamp(WINDOW_BITS_MIN, WINDOW_BITS_MAX)
    }

    fn client_bits(&self) -> u8 {
        self.client_window_bits_max.clamp(WINDOW_BITS_MIN, WINDOW_BITS_MAX)
    }
}

/// Why the answer of a server to an offer of extensions cannot be accepted, or an offer not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAgreed {
    /// Sec-WebSocket-Extensions is no list of extensions.
    Malformed,
    /// It names an extension that was not offered, or more than was offered.
    NotOffered,
    /// A parameter is unknown, repeated, malformed, or beyond what was offered.
    Parameter,
}

impl fmt::Display for NotAgreed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "Sec-WebSocket-Extensions is no list of extensions (RFC 6455 §9.1)",
            Self::NotOffered => "an extension was not offered (RFC 6455 §4.1)",
            Self::Parameter => {
                "a parameter of permessage-deflate is unknown, malformed or was not offered (RFC 7692 §7.1)"
            }
        })
    }
}

impl std::error::Error for NotAgreed {}

/// The parameters of an offer or an answer (RFC 7692 §7.1.1, §7.1.2).
#[derive(Default)]
struct Parameters {
    server_keeps_none: bool,
    client_keeps_none: bool,
    server_bits: Option<u8>,
    /// In an offer its value is optional.
    client_bits: Option<Option<u8>>,
}

impl Parameters {
    /// `None` if one is undefined, repeated, or has a value that it may not have.
    fn read(extension: &Extension, is_offer: bool) -> Option<Self> {
        let mut read = Self::default();
        for (name, value) in &extension.parameters {
            match (name.as_str(), value.as_deref()) {
                ("server_no_context_takeover", None) if !read.server_keeps_none => {
                    read.server_keeps_none = true;
                }
                ("client_no_context_takeover", None) if !read.client_keeps_none => {
                    read.client_keeps_none = true;
                }
                ("server_max_window_bits", Some(value)) if read.server_bits.is_none() => {
                    read.server_bits = Some(window_bits(value)?);
                }
                ("client_max_window_bits", Some(value)) if read.client_bits.is_none() => {
                    read.client_bits = Some(Some(window_bits(value)?));
                }
                ("client_max_window_bits", None) if read.client_bits.is_none() && is_offer => {
                    read.client_bits = Some(None);
                }
                _ => return None,
            }
        }
        Some(read)
    }
}

/// A decimal number from 8 to 15 without a leading zero (RFC 7692 §7.1.2.1).
fn window_bits(value: &str) -> Option<u8> {
    match value {
        "8" => Some(8),
        "9" => Some(9),
        "10" => Some(10),
        "11" => Some(11),
        "12" => Some(12),
        "13" => Some(13),
        "14" => Some(14),
        "15" => Some(15),
        _ => None,
    }
}
