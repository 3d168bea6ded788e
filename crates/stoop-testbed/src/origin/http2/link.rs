//! A connection over HTTP/2, as far as scripts need one: requests one after the other, windows, and
//! answers to what every client may ask at any time.
//!
//! Not `stoop`'s own machine, which would not let itself be misused. What clients send is believed:
//! a header block is not read, and the content of a request is forgotten.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::frames::{self, HEADER_BYTES, PAYLOAD_MAX, PREFACE, code, flag, kind, setting};
use crate::body;
use crate::log::Ended;
use crate::wire::{Gone, HANG_MAX, IDLE_MAX, STALL_MAX, Stream, Wire};

/// Frames leave together, up to this size.
const TOGETHER_BYTES_MAX: usize = 64 * 1024;

/// What every window is at first (RFC 9113 §6.9.2).
const WINDOW_BYTES: i64 = 65_535;

/// Why an answer is not gone on with.
pub(super) enum Over {
    Connection(Gone),
    /// The client has reset its stream. The connection goes on.
    Stream,
}

impl From<Gone> for Over {
    fn from(gone: Gone) -> Self {
        Self::Connection(gone)
    }
}

/// A request, and how much content its client lets us send.
struct Asked {
    stream: u32,
    window: i64,
}

pub(super) struct Link<'a, S> {
    pub(super) wire: &'a mut Wire<S>,
    /// What is being answered.
    now: Asked,
    /// What is not yet, at most as many as there may be streams.
    next: VecDeque<Asked>,
    /// How many streams there may be at a time.
    streams_max: usize,
    /// The highest stream that was opened.
    last: u32,
    /// The connection's window, and that of a new stream.
    window: i64,
    initial_window: i64,
    pub(super) answers_pings: bool,
}

impl<'a, S: Stream> Link<'a, S> {
    /// Says what is to be said first, to a client whose preface waits to be taken.
    pub(super) fn begin(wire: &'a mut Wire<S>, streams_max: u8) -> Self {
        wire.consume(PREFACE.len());
        let mut link = Self {
            wire,
            now: Asked { stream: 0, window: 0 },
            next: VecDeque::new(),
            streams_max: streams_max.into(),
            last: 0,
            window: WINDOW_BYTES,
            initial_window: WINDOW_BYTES,
            answers_pings: true,
        };
        let [a, b] = setting::MAX_CONCURRENT_STREAMS.to_be_bytes();
        link.put(kind::SETTINGS, flag::NONE, 0, &[a, b, 0, 0, 0, streams_max]);
        link
    }

    /// The stream that is being answered.
    pub(super) fn stream(&self) -> u32 {
        self.now.stream
    }

    /// Appends a frame to what goes out next.
    pub(super) fn put(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        frames::put(self.wire.out(), kind, flags, stream, payload);
    }

    pub(super) fn reset(&mut self, stream: u32, code: u32) {
        self.put(kind::RST_STREAM, flag::NONE, stream, &code.to_be_bytes());
    }

    /// Waits for the next request.
    pub(super) async fn request(&mut self) -> Result<(), Gone> {
        self.wire.flush().await?;
        let until = Instant::now() + IDLE_MAX;
        loop {
            if let Some(asked) = self.next.pop_front() {
                self.now = asked;
                // The path is in a header block, which nobody here reads.
                self.wire.line.head("", true);
                return Ok(());
            }
            if let Err(Over::Connection(gone)) = self.hear(until).await {
                if self.last == 0 {
                    self.wire.line.unused();
                }
                return Err(gone);
            }
        }
    }

    /// Nothing is being answered.
    pub(super) fn forget(&mut self) {
        self.now.stream = 0;
    }

    /// The answer to the request is over: so it is in the log, whatever else is sent.
    pub(super) async fn ended(&mut self, ended: Ended) -> Result<(), Gone> {
        self.wire.flush().await?;
        self.wire.line.end(ended);
        Ok(())
    }

