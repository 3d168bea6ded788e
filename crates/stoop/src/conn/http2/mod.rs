//! What the HTTP/2 drivers of the client and of the server have in common.

pub(crate) mod exchanges;
pub(crate) mod outflow;
pub(crate) mod ready;
