//! What is kept of a request until it is answered.

use std::pin::Pin;

use bytes::Bytes;
use stoop_proto::{Fields, h2};

use crate::conn::slot::SlotWriter;
use crate::handler::Handler;
use crate::server::shelf::Place;

/// A request whose response is not complete, or whose content is still read.
pub(super) struct Exchange<H: Handler> {
    pub(super) key: h2::StreamKey,
    pub(super) response: Responding<H>,
    /// Where the request's content goes, while somebody may read it.
    pub(super) content: Option<SlotWriter>,
    /// The client waits for a 100 before it sends content (RFC 9110 §10.1.1).
    pub(super) continue_owed: bool,
    pub(super) patience: Patience,
}

/// How far the response is.
pub(super) enum Responding<H: Handler> {
    Running(Place<H::Future>),
    Sending(Sending<H::Body>),
    /// It is complete.
    Sent,
}

/// Content under way.
pub(super) struct Sending<B> {
    /// Makes more of it; none once it has ended.
    pub(super) body: Option<Pin<Box<B>>>,
    /// What was made and not sent.
    pub(super) piece: Bytes,
    pub(super) trailers: Option<Box<Fields>>,
}

/// How long the client has let an exchange wait, in ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Patience {
    /// Content that came, and how long its reader has waited for it, in all and since the last of it.
    pub(super) content_bytes: u64,
    pub(super) content_waited: u32,
    pub(super) content_idle: u32,
    /// How long there has been something to send and no window for it.
    pub(super) blocked: u32,
    /// Content that came and was thrown away, since the response was complete, and for how long.
    pub(super) drained_bytes: u64,
    pub(super) drained: u32,
}
