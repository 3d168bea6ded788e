//! Sending the content of a response, piece by piece or as a file, and its end.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Body as _;
use stoop_io::{Transport, now};
use stoop_proto::{CloseReason, Fields, h1};

use crate::body::file_content::FileChunk;
use crate::body::request_body::RequestBodyWriter;
use crate::conn::OutputSink;
use crate::error::BoxError;
use crate::handler::Handler;
use crate::header_map::from_map;
use crate::limits::after;
use crate::response::CutShort;
use crate::server::http1::{Http1Driver, Http1Stage, PipelinedExchange, PipelinedResponse};

/// Pieces of content in one go, after which there is a look at what else is to do.
const FRAMES_MAX: u32 = 64;

/// What was sent of the oldest response.
pub(super) enum Sent {
    Nothing,
    Some,
    /// Its end too.
    All,
}

impl<H: Handler> Http1Driver<H> {
    /// Sends content of the oldest response while there is room for it.
    pub(super) fn send(&mut self, cx: &mut Context<'_>) -> Sent {
        let mut sent = Sent::Nothing;
        for frames in 0..FRAMES_MAX {
            if frames > 0 && self.turn.step() {
                return sent;
            }
            // An error shows again when everything is flushed.
            let has_ended = self.is_full() && self.has_ended();
            if self.is_full() && !has_ended && self.flush(cx) != Poll::Ready(true) {
                return sent;
            }
            let Some(exchange) = self.exchanges.front_mut() else { return sent };
            let body = match &mut exchange.response {
                PipelinedResponse::Sending(body) => body,
                PipelinedResponse::SendingFile(file) => {
                    let polled = file.poll_next(cx, self.wire.io.sends_files());
                    let Poll::Ready(chunk) = polled else { return sent };
                    let is_last = file.left() == 0;
                    sent = self.send_chunk(chunk, is_last);
                    match sent {
                        Sent::All => return Sent::All,
                        _ => continue,
                    }
                }
                _ => return sent,
            };
            RequestBodyWriter::set_polled(exchange.content.as_ref(), true);
            let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(&mut *body).poll_frame(cx)));
            RequestBodyWriter::set_polled(exchange.content.as_ref(), false);
            let answer = exchange.answer;
            let frame = match polled {
                Ok(Poll::Pending) => return sent,
                Ok(Poll::Ready(Some(Ok(frame)))) => frame,
                Ok(Poll::Ready(None)) => {
                    self.exchanges.pop_front();
                    self.finish(answer, None, None);
                    return Sent::All;
                }
                Ok(Poll::Ready(Some(Err(error)))) => {
                    self.content_failed(Some(error));
                    return Sent::All;
                }
                Err(_) => {
                    self.content_failed(None);
                    return Sent::All;
                }
            };
            sent = Sent::Some;
            match frame.into_data() {
                Ok(data) => {
                    self.watches.add_content(data.len());
                    let out = &mut OutputSink(&mut self.wire.out);
                    if let Err(misuse) = self.machine.data(data, out) {
                        self.content_failed(Some(misuse.into()));
                        return Sent::All;
                    }
                    // `is_end_stream` was wrong: what is written is sent before the next piece.
                    if has_ended && self.flush(cx) != Poll::Ready(true) {
                        return sent;
                    }
                }
                Err(frame) => {
                    let mut trailers = Fields::new();
                    if let Ok(map) = frame.into_trailers() {
                        from_map(&map, &mut trailers);
                    }
                    self.exchanges.pop_front();
                    self.finish(answer, None, Some(&trailers));
                    return Sent::All;
                }
            }
        }
        sent
    }

    /// Sends what comes next of the oldest response's file, and its end with the last of it.
    fn send_chunk(&mut self, chunk: Option<io::Result<FileChunk>>, is_last: bool) -> Sent {
        if let Some(Ok(chunk)) = &chunk {
            self.watches.add_content(chunk.len());
        }
        let out = &mut OutputSink(&mut self.wire.out);
        let sent = match chunk {
            None => Ok(()),
            Some(Ok(chunk)) => self
                .machine
                .data_by(chunk.len() as u64, out, |out| out.put_chunk(chunk))
                .map_err(BoxError::from),
            Some(Err(error)) => Err(error.into()),
        };
        if let Err(error) = sent {
            self.content_failed(Some(error));
            return Sent::All;
        }
        if !is_last {
            return Sent::Some;
        }
        if let Some(exchange) = self.exchanges.pop_front() {
            self.finish(exchange.answer, None, None);
        }
        Sent::All
    }

    /// The content of the response failed by that error, or panicked: the client must not take what it got for whole.
    #[cold]
    fn content_failed(&mut self, error: Option<BoxError>) {
        let (monitor, peer) = (self.core.monitor.clone(), self.peer());
        monitor.content_failed(peer, error, || self.abort(CutShort::Content));
    }

    /// Whether the content being sent says that it has no more: then its end goes out with what is
    /// there, and not by itself.
    fn has_ended(&self) -> bool {
        let Some(PipelinedExchange { response: PipelinedResponse::Sending(body), .. }) =
            self.exchanges.front()
        else {
            return false;
        };
        catch_unwind(AssertUnwindSafe(|| body.is_end_stream())).unwrap_or(false)
    }

    /// Ends a response, and settles what becomes of the connection.
    pub(super) fn finish(
        &mut self,
        answer: h1::ResponseContext,
        content: Option<Bytes>,
        trailers: Option<&Fields>,
    ) {
        let out = &mut OutputSink(&mut self.wire.out);
        let sent = content.map_or(Ok(()), |bytes| self.machine.data(bytes, out));
        if let Err(misuse) = sent.and_then(|()| self.machine.finish(trailers, out)) {
            return self.content_failed(Some(misuse.into()));
        }
        self.watches.end(&self.wire);
        if self.machine.is_sent() {
            // A client that said it would send no more, and did not, needs no time to read: nothing
            // unread on our side will make the kernel reset the connection.
            let quiet = answer.close_reason().is_some()
                && !self.in_content()
                && self.wire.io.received().is_empty();
            self.begin_close(CloseReason::PeerClosed, !quiet && !self.at_end);
        } else if self.in_content() {
            let limits = &self.core.limits;
            let (left, by) = (limits.drain_bytes_max, after(now(), limits.time.drain));
            self.stage = Http1Stage::Discarding { left, by };
        }
    }
}
