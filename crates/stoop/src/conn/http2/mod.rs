//! What the HTTP/2 drivers of the client and of the server have in common.
//!
//! `driver` is the driver itself, generic over the role; `round`, `receive` and `send` have its methods.
//! `exchanges` and `ready` are the table of its exchanges, `outflow` is content that is being sent, `progress` is how
//! far the output has got.

pub(crate) mod driver;
pub(crate) mod exchanges;
pub(crate) mod outflow;
pub(crate) mod progress;
pub(crate) mod ready;
mod receive;
mod round;
mod send;
