//! The messages of two HTTP/2 peers, to compare what was sent with what is read.

use stoop_proto::Fields;

/// A message as it was sent, and how much of it was read.
#[derive(Debug, Default)]
pub(crate) struct SentStreamMessage {
    pub(crate) line: String,
    pub(crate) fields: Vec<(String, Vec<u8>)>,
    pub(crate) content: Vec<u8>,
    pub(crate) trailers: Vec<(String, Vec<u8>)>,
    pub(crate) is_complete: bool,
    pub(crate) read: usize,
    pub(crate) is_read: bool,
    pub(crate) head_is_read: bool,
}

/// What the client and the server have sent, by exchange.
pub(crate) type SentMessages = Vec<[SentStreamMessage; 2]>;

/// The fields that reach the handler, their names in lower case.
pub(crate) fn end_to_end(fields: &Fields) -> Vec<(String, Vec<u8>)> {
    let removed = ["content-length", "connection", "host", "x-n"];
    let kept = fields.iter().filter(|field| !removed.iter().any(|name| field.is(name)));
    kept.map(|field| (field.name().to_ascii_lowercase(), field.value().to_vec())).collect()
}
