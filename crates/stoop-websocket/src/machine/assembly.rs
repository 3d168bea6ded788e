//! [`Assembly`]: a message that is put together from frames (RFC 6455 §5.4).

use bytes::{Bytes, BytesMut};

use crate::machine::deflate::Inflater;
use crate::machine::fault::Fault;
use crate::machine::mask::{mask, masked_copy};
use crate::machine::text::TextPieces;
use crate::message::{Message, MessageKind};

/// Bytes that are reserved at once at most for what a header announces: memory is for what has come.
const RESERVED_BYTES_MAX: usize = 64 * 1024;

/// Bytes from which on a message is unmasked while it is copied, and not before: one pass over memory less.
const UNMASKED_WITH_COPY_MIN: usize = 256;

/// A message of which some frames have come.
#[derive(Debug)]
pub(crate) struct Assembly {
    payload: Payload,
    pub(crate) is_compressed: bool,
    bytes_max: usize,
}

#[derive(Debug)]
enum Payload {
    Text(TextPieces),
    Binary(BytesMut),
}

impl Assembly {
    pub(crate) fn new(kind: MessageKind, is_compressed: bool, bytes_max: usize) -> Self {
        let payload = match kind {
            MessageKind::Text => Payload::Text(TextPieces::default()),
            MessageKind::Binary => Payload::Binary(BytesMut::new()),
        };
        Self { payload, is_compressed, bytes_max }
    }

    /// Checks the length that the header of a frame announces, and makes room for it.
    pub(crate) fn expect(&mut self, len: u64) -> Result<(), Fault> {
        if self.is_compressed {
            return Ok(());
        }
        let room = self.bytes_max - self.len();
        let len = usize::try_from(len).map_err(|_| Fault::MessageTooLarge)?;
        if len > room {
            return Err(Fault::MessageTooLarge);
        }
        let more = len.min(RESERVED_BYTES_MAX);
        match &mut self.payload {
            Payload::Text(text) => text.reserve(more),
            Payload::Binary(bytes) => bytes.reserve(more),
        }
        Ok(())
    }

    /// Appends a piece of payload, decompressed if the message is compressed.
    pub(crate) fn push(
        &mut self,
        piece: &[u8],
        inflater: Option<&mut Inflater>,
    ) -> Result<(), Fault> {
        match inflater {
            Some(inflater) if self.is_compressed => {
                inflater.push(piece, |plain| self.push_plain(plain))
            }
            _ => self.push_plain(piece),
        }
    }

    /// The buffer that the payload may be read into, if it is taken as it is but for its mask.
    pub(crate) fn direct(&mut self) -> Option<&mut BytesMut> {
        match &mut self.payload {
            Payload::Binary(bytes) if !self.is_compressed => Some(bytes),
            _ => None,
        }
    }

    /// The message, after its last frame.
    pub(crate) fn finish(self, inflater: Option<&mut Inflater>) -> Result<Message, Fault> {
        if let Some(inflater) = inflater
            && self.is_compressed
        {
            inflater.finish()?;
        }
        Ok(match self.payload {
            Payload::Text(text) => Message::Text(text.finish()?),
            Payload::Binary(bytes) => Message::Binary(bytes.freeze()),
        })
    }

    fn push_plain(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let room = self.bytes_max - self.len();
        if piece.len() > room {
            // What comes first is found first, however the message is cut.
            return self.push_plain(&piece[..room]).and(Err(Fault::MessageTooLarge));
        }
        match &mut self.payload {
            Payload::Text(text) => text.push(piece),
            Payload::Binary(bytes) => {
                bytes.extend_from_slice(piece);
                Ok(())
            }
        }
    }

    fn len(&self) -> usize {
        match &self.payload {
            Payload::Text(text) => text.len(),
            Payload::Binary(bytes) => bytes.len(),
        }
    }
}

/// A message that came in one frame, uncompressed and here as a whole.
#[inline(always)]
pub(crate) fn whole(
    kind: MessageKind,
    payload: &mut [u8],
    key: Option<[u8; 4]>,
) -> Result<Message, Fault> {
    if let Some(key) = key {
        if payload.len() >= UNMASKED_WITH_COPY_MIN {
            return unmasked_copy(kind, payload, key);
        }
        mask(payload, key);
    }
    Ok(match kind {
        MessageKind::Text => {
            Message::Text(str::from_utf8(payload).map_err(|_| Fault::Text)?.to_owned())
        }
        MessageKind::Binary => Message::Binary(Bytes::copy_from_slice(payload)),
    })
}

#[inline(never)]
fn unmasked_copy(kind: MessageKind, payload: &[u8], key: [u8; 4]) -> Result<Message, Fault> {
    let payload = masked_copy(payload, key);
    Ok(match kind {
        MessageKind::Text => Message::Text(String::from_utf8(payload).map_err(|_| Fault::Text)?),
        MessageKind::Binary => Message::Binary(payload.into()),
    })
}
