//! Drives rustls' unbuffered connection in steps: ciphertext is decrypted in place, plaintext
//! appended, and records sealed out of an [`Output`] into another. Does no input or output.

use std::sync::Arc;

use bytes::Bytes;
use rustls::client::UnbufferedClientConnection;
use rustls::server::UnbufferedServerConnection;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use rustls::{CommonState, ServerConfig};

use super::by_name::take_asked_name;
use super::limits::{PLAINTEXT_BYTES_MAX, SHARED_RECORD_BYTES_MIN};
use super::record::RecordBuffer;
use crate::buffer::ReceiveBuffer;
use crate::output::Output;

/// One end of a TLS session.
pub(super) enum Machine {
    Client(UnbufferedClientConnection),
    /// With the name that the client has asked for.
    Server(UnbufferedServerConnection, Option<Box<str>>),
}

/// What a step is for, besides decrypting what came.
pub(super) enum Goal<'a> {
    /// Nothing else.
    Receive,
    /// Sealing one record of this.
    Seal(&'a mut Output),
    /// Sealing our close_notify: we will send no more.
    CloseNotify,
}

/// The result of a step.
pub(super) enum StepResult {
    /// Something was sealed or decrypted that may be followed by more: take another step.
    Again,
    /// Plaintext was appended.
    Plaintext,
    /// The handshake needs more ciphertext.
    Blocked,
    /// The session is open, no complete record is left, and the goal is reached.
    Done,
    /// The peer's close_notify came: it will send no more.
    PeerClosed,
    /// The session is dead; an alert for the peer may have been queued.
    Failed(rustls::Error),
}

impl Machine {
    pub(super) fn server(config: Arc<ServerConfig>) -> Result<Self, rustls::Error> {
        UnbufferedServerConnection::new(config).map(|server| Self::Server(server, None))
    }

    /// Takes one step over `input`, and says how many bytes of its front are done with.
    pub(super) fn step(
        &mut self,
        input: &mut [u8],
        plain: &mut ReceiveBuffer,
        sealed: &mut Output,
        goal: Goal<'_>,
    ) -> (usize, StepResult) {
        match self {
            Self::Client(client) => handle(client.process_tls_records(input), plain, sealed, goal),
            Self::Server(server, name) => {
                let result = handle(server.process_tls_records(input), plain, sealed, goal);
                if server.is_handshaking()
                    && let Some(asked) = take_asked_name()
                {
                    *name = Some(asked);
                }
                result
            }
        }
    }

    /// The name that the client has asked for, at a server.
    pub(super) fn server_name(&self) -> Option<&str> {
        match self {
            Self::Client(_) => None,
            Self::Server(_, name) => name.as_deref(),
        }
    }

    /// The state of the session, for both roles.
    pub(super) fn state(&self) -> &CommonState {
        match self {
            Self::Client(client) => client,
            Self::Server(server, _) => server,
        }
    }
}

/// Does what the state of the connection asks for.
fn handle<D>(
    status: UnbufferedStatus<'_, '_, D>,
    plain: &mut ReceiveBuffer,
    sealed: &mut Output,
    goal: Goal<'_>,
) -> (usize, StepResult) {
    let mut done = status.discard;
    let state = match status.state {
        Ok(state) => state,
        Err(error) => return (done, StepResult::Failed(error)),
    };
    let result = match state {
        ConnectionState::ReadTraffic(mut traffic) => {
            let mut result = StepResult::Plaintext;
            while let Some(record) = traffic.next_record() {
                match record {
                    Ok(record) => {
                        done += record.discard;
                        plain.append(record.payload);
                    }
                    Err(error) => result = StepResult::Failed(error),
                }
            }
            result
        }
        ConnectionState::EncodeTlsData(mut data) => {
            seal(sealed, |space| match data.encode(space) {
                Ok(n) => Ok(n),
                Err(EncodeError::InsufficientSize(needs)) => Err(Some(needs.required_size)),
                Err(EncodeError::AlreadyEncoded) => Ok(0),
            });
            StepResult::Again
        }
        // What was encoded waits in `sealed` and is sent in order: as good as transmitted.
        ConnectionState::TransmitTlsData(transmit) => {
            transmit.done();
            StepResult::Again
        }
        ConnectionState::BlockedHandshake => StepResult::Blocked,
        ConnectionState::PeerClosed => StepResult::PeerClosed,
        ConnectionState::Closed => match goal {
            Goal::Receive | Goal::CloseNotify => StepResult::Done,
            Goal::Seal(_) => StepResult::Failed(rustls::Error::EncryptError),
        },
        ConnectionState::WriteTraffic(mut traffic) => {
            let sent = match goal {
                Goal::Receive => true,
                Goal::Seal(out) => with_piece(out, |piece| {
                    seal(sealed, |space| traffic.encrypt(piece, space).map_err(needed))
                }),
                Goal::CloseNotify => {
                    seal(sealed, |space| traffic.queue_close_notify(space).map_err(needed))
                }
            };
            if sent { StepResult::Done } else { StepResult::Failed(rustls::Error::EncryptError) }
        }
        // Early data is never enabled, and other states are not known to this version.
        _ => StepResult::Failed(rustls::Error::General("unexpected TLS state".into())),
    };
    (done, result)
}

/// How much room `error` asks for; `None` if no room would help.
fn needed(error: EncryptError) -> Option<usize> {
    match error {
        EncryptError::InsufficientSize(needs) => Some(needs.required_size),
        EncryptError::EncryptExhausted => None,
    }
}

/// Appends to `sealed` what `write` puts into a pooled buffer. False if it did not.
fn seal(
    sealed: &mut Output,
    mut write: impl FnMut(&mut [u8]) -> Result<usize, Option<usize>>,
) -> bool {
    let mut record = RecordBuffer::from_pool();
    let written = match write(record.space()) {
        Err(Some(needed)) => {
            record.grow(needed);
            write(record.space())
        }
        other => other,
    };
    let Ok(n) = written else { return false };
    record.set_len(n);
    if n < SHARED_RECORD_BYTES_MIN {
        sealed.put(record.as_ref());
    } else {
        sealed.share(Bytes::from_owner(record));
    }
    true
}

/// Lends the front of `out` as one record's plaintext, and consumes it if `seal` says so.
///
/// A piece that is all there is, or large, is lent as it is; small ones are first brought together,
/// so that a head and its body share a record.
fn with_piece(out: &mut Output, seal: impl FnOnce(&[u8]) -> bool) -> bool {
    let front = out.front();
    let (n, sent) = if front.len() >= SHARED_RECORD_BYTES_MIN || front.len() == out.len() {
        let n = front.len().min(PLAINTEXT_BYTES_MAX);
        (n, seal(&front[..n]))
    } else {
        let mut together = RecordBuffer::from_pool();
        let n = out.with_slices(|slices| {
            let space = &mut together.space()[..PLAINTEXT_BYTES_MAX];
            let mut n = 0;
            for slice in slices {
                let step = slice.len().min(PLAINTEXT_BYTES_MAX - n);
                space[n..n + step].copy_from_slice(&slice[..step]);
                n += step;
            }
            n
        });
        together.set_len(n);
        (n, seal(together.as_ref()))
    };
    if sent {
        out.advance(n);
    }
    sent
}
