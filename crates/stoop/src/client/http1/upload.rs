//! The request's half of a client's exchange: content out, as fast as the server takes it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use http_body::Body as _;
use stoop_io::{FileError, Transport};
use stoop_proto::{CloseReason, Fields};

use crate::body::{Body, request_body};
use crate::client::deadlines::{Deadlines, Waiting};
use crate::client::http1::Http1;
use crate::conn::OutputSink;
use crate::error::{Error, Phase};
use crate::header_map::from_map;

/// What of a request is still to be sent.
#[derive(Default)]
pub(super) struct Http1Upload {
    /// Content that was not asked for yet.
    pub(super) body: Option<Body>,
    /// Sending failed. What the server said before may still explain it, so this waits until it is
    /// clear that it said nothing.
    pub(super) failed: Option<Error>,
}

impl Http1Upload {
    /// Sends as much as there is and the server takes.
    ///
    /// # Errors
    /// If the caller's body fails, or is not what it announced. The request cannot be completed.
    #[inline]
    pub(super) fn push(
        &mut self,
        cx: &mut Context<'_>,
        http1: &mut Http1,
        deadlines: &mut Deadlines,
        output_bytes_max: usize,
    ) -> Result<(), Error> {
        if self.body.is_none() {
            if http1.wire.unsent() > 0 {
                self.flush(cx, http1, deadlines, output_bytes_max)?;
            }
            return Ok(());
        }
        self.push_body(cx, http1, deadlines, output_bytes_max)
    }

    fn push_body(
        &mut self,
        cx: &mut Context<'_>,
        http1: &mut Http1,
        deadlines: &mut Deadlines,
        output_bytes_max: usize,
    ) -> Result<(), Error> {
        loop {
            let is_full = self.pull(cx, http1, deadlines, output_bytes_max)?;
            let is_drained = self.flush(cx, http1, deadlines, output_bytes_max)?;
            if !(is_full && is_drained) {
                return Ok(());
            }
        }
    }

    /// Asks the request's body for more while there is room for it; true if there is none left.
    fn pull(
        &mut self,
        cx: &mut Context<'_>,
        http1: &mut Http1,
        deadlines: &Deadlines,
        output_bytes_max: usize,
    ) -> Result<bool, Error> {
        loop {
            if http1.wire.is_full(output_bytes_max) {
                return Ok(true);
            }
            if is_held(http1, deadlines) {
                return Ok(false);
            }
            let Some(body) = &mut self.body else { return Ok(false) };
            if http1.wire.io.sends_files()
                && let Some(file) = body.file_mut()
            {
                let Poll::Ready(chunk) = file.poll_next(cx, true) else { return Ok(false) };
                match chunk {
                    None => self.finish(http1, None)?,
                    Some(Err(error)) => return Err(file_failed(error)),
                    Some(Ok(chunk)) => {
                        let chunk_len = chunk.len() as u64;
                        let out = &mut OutputSink(&mut http1.wire.out);
                        let put = |out: &mut OutputSink<'_>| out.put_chunk(chunk);
                        let sent = http1.machine.data_by(chunk_len, out, put);
                        sent.map_err(|misuse| Error::misuse(misuse, Phase::Send))?;
                    }
                }
                continue;
            }
            let Poll::Ready(frame) = Pin::new(body).poll_frame(cx) else { return Ok(false) };
            match frame {
                None => self.finish(http1, None)?,
                Some(Err(error)) => return Err(error.into_request_body_error()),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        let sent = http1.machine.data(data, &mut OutputSink(&mut http1.wire.out));
                        sent.map_err(|misuse| Error::misuse(misuse, Phase::Send))?;
                    }
                    Err(frame) => {
                        let mut fields = Fields::new();
                        if let Ok(map) = frame.into_trailers() {
                            from_map(&map, &mut fields);
                        }
                        self.finish(http1, Some(&fields))?;
                    }
                },
            }
        }
    }

    /// Sends what is there; true if all of it went.
    ///
    /// # Errors
    /// If a file that is sent is not what was announced: the server would wait for the rest.
    fn flush(
        &mut self,
        cx: &mut Context<'_>,
        http1: &mut Http1,
        deadlines: &mut Deadlines,
        output_bytes_max: usize,
    ) -> Result<bool, Error> {
        let before = http1.wire.unsent();
        match http1.wire.try_flush(cx, output_bytes_max) {
            Poll::Ready(Err(error)) if FileError::of(&error).is_some() => Err(file_failed(error)),
            Poll::Ready(Err(error)) => {
                http1.wire.out.clear();
                http1.machine.close(CloseReason::Aborted);
                self.body = None;
                self.failed = Some(Error::io(error, Phase::Send));
                Ok(false)
            }
            flushed => {
                if http1.wire.unsent() < before {
                    deadlines.moved();
                }
                Ok(flushed.is_ready())
            }
        }
    }

    pub(super) fn finish(
        &mut self,
        http1: &mut Http1,
        trailers: Option<&Fields>,
    ) -> Result<(), Error> {
        self.body = None;
        let finished = http1.machine.finish(trailers, &mut OutputSink(&mut http1.wire.out));
        finished.map_err(|misuse| Error::misuse(misuse, Phase::Send))
    }

    /// What sending waits for; `None` if it is done.
    pub(super) fn waiting(&self, http1: &Http1, deadlines: &Deadlines) -> Option<Waiting> {
        if http1.wire.unsent() > 0 {
            return Some(Waiting::Sending);
        }
        self.body.as_ref().map(|_| match is_held(http1, deadlines) {
            true => Waiting::Continue,
            false => Waiting::Caller,
        })
    }
}

/// The error of a file that cannot be sent as it was announced.
#[cold]
fn file_failed(error: io::Error) -> Error {
    request_body(error.into()).into_request_body_error()
}

/// Whether content waits for a 100, which the server sends.
fn is_held(http1: &Http1, deadlines: &Deadlines) -> bool {
    deadlines.continue_by.is_some() && http1.machine.is_awaiting_continue()
}
