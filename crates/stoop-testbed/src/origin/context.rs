//! What the scripts of all behaviours share: their settings, and how a script says what follows.

use std::time::Duration;

use crate::log::Ended;

/// Where a behaviour runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Place {
    /// What every answer waits for first.
    pub(crate) delay: Duration,
    /// A URL at which nobody listens.
    pub(crate) dead: String,
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// The next request, if the client wants to send one.
    Again,
    /// An orderly close.
    Close(Ended),
    /// The socket is dropped: an RST if it was set to, else a FIN.
    Drop(Ended),
}
