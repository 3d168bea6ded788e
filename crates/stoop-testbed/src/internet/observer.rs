//! Observes a connection that stoop's own server serves, and writes its lines of the log.
//!
//! The server knows nothing of the log. So a stream between it and the socket observes the bytes in
//! both directions and which end closes, and the handler reports each request and when its response
//! is complete. Together these make the same line that the scripted servers write. One request at a
//! time: the server must be configured to have one in flight.
//!
//! Bytes that a client sends behind a request before that is answered belong to the next line only if
//! they are a request, since the observer does not parse HTTP. Otherwise they, and the response that
//! the server itself gives to them, are in the line of the request before.
//!
//! Over HTTP/2 most of what a client sends is no request: there a line begins when the handler is
//! called, and ends with the content of its response, or when that is dropped because the stream was
//! reset.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::connection::{ByteStream, Disconnected};
use crate::log::EntryEnd;
use crate::log_line::LogLine;
use crate::origin::PREFACE;

/// The observer of one connection, shared by its stream, its handler and the content of responses.
pub(super) struct ConnectionObserver(Mutex<ObserverState>);

/// The version of HTTP that a client speaks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ClientVersion {
    /// This many bytes came, and they are the beginning of the preface of HTTP/2.
    Unknown(usize),
    Http1,
    Http2,
}

struct ObserverState {
    line: LogLine,
    version: ClientVersion,
    /// Bytes of a request came whose response has not ended.
    request_begun: bool,
    /// The response is the handler's; else it is one that the server gives by itself.
    from_handler: bool,
    /// The final status was sent.
    status_sent: bool,
    /// The status of the handler's response.
    status: u16,
    /// The server has all of the response: once that is sent, the exchange ends like this.
    complete: Option<EntryEnd>,
    /// The handler of the next request, which waits for that.
    next_handler: Option<Waker>,
    /// Our direction has ended, and what still comes is ignored.
    write_closed: bool,
    /// Bytes came since the server last waited for more.
    received_since_wait: bool,
}

