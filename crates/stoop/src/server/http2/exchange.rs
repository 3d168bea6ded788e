//! What is kept of a request until it is answered.

use std::pin::Pin;

use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use stoop_proto::{Fields, h2};

use crate::conn::slot::{SlotReader, SlotWriter};
use crate::conn::tunnel::Outgoing;
use crate::handler::Handler;
use crate::server::shelf::Place;

/// A request whose response is not complete, or whose content is still read.
pub(super) struct Exchange<H: Handler> {
    pub(super) key: h2::StreamKey,
    pub(super) response: Responding<H>,
    /// Where the request's content goes, while somebody may read it.
    pub(super) content: Option<SlotWriter>,
    pub(super) tunnel: Tunnel,
    /// The client waits for a 100 before it sends content (RFC 9110 §10.1.1).
    pub(super) continue_owed: bool,
    pub(super) patience: Patience,
}

/// Whether an exchange is a tunnel, and what is read from it then.
pub(super) enum Tunnel {
    /// It is an ordinary request.
    No,
    /// It was asked for.
    Asked(SlotReader),
    /// It is: neither end of it need say anything, for however long.
    Open,
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
    pub(super) body: Option<Maker<B>>,
    /// What was made and not sent.
    pub(super) piece: Bytes,
    pub(super) trailers: Option<Box<Fields>>,
}

/// Whose content it is.
pub(super) enum Maker<B> {
    Body(Pin<Box<B>>),
    Tunnel(Outgoing),
}

impl<B: http_body::Body<Data = Bytes>> Maker<B> {
    /// The next frame of content; that it failed is all there is to know.
    pub(super) fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
        match self {
            Self::Body(body) => {
                body.as_mut().poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(drop)))
            }
            Self::Tunnel(outgoing) => {
                let polled = Pin::new(outgoing).poll_frame(cx);
                polled.map(|frame| frame.map(|frame| frame.map_err(drop)))
            }
        }
    }

    pub(super) fn is_end(&self) -> bool {
        match self {
            Self::Body(body) => body.is_end_stream(),
            Self::Tunnel(_) => false,
        }
    }
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
