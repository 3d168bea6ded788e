//! A TLS session over another transport, as a transport.

use std::io::{self, Read};
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use rustls::{HandshakeKind, ProtocolVersion};
use socket2::SockRef;

use super::error::TlsError;
use super::machine::{Machine, Turn, Want};
use crate::buffer::{CHUNK, Inbox};
use crate::output::Output;
use crate::transport::{AnyTransport, Filled, Liveness, Look, Peer, Transport};

/// Ciphertext that may wait during the handshake of a peer that shows a certificate: the largest
/// message TLS allows for (64 KiB), and what is around it. A buffer grows to it only as bytes come.
pub(super) const CERTIFICATE_BYTES_MAX: usize = 80 * 1024;

/// The same for a client that is not asked for a certificate: a full record, and some.
pub(super) const HELLO_BYTES_MAX: usize = 20 * 1024;

/// Ciphertext that may wait in an open session: a full record and most of the next.
const OPEN_BYTES_MAX: usize = 32 * 1024;

/// Buffers of ciphertext that are thrown away after a failure, so that closing does not send RST.
const DRAINED_FILLS_MAX: usize = 4;

/// Reads of what came to an idle session, after which it is rather too much to be tickets.
const LOOKS_MAX: usize = 8;

/// Sealed bytes from which on nothing more is sealed before they are sent.
const SEALED_BYTES_MAX: usize = 16 * 1024;

/// The version of TLS that was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    V1_2,
    /// TLS 1.3, RFC 8446.
    V1_3,
}

/// A TLS session over another transport.
///
/// [`Tls::poll_handshake`] comes first; the methods of [`Transport`] run it too, but can only report
/// its failure as an [`io::Error`] around the [`TlsError`].
///
/// A stream that ends without the peer's close_notify may have been cut short by anybody on the way
/// (RFC 9112 §9.8): then [`Transport::poll_fill`] fails with [`io::ErrorKind::UnexpectedEof`], while
/// [`Filled::End`] is the peer's own word. What came before stays to be consumed in both cases.
/// Likewise [`Transport::poll_shutdown`] says close_notify; merely dropping a session does not.
pub struct Tls {
    inner: AnyTransport,
    machine: Machine,
    /// Ciphertext of an `inner` that does not lend its own to be decrypted in place.
    copied: Inbox,
    /// Plaintext that was not consumed, of which `visible` bytes were announced: a record is taken
    /// in whole, however little room the caller has.
    plain: Inbox,
    visible: usize,
    /// Records on their way out.
    sealed: Output,
    phase: Phase,
    /// The peer's close_notify came.
    ended: bool,
    /// Ours went out.
    closing: bool,
}

enum Phase {
    Handshake {
        /// The peer's name, for errors.
        peer: Box<str>,
        /// Ciphertext that may wait.
        bytes_max: usize,
    },
    Open,
    Failed(Box<Failure>),
}

struct Failure {
    error: TlsError,
    /// The alert is sent, or cannot be.
    told: bool,
}

impl Tls {
    pub(super) fn new(inner: AnyTransport, machine: Machine, peer: &str, bytes_max: usize) -> Self {
        Self {
            inner,
            machine,
            copied: Inbox::default(),
            plain: Inbox::default(),
            visible: 0,
            sealed: Output::default(),
            phase: Phase::Handshake { peer: peer.into(), bytes_max },
            ended: false,
            closing: false,
        }
    }

