//! A WebSocket over a stream of tokio's.

mod buffers;
mod driver;
mod split;
mod stall;
mod watch;
mod websocket;

pub use split::{MessageReceiver, MessageSender};
pub use websocket::WebSocket;
