//! HTTP/2: several requests at a time on each connection (RFC 9113 §6.8).

use std::io::{self, BufReader, ErrorKind, Write};
use std::net::TcpStream;
use std::sync::atomic::AtomicU64;

use stoop_bench_floor::count::BODY;
use stoop_bench_floor::frames::{self, Frame};

use crate::{Counts, Load, add};

/// Requests at a time on a connection.
const STREAMS: usize = 10;
const REFUSED_STREAM: [u8; 4] = [0, 0, 0, 7];
const STREAM_MASK: u32 = (1 << 31) - 1;

/// Sends requests, on a connection as long as it is kept.
pub(crate) fn keep(load: &Load) {
    while let Some(stream) = load.connect() {
        let mut connection =
            Connection { counts: &load.counts, open: Vec::new(), next: 1, last: None };
        if let Err(error) = connection.run(&stream, load) {
            connection.end(&error);
        }
    }
}

struct Connection<'a> {
    counts: &'a Counts,
    /// The streams without a complete response.
    open: Vec<u32>,
    next: u32,
    /// The last stream that the server takes, when it has said that it goes away.
    last: Option<u32>,
}

impl Connection<'_> {
    /// Goes on until it is over or the server has said that it goes away, and what came before is answered.
    fn run(&mut self, stream: &TcpStream, load: &Load) -> io::Result<()> {
        let (mut reader, mut writer) = (BufReader::new(stream), stream);
        let mut out = frames::opening();
        loop {
            let ends = self.last.is_some() || load.is_over();
            while !ends && self.open.len() < STREAMS {
                out.extend(frames::get(self.next, "/"));
                self.open.push(self.next);
                self.next += 2;
                add(&self.counts.sent, 1);
            }
            writer.write_all(&out)?;
            out.clear();
            if ends && self.open.is_empty() {
                return Ok(());
            }
            let frame = Frame::read(&mut reader)?;
            out.extend(frame.reply().unwrap_or_default());
            self.take(&frame);
        }
    }

    fn take(&mut self, frame: &Frame) {
        let Counts { answered, declined, broken, .. } = self.counts;
        match frame.kind {
            frames::GOAWAY => {
                let last = frame.payload.first_chunk().copied().map_or(0, u32::from_be_bytes);
                let last = (last & STREAM_MASK).min(self.last.unwrap_or(STREAM_MASK));
                self.last = Some(last);
                let before = self.open.len();
                self.open.retain(|stream| *stream <= last);
                add(declined, before - self.open.len());
            }
            frames::RST_STREAM if frame.payload == REFUSED_STREAM => {
                self.close(frame.stream, declined);
            }
            frames::RST_STREAM => self.close(frame.stream, broken),
            frames::HEADERS if !frame.is_200() => self.close(frame.stream, broken),
            frames::DATA if !frame.payload.is_empty() && frame.payload != BODY => {
                self.close(frame.stream, broken);
            }
            _ if frame.ends_stream() => self.close(frame.stream, answered),
            _ => {}
        }
    }

    fn close(&mut self, stream: u32, count: &AtomicU64) {
        let before = self.open.len();
        self.open.retain(|open| *open != stream);
        add(count, before - self.open.len());
    }

    /// Counts the open streams of a connection that has ended.
    fn end(&mut self, error: &io::Error) {
        let Counts { closed, reset, promised, hung, .. } = self.counts;
        let count = match error.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => hung,
            _ if self.last.is_some() => promised,
            ErrorKind::UnexpectedEof => closed,
            _ => reset,
        };
        add(count, self.open.len());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn a_response_with_other_content_is_broken() {
        let counts = Counts::default();
        let mut connection = Connection { counts: &counts, open: vec![1, 3], next: 5, last: None };
        for (stream, payload) in [(1, BODY), (3, b"other")] {
            let bytes = frames::frame(frames::DATA, 1, stream, payload);
            connection.take(&Frame::read(&mut bytes.as_slice()).unwrap());
        }
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        assert_eq!((of(&counts.answered), of(&counts.broken)), (1, 1));
    }

    fn goaway(last: u32) -> Frame {
        let bytes = frames::frame(frames::GOAWAY, 0, 0, &[last.to_be_bytes(), [0; 4]].concat());
        Frame::read(&mut bytes.as_slice()).unwrap()
    }

    #[test]
    fn streams_behind_the_last_one_are_declined_and_those_before_it_promised() {
        let counts = Counts::default();
        let mut connection =
            Connection { counts: &counts, open: vec![1, 3, 5], next: 7, last: None };
        connection.take(&goaway(STREAM_MASK));
        assert_eq!(counts.declined.load(Ordering::Relaxed), 0);
        connection.take(&goaway(3));
        assert_eq!((counts.declined.load(Ordering::Relaxed), connection.open.len()), (1, 2));
        connection.end(&ErrorKind::UnexpectedEof.into());
        assert_eq!(counts.promised.load(Ordering::Relaxed), 2);
    }
}
