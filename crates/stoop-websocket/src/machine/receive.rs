//! Receiving: bytes become events.

use bytes::{Bytes, BytesMut};

use crate::machine::assembly::{self, Assembly};
use crate::machine::close::CloseReason;
use crate::machine::fault::Fault;
use crate::machine::frame::{FrameHeader, Opcode};
use crate::machine::mask::mask;
use crate::machine::state::{DataFrame, Machine, Receiving};
use crate::message::{Message, MessageKind};

/// What [`Machine::receive`] has done.
#[derive(Debug, PartialEq, Eq)]
pub struct Received {
    /// Bytes at the front of the input that are used up. The others are to be there again, with those that follow.
    pub consumed: usize,
    /// What came; `None` if more input is needed.
    pub event: Option<Event>,
}

/// What a peer sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A message, whole.
    Message(Message),
    /// A Ping with its payload, whose answer [`Machine::flush`] writes.
    Ping(Bytes),
    /// A Pong with its payload.
    Pong(Bytes),
    /// A Close frame, of which nothing may follow (RFC 6455 §5.5.1). [`Machine::flush`] writes the answer, if it is not one itself.
    Close(Option<CloseReason>),
    /// The peer is at fault, and nothing is read any more. [`Machine::flush`] writes the Close frame that says so.
    Fault(Fault),
}

impl Machine {
    /// Reads from the front of `input`, which it unmasks in place, up to the first event.
    ///
    /// Payload of a message is used up as it comes. What is left without an event is less than a control frame, so
    /// that a buffer of 139 bytes is always large enough.
    pub fn receive(&mut self, input: &mut [u8]) -> Received {
        let mut consumed = 0;
        while self.receiving == Receiving::Open {
            let step = match self.frame {
                Some(frame) => self.receive_payload(frame, &mut input[consumed..]),
                None => self.receive_frame(&mut input[consumed..]),
            };
            match step {
                Ok(Step::NeedMore) => break,
                Ok(Step::On(n)) => consumed += n,
                Ok(Step::Event(n, event)) => {
                    return Received { consumed: consumed + n, event: Some(event) };
                }
                Err(fault) => return Received { consumed, event: Some(self.refuse(fault)) },
            }
        }
        Received { consumed, event: None }
    }

    /// The buffer that the payload of the frame under way may be read into past [`Machine::receive`], and how
    /// many bytes of it are missing. Only for an uncompressed binary message.
    ///
    /// What is appended to it, and no more than is missing, is to be told to [`Machine::filled`].
    pub fn direct(&mut self) -> Option<(&mut BytesMut, u64)> {
        if self.receiving != Receiving::Open {
            return None;
        }
        let missing = self.frame.as_ref()?.missing;
        Some((self.assembly.as_mut()?.direct()?, missing))
    }

    /// The last `n` bytes of [`Machine::direct`]'s buffer are new.
    ///
    /// # Panics
    /// If that has no such buffer, or fewer bytes were missing.
    pub fn filled(&mut self, n: usize) -> Option<Event> {
        let mut frame = self.frame.expect("a frame is under way");
        let assembly = self.assembly.as_mut().expect("a message is under way");
        let bytes = assembly.direct().expect("its payload is taken as it is");
        frame.missing = frame.missing.checked_sub(n as u64).expect("no more than was missing");
        if let Some(key) = frame.key {
            let start = bytes.len() - n;
            frame.key = Some(mask(&mut bytes[start..], key));
        }
        self.frame = Some(frame);
        match self.end_frame(frame) {
            Ok(event) => event,
            Err(_) => unreachable!("bytes are any bytes, and bounded by the header"),
        }
    }

    /// Gives up a message that takes the peer too long: as any [`Event::Fault`], which this returns.
    pub fn give_up_message(&mut self) -> Event {
        self.refuse(Fault::MessageTooSlow)
    }

    /// Reads nothing any more, and holds nothing of what has come.
    #[cold]
    fn refuse(&mut self, fault: Fault) -> Event {
        self.receiving = Receiving::Failed;
        (self.frame, self.assembly) = (None, None);
        if let Some(deflate) = &mut self.deflate {
            deflate.inflater.discard();
        }
        self.fail(fault);
        Event::Fault(fault)
    }