impl ConnectionObserver {
    pub(super) fn new(line: LogLine) -> Arc<Self> {
        Arc::new(Self(Mutex::new(ObserverState {
            line,
            version: ClientVersion::Unknown(0),
            request_begun: false,
            from_handler: false,
            status_sent: false,
            status: 0,
            complete: None,
            next_handler: None,
            write_closed: false,
            received_since_wait: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, ObserverState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reports that the head of a request is complete. Ready once the response before it is sent, as
    /// far as the kernel: to a client that does not wait for responses the server sends several
    /// together, and then their bytes could not be told apart.
    pub(super) fn poll_request(&self, target: &str, cx: &Context<'_>) -> Poll<()> {
        let state = &mut *self.state();
        if state.complete.is_some() {
            state.next_handler = Some(cx.waker().clone());
            return Poll::Pending;
        }
        state.line.head(target, state.version == ClientVersion::Http2);
        state.request_begun = true;
        Poll::Ready(())
    }

    /// Reports which URL the request is for, and which host it named.
    pub(super) fn about(&self, url: Option<u64>, host: &str) {
        self.state().line.about(url, host);
    }

    /// Reports the response of the handler; `complete` if it has no content whose end will be reported.
    pub(super) fn response_started(&self, status: u16, complete: Option<EntryEnd>) {
        let state = &mut *self.state();
        (state.from_handler, state.status, state.complete) = (true, status, complete);
    }

    /// Reports that the server has all of the content, and nothing of it is left to be framed.
    pub(super) fn content_ended(&self) {
        self.state().complete = Some(EntryEnd::Complete);
    }

    /// Reports that the server has the last piece of content with a length: over HTTP/1 nothing is sent
    /// after that, over HTTP/2 it may wait for a window.
    pub(super) fn last_piece_taken(&self) {
        let state = &mut *self.state();
        if state.version != ClientVersion::Http2 {
            state.complete = Some(EntryEnd::Complete);
        }
    }

    /// Reports that the server has asked for more than the last piece: over HTTP/2 it has framed that.
    pub(super) fn polled_after_last_piece(&self) {
        let state = &mut *self.state();
        if state.version == ClientVersion::Http2 {
            state.complete = Some(EntryEnd::Complete);
        }
    }

    /// Reports that the request or its content was dropped. Over HTTP/2 that ends the exchange, and the
    /// connection goes on: the client has reset the stream, or it was silent and is given up.
    fn dropped(&self) {
        let state = &mut *self.state();
        if state.version == ClientVersion::Http2
            && state.request_begun
            && state.complete.is_none()
            && !state.write_closed
        {
            state.end(if state.received_since_wait {
                EntryEnd::ClientReset
            } else {
                EntryEnd::TimedOut
            });
        }
    }

    /// Reports that the server has closed. An exchange that had not ended by then was given up.
    pub(super) fn server_closed(&self) {
        let state = &mut *self.state();
        if !state.request_begun {
            state.line.unused();
        }
        state.line.end(EntryEnd::TimedOut);
    }

    fn received(&self, bytes: &[u8]) {
        let state = &mut *self.state();
        state.received_since_wait = true;
        if let ClientVersion::Unknown(n) = state.version {
            state.version = version(n, bytes);
            // The bytes that were taken for the beginning of a request were the preface.
            state.request_begun &= state.version != ClientVersion::Http2;
        }
        if !state.write_closed && state.version != ClientVersion::Http2 {
            state.request_begun = true;
            state.line.begin();
        }
    }

    /// Records that the client ended its direction.
    fn client_closed(&self) {
        let state = &mut *self.state();
        if !state.request_begun {
            state.line.unused();
        }
        state.line.end(EntryEnd::ClientClosed);
    }

    fn failed(&self, error: &io::Error) {
        let Disconnected(ended) = Disconnected::from(error);
        self.state().line.end(ended);
    }

    /// Records that the first `n` of `bytes`, or more, were taken by the kernel.
    fn sent(&self, bytes: &[u8], n: usize) {
        let state = &mut *self.state();
        state.line.sent(n);
        if state.status_sent {
            return;
        }
        let status = match state.version {
            ClientVersion::Http2 => state.from_handler.then_some(state.status),
            _ => status(bytes),
        };
        let Some(status) = status else { return };
        state.line.status(status);
        state.status_sent = status >= 200;
        if state.status_sent && !state.from_handler {
            state.complete = Some(match status {
                408 => EntryEnd::TimedOut,
                500 => EntryEnd::Failed,
                _ => EntryEnd::BadRequest,
            });
        }
    }

    /// Records that the kernel has all that the server has sent.
    fn flushed(&self) {
        let state = &mut *self.state();
        if let Some(ended) = state.complete.take() {
            state.end(ended);
        }
    }
}

impl ObserverState {
    /// Ends the exchange; another may begin.
    fn end(&mut self, ended: EntryEnd) {
        self.line.end(ended);
        (self.request_begun, self.from_handler, self.status_sent) = (false, false, false);
        self.next_handler.take().into_iter().for_each(Waker::wake);
    }
}

/// A request that the handler has, or the content of its response. Over HTTP/2 an exchange ends when
/// this is dropped.
pub(super) struct ObservedRequest(pub(super) Arc<ConnectionObserver>);

impl Drop for ObservedRequest {
    fn drop(&mut self) {
        self.0.dropped();
    }
}

/// The version that `bytes` show, behind `n` bytes of the preface.
fn version(n: usize, bytes: &[u8]) -> ClientVersion {
    let rest = &PREFACE[n..];
    let same = bytes.iter().zip(rest).take_while(|(came, wanted)| came == wanted).count();
    match same {
        _ if same == rest.len() => ClientVersion::Http2,
        _ if same == bytes.len() => ClientVersion::Unknown(n + same),
        _ => ClientVersion::Http1,
    }
}

/// The status in a head that `bytes` begin with.
fn status(bytes: &[u8]) -> Option<u16> {
    let digits = bytes.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The stream of an observed connection.
pub(super) struct ObservedStream<S> {
    stream: S,
    /// Bytes that were received before the server took over.
    received_ahead: Vec<u8>,
    observer: Arc<ConnectionObserver>,
}

impl<S> ObservedStream<S> {
    pub(super) fn new(
        stream: S,
        received_ahead: Vec<u8>,
        observer: Arc<ConnectionObserver>,
    ) -> Self {
        Self { stream, received_ahead, observer }
    }

    fn wrote(&self, bytes: &[u8], wrote: &io::Result<usize>) {
        match wrote {
            Ok(n) => self.observer.sent(bytes, *n),
            Err(error) => self.observer.failed(error),
        }
    }
}

impl<S> Drop for ObservedStream<S> {
    /// A request that the server drops after its stream was not given up: the connection is over.
    fn drop(&mut self) {
        self.observer.state().write_closed = true;
    }
}

impl<S: ByteStream> AsyncRead for ObservedStream<S> {
    /// A client that closes, even its sending half alone, counts as disconnected at once: HTTP clients
    /// do not half-close, the log must say when it was, and nothing more need be sent.
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = into.filled().len();
        if this.received_ahead.is_empty() {
            let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, into) else {
                this.observer.state().received_since_wait = false;
                return Poll::Pending;
            };
            read.inspect_err(|error| this.observer.failed(error))?;
        } else {
            let n = this.received_ahead.len().min(into.remaining());
            into.put_slice(&this.received_ahead[..n]);
            this.received_ahead.drain(..n);
            if this.received_ahead.is_empty() {
                this.received_ahead = Vec::new();
            }
        }
        if into.filled().len() > before {
            this.observer.received(&into.filled()[before..]);
            return Poll::Ready(Ok(()));
        }
        this.observer.client_closed();
        Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()))
    }
}

impl<S: ByteStream> AsyncWrite for ObservedStream<S> {
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
            Ok(()) => this.observer.flushed(),
            Err(error) => this.observer.failed(error),
        }
        Poll::Ready(flushed)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        this.observer.state().write_closed = true;
        Pin::new(&mut this.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests;
