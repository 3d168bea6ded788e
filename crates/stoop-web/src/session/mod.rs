//! Sessions: what a service keeps of a visitor between requests, behind a store.

mod handle;
mod id;
mod layer;
mod memory;
mod store;

pub use handle::{Session, SessionError};
pub use id::SessionId;
pub use layer::Sessions;
pub use memory::MemoryStore;
pub use store::{SessionRecord, SessionStore, StoreFuture};
