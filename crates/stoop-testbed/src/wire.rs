//! One accepted connection: requests in, bytes out, and every wait watches for the client's end.
//!
//! Generic over the byte stream, so that every behaviour runs over TCP and TLS alike.

mod incoming;

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::body;
use crate::line::Line;
use crate::log::Ended;

/// What a behaviour runs on.
pub(crate) trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

/// A connection without a request in progress is closed after this long.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(30);

/// A request must have come completely this long after its first byte.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(60);

/// A client that takes no bytes is given up after this long.
pub(crate) const STALL_MAX: Duration = Duration::from_secs(60);

/// The longest that a hang hangs: longer than any test, shorter than for ever.
pub(crate) const HANG_MAX: Duration = Duration::from_secs(600);

/// After an answer that closes, this long and this much is read, so that no RST destroys it.
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(1);
const LINGER_BYTES_MAX: usize = 256 * 1024;

/// Bytes a client may send ahead while it waits.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// Room for one receive: most requests are smaller.
const RECEIVE_BYTES: usize = 1024;

/// Heads and small bodies leave together, up to this size.
const TOGETHER_BYTES_MAX: usize = 16 * 1024;

/// The connection is over, for a reason that was not planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone(pub(crate) Ended);

impl From<io::Error> for Gone {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&io::Error> for Gone {
    fn from(error: &io::Error) -> Self {
        use stoop_io::TlsErrorKind as Tls;
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<stoop_io::TlsError>());
        let kind = match tls.map(stoop_io::TlsError::kind) {
            None => error.kind(),
            Some(Tls::Io(kind)) => kind,
            Some(Tls::Closed) => io::ErrorKind::UnexpectedEof,
            Some(_) => return Self(Ended::HandshakeFailed),
        };
        Self(match kind {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Ended::ClientReset,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::NotConnected => Ended::ClientClosed,
            _ => Ended::Failed,
        })
    }
}

/// An accepted connection and its line in the log.
pub(crate) struct Wire<S> {
    stream: S,
    pub(crate) line: Line,
    /// Received and not yet consumed.
    inbox: Vec<u8>,
    /// What goes out with the next [`Wire::flush`].
    out: Vec<u8>,
}

impl<S: Stream> Wire<S> {
    pub(crate) fn new(stream: S, line: Line) -> Self {
        Self { stream, line, inbox: Vec::new(), out: Vec::new() }
    }

    /// What it runs on.
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// What it runs on, its line, and what was received and not consumed: for another to go on.
    pub(crate) fn into_parts(self) -> (S, Line, Vec<u8>) {
        (self.stream, self.line, self.inbox)
    }

    /// Waits for more bytes, or the client's end.
    pub(crate) async fn receive(&mut self, until: Instant) -> Result<(), Gone> {
        self.inbox.reserve(RECEIVE_BYTES);
        match timeout_at(until, self.stream.read_buf(&mut self.inbox)).await {
            Ok(Ok(0)) => Err(Gone(Ended::ClientClosed)),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Gone(Ended::TimedOut)),
        }
    }

    /// Waits, and notices at once if the client closes meanwhile. A client that shuts down only its
    /// sending half is taken for gone: HTTP clients do not do that.
    pub(crate) async fn pause(&mut self, length: Duration) -> Result<(), Gone> {
        if length.is_zero() {
            return Ok(());
        }
        self.flush().await?;
        let until = Instant::now() + length;
        while self.inbox.len() < AHEAD_BYTES_MAX {
            match self.receive(until).await {
                Ok(()) => {}
                Err(Gone(Ended::TimedOut)) => return Ok(()),
                Err(gone) => return Err(gone),
            }
        }
        tokio::time::sleep_until(until).await;
        Ok(())
    }

    /// Takes whatever comes and never does anything again: ends when the client does.
    pub(crate) async fn hang(&mut self) -> Gone {
        let until = Instant::now() + HANG_MAX;
        if let Err(gone) = self.flush().await {
            return gone;
        }
        loop {
            self.inbox.clear();
            if let Err(gone) = self.receive(until).await {
                return gone;
            }
        }
    }

    /// Waits for the first bytes of whatever the client sends, and forgets them.
    pub(crate) async fn swallow(&mut self) -> Result<(), Gone> {
        if self.inbox.is_empty() {
            self.receive(Instant::now() + IDLE_MAX).await?;
        }
        self.inbox.clear();
        Ok(())
    }

    /// Appends to what goes out next.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// The buffer behind [`Wire::put`], to format into.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Hands what was put to the kernel.
    pub(crate) async fn flush(&mut self) -> Result<(), Gone> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let sent = self.send(&out).await;
        self.out = out;
        self.out.clear();
        sent
    }

    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Gone> {
        let until = Instant::now() + STALL_MAX;
        while !bytes.is_empty() {
            let written = timeout_at(until, self.stream.write(bytes)).await;
            let n = written.map_err(|_| Gone(Ended::TimedOut))??;
            if n == 0 {
                return Err(Gone(Ended::ClientClosed));
            }
            self.line.sent(n);
            bytes = &bytes[n..];
        }
        timeout_at(until, self.stream.flush()).await.map_err(|_| Gone(Ended::TimedOut))??;
        Ok(())
    }

    /// Sends `length` bytes of the body from `offset` on, behind what was put.
    pub(crate) async fn body(&mut self, offset: u64, length: u64) -> Result<(), Gone> {
        let (mut at, end) = (offset, offset.saturating_add(length));
        let room = TOGETHER_BYTES_MAX.saturating_sub(self.out.len()) as u64;
        while at < end.min(offset + room) {
            let piece = body::piece(at, end.min(offset + room) - at);
            self.out.extend_from_slice(piece);
            at += piece.len() as u64;
        }
        self.flush().await?;
        while at < end {
            let piece = body::piece(at, end - at);
            self.send(piece).await?;
            at += piece.len() as u64;
        }
        Ok(())
    }

    /// Sends a body of `length` bytes in chunks, without the last, empty chunk.
    pub(crate) async fn chunks(&mut self, length: u64) -> Result<(), Gone> {
        let (whole, payload) = body::whole_chunk();
        let rest = length % payload;
        if length >= payload {
            self.flush().await?;
            for _ in 0..length / payload {
                self.send(whole).await?;
            }
        }
        if rest > 0 {
            self.put(format!("{rest:x}\r\n").as_bytes());
            self.body(0, rest).await?;
            self.put(b"\r\n");
        }
        Ok(())
    }

    /// Ends our direction and waits a little for the client to end its own: what was sent arrives.
    pub(crate) async fn finish(&mut self, ended: Ended) -> Result<(), Gone> {
        self.flush().await?;
        self.line.end(ended);
        self.stream.shutdown().await?;
        let until = Instant::now() + LINGER_MAX;
        let mut lingered = 0;
        while lingered < LINGER_BYTES_MAX {
            self.inbox.clear();
            self.receive(until).await?;
            lingered += self.inbox.len();
        }
        Ok(())
    }
}
