//! The protocol without I/O (RFC 6455, RFC 7692): bytes in, events out; messages in, bytes out.
//!
//! [`Machine`] is for callers with a transport of another kind than tokio's, and for tests;
//! [`WebSocket`](crate::WebSocket) drives it over a stream. It has no clock, no socket and no source of randomness.
//!
//! ```
//! use stoop_websocket::Limits;
//! use stoop_websocket::machine::{Event, Machine};
//!
//! let mut server = Machine::server(&Limits::default(), None);
//! // RFC 6455 §5.7: a single-frame masked text message.
//! let mut input = *b"\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58";
//! let received = server.receive(&mut input);
//! assert_eq!((received.consumed, received.event), (11, Some(Event::Message("Hello".into()))));
//! ```

mod assembly;
mod close;
mod code;
mod deflate;
mod fault;
mod frame;
mod mask;
mod receive;
mod send;
mod state;
mod text;

pub use close::{CloseReason, REASON_BYTES_MAX};
pub use code::CloseCode;
pub use deflate::{AgreedDeflate, Deflate, NotAgreed};
pub use fault::Fault;
pub use frame::CONTROL_BYTES_MAX;
pub use mask::mask;
pub use receive::{Event, Received};
pub use send::Payload;
pub use state::Machine;
