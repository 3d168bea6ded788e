//! A connection over HTTP/2, as far as scripts need one: requests one after the other, windows, and
//! replies to SETTINGS and PING.
//!
//! It does not use `stoop`'s own machine, which does not allow misuse. Frames of clients are not
//! checked: a header block is not decoded, and the content of a request is ignored.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::frames::{self, HEADER_BYTES, PAYLOAD_BYTES_MAX, PREFACE, code, flag, kind, setting};
use crate::body;
use crate::connection::{
    ByteStream, Disconnected, HANG_MAX, IDLE_MAX, OriginConnection, STALL_MAX,
};
use crate::log::EntryEnd;

/// Frames leave together, up to this size.
const TOGETHER_BYTES_MAX: usize = 64 * 1024;

/// Bytes of every window at first (RFC 9113 §6.9.2).
const WINDOW_BYTES: i64 = 65_535;

/// Why a response does not go on.
pub(super) enum Interrupted {
    Connection(Disconnected),
    /// The client has reset its stream. The connection goes on.
    Stream,
}

impl From<Disconnected> for Interrupted {
    fn from(disconnected: Disconnected) -> Self {
        Self::Connection(disconnected)
    }
}

/// A request that has no complete response, and the window of its stream.
struct OpenRequest {
    stream: u32,
    window: i64,
}

/// A connection over HTTP/2 on which scripts answer.
pub(super) struct Http2Connection<'a, S> {
    pub(super) inner: &'a mut OriginConnection<S>,
    /// The request that is being answered.
    current: OpenRequest,
    /// The requests after it, at most as many as there may be streams.
    queue: VecDeque<OpenRequest>,
    /// How many streams there may be at a time.
    streams_max: usize,
    /// The highest stream that was opened.
    last: u32,
    /// The connection's window, and that of a new stream.
    window: i64,
    initial_window: i64,
    pub(super) answers_pings: bool,
}

impl<'a, S: ByteStream> Http2Connection<'a, S> {
    /// Sends SETTINGS, to a client whose preface is in the received bytes.
    pub(super) fn begin(inner: &'a mut OriginConnection<S>, streams_max: u8) -> Self {
        inner.consume(PREFACE.len());
        let mut connection = Self {
            inner,
            current: OpenRequest { stream: 0, window: 0 },
            queue: VecDeque::new(),
            streams_max: streams_max.into(),
            last: 0,
            window: WINDOW_BYTES,
            initial_window: WINDOW_BYTES,
            answers_pings: true,
        };
        let [a, b] = setting::MAX_CONCURRENT_STREAMS.to_be_bytes();
        connection.put(kind::SETTINGS, flag::NONE, 0, &[a, b, 0, 0, 0, streams_max]);
        connection
    }

    /// The stream that is being answered.
    pub(super) fn stream(&self) -> u32 {
        self.current.stream
    }

    /// Appends a frame to what goes out next.
    pub(super) fn put(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frames::put(self.inner.out(), kind, flags, stream, payload);
    }

    pub(super) fn reset(&mut self, stream: u32, code: u32) {
        self.put(kind::RST_STREAM, flag::NONE, stream, &code.to_be_bytes());
    }

    /// Waits for the next request.
    pub(super) async fn request(&mut self) -> Result<(), Disconnected> {
        self.inner.flush().await?;
        let until = Instant::now() + IDLE_MAX;
        loop {
            if let Some(request) = self.queue.pop_front() {
                self.current = request;
                // The path is in a header block, which is not decoded.
                self.inner.line.head("", true);
                return Ok(());
            }
            if let Err(Interrupted::Connection(disconnected)) = self.handle_frame(until).await {
                if self.last == 0 {
                    self.inner.line.unused();
                }
                return Err(disconnected);
            }
        }
    }

    /// Ends the current request, so that none is being answered.
    pub(super) fn end_request(&mut self) {
        self.current.stream = 0;
    }

    /// Sends what was put and ends the line of the request, whatever else is sent afterwards.
    pub(super) async fn end_line(&mut self, ended: EntryEnd) -> Result<(), Disconnected> {
        self.inner.flush().await?;
        self.inner.line.end(ended);
        Ok(())
    }

    /// Waits, and notices at once if the client closes meanwhile or resets the stream.
    pub(super) async fn pause(&mut self, length: Duration) -> Result<(), Interrupted> {
        self.inner.flush().await?;
        if length.is_zero() {
            return Ok(());
        }
        let until = Instant::now() + length;
        loop {
            match self.handle_frame(until).await {
                Err(Interrupted::Connection(Disconnected(EntryEnd::TimedOut))) => return Ok(()),
                handled => handled?,
            }
        }
    }

