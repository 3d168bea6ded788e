//! [`Message`]: what is sent and received.

use bytes::Bytes;

/// A text or binary message (RFC 6455 §5.6), whole, whatever frames it came in.
///
/// ```
/// use stoop_websocket::Message;
///
/// let message = Message::from("hello");
/// assert_eq!((message.as_text(), message.as_bytes(), message.len()), (Some("hello"), &b"hello"[..], 5));
/// assert_eq!(Message::from(vec![1, 2]).as_text(), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message {
    /// Text in UTF-8.
    Text(String),
    /// Any bytes.
    Binary(Bytes),
}

impl Message {
    /// The text, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Binary(_) => None,
        }
    }

    /// The payload.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// The payload, without a copy.
    pub fn into_bytes(self) -> Bytes {
        match self {
            Self::Text(text) => text.into(),
            Self::Binary(bytes) => bytes,
        }
    }

    /// Bytes of the payload.
    pub fn len(&self) -> usize {
        self.as_bytes().len()
    }

    /// Whether the payload is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Which of the two it is.
    pub fn kind(&self) -> MessageKind {
        match self {
            Self::Text(_) => MessageKind::Text,
            Self::Binary(_) => MessageKind::Binary,
        }
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Bytes> for Message {
    fn from(bytes: Bytes) -> Self {
        Self::Binary(bytes)
    }
}

impl From<Vec<u8>> for Message {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Binary(bytes.into())
    }
}

impl From<&[u8]> for Message {
    fn from(bytes: &[u8]) -> Self {
        Self::Binary(Bytes::copy_from_slice(bytes))
    }
}

/// The types of messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageKind {
    /// Text in UTF-8.
    Text,
    /// Any bytes.
    Binary,
}

/// Why a close, a ping or a pong of the caller's is not sent. Nothing of it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
// A word, as [`Fault`](crate::Fault) is.
#[repr(usize)]
pub enum Misuse {
    /// The payload of a Ping or Pong has more than 125 bytes (RFC 6455 §5.5).
    ControlTooLong,
    /// The reason of a close has more than 123 bytes (RFC 6455 §5.5).
    ReasonTooLong,
    /// The connection has been closed, or is being closed (RFC 6455 §5.5.1).
    Closed,
}

impl std::fmt::Display for Misuse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::ControlTooLong => {
                "the payload of a Ping or Pong has more than 125 bytes (RFC 6455 §5.5)"
            }
            Self::ReasonTooLong => "the reason of a close has more than 123 bytes (RFC 6455 §5.5)",
            Self::Closed => "the connection has been closed (RFC 6455 §5.5.1)",
        })
    }
}

impl std::error::Error for Misuse {}
