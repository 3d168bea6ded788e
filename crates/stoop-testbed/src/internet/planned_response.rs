//! The response that a plan has for a request to a well-behaved host.

use std::time::Duration;

use crate::response::ResponseFraming;

/// The response of a well-behaved host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlannedResponse {
    /// The URL that was requested.
    pub(crate) url: Option<u64>,
    pub(crate) status: u16,
    pub(crate) framing: ResponseFraming,
    pub(crate) body: u64,
    pub(crate) location: Option<String>,
    pub(crate) close: bool,
    /// How long the server waits before it answers.
    pub(crate) delay: Duration,
    /// The content itself, where it is not of the static block.
    pub(crate) text: Option<&'static str>,
    /// What is answered first, with a Retry-After.
    pub(crate) busy: Option<u16>,
}

impl PlannedResponse {
    pub(crate) fn bodiless(url: Option<u64>, status: u16) -> Self {
        Self {
            url,
            status,
            framing: ResponseFraming::Length,
            body: 0,
            location: None,
            close: false,
            delay: Duration::ZERO,
            text: None,
            busy: None,
        }
    }
}
