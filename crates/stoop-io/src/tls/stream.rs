//! A TLS session over another transport: its state, its handshake and its failure.

mod ciphertext;
mod steps;
mod transport;

use std::io;
use std::task::{Context, Poll, ready};

use rustls::{HandshakeKind, ProtocolVersion};

use self::ciphertext::ciphertext;
use super::error::TlsError;
use super::limits::DRAINED_FILLS_MAX;
use super::machine::{Goal, Machine, StepResult};
use super::peer_certificate::PeerCertificate;
use crate::any_transport::AnyTransport;
use crate::buffer::{CHUNK, ReceiveBuffer};
use crate::output::Output;
use crate::transport::{FillResult, Transport};

/// The version of TLS that was agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TlsVersion {
    /// TLS 1.2, RFC 5246.
    V1_2,
    /// TLS 1.3, RFC 8446.
    V1_3,
}

impl TlsVersion {
    /// What rustls has for it.
    pub(super) fn supported(self) -> &'static rustls::SupportedProtocolVersion {
        match self {
            Self::V1_2 => &rustls::version::TLS12,
            Self::V1_3 => &rustls::version::TLS13,
        }
    }
}

/// What a TLS handshake has agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsSession {
    /// The version.
    pub version: TlsVersion,
    /// The cipher suite, by its name in the registry of IANA (but for `13` in those of TLS 1.3):
    /// `TLS13_AES_256_GCM_SHA384`.
    pub cipher: &'static str,
    /// What ALPN has chosen, if it is a version of HTTP: `h2`, `http/1.1` or `http/1.0`.
    pub alpn: Option<&'static str>,
    /// Whether an earlier session was resumed, without certificates.
    pub is_resumed: bool,
}

/// A TLS session over another transport.
///
/// [`Tls::poll_handshake`] comes first; the methods of [`Transport`] run it too, but can only
/// report its failure as an [`io::Error`] around the [`TlsError`].
///
/// A stream that ends without the peer's close_notify may have been cut short by an attacker
/// on the way (RFC 9112 §9.8): then [`Transport::poll_fill`] fails with [`io::ErrorKind::UnexpectedEof`],
/// while [`FillResult::End`] says that the peer ended it. What came before stays to be consumed in both
/// cases. Likewise [`Transport::poll_shutdown`] sends close_notify; merely dropping a session does
/// not.
pub struct Tls {
    inner: AnyTransport,
    machine: Machine,
    /// A copy of the ciphertext of an `inner` that does not lend its buffer to be decrypted in place.
    ciphertext_copy: ReceiveBuffer,
    /// Plaintext that was not consumed, of which the caller knows of `announced` bytes: a record is
    /// decrypted as a whole, however little room the caller has.
    plaintext: ReceiveBuffer,
    announced: usize,
    /// Sealed records that wait to be sent.
    sealed: Output,
    /// How much longer what was sealed became.
    overhead: u64,
    phase: SessionPhase,
    /// What the peer has shown, where it was kept.
    kept_chain: Option<PeerCertificate>,
    /// The peer's close_notify came.
    peer_closed: bool,
    /// Ours was sealed.
    close_notify_queued: bool,
}

/// How far a session is.
enum SessionPhase {
    Handshake {
        /// The peer's name, for errors.
        peer: Box<str>,
        /// Ciphertext that may wait.
        bytes_max: usize,
    },
    Open,
    Failed(Box<SessionFailure>),
}

/// The error that ended a session.
struct SessionFailure {
    error: TlsError,
    /// The alert for the peer is sent, or cannot be.
    is_alert_sent: bool,
}

