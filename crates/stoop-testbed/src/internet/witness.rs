//! A connection that stoop's own server serves, watched for the log.
//!
//! The server knows nothing of the log. So what stands between it and the socket sees the bytes
//! come and go and who ends it, and what answers says what was asked and when its answer is whole.
//! Together these are the same line that the scripted servers write. One request at a time: the
//! server must be told to have one in flight.
//!
//! What a client sends behind a request before that is answered belongs to the next line only if it
//! is a request: nobody here reads HTTP. What is none, and the server's own answer to it, is in the
//! line of the request before.
//!
//! Over HTTP/2 most of what a client sends is no request: there a line begins with the handler, and
//! ends with what the handler is asked for or with its being dropped, because the stream was reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::line::Line;
use crate::log::Ended;
use crate::origin::PREFACE;
use crate::wire::{Gone, Stream};

/// What is known of one connection: shared by its stream, its handler and its content.
pub(super) struct Witness(Mutex<Seen>);

/// Which version of HTTP a client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Speaks {
    /// So many bytes came, all of the preface.
    Unknown(usize),
    Http1,
    Http2,
}

struct Seen {
    line: Line,
    speaks: Speaks,
    /// Something of a request came that was not answered to its end.
    heard: bool,
    /// The answer is the handler's: else it is one that the server gives by itself.
    handled: bool,
    /// The final status went out.
    told: bool,
    /// The status of the handler's answer.
    status: u16,
    /// The server has all of the answer: once that is sent, this is how it ended.
    whole: Option<Ended>,
    /// The handler of the next request, which waits for that.
    next: Option<Waker>,
    /// Our direction has ended, and what still comes is thrown away.
    shut: bool,
    /// Something came since the server last waited for more.
    fresh: bool,
}

impl Witness {
    pub(super) fn new(line: Line) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Seen {
            line,
            speaks: Speaks::Unknown(0),
            heard: false,
            handled: false,
            told: false,
            status: 0,
            whole: None,
            next: None,
            shut: false,
            fresh: false,
        })))
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request's head is complete. Ready once the answer before it is sent, as far as the kernel:
    /// to a client that does not wait for answers the server sends several together, and then
    /// nobody could tell whose bytes they are.
    pub(super) fn poll_asked(&self, target: &str, cx: &Context<'_>) -> Poll<()> {
        let seen = &mut *self.seen();
        if seen.whole.is_some() {
            seen.next = Some(cx.waker().clone());
            return Poll::Pending;
        }
        seen.line.head(target, seen.speaks == Speaks::Http2);
        seen.heard = true;
        Poll::Ready(())
    }

    /// Which URL it is about, and which host it named.
    pub(super) fn about(&self, url: Option<u64>, host: &str) {
        self.seen().line.about(url, host);
    }

    /// The handler answers; `whole` if there is no content of which the end is still to be seen.
    pub(super) fn answers(&self, status: u16, whole: Option<Ended>) {
        let seen = &mut *self.seen();
        (seen.handled, seen.status, seen.whole) = (true, status, whole);
    }

    /// The server has the last of the content, and nothing of it is left to be framed.
    pub(super) fn last(&self) {
        self.seen().whole = Some(Ended::Complete);
    }

    /// The server has the last piece of content that has a length: over HTTP/1 nothing is sent after
    /// that, over HTTP/2 it may wait for a window.
    pub(super) fn last_piece(&self) {
        let seen = &mut *self.seen();
        if seen.speaks != Speaks::Http2 {
            seen.whole = Some(Ended::Complete);
        }
    }

    /// The server asks for more than that: over HTTP/2 it has framed the last piece.
    pub(super) fn after_last_piece(&self) {
        let seen = &mut *self.seen();
        if seen.speaks == Speaks::Http2 {
            seen.whole = Some(Ended::Complete);
        }
    }

    /// Nobody is asked for the rest of an answer. Over HTTP/2 that ends it, and the connection goes
    /// on: the client has reset the stream, or it was silent and is given up.
    fn dropped(&self) {
        let seen = &mut *self.seen();
        if seen.speaks == Speaks::Http2 && seen.heard && seen.whole.is_none() && !seen.shut {
            seen.end(if seen.fresh { Ended::ClientReset } else { Ended::TimedOut });
        }
    }

    /// The server has closed. What it had not ended by then it gave up.
    pub(super) fn over(&self) {
        let seen = &mut *self.seen();
        if !seen.heard {
            seen.line.unused();
        }
        seen.line.end(Ended::TimedOut);
    }

    fn received(&self, bytes: &[u8]) {
        let seen = &mut *self.seen();
        seen.fresh = true;
        if let Speaks::Unknown(n) = seen.speaks {
            seen.speaks = version(n, bytes);
            // What was taken for the beginning of a request was none.
            seen.heard &= seen.speaks != Speaks::Http2;
        }
        if !seen.shut && seen.speaks != Speaks::Http2 {
            seen.heard = true;
            seen.line.begin();
        }
    }

    /// The client ended its direction.
    fn closed(&self) {
        let seen = &mut *self.seen();
        if !seen.heard {
            seen.line.unused();
        }
        seen.line.end(Ended::ClientClosed);
    }

    fn failed(&self, error: &io::Error) {
        let Gone(ended) = Gone::from(error);
        self.seen().line.end(ended);
    }

    /// The first `n` of `bytes`, or more, were taken.
    fn sent(&self, bytes: &[u8], n: usize) {
        let seen = &mut *self.seen();
        seen.line.sent(n);
        if seen.told {
            return;
        }
        let status = match seen.speaks {
            Speaks::Http2 => seen.handled.then_some(seen.status),
            _ => status(bytes),
        };
        let Some(status) = status else { return };
        seen.line.status(status);
        seen.told = status >= 200;
        if seen.told && !seen.handled {
            seen.whole = Some(match status {
                408 => Ended::TimedOut,
                500 => Ended::Failed,
                _ => Ended::BadRequest,
            });
        }
    }

    /// All that the server had to say is the kernel's.
    fn flushed(&self) {
        let seen = &mut *self.seen();
        if let Some(ended) = seen.whole.take() {
            seen.end(ended);
        }
    }
}

