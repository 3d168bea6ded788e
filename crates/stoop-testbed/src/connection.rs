//! One accepted connection of a scripted server: requests in, bytes out, and every wait notices a
//! client that closes.
//!
//! It is generic over the byte stream, so that every behaviour runs over TCP and TLS alike.

mod incoming;

use std::io;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::time::{Instant, timeout_at};

use crate::body;
use crate::log::EntryEnd;
use crate::log_line::LogLine;

/// The byte stream of a connection.
pub(crate) trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// A connection without a request in progress is closed after this long.
pub(crate) const IDLE_MAX: Duration = Duration::from_secs(30);

/// A request must have come completely this long after its first byte.
pub(crate) const REQUEST_MAX: Duration = Duration::from_secs(60);

/// A client that takes no bytes is given up after this long.
pub(crate) const STALL_MAX: Duration = Duration::from_secs(60);

/// How long a hang lasts at most: longer than any test, shorter than for ever.
pub(crate) const HANG_MAX: Duration = Duration::from_secs(600);

/// How long is read after a response that closes, so that no RST destroys it.
pub(crate) const LINGER_MAX: Duration = Duration::from_secs(1);

/// Bytes that are read at most for the same reason.
const LINGER_BYTES_MAX: usize = 256 * 1024;

/// Bytes a client may send ahead while it waits.
const AHEAD_BYTES_MAX: usize = 64 * 1024;

/// Room for one receive: most requests are smaller.
const RECEIVE_BYTES: usize = 1024;

/// Heads and small bodies leave together, up to this size.
const TOGETHER_BYTES_MAX: usize = 16 * 1024;

/// The connection ended for a reason that was not planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Disconnected(pub(crate) EntryEnd);

impl From<io::Error> for Disconnected {
    fn from(error: io::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&io::Error> for Disconnected {
    fn from(error: &io::Error) -> Self {
        use stoop_io::TlsErrorKind as Tls;
        let tls = error.get_ref().and_then(|inner| inner.downcast_ref::<stoop_io::TlsError>());
        let kind = match tls.map(stoop_io::TlsError::kind) {
            None => error.kind(),
            Some(Tls::Io(kind)) => kind,
            Some(Tls::Closed) => io::ErrorKind::UnexpectedEof,
            Some(_) => return Self(EntryEnd::HandshakeFailed),
        };
        Self(match kind {
            io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => EntryEnd::ClientReset,
            io::ErrorKind::UnexpectedEof | io::ErrorKind::NotConnected => EntryEnd::ClientClosed,
            _ => EntryEnd::Failed,
        })
    }
}

/// An accepted connection and its line in the log.
pub(crate) struct OriginConnection<S> {
    stream: S,
    pub(crate) line: LogLine,
    /// Received and not yet consumed.
    buffer: Vec<u8>,
    /// Bytes to send with the next [`OriginConnection::flush`].
    out: Vec<u8>,
}

impl<S: ByteStream> OriginConnection<S> {
    pub(crate) fn new(stream: S, line: LogLine) -> Self {
        Self { stream, line, buffer: Vec::new(), out: Vec::new() }
    }

    /// The byte stream.
    pub(crate) fn stream(&self) -> &S {
        &self.stream
    }

    /// The byte stream, the line in the log, and what was received and not consumed, for another server
    /// to go on with.
    pub(crate) fn into_parts(self) -> (S, LogLine, Vec<u8>) {
        (self.stream, self.line, self.buffer)
    }

    /// Waits for more bytes.
    pub(crate) async fn receive(&mut self, until: Instant) -> Result<(), Disconnected> {
        self.buffer.reserve(RECEIVE_BYTES);
        match timeout_at(until, self.stream.read_buf(&mut self.buffer)).await {
            Ok(Ok(0)) => Err(Disconnected(EntryEnd::ClientClosed)),
            Ok(Ok(_)) => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => Err(Disconnected(EntryEnd::TimedOut)),
        }
    }

    /// Waits, and notices at once if the client closes meanwhile. A client that shuts down only its
    /// sending half counts as disconnected: HTTP clients do not do that.
    pub(crate) async fn pause(&mut self, length: Duration) -> Result<(), Disconnected> {
        if length.is_zero() {
            return Ok(());
        }
        self.flush().await?;
        let until = Instant::now() + length;
        while self.buffer.len() < AHEAD_BYTES_MAX {
            match self.receive(until).await {
                Ok(()) => {}
                Err(Disconnected(EntryEnd::TimedOut)) => return Ok(()),
                Err(disconnected) => return Err(disconnected),
            }
        }
        tokio::time::sleep_until(until).await;
        Ok(())
    }

    /// Reads and ignores all bytes and sends nothing, until the client disconnects.
    pub(crate) async fn hang(&mut self) -> Disconnected {
        let until = Instant::now() + HANG_MAX;
        if let Err(disconnected) = self.flush().await {
            return disconnected;
        }
        loop {
            self.buffer.clear();
            if let Err(disconnected) = self.receive(until).await {
                return disconnected;
            }
        }
    }

    /// Waits for the first bytes from the client, and forgets them.
    pub(crate) async fn discard_first(&mut self) -> Result<(), Disconnected> {
        if self.buffer.is_empty() {
            self.receive(Instant::now() + IDLE_MAX).await?;
        }
        self.buffer.clear();
        Ok(())
    }

    /// Appends to what goes out next.
    pub(crate) fn put(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }

    /// The buffer behind [`OriginConnection::put`], to format into.
    pub(crate) fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// Sends what was put.
    pub(crate) async fn flush(&mut self) -> Result<(), Disconnected> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let sent = self.send(&out).await;
        self.out = out;
        self.out.clear();
        sent
    }

    async fn send(&mut self, mut bytes: &[u8]) -> Result<(), Disconnected> {
        let until = Instant::now() + STALL_MAX;
        while !bytes.is_empty() {
            let written = timeout_at(until, self.stream.write(bytes)).await;
            let n = written.map_err(|_| Disconnected(EntryEnd::TimedOut))??;
            if n == 0 {
                return Err(Disconnected(EntryEnd::ClientClosed));
            }
            self.line.sent(n);
            bytes = &bytes[n..];
        }
        timeout_at(until, self.stream.flush())
            .await
            .map_err(|_| Disconnected(EntryEnd::TimedOut))??;
        Ok(())
    }

    /// Sends `length` bytes of the body from `offset` on, behind what was put.
    pub(crate) async fn body(&mut self, offset: u64, length: u64) -> Result<(), Disconnected> {
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
    pub(crate) async fn chunks(&mut self, length: u64) -> Result<(), Disconnected> {
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

    /// Ends our direction and waits a little for the client to end its own, so that what was sent
    /// arrives.
    pub(crate) async fn finish(&mut self, ended: EntryEnd) -> Result<(), Disconnected> {
        self.flush().await?;
        self.line.end(ended);
        self.stream.shutdown().await?;
        let until = Instant::now() + LINGER_MAX;
        let mut lingered = 0;
        while lingered < LINGER_BYTES_MAX {
            self.buffer.clear();
            self.receive(until).await?;
            lingered += self.buffer.len();
        }
        Ok(())
    }
}
