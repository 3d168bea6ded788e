//! A TLS session over another transport, as a transport.

mod ciphertext;
mod transport;
mod turns;

use std::io;
use std::task::{Context, Poll, ready};

use rustls::{HandshakeKind, ProtocolVersion};

use self::ciphertext::ciphertext;
use super::error::TlsError;
use super::limits::DRAINED_FILLS_MAX;
use super::machine::{Machine, Turn, Want};
use crate::any_transport::AnyTransport;
use crate::buffer::{CHUNK, Inbox};
use crate::output::Output;
use crate::transport::{Filled, Transport};

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
/// [`Tls::poll_handshake`] comes first; the methods of [`Transport`] run it too, but can only
/// report its failure as an [`io::Error`] around the [`TlsError`].
///
/// A stream that ends without the peer's close_notify may have been cut short by anybody on the way
/// (RFC 9112 §9.8): then [`Transport::poll_fill`] fails with [`io::ErrorKind::UnexpectedEof`],
/// while [`Filled::End`] is the peer's own word. What came before stays to be consumed in both
/// cases. Likewise [`Transport::poll_shutdown`] says close_notify; merely dropping a session does
/// not.
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
}