    /// Sends no more of the response, until the client closes or resets the stream.
    pub(super) async fn hang(&mut self) -> Interrupted {
        match self.pause(HANG_MAX).await {
            Ok(()) => Interrupted::Connection(Disconnected(EntryEnd::TimedOut)),
            Err(interrupted) => interrupted,
        }
    }

    /// Sends `length` bytes of the body from `offset` on, as the client's windows allow; `ends` if the
    /// stream ends with them.
    pub(super) async fn body(
        &mut self,
        offset: u64,
        length: u64,
        ends: bool,
    ) -> Result<(), Interrupted> {
        let (mut at, end) = (offset, offset + length);
        loop {
            let window = u64::try_from(self.window.min(self.current.window)).unwrap_or(0);
            let piece = body::piece(at, (end - at).min(window).min(PAYLOAD_BYTES_MAX));
            if piece.is_empty() && at < end {
                self.inner.flush().await?;
                self.handle_frame(Instant::now() + STALL_MAX).await?;
                continue;
            }
            at += piece.len() as u64;
            let flags = if ends && at == end { flag::END_STREAM } else { flag::NONE };
            self.put(kind::DATA, flags, self.current.stream, piece);
            self.window -= piece.len() as i64;
            self.current.window -= piece.len() as i64;
            if self.inner.out().len() > TOGETHER_BYTES_MAX || at == end {
                self.inner.flush().await?;
            }
            if at == end {
                return Ok(());
            }
        }
    }

    /// Handles the next frame.
    async fn handle_frame(&mut self, until: Instant) -> Result<(), Interrupted> {
        let (header, payload) = self.frame(until).await?;
        let [_, _, _, kind, flags, a, b, c, d] = header;
        let stream = u32::from_be_bytes([a & 0x7f, b, c, d]);
        match kind {
            kind::HEADERS if stream > self.last => self.opened(stream),
            kind::DATA if !payload.is_empty() => {
                let length = (payload.len() as u32).to_be_bytes();
                self.put(kind::WINDOW_UPDATE, flag::NONE, 0, &length);
                self.put(kind::WINDOW_UPDATE, flag::NONE, stream, &length);
            }
            kind::RST_STREAM if stream == self.current.stream => {
                self.current.stream = 0;
                return Err(Interrupted::Stream);
            }
            kind::RST_STREAM => self.queue.retain(|request| request.stream != stream),
            kind::SETTINGS if flags & flag::ACK == 0 => {
                self.settings(&payload);
                self.put(kind::SETTINGS, flag::ACK, 0, &[]);
            }
            kind::PING if flags & flag::ACK == 0 && self.answers_pings => {
                self.put(kind::PING, flag::ACK, 0, &payload);
            }
            kind::WINDOW_UPDATE => {
                let by = i64::from(word(&payload) & 0x7fff_ffff);
                match stream {
                    0 => self.window += by,
                    _ => self
                        .streams()
                        .filter(|request| request.stream == stream)
                        .for_each(|request| request.window += by),
                }
            }
            _ => {}
        }
        Ok(self.inner.flush().await?)
    }

    fn opened(&mut self, stream: u32) {
        self.last = stream;
        let is_answering = usize::from(self.current.stream > 0);
        if self.queue.len() + is_answering >= self.streams_max {
            return self.reset(stream, code::REFUSED_STREAM);
        }
        self.queue.push_back(OpenRequest { stream, window: self.initial_window });
    }

    fn settings(&mut self, payload: &[u8]) {
        for entry in payload.chunks_exact(6) {
            if u16::from_be_bytes([entry[0], entry[1]]) == setting::INITIAL_WINDOW_SIZE {
                let window = i64::from(word(&entry[2..]));
                let by = window - std::mem::replace(&mut self.initial_window, window);
                self.streams().for_each(|request| request.window += by);
            }
        }
    }

    fn streams(&mut self) -> impl Iterator<Item = &mut OpenRequest> {
        self.queue.iter_mut().chain([&mut self.current])
    }

    /// The next frame, once it is there as a whole.
    async fn frame(
        &mut self,
        until: Instant,
    ) -> Result<([u8; HEADER_BYTES], Vec<u8>), Disconnected> {
        loop {
            if let Some((header, rest)) = self.inner.received().split_first_chunk::<HEADER_BYTES>()
            {
                let length = word(&[0, header[0], header[1], header[2]]) as usize;
                if length > PAYLOAD_BYTES_MAX as usize {
                    return Err(Disconnected(EntryEnd::BadRequest));
                }
                if let Some(payload) = rest.get(..length) {
                    let frame = (*header, payload.to_vec());
                    self.inner.consume(HEADER_BYTES + length);
                    return Ok(frame);
                }
            }
            self.inner.receive(until).await?;
        }
    }
}

/// The first four bytes as a number; missing ones are 0.
fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}
