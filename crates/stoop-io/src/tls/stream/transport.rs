//! Implements the contract of a transport for a TLS session.

use std::io::{self, Read};
use std::net::SocketAddr;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use socket2::SockRef;

use super::super::error::TlsError;
use super::super::limits::{
    IDLE_READ_BYTES, IDLE_READS_MAX, OPEN_SESSION_BYTES_MAX, SEALED_BYTES_MAX,
};
use super::ciphertext::ciphertext;
use super::{SessionPhase, Tls};
use crate::any_transport::AnyTransport;
use crate::output::Output;
use crate::transport::{FillResult, Liveness, LivenessCheck, PeerAddress, Transport};

impl Transport for Tls {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<FillResult>> {
        loop {
            if let Some(filled) = self.announce(room) {
                return Poll::Ready(Ok(filled));
            }
            ready!(self.poll_handshake(cx))?;
            // The peer's first bytes may have come, and been taken in, with the handshake's last.
            if self.plaintext.len() > self.announced {
                continue;
            }
            if self.peer_closed {
                return Poll::Ready(Ok(FillResult::End));
            }
            if !ciphertext(&mut self.inner, &mut self.ciphertext_copy).is_empty() {
                if let Err(error) = self.process_input() {
                    self.fail(&error);
                }
                if self.plaintext.len() > self.announced || self.peer_closed || self.is_failed() {
                    continue;
                }
            }
            // Tickets and the like must not wait for the first response when there is no request.
            if !self.sealed.is_empty()
                && let Poll::Ready(Err(error)) = self.inner.poll_flush(cx, &mut self.sealed)
            {
                return Poll::Ready(Err(error));
            }
            match ready!(self.poll_ciphertext(cx))? {
                FillResult::Bytes(_) => {}
                FillResult::End => return Poll::Ready(Err(truncated())),
                FillResult::Full => self.fail_with(TlsError::too_large(self.peer_name())),
            }
        }
    }

    fn received(&self) -> &[u8] {
        &self.plaintext.received()[..self.announced]
    }

    fn consume(&mut self, n: usize) {
        assert!(n <= self.announced, "consumed more than was received");
        self.announced -= n;
        self.plaintext.consume(n);
    }

    fn take(&mut self, n: usize) -> Bytes {
        assert!(n <= self.announced, "took more than was received");
        self.announced -= n;
        self.plaintext.take(n)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        self.poll_seal(cx, out, false)
    }

    fn poll_flush_last(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        self.poll_seal(cx, out, true)
    }

    fn unsent(&self) -> usize {
        self.sealed.len() + self.inner.unsent()
    }

    fn held(&self) -> usize {
        self.sealed.held() + self.inner.held()
    }

    fn unacknowledged(&self) -> usize {
        self.inner.unacknowledged()
    }

    fn overhead(&self) -> u64 {
        self.overhead
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.seal_close_notify();
        ready!(self.inner.poll_flush_last(cx, &mut self.sealed))?;
        self.inner.poll_shutdown(cx)
    }

    /// Readable ciphertext may be a ticket or a key update, which say nothing about the session's
    /// fitness: it is decrypted, and only plaintext or an end counts.
    fn liveness(&mut self, look: LivenessCheck) -> Liveness {
        if self.peer_closed || self.is_failed() {
            Liveness::Dead
        } else if !self.plaintext.is_empty() {
            Liveness::Readable
        } else {
            self.idle_liveness(look)
        }
    }

    fn has_failed(&self) -> bool {
        self.is_failed() || self.inner.has_failed()
    }

    fn peer(&self) -> PeerAddress {
        self.inner.peer()
    }

    fn local(&self) -> Option<SocketAddr> {
        self.inner.local()
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.machine.state().alpn_protocol()
    }
}

impl Tls {
    /// Seals and sends all of `out`, and our close_notify behind it if this is the last flush.
    fn poll_seal(
        &mut self,
        cx: &mut Context<'_>,
        out: &mut Output,
        last: bool,
    ) -> Poll<io::Result<()>> {
        ready!(self.poll_handshake(cx))?;
        out.refuse_files()?;
        if self.close_notify_queued && !out.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        loop {
            while !out.is_empty() && self.sealed.len() < SEALED_BYTES_MAX {
                if let Err(error) = self.seal(Some(out)) {
                    self.fail(&error);
                    return self.poll_handshake(cx).map_err(Into::into);
                }
            }
            if last && out.is_empty() {
                self.seal_close_notify();
            }
            let flushed = match last && out.is_empty() {
                true => self.inner.poll_flush_last(cx, &mut self.sealed),
                false => self.inner.poll_flush(cx, &mut self.sealed),
            };
            ready!(flushed)?;
            if out.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    /// Seals our close_notify, once.
    fn seal_close_notify(&mut self) {
        if let SessionPhase::Open = self.phase
            && !self.close_notify_queued
        {
            self.close_notify_queued = true;
            if let Err(error) = self.seal(None) {
                self.fail(&error);
            }
        }
    }

    /// Announces as much of the plaintext as the caller has room for.
    fn announce(&mut self, room: usize) -> Option<FillResult> {
        if self.announced >= room {
            return Some(FillResult::Full);
        }
        let more = self.plaintext.len().min(room) - self.announced;
        self.announced += more;
        (more > 0).then_some(FillResult::Bytes(more))
    }

    /// Reads what the kernel has and the event loop may not have noticed yet. `None`: nothing.
    fn take_from_kernel(&mut self) -> io::Result<Option<usize>> {
        let mut bytes = [0; IDLE_READ_BYTES];
        let read = match &self.inner {
            AnyTransport::Tcp(tcp) => (&*SockRef::from(tcp)).read(&mut bytes),
            AnyTransport::Unix(unix) => (&*SockRef::from(unix)).read(&mut bytes),
            AnyTransport::Tls(_) | AnyTransport::Custom(_) => return Ok(None),
        };
        match read {
            Ok(n) => {
                ciphertext(&mut self.inner, &mut self.ciphertext_copy).append(&bytes[..n]);
                Ok(Some(n))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Decrypts what came while the session was idle, and says what that makes of it.
    fn idle_liveness(&mut self, look: LivenessCheck) -> Liveness {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..IDLE_READS_MAX {
            match self.inner.liveness(look) {
                Liveness::Readable => {}
                other => return other,
            }
            let more = match look {
                LivenessCheck::Cached => None,
                LivenessCheck::Kernel => match self.take_from_kernel() {
                    Ok(Some(0)) | Err(_) => return Liveness::Dead,
                    Ok(more) => more,
                },
            };
            let filled = self.poll_fill(&mut cx, OPEN_SESSION_BYTES_MAX);
            // Looking is not receiving: the next `poll_fill` announces these bytes.
            self.announced = 0;
            match filled {
                Poll::Pending if more.is_none() => return Liveness::Quiet,
                Poll::Pending => {}
                Poll::Ready(Ok(FillResult::Bytes(_) | FillResult::Full)) => {
                    return Liveness::Readable;
                }
                Poll::Ready(Ok(FillResult::End) | Err(_)) => return Liveness::Dead,
            }
        }
        Liveness::Dead
    }
}

/// The error of a stream that ended without close_notify.
#[cold]
fn truncated() -> io::Error {
    let text = "the TLS stream ended without close_notify: what came may be incomplete";
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
