//! [`ControlQueue`]: frames of the connection itself that wait to be sent.

use crate::Sink;
use crate::h2::PREFACE;
use crate::h2::code::ErrorCode;
use crate::h2::frame::{Header, flag, kind};
use crate::h2::settings::Settings;

/// The capacity that an empty queue keeps, in bytes.
const CAPACITY_KEPT_MAX: usize = 4 * 1024;

/// Frames that are not content, in the order in which they are sent. Once it is closed, no more are queued.
#[derive(Debug, Default)]
pub(super) struct ControlQueue {
    frames: Vec<u8>,
    count: u32,
    is_closed: bool,
}

impl ControlQueue {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The number of frames.
    #[inline]
    pub(super) fn len(&self) -> u32 {
        self.count
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.frames.capacity()
    }

    /// Writes all frames. They go ahead of what is written next: header blocks must keep their order.
    #[inline]
    pub(super) fn write_to(&mut self, out: &mut impl Sink) {
        if self.frames.is_empty() {
            return;
        }
        out.put(&self.frames);
        self.frames.clear();
        self.frames.shrink_to(CAPACITY_KEPT_MAX);
        self.count = 0;
    }

    /// Frees the memory of an empty queue.
    pub(super) fn shrink(&mut self) {
        if self.frames.is_empty() {
            self.frames = Vec::new();
        }
    }

    /// Closes the queue: what is in it is still written.
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    /// Queues the client's preface: RFC 9113 §3.4.
    pub(super) fn preface(&mut self) {
        self.frames.extend_from_slice(PREFACE);
    }

    /// Queues SETTINGS with the values that differ from the initial ones: §6.5. The first frame of a
    /// connection is not counted: it answers nothing.
    pub(super) fn settings(&mut self, ours: &Settings) {
        ours.put(&Settings::INITIAL, &mut self.frames);
    }

    /// Queues the acknowledgement of SETTINGS: §6.5.3.
    pub(super) fn settings_ack(&mut self) {
        self.push(kind::SETTINGS, flag::ACK, 0, &[]);
    }

    /// Queues PING: §6.7.
    pub(super) fn ping(&mut self, payload: [u8; 8]) {
        self.push(kind::PING, 0, 0, &payload);
    }

    /// Queues the answer to a PING, which has its payload: §6.7.
    pub(super) fn ping_ack(&mut self, payload: &[u8]) {
        self.push(kind::PING, flag::ACK, 0, payload);
    }

    /// Queues GOAWAY, with a text for people: §6.8.
    pub(super) fn go_away(&mut self, last: u32, code: ErrorCode, text: &str) {
        let mut payload = Vec::with_capacity(8 + text.len());
        payload.extend_from_slice(&last.to_be_bytes());
        payload.extend_from_slice(&code.0.to_be_bytes());
        payload.extend_from_slice(text.as_bytes());
        self.push(kind::GOAWAY, 0, 0, &payload);
    }

    /// Queues WINDOW_UPDATE, for the connection if `stream` is 0: §6.9.
    #[inline]
    pub(super) fn window_update(&mut self, stream: u32, increment: u32) {
        self.push(kind::WINDOW_UPDATE, 0, stream, &increment.to_be_bytes());
    }

    /// Queues RST_STREAM: §6.4.
    pub(super) fn rst_stream(&mut self, stream: u32, code: ErrorCode) {
        self.push(kind::RST_STREAM, 0, stream, &code.0.to_be_bytes());
    }

    /// Queues HEADERS with a whole header block, of a message without content: §6.2.
    pub(super) fn headers(&mut self, stream: u32, block: &[u8]) {
        self.push(kind::HEADERS, flag::END_HEADERS | flag::END_STREAM, stream, block);
    }

    fn push(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        if self.is_closed {
            return;
        }
        let len = payload.len() as u32;
        self.frames.extend_from_slice(&Header { len, kind, flags, stream }.bytes());
        self.frames.extend_from_slice(payload);
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(queue: impl FnOnce(&mut ControlQueue)) -> Vec<u8> {
        let (mut frames, mut out) = (ControlQueue::default(), Vec::new());
        queue(&mut frames);
        frames.write_to(&mut out);
        assert_eq!((frames.is_empty(), frames.count), (true, 0));
        out
    }

    #[test]
    fn each_frame_has_its_form() {
        assert_eq!(written(|to| to.preface()), PREFACE);
        assert_eq!(
            written(|to| to.settings(&Settings { push: false, ..Settings::INITIAL })),
            [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0],
        );
        assert_eq!(written(|to| to.settings_ack()), [0, 0, 0, 4, 1, 0, 0, 0, 0]);
        assert_eq!(written(|to| to.ping(*b"12345678")), *b"\0\0\x08\x06\0\0\0\0\x0012345678");
        assert_eq!(written(|to| to.ping_ack(b"12345678")), *b"\0\0\x08\x06\x01\0\0\0\x0012345678");
        assert_eq!(
            written(|to| to.go_away(5, ErrorCode::ENHANCE_YOUR_CALM, "calm")),
            *b"\0\0\x0c\x07\0\0\0\0\0\0\0\0\x05\0\0\0\x0bcalm",
        );
        assert_eq!(written(|to| to.window_update(3, 258)), [0, 0, 4, 8, 0, 0, 0, 0, 3, 0, 0, 1, 2]);
        assert_eq!(
            written(|to| to.rst_stream(7, ErrorCode::CANCEL)),
            [0, 0, 4, 3, 0, 0, 0, 0, 7, 0, 0, 0, 8]
        );
        assert_eq!(written(|to| to.headers(1, &[0x88])), [0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]);
    }

    #[test]
    fn a_closed_queue_sends_what_it_has_and_takes_no_more() {
        let (mut queue, mut out) = (ControlQueue::default(), Vec::new());
        queue.ping(*b"12345678");
        queue.close();
        queue.settings_ack();
        assert_eq!(queue.len(), 1);
        queue.write_to(&mut out);
        assert_eq!(out.len(), 17);
        queue.shrink();
        assert_eq!(queue.heap_bytes(), 0);
    }
}
