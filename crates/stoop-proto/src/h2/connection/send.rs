//! Sending content and the ends of messages (RFC 9113 §8.1), in the order of the streams' turns.

use bytes::Bytes;

use super::Connection;
use crate::Sink;
use crate::error::Misuse;
use crate::fields::Fields;
use crate::h2::code::ErrorCode;
use crate::h2::encode;
use crate::h2::frame::{Header, flag, kind};
use crate::h2::state::StreamInput;
use crate::h2::streams::StreamKey;

/// DATA smaller than this gives back no budget if the peer's window made it small.
const SMALL_DATA_BYTES: u32 = 256;

impl Connection {
    /// How many bytes of content a stream may send now.
    #[inline]
    pub fn sendable(&self, key: StreamKey) -> usize {
        let Some(stream) = self.streams.get(key) else { return 0 };
        if !stream.head_sent || !stream.state.may_send() {
            return 0;
        }
        let windows = stream.send.available().min(self.flow.sendable());
        windows.min(self.settings.peer().frame_bytes_max) as usize
    }

    /// How many bytes of content the windows of a stream and of the connection have room for, in however many frames: also
    /// before its head is sent.
    #[inline]
    pub fn window_of(&self, key: StreamKey) -> usize {
        let Some(stream) = self.streams.get(key) else { return 0 };
        stream.send.available().min(self.flow.sendable()) as usize
    }

    /// Sets whether a stream has content to send: only then does it get a turn.
    #[inline]
    pub fn want_to_send(&mut self, key: StreamKey, wants: bool) {
        self.streams.set_wants_to_send(key, wants);
    }

    /// The stream that has its turn, and how many bytes it may send: by urgency, and fairly among those of
    /// one urgency (RFC 9218 §10). The turn lasts until the stream sends, or has nothing to send.
    #[inline]
    pub fn next_to_send(&mut self) -> Option<(StreamKey, usize)> {
        if self.flow.sendable() == 0 {
            return None;
        }
        let key = self.streams.next_to_send()?;
        Some((key, self.sendable(key)))
    }

    /// Sends content, in one frame; `end` if it is the last. Empty content without `end` sends no frame.
    ///
    /// # Errors
    /// [`Misuse::Order`] if none is due; [`Misuse::BodyTooLong`] if it is more than
    /// [`sendable`](Self::sendable) or than was announced, [`Misuse::BodyTooShort`] if it ends before:
    /// then the stream can only be reset.
    pub fn data(
        &mut self,
        key: StreamKey,
        data: Bytes,
        end: bool,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let (len, sendable) = (data.len(), self.sendable(key));
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        if len > sendable {
            return Err(Misuse::BodyTooLong);
        }
        if len == 0 && !end {
            return Ok(());
        }
        if let Some(content_to_send) = &mut stream.content_to_send {
            *content_to_send =
                content_to_send.checked_sub(len as u64).ok_or(Misuse::BodyTooLong)?;
            if end && *content_to_send > 0 {
                return Err(Misuse::BodyTooShort);
            }
        }
        let (id, bytes) = (stream.id, len as u32);
        if end {
            stream.step(StreamInput::SendEnd);
        }
        let state = stream.state;
        self.flow.sent(bytes);
        let is_spent = self.streams.sent(key, bytes);
        // A peer that opens its windows by small amounts gets no budget back for that.
        if bytes >= SMALL_DATA_BYTES || self.flow.sendable() > 0 && !is_spent {
            self.budget.content_sent(bytes);
        }
        self.control.write_to(out);
        let flags = if end { flag::END_STREAM } else { 0 };
        Header { len: bytes, kind: kind::DATA, flags, stream: id }.put(out);
        if len > 0 {
            out.share(data);
        }
        if end {
            self.streams.set_wants_to_send(key, false);
            self.remove_if_closed(key, state);
        }
        Ok(())
    }

    /// Ends a message whose content was sent, with a trailer section if there is one; a tunnel has
    /// none.
    ///
    /// # Errors
    /// [`Misuse::Order`] if no message was begun; [`Misuse::BodyTooShort`] if less was sent than
    /// announced: then the stream can only be reset.
    pub fn finish(
        &mut self,
        key: StreamKey,
        trailers: Option<&Fields>,
        out: &mut impl Sink,
    ) -> Result<(), Misuse> {
        let Some(stream) = self.streams.get_mut(key) else { return Err(Misuse::Order) };
        if !stream.head_sent || !stream.state.may_send() {
            return Err(Misuse::Order);
        }
        if stream.content_to_send.is_some_and(|content_to_send| content_to_send > 0) {
            return Err(Misuse::BodyTooShort);
        }
        stream.step(StreamInput::SendEnd);
        let (id, state, is_tunnel) = (stream.id, stream.state, stream.is_connect);
        match trailers.filter(|fields| !fields.is_empty() && !is_tunnel) {
            Some(fields) => {
                self.send_headers(id, true, out, |encoder, block| {
                    encode::trailers(encoder, fields, block);
                });
            }
            None => {
                self.control.write_to(out);
                Header { len: 0, kind: kind::DATA, flags: flag::END_STREAM, stream: id }.put(out);
            }
        }
        self.streams.set_wants_to_send(key, false);
        self.remove_if_closed(key, state);
        Ok(())
    }

    /// Resets a stream. Its content that was not used up is allowed again at once.
    pub fn reset(&mut self, key: StreamKey, code: ErrorCode) {
        if let Some(stream) = self.streams.get(key) {
            let id = stream.id;
            self.put_reset(id, code);
            self.forget(key);
        }
    }
}
