//! What is kept of a request until it is answered.

use std::pin::Pin;

use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use stoop_proto::h2;

use super::timeouts::TICK;
use crate::body::file_content::FileContent;
use crate::body::request_body::{RequestBodyReader, RequestBodyWriter};
use crate::conn::http2::driver::SendingExchange;
use crate::conn::http2::outflow::{Outflow, Polled};
use crate::conn::rate::RateBudget;
use crate::conn::tunnel::TunnelContent;
use crate::error::BoxError;
use crate::handler::Handler;
use crate::limits::ServerTime;
use crate::request::interim::InterimQueue;
use crate::response::SentHook;
use crate::server::future_pool::FutureSlot;
use crate::server::polled_body::PolledBody;

/// A request whose response is not complete, or whose content is still read.
pub(in crate::server) struct ServerExchange<H: Handler> {
    pub(super) key: h2::StreamKey,
    pub(super) response: StreamResponse<H>,
    /// The content of the request, until its handler has dropped it.
    pub(super) content: Option<RequestBodyWriter>,
    pub(super) tunnel: ServerTunnel,
    /// The client waits for a 100 before it sends content (RFC 9110 §10.1.1).
    pub(super) continue_owed: bool,
    pub(super) waited: WaitTimes,
    /// What its handler sends ahead of the response, if it may.
    pub(super) interim: Option<InterimQueue>,
    /// The connection is to end behind the response.
    pub(super) closes: bool,
    /// Who is to be told when the response was sent, while it is being sent.
    pub(super) hook: SentHook,
}

impl<H: Handler> ServerExchange<H> {
    /// Whether there is content that only the windows, or the client, keep from being sent.
    pub(super) fn has_content_to_send(&self) -> bool {
        let StreamResponse::Sending(outflow) = &self.response else { return false };
        let is_unread = |source: &ContentSource<_>| match source {
            ContentSource::File(file) => file.is_unread(),
            ContentSource::Body(_) | ContentSource::Tunnel(_) => false,
        };
        outflow.has_piece() || outflow.source().is_some_and(is_unread)
    }
}

impl<H: Handler> SendingExchange for ServerExchange<H> {
    type Source = ContentSource<H::Body>;

    #[inline]
    fn outflow(&mut self) -> Option<&mut Outflow<Self::Source>> {
        match &mut self.response {
            StreamResponse::Sending(outflow) => Some(outflow),
            StreamResponse::Running(_) | StreamResponse::Sent => None,
        }
    }

    /// The response's content may read the request's: the connection looks at that afterwards.
    fn poll_source(&mut self, cx: &mut Context<'_>, readable: usize) -> Option<Polled<BoxError>> {
        let StreamResponse::Sending(outflow) = &mut self.response else { return None };
        if let Some(ContentSource::File(file)) = outflow.source_mut()
            && file.is_unread()
        {
            if readable == 0 {
                return Some(Polled::Unread);
            }
            file.set_read_max(readable);
        }
        RequestBodyWriter::set_polled(self.content.as_ref(), true);
        let polled = outflow.poll_piece(cx);
        RequestBodyWriter::set_polled(self.content.as_ref(), false);
        Some(polled)
    }
}

/// Whether an exchange is a tunnel, and what is read from it then.
pub(super) enum ServerTunnel {
    /// It is an ordinary request.
    No,
    /// The client has asked for a tunnel.
    Asked(RequestBodyReader),
    /// It is a tunnel: neither end of it has to send anything, for however long.
    Open,
}

/// How far the response is.
pub(super) enum StreamResponse<H: Handler> {
    Running(FutureSlot<H::Future>),
    Sending(Outflow<ContentSource<H::Body>>),
    /// It is complete.
    Sent,
}

/// Where the content of a response comes from.
pub(in crate::server) enum ContentSource<B> {
    Body(PolledBody<B>),
    /// It is read in its turns.
    File(Box<FileContent>),
    Tunnel(TunnelContent),
}

impl<B> http_body::Body for ContentSource<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut *self {
            Self::Body(body) => Pin::new(body).poll_frame(cx),
            Self::File(file) => {
                let polled = file.poll_bytes(cx);
                polled.map(|bytes| bytes.map(|bytes| bytes.map(Frame::data).map_err(Into::into)))
            }
            Self::Tunnel(outgoing) => Pin::new(outgoing).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Body(body) => body.is_end_stream(),
            Self::File(file) => file.left() == 0,
            Self::Tunnel(_) => false,
        }
    }
}

/// How long the client has let an exchange wait, in ticks.
#[derive(Clone, Copy, Debug)]
pub(super) struct WaitTimes {
    /// How long content may still be waited for, and how long it has been since the last of it.
    pub(super) budget: RateBudget,
    pub(super) content_idle: u32,
    /// How long its handler has run.
    pub(super) ran: u32,
    /// How long there has been something to send and no window for it.
    pub(super) blocked: u32,
    /// Content that came and was thrown away, since the response was complete, and for how long.
    pub(super) drained_bytes: u64,
    pub(super) drained: u32,
}

impl WaitTimes {
    pub(super) fn new(time: &ServerTime) -> Self {
        // A wait is counted by the ticks that pass in it, the first of which may come at once.
        let grace = time.body_grace.max(TICK);
        Self {
            budget: RateBudget::new(time.body_bytes_per_second_min, grace),
            content_idle: 0,
            ran: 0,
            blocked: 0,
            drained_bytes: 0,
            drained: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The first tick of an exchange may come as soon as it has begun.
    #[test]
    fn a_grace_shorter_than_a_tick_was_used_up_by_the_first_tick() {
        let time = ServerTime { body_grace: Duration::from_millis(500), ..ServerTime::default() };
        let mut waits = WaitTimes::new(&time);
        assert!(waits.budget.spend(TICK) && !waits.budget.spend(TICK));
    }
}