    /// Drives the handshake to its end; ready at once if it has ended before.
    ///
    /// # Errors
    /// The session is then over, and the peer has been sent the alert that says why, where one is
    /// due. Calling again repeats the error.
    pub fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TlsError>> {
        loop {
            match &self.phase {
                Phase::Open => return Poll::Ready(Ok(())),
                Phase::Failed(_) => return self.poll_fail(cx),
                Phase::Handshake { .. } => {}
            }
            if let Err(error) = self.take_in() {
                self.fail(&error);
                continue;
            }
            let done = !self.machine.state().is_handshaking();
            if done && self.owes_only_tickets() {
                self.phase = Phase::Open;
                continue;
            }
            match self.inner.poll_flush(cx, &mut self.sealed) {
                Poll::Ready(Err(error)) => {
                    self.end(TlsError::io(&error));
                    continue;
                }
                Poll::Ready(Ok(())) if done => {
                    self.phase = Phase::Open;
                    continue;
                }
                Poll::Pending if done => return Poll::Pending,
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
            match ready!(self.poll_ciphertext(cx)) {
                Ok(Filled::Bytes(_)) => {}
                Ok(Filled::End) => self.end(TlsError::closed(self.peer_name())),
                Ok(Filled::Full) => self.end(TlsError::too_large(self.peer_name())),
                Err(error) => self.end(TlsError::io(&error)),
            }
        }
    }

    /// The version agreed on, once the handshake is done.
    pub fn version(&self) -> Option<TlsVersion> {
        match self.machine.state().protocol_version()? {
            ProtocolVersion::TLSv1_2 => Some(TlsVersion::V1_2),
            ProtocolVersion::TLSv1_3 => Some(TlsVersion::V1_3),
            _ => None,
        }
    }

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.machine.state().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The certificate that the peer showed, as DER, once the handshake is done.
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        self.machine.state().peer_certificates()?.first().map(|certificate| certificate.as_ref())
    }

    /// Moves the connection to the runtime this is called on; what was received stays.
    pub fn rehome(mut self) -> io::Result<Self> {
        self.inner = self.inner.rehome()?;
        Ok(self)
    }

    /// In TLS 1.3 the client has the last word of the handshake; the tickets that a server goes on
    /// to send can leave with its first answer.
    fn owes_only_tickets(&self) -> bool {
        matches!(self.machine, Machine::Server(_)) && self.version() == Some(TlsVersion::V1_3)
    }

    fn is_failed(&self) -> bool {
        matches!(self.phase, Phase::Failed(_))
    }

    fn peer_name(&self) -> &str {
        match &self.phase {
            Phase::Handshake { peer, .. } => peer,
            Phase::Open | Phase::Failed(_) => "the peer",
        }
    }

    /// Takes turns over the ciphertext that is there, up to plaintext, an end, or its exhaustion.
    fn take_in(&mut self) -> Result<(), rustls::Error> {
        loop {
            match self.turn(Want::Receive) {
                Turn::Again => {}
                Turn::Plain if self.next_fits() => {}
                Turn::Plain | Turn::Blocked | Turn::Open => return Ok(()),
                Turn::Ended => {
                    self.ended = true;
                    return Ok(());
                }
                Turn::Failed(error) => return Err(error),
            }
        }
    }

    /// Seals one record of `out`, or without it our close_notify.
    fn seal(&mut self, mut out: Option<&mut Output>) -> Result<(), rustls::Error> {
        loop {
            let want = match &mut out {
                Some(out) => Want::Seal(out),
                None => Want::CloseNotify,
            };
            match self.turn(want) {
                Turn::Again | Turn::Plain => {}
                Turn::Ended => self.ended = true,
                Turn::Open => return Ok(()),
                Turn::Blocked => return Err(rustls::Error::HandshakeNotComplete),
                Turn::Failed(error) => return Err(error),
            }
        }
    }

    fn turn(&mut self, want: Want<'_>) -> Turn {
        let ciphertext = ciphertext(&mut self.inner, &mut self.copied);
        let input = ciphertext.received_mut();
        let (done, turn) = self.machine.turn(input, &mut self.plain, &mut self.sealed, want);
        ciphertext.consume(done);
        turn
    }

    /// Whether the next record is complete, and small enough to share a buffer with the plaintext
    /// before it. Larger ones are better decrypted when the caller is done with this.
    fn next_fits(&mut self) -> bool {
        match ciphertext(&mut self.inner, &mut self.copied).received() {
            &[_, _, _, high, low, ref rest @ ..] => {
                let len = usize::from(u16::from_be_bytes([high, low]));
                len <= rest.len() && self.plain.len() + len <= CHUNK
            }
            _ => false,
        }
    }

