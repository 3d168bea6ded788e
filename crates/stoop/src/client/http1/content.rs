//! The content of a response, as its owner takes it, or leaves it.

use std::task::{Context, Poll, Waker, ready};
use std::time::Instant;

use bytes::Bytes;
use stoop_io::{FillResult, Transport};
use stoop_proto::{Fields, ResponseHead, h1};

use crate::body::Incoming;
use crate::client::http1::exchange::{ExchangeStep, Http1Exchange, connection};
use crate::error::{Error, Phase};

impl Incoming for Http1Exchange {
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        self.resume();
        ready!(self.poll_turn(cx));
        let step = ready!(self.poll_step(cx, &mut ResponseHead::default(), Phase::Receive));
        let piece = step.and_then(|step| match step {
            ExchangeStep::Data { before, len, after } => {
                let http1 = connection(&mut self.lease, Phase::Receive)?;
                http1.wire.io.consume(before);
                let piece = http1.wire.io.take(len);
                http1.wire.io.consume(after);
                if http1.machine.body_remaining() == Some(0) {
                    self.end_of_length();
                }
                Ok(Some(piece))
            }
            _ => Ok(None),
        });
        Poll::Ready(piece.transpose())
    }

    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        let mut head = ResponseHead::default();
        self.resume();
        while !self.ended {
            ready!(self.poll_turn(cx));
            if let ExchangeStep::Data { before, len, after } =
                ready!(self.poll_step(cx, &mut head, Phase::Receive))?
            {
                let http1 = connection(&mut self.lease, Phase::Receive)?;
                look(&http1.wire.io.received()[before..before + len]);
                http1.wire.io.consume(before + len + after);
            }
        }
        Poll::Ready(Ok(()))
    }

    fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.trailers.take()
    }

    fn remaining(&self) -> Option<u64> {
        if self.ended {
            return Some(0);
        }
        self.lease.connection().map_or(Some(0), |http1| http1.machine.body_remaining())
    }

    fn pause(&mut self) {
        self.deadlines.pause();
    }

    fn due(&self) -> Option<Instant> {
        self.deadlines.total()
    }

    fn follows(&mut self, attempts: u32, called: Instant) {
        if let Some(http1) = self.lease.connection_mut() {
            http1.attempt += attempts;
            http1.since = called;
        }
    }

    fn overdue(&mut self) -> Option<Error> {
        self.resume();
        let error = self.deadlines.overdue()?;
        Some(if self.ended { error } else { self.fail(error) })
    }
}

impl Http1Exchange {
    /// Content is asked for.
    #[inline]
    fn resume(&mut self) {
        if self.deadlines.is_paused() {
            self.deadlines.resume();
        }
    }

    /// Counts a piece. Pending where other tasks have waited long enough: content in small pieces that are all there
    /// would not let them run.
    fn poll_turn(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(http1) = self.lease.connection_mut() else { return Poll::Ready(()) };
        http1.turn.poll_step(cx)
    }

    /// The content is complete with the piece just given out: the connection goes back to the pool
    /// now, and not when a piece is asked for that is not there.
    fn end_of_length(&mut self) {
        let Some(http1) = self.lease.connection_mut() else { return };
        let end = http1.machine.receive(&[], &mut ResponseHead::default(), &self.limits.wire);
        if let h1::Event::End { .. } = end.event {
            self.end();
        }
    }

    /// Reads content that is here already, up to a limit, so that the connection can go back to the
    /// pool.
    fn drain(&mut self) {
        let mut left = self.limits.drain_bytes_max;
        if self.ended || self.is_uploading() || self.remaining().is_some_and(|n| n > left) {
            return;
        }
        let mut cx = Context::from_waker(Waker::noop());
        let mut head = ResponseHead::default();
        let Some(http1) = self.lease.connection_mut() else { return };
        while http1.machine.in_body() {
            let received =
                http1.machine.receive(http1.wire.io.received(), &mut head, &self.limits.wire);
            http1.wire.io.consume(received.consumed);
            match received.event {
                h1::Event::Data(span) => match left.checked_sub(span.len() as u64) {
                    Some(rest) => left = rest,
                    None => return,
                },
                h1::Event::NeedMore => {
                    let filled = http1.wire.poll_fill(&mut cx, stoop_io::CHUNK);
                    if !matches!(filled, Poll::Ready(Ok(FillResult::Bytes(_)))) {
                        return;
                    }
                }
                _ => return,
            }
        }
    }
}

impl Drop for Http1Exchange {
    fn drop(&mut self) {
        self.drain();
    }
}