impl Seen {
    /// An exchange is over, and another may begin.
    fn end(&mut self, ended: Ended) {
        self.line.end(ended);
        (self.heard, self.handled, self.told) = (false, false, false);
        self.next.take().into_iter().for_each(Waker::wake);
    }
}

/// A request that the handler has, or its answer's content. Over HTTP/2 an exchange ends with it.
pub(super) struct Asked(pub(super) Arc<Witness>);

impl Drop for Asked {
    fn drop(&mut self) {
        self.0.dropped();
    }
}

/// What `bytes` tell of the version, behind `n` bytes of the preface.
fn version(n: usize, bytes: &[u8]) -> Speaks {
    let rest = &PREFACE[n..];
    let same = bytes.iter().zip(rest).take_while(|(came, wanted)| came == wanted).count();
    match same {
        _ if same == rest.len() => Speaks::Http2,
        _ if same == bytes.len() => Speaks::Unknown(n + same),
        _ => Speaks::Http1,
    }
}

/// The status in a head that `bytes` begin with.
fn status(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The stream of such a connection.
pub(super) struct Witnessed<S> {
    stream: S,
    /// What was received before the server came.
    ahead: Vec<u8>,
    witness: Arc<Witness>,
}

impl<S> Witnessed<S> {
    pub(super) fn new(stream: S, ahead: Vec<u8>, witness: Arc<Witness>) -> Self {
        Self { stream, ahead, witness }
    }

    fn wrote(&self, bytes: &[u8], wrote: &io::Result<usize>) {
        match wrote {
            Ok(n) => self.witness.sent(bytes, *n),
            Err(error) => self.witness.failed(error),
        }
    }
}

impl<S> Drop for Witnessed<S> {
    /// What the server drops after its stream it has not given up: the connection is over.
    fn drop(&mut self) {
        self.witness.seen().shut = true;
    }
}

impl<S: Stream> AsyncRead for Witnessed<S> {
    /// A client that closes, be it its sending half alone, is taken for gone, at once: HTTP clients
    /// do not do that, the log must say when it was, and nobody is left to say goodbye to.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        if this.ahead.is_empty() {
            let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, into) else {
                this.witness.seen().fresh = false;
                return Poll::Pending;
            };
            read.inspect_err(|error| this.witness.failed(error))?;
        } else {
            let n = this.ahead.len().min(into.remaining());
            into.put_slice(&this.ahead[..n]);
            this.ahead.drain(..n);
            if this.ahead.is_empty() {
                this.ahead = Vec::new();
            }
        }
        if into.filled().len() > before {
            this.witness.received(&into.filled()[before..]);
            return Poll::Ready(Ok(()));
        }
        this.witness.closed();
        Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

impl<S: Stream> AsyncWrite for Witnessed<S> {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = ready!(Pin::new(&mut this.stream).poll_write(cx, bytes));
        this.wrote(bytes, &wrote);
        Poll::Ready(wrote)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let wrote = ready!(Pin::new(&mut this.stream).poll_write_vectored(cx, slices));
        this.wrote(slices.first().map_or(&[], |first| first), &wrote);
        Poll::Ready(wrote)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let flushed = ready!(Pin::new(&mut this.stream).poll_flush(cx));
        match &flushed {
            Ok(()) => this.witness.flushed(),
            Err(error) => this.witness.failed(error),
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.witness.seen().shut = true;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
