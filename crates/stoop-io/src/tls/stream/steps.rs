//! Drives the machine step by step: ciphertext in, plaintext and records out.

use std::io;
use std::task::{Context, Poll, ready};

use super::super::limits::OPEN_SESSION_BYTES_MAX;
use super::super::machine::{Goal, StepResult};
use super::ciphertext::{ciphertext, lends_buffer};
use super::{SessionPhase, Tls};
use crate::buffer::CHUNK;
use crate::output::Output;
use crate::transport::{FillResult, Transport};

impl Tls {
    /// Decrypts the ciphertext that is there, up to plaintext, an end, or its exhaustion.
    pub(super) fn process_input(&mut self) -> Result<(), rustls::Error> {
        loop {
            match self.step(Goal::Receive) {
                StepResult::Again => {}
                StepResult::Plaintext if self.next_record_fits() => {}
                StepResult::Plaintext | StepResult::Blocked | StepResult::Done => return Ok(()),
                StepResult::PeerClosed => {
                    self.peer_closed = true;
                    return Ok(());
                }
                StepResult::Failed(error) => return Err(error),
            }
        }
    }

    /// Seals one record of `out`; without `out`, our close_notify.
    pub(super) fn seal(&mut self, mut out: Option<&mut Output>) -> Result<(), rustls::Error> {
        let len = |out: &Option<&mut Output>| out.as_ref().map_or(0, |out| out.len());
        let (plain, sealed) = (len(&out), self.sealed.len());
        loop {
            let goal = match &mut out {
                Some(out) => Goal::Seal(out),
                None => Goal::CloseNotify,
            };
            match self.step(goal) {
                StepResult::Again | StepResult::Plaintext => {}
                StepResult::PeerClosed => self.peer_closed = true,
                StepResult::Done => {
                    let (more, less) = (self.sealed.len() - sealed, plain - len(&out));
                    self.overhead += more.saturating_sub(less) as u64;
                    return Ok(());
                }
                StepResult::Blocked => return Err(rustls::Error::HandshakeNotComplete),
                StepResult::Failed(error) => return Err(error),
            }
        }
    }

    pub(super) fn step(&mut self, goal: Goal<'_>) -> StepResult {
        let ciphertext = ciphertext(&mut self.inner, &mut self.ciphertext_copy);
        let input = ciphertext.received_mut();
        let (done, turn) = self.machine.step(input, &mut self.plaintext, &mut self.sealed, goal);
        ciphertext.consume(done);
        turn
    }

    /// Whether the next record is complete, and small enough to share a buffer with the plaintext
    /// before it. Larger ones are better decrypted when the caller is done with this.
    fn next_record_fits(&mut self) -> bool {
        match ciphertext(&mut self.inner, &mut self.ciphertext_copy).received() {
            &[_, _, _, high, low, ref rest @ ..] => {
                let len = usize::from(u16::from_be_bytes([high, low]));
                len <= rest.len() && self.plaintext.len() + len <= CHUNK
            }
            _ => false,
        }
    }

    /// Waits for ciphertext.
    pub(super) fn poll_ciphertext(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<FillResult>> {
        let max = match &self.phase {
            SessionPhase::Handshake { bytes_max, .. } => *bytes_max,
            SessionPhase::Open | SessionPhase::Failed(_) => OPEN_SESSION_BYTES_MAX,
        };
        let room = max.saturating_sub(self.ciphertext_copy.len());
        let filled = ready!(self.inner.poll_fill(cx, room))?;
        if !lends_buffer(&self.inner) {
            self.ciphertext_copy.append(self.inner.received());
            self.inner.consume(self.inner.received().len());
        }
        Poll::Ready(Ok(filled))
    }
}
