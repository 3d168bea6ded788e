//! One exchange over a shared HTTP/2 connection, as its owner has it: the future or body of a response.

use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use http::Method;
use stoop_io::{Stream, Timer};
use stoop_proto::{BodySize, Fields, ResponseHead};

use crate::body::{Body, Incoming, Kind};
use crate::client::deadlines::{Deadlines, ExchangeTimes, Waiting};
use crate::client::http2::shared_exchange::{Abandoned, Found, Notice, SharedExchange};
use crate::client::http2::{PendingRequest, SharedConnection};
use crate::client::pool::StreamPermit;
use crate::client::response_start::ResponseStart;
use crate::conn::recycle::Recycle;
use crate::conn::tunnel::{TunnelProgress, outgoing, tunnel};
use crate::error::{Error, ErrorKind, Phase};
use crate::limits::{ClientLimits, after};
use crate::request::RequestParts;
use crate::upgrade::Upgraded;

/// An exchange under way.
pub(crate) struct Http2Exchange {
    connection: Arc<SharedConnection>,
    shared: Arc<SharedExchange>,
    limits: Arc<ClientLimits>,
    deadlines: Deadlines,
    timer: Timer,
    called: Instant,
    attempt: u32,
    has_head: bool,
    /// No content follows any more.
    ended: bool,
    tunnel: ClientTunnel,
}

/// Whether the exchange is a tunnel.
enum ClientTunnel {
    No,
    /// The request is a CONNECT. What is written to the tunnel, if it is made, goes through this stream.
    Asked(Option<Box<(Stream, Arc<TunnelProgress>)>>),
    /// The server has agreed. A tunnel has no deadlines.
    Open,
}

impl Http2Exchange {
    /// Hands a request to its connection.
    ///
    /// # Errors
    /// With the request and its content, if the connection is gone, and nothing was sent.
    pub(crate) fn start(
        permit: StreamPermit,
        request: Recycle<RequestParts>,
        body: Body,
        limits: Arc<ClientLimits>,
        times: ExchangeTimes,
    ) -> Result<Self, (Recycle<RequestParts>, Body)> {
        let mut deadlines = Deadlines::new(times, (request.head.method(), &body), &limits.time);
        let (tunnel, body) = match *request.head.method() {
            Method::CONNECT => {
                let (writer, outgoing, progress) = outgoing(permit.connection.ready.clone());
                (ClientTunnel::Asked(Some(Box::new((writer, progress)))), Body::stream(outgoing))
            }
            _ => (ClientTunnel::No, body),
        };
        let size = body.len().map_or(BodySize::Unknown, BodySize::Exact);
        let has_content = size != BodySize::Exact(0);
        if has_content && request.head.expects_continue() == Ok(true) {
            deadlines.continue_by = Some(after(times.now, limits.time.expect_continue));
        }
        // All streams together then never hold back more than half of the connection's window.
        let http2 = &limits.wire.http2;
        let taken_max = http2.connection_window_bytes / 2 / http2.streams_max.max(1);
        let shared = SharedExchange::new(request, has_content, taken_max.max(1));
        let connection = permit.connection.clone();
        let pending = PendingRequest { shared: shared.clone(), body, size, until: times.due.total };
        if let Err(pending) = permit.submit(pending) {
            return Err((shared.take_request().unwrap_or_else(Recycle::new), pending.body));
        }
        let timer = Timer::coarse();
        let (has_head, ended) = (false, false);
        Ok(Self {
            connection,
            shared,
            limits,
            deadlines,
            timer,
            called: times.called,
            attempt: times.attempt,
            has_head,
            ended,
            tunnel,
        })
    }

    /// The request, once nothing of it is needed any more.
    pub(crate) fn take_request(&self) -> Option<Recycle<RequestParts>> {
        self.shared.take_request()
    }

    /// The request's content as it was, if the request failed before anything of it was sent. That of
    /// a tunnel is made anew.
    pub(crate) fn take_unsent(&self) -> Option<Body> {
        let unsent = self.shared.take_unsent()?;
        Some(if matches!(self.tunnel, ClientTunnel::No) { unsent } else { Body::empty() })
    }

    /// Whether a part of the response has come, or the server has said that there will be none.
    pub(crate) fn has_received(&self) -> bool {
        self.has_head || self.shared.is_rejected()
    }

    /// Whether all content has been given out.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Waits for the final head of the response.
    pub(crate) fn poll_head(
        &mut self,
        cx: &mut Context<'_>,
        head: &mut Recycle<ResponseHead>,
        interim: &mut dyn FnMut(&ResponseHead),
    ) -> Poll<Result<ResponseStart, Error>> {
        loop {
            match ready!(self.poll_found(cx, Phase::Wait))? {
                Found::Interim(head) => {
                    self.has_head = true;
                    interim(&head);
                }
                Found::Head(found, carried) => {
                    self.deadlines.head_came();
                    *head = found;
                    self.has_head = true;
                    self.ended = self.shared.is_at_end();
                    let switched =
                        matches!(self.tunnel, ClientTunnel::Asked(_)) && head.status().is_success();
                    return Poll::Ready(Ok(match switched {
                        true => ResponseStart::Switched,
                        false => ResponseStart::Head(carried),
                    }));
                }
                _ => return Poll::Ready(Err(Error::new(ErrorKind::Internal, Phase::Wait))),
            }
        }
    }

