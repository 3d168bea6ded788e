//! The opening handshake (RFC 6455 §4, RFC 8441 §5), in both roles.

mod answer;
mod client;
mod key;
mod origins;
mod refusal;
mod server;

pub use answer::AnswerFault;
pub use client::{ClientHandshake, ConnectError, connect};
pub use origins::Origins;
pub use refusal::Refusal;
pub use server::{PendingWebSocket, ServerHandshake, accept};
