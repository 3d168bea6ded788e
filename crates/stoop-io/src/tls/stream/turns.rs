//! Taking turns with the machine: ciphertext in, plaintext and records out.

use std::io;
use std::task::{Context, Poll, ready};

use super::super::limits::OPEN_SESSION_BYTES_MAX;
use super::super::machine::{Turn, Want};
use super::ciphertext::{ciphertext, lends};
use super::{Phase, Tls};
use crate::buffer::CHUNK;
use crate::output::Output;
use crate::transport::{Filled, Transport};

impl Tls {
    /// Takes turns over the ciphertext that is there, up to plaintext, an end, or its exhaustion.
    pub(super) fn take_in(&mut self) -> Result<(), rustls::Error> {
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
    pub(super) fn seal(&mut self, mut out: Option<&mut Output>) -> Result<(), rustls::Error> {
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

    pub(super) fn turn(&mut self, want: Want<'_>) -> Turn {
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
    pub(super) fn poll_ciphertext(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Filled>> {
        let max = match &self.phase {
            Phase::Handshake { bytes_max, .. } => *bytes_max,
            Phase::Open | Phase::Failed(_) => OPEN_SESSION_BYTES_MAX,
        };
        let room = max.saturating_sub(self.copied.len());
        let filled = ready!(self.inner.poll_fill(cx, room))?;
        if !lends(&self.inner) {
            self.copied.append(self.inner.received());
            self.inner.consume(self.inner.received().len());
        }
        Poll::Ready(Ok(filled))
    }
}