    /// Waits for ciphertext.
    fn poll_ciphertext(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Filled>> {
        let max = match &self.phase {
            Phase::Handshake { bytes_max, .. } => *bytes_max,
            Phase::Open | Phase::Failed(_) => OPEN_BYTES_MAX,
        };
        let room = max.saturating_sub(self.copied.len());
        let filled = ready!(self.inner.poll_fill(cx, room))?;
        if !lends(&self.inner) {
            self.copied.append(self.inner.received());
            self.inner.consume(self.inner.received().len());
        }
        Poll::Ready(Ok(filled))
    }

    /// Shows the caller as much of the plaintext as it has room for.
    fn reveal(&mut self, room: usize) -> Option<Filled> {
        if self.visible >= room {
            return Some(Filled::Full);
        }
        let more = self.plain.len().min(room) - self.visible;
        self.visible += more;
        (more > 0).then_some(Filled::Bytes(more))
    }

    /// Ends the session over what the peer sent, and queues the alert that tells it.
    #[cold]
    fn fail(&mut self, error: &rustls::Error) {
        let input = ciphertext(&mut self.inner, &mut self.copied).received();
        let peer = match &self.phase {
            Phase::Handshake { peer, .. } => peer,
            Phase::Open | Phase::Failed(_) => "the peer",
        };
        let error = TlsError::explain(error, peer, input);
        // Not one turn more than there are alerts: it would look at the offending record again.
        while self.machine.state().wants_write() {
            if let Turn::Failed(_) = self.turn(Want::Receive) {
                break;
            }
        }
        self.end(error);
    }

    #[cold]
    fn end(&mut self, error: TlsError) {
        self.phase = Phase::Failed(Box::new(Failure { error, told: false }));
    }

    /// Sends the alert that is queued for the peer, then tells the caller.
    #[cold]
    fn poll_fail(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TlsError>> {
        let Phase::Failed(failure) = &mut self.phase else { return Poll::Ready(Ok(())) };
        if !failure.told {
            let _ = ready!(self.inner.poll_flush(cx, &mut self.sealed));
            failure.told = true;
            self.sealed.clear();
            self.copied.consume(self.copied.len());
            // Closing a socket with unread bytes makes the kernel send RST, which can overtake the
            // alert: take what is there already.
            for _ in 0..DRAINED_FILLS_MAX {
                self.inner.consume(self.inner.received().len());
                if !matches!(self.inner.poll_fill(cx, CHUNK), Poll::Ready(Ok(Filled::Bytes(_)))) {
                    break;
                }
            }
        }
        Poll::Ready(Err(failure.error.clone()))
    }

    /// Reads what the kernel has and the event loop may not have noticed yet. `None`: nothing.
    fn take_from_kernel(&mut self) -> io::Result<Option<usize>> {
        let mut bytes = [0; 4096];
        let read = match &self.inner {
            AnyTransport::Tcp(tcp) => (&*SockRef::from(tcp)).read(&mut bytes),
            AnyTransport::Unix(unix) => (&*SockRef::from(unix)).read(&mut bytes),
            AnyTransport::Tls(_) | AnyTransport::Custom(_) => return Ok(None),
        };
        match read {
            Ok(n) => {
                ciphertext(&mut self.inner, &mut self.copied).append(&bytes[..n]);
                Ok(Some(n))
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes in what came while nobody waited for anything.
    fn look(&mut self, look: Look) -> Liveness {
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..LOOKS_MAX {
            match self.inner.liveness(look) {
                Liveness::Readable => {}
                other => return other,
            }
            let more = match look {
                Look::Cached => None,
                Look::Kernel => match self.take_from_kernel() {
                    Ok(Some(0)) | Err(_) => return Liveness::Dead,
                    Ok(more) => more,
                },
            };
            let filled = self.poll_fill(&mut cx, OPEN_BYTES_MAX);
            // Looking is not receiving: who fills next is told of these bytes.
            self.visible = 0;
            match filled {
                Poll::Pending if more.is_none() => return Liveness::Quiet,
                Poll::Pending => {}
                Poll::Ready(Ok(Filled::Bytes(_) | Filled::Full)) => return Liveness::Readable,
                Poll::Ready(Ok(Filled::End) | Err(_)) => return Liveness::Dead,
            }
        }
        Liveness::Dead
    }
}

/// Whether `inner` lends its receive buffer to be decrypted in.
fn lends(inner: &AnyTransport) -> bool {
    matches!(inner, AnyTransport::Tcp(_) | AnyTransport::Unix(_))
}

/// Where the ciphertext is.
fn ciphertext<'a>(inner: &'a mut AnyTransport, copied: &'a mut Inbox) -> &'a mut Inbox {
    match inner {
        AnyTransport::Tcp(tcp) => tcp.inbox(),
        AnyTransport::Unix(unix) => unix.inbox(),
        AnyTransport::Tls(_) | AnyTransport::Custom(_) => copied,
    }
}

impl Transport for Tls {
    fn poll_fill(&mut self, cx: &mut Context<'_>, room: usize) -> Poll<io::Result<Filled>> {
        loop {
            if let Some(filled) = self.reveal(room) {
                return Poll::Ready(Ok(filled));
            }
            ready!(self.poll_handshake(cx))?;
            if self.ended {
                return Poll::Ready(Ok(Filled::End));
            }
            if !ciphertext(&mut self.inner, &mut self.copied).is_empty() {
                if let Err(error) = self.take_in() {
                    self.fail(&error);
                }
                if self.plain.len() > self.visible || self.ended || self.is_failed() {
                    continue;
                }
            }
            // Tickets and the like must not wait for the first answer when there is no request.
            if !self.sealed.is_empty()
                && let Poll::Ready(Err(error)) = self.inner.poll_flush(cx, &mut self.sealed)
            {
                return Poll::Ready(Err(error));
            }
            match ready!(self.poll_ciphertext(cx))? {
                Filled::Bytes(_) => {}
                Filled::End => return Poll::Ready(Err(truncated())),
                Filled::Full => self.end(TlsError::too_large(self.peer_name())),
            }
        }
    }

    fn received(&self) -> &[u8] {
        &self.plain.received()[..self.visible]
    }

    fn consume(&mut self, n: usize) {
        assert!(n <= self.visible, "consumed more than was received");
        self.visible -= n;
        self.plain.consume(n);
    }

    fn take(&mut self, n: usize) -> Bytes {
        assert!(n <= self.visible, "took more than was received");
        self.visible -= n;
        self.plain.take(n)
    }

    fn poll_flush(&mut self, cx: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        ready!(self.poll_handshake(cx))?;
        if self.closing && !out.is_empty() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        loop {
            while !out.is_empty() && self.sealed.len() < SEALED_BYTES_MAX {
                if let Err(error) = self.seal(Some(out)) {
                    self.fail(&error);
                    return self.poll_handshake(cx).map_err(Into::into);
                }
            }
            ready!(self.inner.poll_flush(cx, &mut self.sealed))?;
            if out.is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }

    fn unsent(&self) -> usize {
        self.sealed.len() + self.inner.unsent()
    }

    fn poll_shutdown(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Phase::Open = self.phase
            && !self.closing
        {
            self.closing = true;
            if let Err(error) = self.seal(None) {
                self.fail(&error);
            }
        }
        ready!(self.inner.poll_flush(cx, &mut self.sealed))?;
        self.inner.poll_shutdown(cx)
    }

    /// Readable ciphertext may be a ticket or a key update, which say nothing about the session's
    /// fitness: it is taken in, and only plaintext or an end counts.
    fn liveness(&mut self, look: Look) -> Liveness {
        if self.ended || self.is_failed() {
            Liveness::Dead
        } else if !self.plain.is_empty() {
            Liveness::Readable
        } else {
            self.look(look)
        }
    }

    fn peer(&self) -> Peer {
        self.inner.peer()
    }

    fn alpn(&self) -> Option<&[u8]> {
        self.machine.state().alpn_protocol()
    }
}

/// The stream's end, in nobody's words.
#[cold]
fn truncated() -> io::Error {
    let text = "the TLS stream ended without close_notify: what came may be incomplete";
    io::Error::new(io::ErrorKind::UnexpectedEof, text)
}
