//! Queries about a connection and its streams, and access to the heads that its events announce.

use super::{Connection, Reading, SkippedPayload};
use crate::fields::Fields;
use crate::h2::settings::Settings;
use crate::h2::streams::StreamKey;
use crate::message::{RequestHead, ResponseHead};

impl Connection {
    /// Whether a key names a stream that has not ended.
    #[inline]
    pub fn is_open(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_some()
    }

    /// Whether the peer may still send on a stream.
    pub fn is_receiving(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.state.may_receive())
    }

    /// Whether we may still send on a stream.
    pub fn is_sending(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.state.may_send())
    }

    /// Whether the peer lets a stream send no content by the stream's own window, whatever the connection's.
    pub fn is_window_closed(&self, key: StreamKey) -> bool {
        self.streams.get(key).is_some_and(|stream| stream.send.available() == 0)
    }

    /// The number of streams.
    #[inline]
    pub fn streams(&self) -> usize {
        self.streams.len()
    }

    /// The keys of all streams.
    pub fn keys(&self) -> impl Iterator<Item = StreamKey> {
        self.streams.keys()
    }

    /// The identifier of a stream, as in frames.
    pub fn stream_id(&self, key: StreamKey) -> Option<u32> {
        self.streams.get(key).map(|stream| stream.id)
    }

    /// The peer's settings.
    pub fn peer_settings(&self) -> &Settings {
        self.settings.peer()
    }

    /// Whether the peer's SETTINGS were received.
    pub fn is_peer_known(&self) -> bool {
        self.settings.is_received()
    }

    /// How many bytes of a stream's content are still to come, if a length is known.
    pub fn remaining(&self, key: StreamKey) -> Option<u64> {
        self.streams.get(key)?.content_to_receive
    }

    /// Bytes of content of all streams that were received and not used up: they reduce the window.
    pub fn unread(&self) -> u32 {
        self.flow.unread()
    }

    /// How many bytes of content the peer accepts now, of all streams together.
    pub fn window(&self) -> u32 {
        self.flow.sendable()
    }

    /// The memory on the heap, approximately, in bytes: for statistics and tests.
    pub fn heap_bytes(&self) -> usize {
        let kept = self.early_priorities.heap_bytes() + self.resets.heap_bytes();
        let texts = self.go_away_text().len() + self.control.heap_bytes();
        kept + texts + self.headers.heap_bytes() + self.streams.heap_bytes()
    }

    /// Whether the peer's preface or SETTINGS, the rest of a header block, or the rest of a frame whose
    /// payload is skipped, must come next. Any other incomplete frame is not consumed, so the caller sees
    /// it in its input.
    pub fn is_within_head(&self) -> bool {
        let is_skipping =
            matches!(self.reading, Reading::Skip { payload: SkippedPayload::Frame, .. });
        !self.is_closed()
            && (self.headers.partial.is_some() || !self.settings.is_received() || is_skipping)
    }

    /// Takes the head that [`Event::Request`](crate::h2::Event::Request) announced.
    pub fn take_request(&mut self, head: &mut RequestHead) {
        head.clear();
        head.version = http::Version::HTTP_2;
        std::mem::swap(&mut head.method, &mut self.headers.section.method);
        std::mem::swap(&mut head.target, &mut self.headers.section.target);
        std::mem::swap(&mut head.fields, &mut self.headers.section.fields);
        head.protocol = self.headers.section.protocol.take();
        head.form = self.headers.section.form;
    }

    /// Takes the head that [`Event::Response`](crate::h2::Event::Response) or
    /// [`Event::Interim`](crate::h2::Event::Interim) announced.
    pub fn take_response(&mut self, head: &mut ResponseHead) {
        head.clear();
        head.version = http::Version::HTTP_2;
        head.status = self.headers.section.status;
        std::mem::swap(&mut head.fields, &mut self.headers.section.fields);
    }

    /// Takes the section that [`Event::Trailers`](crate::h2::Event::Trailers) announced.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        self.headers.trailers.take()
    }

    /// Frees the memory that an idle connection does not need.
    pub fn shrink(&mut self) {
        if self.streams.len() == 0 {
            self.streams.shrink();
            self.headers.shrink();
            self.early_priorities.clear();
        }
        self.control.shrink();
    }
}
