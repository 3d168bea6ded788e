//! The settings that scripts of behaviours run with, and what follows a response.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::log::EntryEnd;

/// The settings that the script of a behaviour runs with.
#[derive(Clone, Debug, Default)]
pub(crate) struct ScriptSettings {
    /// The delay before each response.
    pub(crate) delay: Duration,
    /// A URL at which no server listens.
    pub(crate) dead_url: String,
    /// How many requests came, on all connections.
    pub(crate) asked: Arc<AtomicU64>,
}

/// What follows a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AfterResponse {
    /// The next request, if the client wants to send one.
    Again,
    /// An orderly close.
    Close(EntryEnd),
    /// The socket is dropped: an RST if it was set to, else a FIN.
    Drop(EntryEnd),
}
