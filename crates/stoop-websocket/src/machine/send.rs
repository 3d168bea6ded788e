//! Sending: messages and control frames become bytes.

use bytes::Bytes;

use crate::machine::close::{CloseReason, REASON_BYTES_MAX};
use crate::machine::code::CloseCode;
use crate::machine::fault::Fault;
use crate::machine::frame::{CONTROL_BYTES_MAX, FrameHeader, HEADER_BYTES_MAX, Opcode};
use crate::machine::mask::mask;
use crate::machine::state::{Machine, Sending};
use crate::message::{MessageKind, Misuse};

/// Bytes from which on a payload that is sent as it is is not copied.
const COPIED_BYTES_MAX: usize = 4 * 1024;

/// Pings whose answers wait; of more, the oldest get none, which RFC 6455 §5.5.3 allows down to a single one. A peer may
/// measure several at once, and one that sends many and reads nothing is to hold no memory.
const PONGS_MAX: usize = 16;

/// What of a message [`Machine::send`] has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Payload {
    /// All of it.
    Written,
    /// The header. The payload is to follow it as it is, before anything else.
    Follows,
}

impl Machine {
    /// Writes a message, as one frame, to the end of `out`. Its payload, if it is large and leaves as it is, is left to
    /// the caller.
    ///
    /// # Errors
    /// [`Misuse::Closed`].
    pub fn send(
        &mut self,
        kind: MessageKind,
        payload: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<Payload, Misuse> {
        if !self.may_send() {
            return Err(Misuse::Closed);
        }
        let opcode = match kind {
            MessageKind::Text => Opcode::Text,
            MessageKind::Binary => Opcode::Binary,
        };
        self.flush(out);
        if let Some(deflate) = &mut self.deflate
            && let Some(compressed) = deflate.compressor.compress(payload)
        {
            self.write(opcode, true, &compressed, out);
            return Ok(Payload::Written);
        }
        if self.is_server() && payload.len() > COPIED_BYTES_MAX {
            let len = payload.len() as u64;
            let (is_final, is_compressed) = (true, false);
            FrameHeader { is_final, is_compressed, opcode, key: None, len }.write(out);
            return Ok(Payload::Follows);
        }
        self.write(opcode, false, payload, out);
        Ok(Payload::Written)
    }

    /// Writes a Ping (RFC 6455 §5.5.2).
    ///
    /// # Errors
    /// [`Misuse::ControlTooLong`], [`Misuse::Closed`].
    pub fn ping(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Misuse> {
        self.control(Opcode::Ping, payload, out)
    }

    /// Writes a Pong that answers no Ping: a heartbeat in one direction (RFC 6455 §5.5.3).
    ///
    /// # Errors
    /// As [`Machine::ping`].
    pub fn pong(&mut self, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Misuse> {
        self.control(Opcode::Pong, payload, out)
    }

    /// Writes a Close frame, behind what the machine has to send. Nothing may follow it; the peer's is still received.
    ///
    /// # Errors
    /// [`Misuse::ReasonTooLong`], and [`Misuse::Closed`] if one was written or has to be.
    pub fn close(
        &mut self,
        code: CloseCode,
        reason: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), Misuse> {
        if reason.len() > REASON_BYTES_MAX {
            return Err(Misuse::ReasonTooLong);
        }
        if !self.may_send() {
            return Err(Misuse::Closed);
        }
        self.flush(out);
        let mut payload = code.get().to_be_bytes().to_vec();
        payload.extend(reason.as_bytes());
        self.write(Opcode::Close, false, &payload, out);
        self.sending = Sending::Closed;
        Ok(())
    }

    /// Whether [`Machine::flush`] has something to write.
    pub fn has_to_send(&self) -> bool {
        !self.pongs.is_empty() || self.close.is_some()
    }

    /// Writes what the machine itself has to send: the answers to Pings, the answer to a Close frame, the Close frame that
    /// names a fault. What is sent in other ways writes it first.
    #[inline]
    pub fn flush(&mut self, out: &mut Vec<u8>) {
        if self.has_to_send() {
            self.write_own(out);
        }
    }

    fn write_own(&mut self, out: &mut Vec<u8>) {
        for payload in std::mem::take(&mut self.pongs) {
            self.write(Opcode::Pong, false, &payload, out);
        }
        if let Some(payload) = self.close.take() {
            self.write(Opcode::Close, false, &payload, out);
            self.sending = Sending::Closed;
        }
    }

    /// RFC 6455 §5.5.2: "MUST send a Pong frame in response, unless it already received a Close frame".
    pub(crate) fn answer_ping(&mut self, payload: Bytes) {
        if self.may_send() {
            if self.pongs.len() == PONGS_MAX {
                self.pongs.pop_front();
            }
            self.pongs.push_back(payload);
        }
    }

    /// RFC 6455 §5.5.1: the answer to a Close frame "typically echos the status code it received".
    pub(crate) fn answer_close(&mut self, reason: Option<&CloseReason>) {
        if self.sending == Sending::Open {
            let code = reason.map(|reason| reason.code.get().to_be_bytes().to_vec());
            self.close = Some(code.unwrap_or_default());
        }
    }

    /// RFC 6455 §7.1.7: a Close frame with the code of the fault, and its text.
    pub(crate) fn fail(&mut self, fault: Fault) {
        self.pongs.clear();
        if self.sending == Sending::Open {
            let mut payload = fault.close_code().get().to_be_bytes().to_vec();
            payload.extend(fault.to_string().into_bytes());
            self.close = Some(payload);
        }
    }

    fn control(&mut self, opcode: Opcode, payload: &[u8], out: &mut Vec<u8>) -> Result<(), Misuse> {
        if payload.len() > CONTROL_BYTES_MAX {
            return Err(Misuse::ControlTooLong);
        }
        if !self.may_send() {
            return Err(Misuse::Closed);
        }
        self.flush(out);
        self.write(opcode, false, payload, out);
        Ok(())
    }

    #[inline]
    fn write(&self, opcode: Opcode, is_compressed: bool, payload: &[u8], out: &mut Vec<u8>) {
        let key = self.keys.map(|keys| keys());
        let len = payload.len() as u64;
        out.reserve(HEADER_BYTES_MAX + payload.len());
        FrameHeader { is_final: true, is_compressed, opcode, key, len }.write(out);
        let start = out.len();
        out.extend_from_slice(payload);
        if let Some(key) = key {
            mask(&mut out[start..], key);
        }
    }
}
