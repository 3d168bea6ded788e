//! Server-sent events: `text/event-stream`, HTML standard §9.2.

mod event;
mod response;

pub use event::Event;
pub use response::{EventSender, LastEventId, Sse};
