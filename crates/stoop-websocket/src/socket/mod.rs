//! A WebSocket over a stream of tokio's.

mod buffers;
mod driver;
mod ending;
mod reading;
mod split;
mod turn;
mod watch;
mod websocket;

pub use split::{MessageReceiver, MessageSender};
pub use websocket::WebSocket;