    fn receive_frame(&mut self, input: &mut [u8]) -> Result<Step, Fault> {
        let Some((header, at)) = FrameHeader::read(input, self.rules)? else {
            return Ok(Step::NeedMore);
        };
        let kind = match header.opcode {
            Opcode::Close | Opcode::Ping | Opcode::Pong => {
                return self.receive_control(header, &mut input[at..]).map(|step| step.after(at));
            }
            Opcode::Continuation => None,
            Opcode::Text => Some(MessageKind::Text),
            Opcode::Binary => Some(MessageKind::Binary),
        };
        if header.len > self.frame_bytes_max {
            return Err(Fault::FrameTooLarge);
        }
        match (kind, &self.assembly) {
            (None, None) => return Err(Fault::ContinuationUnexpected),
            (Some(_), Some(_)) => return Err(Fault::ContinuationMissing),
            (Some(kind), None) => {
                if header.is_final
                    && !header.is_compressed
                    && header.len <= self.message_bytes_max as u64
                    && let Some(payload) = masked_payload(&header, &mut input[at..])
                {
                    let end = at + payload.len();
                    let message = assembly::whole(kind, payload, header.key)?;
                    return Ok(Step::Event(end, Event::Message(message)));
                }
                let bytes_max = match header.is_compressed {
                    true => self.inflated_message_bytes_max,
                    false => self.message_bytes_max,
                };
                let assembly = Assembly::new(kind, header.is_compressed, bytes_max);
                self.assembly = Some(assembly);
            }
            (None, Some(_)) => {}
        }
        if let Some(assembly) = &mut self.assembly {
            assembly.expect(header.len)?;
        }
        let frame = DataFrame { is_final: header.is_final, key: header.key, missing: header.len };
        self.frame = Some(frame);
        // One without payload is over with its header.
        Ok(match self.end_frame(frame)? {
            Some(event) => Step::Event(at, event),
            None => Step::On(at),
        })
    }

    #[inline(never)]
    fn receive_payload(&mut self, mut frame: DataFrame, input: &mut [u8]) -> Result<Step, Fault> {
        if input.is_empty() {
            return Ok(Step::NeedMore);
        }
        let len = usize::try_from(frame.missing).unwrap_or(usize::MAX).min(input.len());
        let piece = &mut input[..len];
        if let Some(key) = frame.key {
            frame.key = Some(mask(piece, key));
        }
        frame.missing -= len as u64;
        self.frame = Some(frame);
        if let Some(assembly) = &mut self.assembly {
            assembly.push(piece, self.deflate.as_mut().map(|deflate| &mut deflate.inflater))?;
        }
        Ok(match self.end_frame(frame)? {
            Some(event) => Step::Event(len, event),
            None => Step::On(len),
        })
    }

    /// The message, if `frame` is complete and its last.
    #[inline(never)]
    fn end_frame(&mut self, frame: DataFrame) -> Result<Option<Event>, Fault> {
        if frame.missing > 0 {
            return Ok(None);
        }
        self.frame = None;
        if !frame.is_final {
            return Ok(None);
        }
        let Some(assembly) = self.assembly.take() else { return Ok(None) };
        let inflater = self.deflate.as_mut().map(|deflate| &mut deflate.inflater);
        assembly.finish(inflater).map(|message| Some(Event::Message(message)))
    }

    #[inline(never)]
    fn receive_control(&mut self, header: FrameHeader, input: &mut [u8]) -> Result<Step, Fault> {
        let Some(payload) = payload(&header, input) else { return Ok(Step::NeedMore) };
        let n = payload.len();
        let event = match header.opcode {
            Opcode::Ping => {
                let payload = Bytes::copy_from_slice(payload);
                self.answer_ping(payload.clone());
                Event::Ping(payload)
            }
            Opcode::Close => {
                let reason = CloseReason::read(payload)?;
                self.receiving = Receiving::Closed;
                self.answer_close(reason.as_ref());
                Event::Close(reason)
            }
            _ => Event::Pong(Bytes::copy_from_slice(payload)),
        };
        Ok(Step::Event(n, event))
    }
}

/// The payload of a frame, unmasked, if it is here as a whole.
#[inline]
fn payload<'a>(header: &FrameHeader, input: &'a mut [u8]) -> Option<&'a mut [u8]> {
    let payload = masked_payload(header, input)?;
    if let Some(key) = header.key {
        mask(payload, key);
    }
    Some(payload)
}

/// The payload of a frame as it came, if it is here as a whole.
#[inline]
fn masked_payload<'a>(header: &FrameHeader, input: &'a mut [u8]) -> Option<&'a mut [u8]> {
    let len = usize::try_from(header.len).ok()?;
    input.get_mut(..len)
}

enum Step {
    NeedMore,
    /// So many bytes are used up.
    On(usize),
    Event(usize, Event),
}

impl Step {
    /// The same, behind `at` more bytes.
    fn after(self, at: usize) -> Self {
        match self {
            Self::NeedMore => Self::NeedMore,
            Self::On(n) => Self::On(at + n),
            Self::Event(n, event) => Self::Event(at + n, event),
        }
    }
}