impl Tls {
    pub(super) fn new(inner: AnyTransport, machine: Machine, peer: &str, bytes_max: usize) -> Self {
        Self {
            inner,
            machine,
            ciphertext_copy: ReceiveBuffer::default(),
            plaintext: ReceiveBuffer::default(),
            announced: 0,
            sealed: Output::default(),
            overhead: 0,
            phase: SessionPhase::Handshake { peer: peer.into(), bytes_max },
            kept_chain: None,
            peer_closed: false,
            close_notify_queued: false,
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
                SessionPhase::Open => return Poll::Ready(Ok(())),
                SessionPhase::Failed(_) => return self.poll_send_alert(cx),
                SessionPhase::Handshake { .. } => {}
            }
            if let Err(error) = self.process_input() {
                self.fail(&error);
                continue;
            }
            let done = !self.machine.state().is_handshaking();
            if done && self.has_only_tickets_left() {
                self.phase = SessionPhase::Open;
                continue;
            }
            match self.inner.poll_flush(cx, &mut self.sealed) {
                Poll::Ready(Err(error)) => {
                    self.fail_with(TlsError::io(&error));
                    continue;
                }
                Poll::Ready(Ok(())) if done => {
                    self.phase = SessionPhase::Open;
                    continue;
                }
                Poll::Pending if done => return Poll::Pending,
                Poll::Ready(Ok(())) | Poll::Pending => {}
            }
            match ready!(self.poll_ciphertext(cx)) {
                Ok(FillResult::Bytes(_)) => {}
                Ok(FillResult::End) => self.fail_with(TlsError::closed(self.peer_name())),
                Ok(FillResult::Full) => self.fail_with(TlsError::too_large(self.peer_name())),
                Err(error) => self.fail_with(TlsError::io(&error)),
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

    /// What was agreed on, once the handshake is done.
    pub fn session(&self) -> Option<TlsSession> {
        let suite = self.machine.state().negotiated_cipher_suite()?;
        let cipher = suite.suite().as_str().unwrap_or("unknown");
        let alpn = match self.machine.state().alpn_protocol() {
            Some(b"h2") => Some("h2"),
            Some(b"http/1.1") => Some("http/1.1"),
            Some(b"http/1.0") => Some("http/1.0"),
            _ => None,
        };
        Some(TlsSession { version: self.version()?, cipher, alpn, is_resumed: self.is_resumed() })
    }

    /// Whether the handshake resumed an earlier session.
    pub fn is_resumed(&self) -> bool {
        self.machine.state().handshake_kind() == Some(HandshakeKind::Resumed)
    }

    /// The certificate that the peer showed, as DER, once the handshake is done.
    pub fn peer_certificate(&self) -> Option<&[u8]> {
        self.machine.state().peer_certificates()?.first().map(|certificate| certificate.as_ref())
    }

    /// The chain that the peer showed and its names, once the handshake is done: also where an earlier session was
    /// resumed, in which it was shown.
    pub fn peer_chain(&self) -> Option<PeerCertificate> {
        PeerCertificate::new(self.machine.state().peer_certificates()?)
    }

    /// Keeps [`peer_chain`](Self::peer_chain), once the handshake is done, for [`kept_chain`](Self::kept_chain).
    pub fn keep_chain(&mut self) {
        self.kept_chain = self.peer_chain();
    }

    /// The chain that the peer showed, if it was [kept](Self::keep_chain).
    pub fn kept_chain(&self) -> Option<&PeerCertificate> {
        self.kept_chain.as_ref()
    }

    /// The name that the client has asked for by SNI (RFC 6066 §3), in lower case, at a server.
    pub fn server_name(&self) -> Option<&str> {
        self.machine.server_name()
    }

    /// Moves the connection to the runtime this is called on; what was received stays.
    pub fn move_to_current_runtime(mut self) -> io::Result<Self> {
        self.inner = self.inner.move_to_current_runtime()?;
        Ok(self)
    }

    /// Makes closing reset the connection underneath, if it is one that can be:
    /// [`AnyTransport::reset_on_close`].
    pub fn reset_on_close(&self) {
        self.inner.reset_on_close();
    }

    pub(crate) fn has_kernel(&self) -> bool {
        self.inner.has_kernel()
    }

    pub(crate) fn ends_when_dropped(&self) -> bool {
        self.inner.ends_when_dropped()
    }

    /// Whether all that is left to send of the handshake is a server's tickets. In TLS 1.3 the client
    /// sends the last message of the handshake itself; the tickets can leave with the first response.
    fn has_only_tickets_left(&self) -> bool {
        matches!(self.machine, Machine::Server(..)) && self.version() == Some(TlsVersion::V1_3)
    }

    fn is_failed(&self) -> bool {
        matches!(self.phase, SessionPhase::Failed(_))
    }

    fn peer_name(&self) -> &str {
        match &self.phase {
            SessionPhase::Handshake { peer, .. } => peer,
            SessionPhase::Open | SessionPhase::Failed(_) => "the peer",
        }
    }

    /// Ends the session because of what the peer sent, and queues the alert that says so.
    #[cold]
    fn fail(&mut self, error: &rustls::Error) {
        let input = ciphertext(&mut self.inner, &mut self.ciphertext_copy).received();
        let peer = match &self.phase {
            SessionPhase::Handshake { peer, .. } => peer,
            SessionPhase::Open | SessionPhase::Failed(_) => "the peer",
        };
        let error = TlsError::explain(error, peer, input);
        // Not one step more than there are alerts: it would look at the offending record again.
        while self.machine.state().wants_write() {
            if let StepResult::Failed(_) = self.step(Goal::Receive) {
                break;
            }
        }
        self.fail_with(error);
    }

    #[cold]
    fn fail_with(&mut self, error: TlsError) {
        self.phase = SessionPhase::Failed(Box::new(SessionFailure { error, is_alert_sent: false }));
    }

    /// Sends the alert that is queued for the peer, then returns the error.
    #[cold]
    fn poll_send_alert(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), TlsError>> {
        let SessionPhase::Failed(failure) = &mut self.phase else { return Poll::Ready(Ok(())) };
        if !failure.is_alert_sent {
            let _ = ready!(self.inner.poll_flush(cx, &mut self.sealed));
            failure.is_alert_sent = true;
            self.sealed.clear();
            self.ciphertext_copy.consume(self.ciphertext_copy.len());
            // Closing a socket with unread bytes makes the kernel send RST, which can overtake the
            // alert: take what is there already.
            for _ in 0..DRAINED_FILLS_MAX {
                self.inner.consume(self.inner.received().len());
                if !matches!(self.inner.poll_fill(cx, CHUNK), Poll::Ready(Ok(FillResult::Bytes(_))))
                {
                    break;
                }
            }
        }
        Poll::Ready(Err(failure.error.clone()))
    }
}