    /// The tunnel, after [`ResponseStart::Switched`].
    pub(crate) fn into_upgraded(mut self) -> Result<Upgraded, Error> {
        let ClientTunnel::Asked(Some(asked)) =
            std::mem::replace(&mut self.tunnel, ClientTunnel::Open)
        else {
            return Err(Error::new(ErrorKind::Internal, Phase::Wait));
        };
        let (writer, progress) = *asked;
        let peer = self.connection.peer;
        let incoming = Body(Kind::Response(Box::new(self)));
        let io = tunnel(incoming, writer, peer);
        Ok(Upgraded { io, keep: None, head: None, tunnel: Some(progress) })
    }

    /// Takes what came next, or waits for it, or for the nearest deadline.
    fn poll_found(&mut self, cx: &mut Context<'_>, phase: Phase) -> Poll<Result<Found, Error>> {
        loop {
            let (found, tell) = self.shared.take(cx);
            self.tell(tell);
            let (sending, sent) = match found {
                Found::Nothing(sending, sent) => (sending, sent),
                Found::Failed(error) => return Poll::Ready(Err(self.fail(error))),
                Found::Piece(piece) => {
                    self.deadlines.content_came(piece.len(), &self.limits.time);
                    // An owner that always finds content never waits for the deadline of everything.
                    if !self.is_tunnel() && self.deadlines.note_input() {
                        return Poll::Ready(Err(self.late(Deadlines::total_error(phase))));
                    }
                    return Poll::Ready(Ok(Found::Piece(piece)));
                }
                Found::End => {
                    self.ended = true;
                    return Poll::Ready(Ok(Found::End));
                }
                // Once there is a response, its content is what is waited for.
                Found::Idle if phase == Phase::Receive => continue,
                Found::Idle => return Poll::Ready(Err(self.late(Deadlines::idle_error()))),
                found => {
                    self.deadlines.moved();
                    return Poll::Ready(Ok(found));
                }
            };
            if self.is_tunnel() {
                return Poll::Pending;
            }
            if let Some(sent) = sent {
                self.deadlines.moved_at(sent);
            }
            // Once there is a response, its content is what is waited for.
            let waiting = match (phase, sending) {
                (Phase::Receive, _) => Waiting::Content,
                (_, Some(sending)) if matches!(self.tunnel, ClientTunnel::No) => sending,
                (_, _) => Waiting::Head,
            };
            let late = self.deadlines.poll(cx, &mut self.timer, waiting, &self.limits.time);
            match ready!(late) {
                Some(error) if waiting == Waiting::Sending && Deadlines::is_idle(&error) => {
                    // The server may be taking content of other requests over the same connection.
                    match self.shared.ask_if_idle() {
                        Some(tell) => self.tell(tell),
                        None => return Poll::Ready(Err(self.late(error))),
                    }
                    self.deadlines.moved();
                }
                Some(error) => return Poll::Ready(Err(self.late(error))),
                None => self.tell(self.shared.go_ahead()),
            }
        }
    }

    /// Content is asked for again.
    #[cold]
    fn resume(&mut self) {
        self.deadlines.resume();
        self.end_hold();
    }

    /// Ends what a pause asks for of the connection: nothing, where the exchange had ended before.
    fn end_hold(&self) {
        if !self.ended {
            self.connection.resumed();
        }
    }

    fn is_tunnel(&self) -> bool {
        matches!(self.tunnel, ClientTunnel::Open)
    }

    fn fail(&mut self, error: Error) -> Error {
        self.ended = true;
        self.deadlines.explain(error, self.called, self.attempt).with_peer(self.connection.peer)
    }

    fn late(&mut self, error: Error) -> Error {
        self.tell(self.shared.abandon(Abandoned::Late));
        self.fail(error)
    }

    fn tell(&self, tell: Notice) {
        match tell {
            Notice::Nothing => {}
            Notice::Wake => self.connection.ready.wake_task(),
            Notice::Call(number) => self.connection.ready.wake_for(number),
            Notice::Consumed(bytes) => self.connection.consumed(bytes),
        }
    }
}

impl Incoming for Http2Exchange {
    /// The next piece of content.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if self.deadlines.is_paused() {
            self.resume();
        }
        let piece = ready!(self.poll_found(cx, Phase::Receive)).map(|found| match found {
            Found::Piece(piece) => Some(piece),
            _ => None,
        });
        Poll::Ready(piece.transpose())
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.shared.take_trailers()
    }

    fn remaining(&self) -> Option<u64> {
        if self.ended { Some(0) } else { self.shared.remaining() }
    }

    fn pause(&mut self) {
        if !self.deadlines.is_paused() {
            self.deadlines.pause();
            if !self.ended {
                self.connection.paused();
            }
        }
    }

    fn due(&self) -> Option<Instant> {
        self.deadlines.total()
    }

    fn follows(&mut self, attempts: u32, called: Instant) {
        self.attempt += attempts;
        self.called = called;
    }

    fn overdue(&mut self) -> Option<Error> {
        if self.deadlines.is_paused() {
            self.resume();
        }
        let error = self.deadlines.overdue().filter(|_| !self.is_tunnel())?;
        Some(if self.ended { self.fail(error) } else { self.late(error) })
    }
}

impl Drop for Http2Exchange {
    fn drop(&mut self) {
        if self.deadlines.is_paused() {
            self.end_hold();
        }
        // What was written to a tunnel may not be sent yet.
        if !self.ended || self.is_tunnel() {
            self.tell(self.shared.abandon(Abandoned::Dropped));
        }
    }
}