    /// Waits, and notices at once if the client closes meanwhile or resets the stream.
    pub(super) async fn pause(&mut self, length: Duration) -> Result<(), Over> {
        self.wire.flush().await?;
        if length.is_zero() {
            return Ok(());
        }
        let until = Instant::now() + length;
        loop {
            match self.hear(until).await {
                Err(Over::Connection(Gone(Ended::TimedOut))) => return Ok(()),
                heard => heard?,
            }
        }
    }

    /// Never says anything of the answer again.
    pub(super) async fn hang(&mut self) -> Over {
        match self.pause(HANG_MAX).await {
            Ok(()) => Over::Connection(Gone(Ended::TimedOut)),
            Err(over) => over,
        }
    }

    /// Sends `length` bytes of the body from `offset` on, as the client's windows allow; `ends` if the
    /// stream ends with them.
    pub(super) async fn body(&mut self, offset: u64, length: u64, ends: bool) -> Result<(), Over> {
        let (mut at, end) = (offset, offset + length);
        loop {
            let window = u64::try_from(self.window.min(self.now.window)).unwrap_or(0);
            let piece = body::piece(at, (end - at).min(window).min(PAYLOAD_MAX));
            if piece.is_empty() && at < end {
                self.wire.flush().await?;
                self.hear(Instant::now() + STALL_MAX).await?;
                continue;
            }
            at += piece.len() as u64;
            let flags = if ends && at == end { flag::END_STREAM } else { flag::NONE };
            self.put(kind::DATA, flags, self.now.stream, piece);
            self.window -= piece.len() as i64;
            self.now.window -= piece.len() as i64;
            if self.wire.out().len() > TOGETHER_BYTES_MAX || at == end {
                self.wire.flush().await?;
            }
            if at == end {
                return Ok(());
            }
        }
    }

    /// Takes the next frame, and does about it what must be done.
    async fn hear(&mut self, until: Instant) -> Result<(), Over> {
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
            kind::RST_STREAM if stream == self.now.stream => {
                self.now.stream = 0;
                return Err(Over::Stream);
            }
            kind::RST_STREAM => self.next.retain(|asked| asked.stream != stream),
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
                        .filter(|asked| asked.stream == stream)
                        .for_each(|asked| asked.window += by),
                }
            }
            _ => {}
        }
        Ok(self.wire.flush().await?)
    }

    fn opened(&mut self, stream: u32) {
        self.last = stream;
        let is_answering = usize::from(self.now.stream > 0);
        if self.next.len() + is_answering >= self.streams_max {
            return self.reset(stream, code::REFUSED_STREAM);
        }
        self.next.push_back(Asked { stream, window: self.initial_window });
    }

    fn settings(&mut self, payload: &[u8]) {
        for entry in payload.chunks_exact(6) {
            if u16::from_be_bytes([entry[0], entry[1]]) == setting::INITIAL_WINDOW_SIZE {
                let window = i64::from(word(&entry[2..]));
                let by = window - std::mem::replace(&mut self.initial_window, window);
                self.streams().for_each(|asked| asked.window += by);
            }
        }
    }

    fn streams(&mut self) -> impl Iterator<Item = &mut Asked> {
        self.next.iter_mut().chain([&mut self.now])
    }

    /// The next frame, once it is there as a whole.
    async fn frame(&mut self, until: Instant) -> Result<([u8; HEADER_BYTES], Vec<u8>), Gone> {
        loop {
            if let Some((header, rest)) = self.wire.received().split_first_chunk::<HEADER_BYTES>() {
                let length = word(&[0, header[0], header[1], header[2]]) as usize;
                if length > PAYLOAD_MAX as usize {
                    return Err(Gone(Ended::BadRequest));
                }
                if let Some(payload) = rest.get(..length) {
                    let frame = (*header, payload.to_vec());
                    self.wire.consume(HEADER_BYTES + length);
                    return Ok(frame);
                }
            }
            self.wire.receive(until).await?;
        }
    }
}

/// The first four bytes; those that are missing are 0.
fn word(bytes: &[u8]) -> u32 {
    bytes.first_chunk().map_or(0, |word| u32::from_be_bytes(*word))
}
