//! The event stream format: HTML Living Standard §9.2.5 and §9.2.6.

use std::time::Duration;

use bytes::{Buf, Bytes};

/// An event that a server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerEvent {
    /// What kind of event it is: `message` where the server names none.
    pub event: String,
    /// Its lines of data, with a line feed between them.
    pub data: String,
    /// The id of the last event that had one, this one included; empty if there was none.
    pub id: String,
}

/// Reads events out of pieces of a stream.
#[derive(Default)]
pub(super) struct EventParser {
    /// A line whose end has not come.
    line: Vec<u8>,
    /// The last line ended with CR: an LF that follows belongs to it.
    after_cr: bool,
    /// The first line was read, before which there may be a byte order mark.
    has_begun: bool,
    event: String,
    data: String,
    /// The id of the last event that was given out, or ended without data.
    pub(super) id: String,
    /// The id that the event has which was begun, if it has one of its own.
    next_id: Option<String>,
    /// What the stream says of reconnecting.
    pub(super) retry: Option<Duration>,
}

/// An event has more bytes than it may have.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLarge;

impl EventParser {
    /// Forgets the event that was begun: the stream has ended. The id stays.
    pub(super) fn restart(&mut self) {
        let (id, retry) = (std::mem::take(&mut self.id), self.retry);
        *self = Self { id, retry, ..Self::default() };
    }

    /// Takes from `piece` up to the end of the next event, or all of it.
    pub(super) fn next_event(
        &mut self,
        piece: &mut Bytes,
        bytes_max: usize,
    ) -> Result<Option<ServerEvent>, TooLarge> {
        if self.after_cr && piece.first() == Some(&b'\n') {
            piece.advance(1);
        }
        self.after_cr &= piece.is_empty();
        while let Some(end) = piece.iter().position(|byte| matches!(byte, b'\r' | b'\n')) {
            self.grow(piece.get(..end).unwrap_or_default(), bytes_max)?;
            let is_cr = piece.get(end) == Some(&b'\r');
            piece.advance(end + 1);
            match piece.first() {
                Some(b'\n') if is_cr => piece.advance(1),
                Some(_) => {}
                None => self.after_cr = is_cr,
            }
            let line = std::mem::take(&mut self.line);
            let event = self.take_line(&line);
            self.line = line;
            self.line.clear();
            if event.is_some() {
                return Ok(event);
            }
        }
        self.grow(&std::mem::take(piece), bytes_max)?;
        Ok(None)
    }

    fn grow(&mut self, bytes: &[u8], bytes_max: usize) -> Result<(), TooLarge> {
        if self.line.len() + self.data.len() + bytes.len() > bytes_max {
            return Err(TooLarge);
        }
        self.line.extend_from_slice(bytes);
        Ok(())
    }

    fn take_line(&mut self, line: &[u8]) -> Option<ServerEvent> {
        let line = match std::mem::replace(&mut self.has_begun, true) {
            true => line,
            false => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
        };
        if line.is_empty() {
            return self.dispatch();
        }
        let (name, value) = match line.iter().position(|byte| *byte == b':') {
            Some(at) => (&line[..at], &line[at + 1..]),
            None => (line, &b""[..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match name {
            b"event" => self.event = String::from_utf8_lossy(value).into_owned(),
            b"data" => {
                self.data.push_str(&String::from_utf8_lossy(value));
                self.data.push('\n');
            }
            b"id" if !value.contains(&0) => {
                self.next_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                let text = std::str::from_utf8(value).unwrap_or_default();
                self.retry = Some(Duration::from_millis(text.parse().unwrap_or(u64::MAX)));
            }
            // A comment, or a field of another standard.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<ServerEvent> {
        // An event that is cut off has not come: it is asked for again.
        if let Some(id) = self.next_id.take() {
            self.id = id;
        }
        let (mut data, event) = (std::mem::take(&mut self.data), std::mem::take(&mut self.event));
        // Every line of data has added a line end, of which the last is not part of it.
        data.pop()?;
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(ServerEvent { event, data, id: self.id.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The events of a stream that comes in these pieces: name, data, id.
    fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<(String, String, String)> {
        let (mut parser, mut events) = (EventParser::default(), Vec::new());
        for piece in pieces {
            let mut piece = Bytes::copy_from_slice(piece);
            while let Some(event) = parser.next_event(&mut piece, 1_000).unwrap() {
                events.push((event.event, event.data, event.id));
            }
            assert!(piece.is_empty());
        }
        events
    }

    fn event(event: &str, data: &str, id: &str) -> (String, String, String) {
        (event.to_owned(), data.to_owned(), id.to_owned())
    }

    #[test]
    fn the_id_of_an_event_that_was_cut_off_is_not_that_of_the_last_one() {
        let mut parser = EventParser::default();
        let mut piece = Bytes::from_static(b"id: 1\ndata: one\n\nid: 2\ndata: tw");
        assert_eq!(parser.next_event(&mut piece, 100).unwrap().unwrap().id, "1");
        assert_eq!(parser.next_event(&mut piece, 100), Ok(None));
        parser.restart();
        assert_eq!(parser.id, "1");
    }

    #[test]
    fn events_are_those_of_the_standards_examples_however_they_are_cut_and_lines_end() {
        for (stream, expected) in [
            ("data: YHOO\ndata: +2\ndata: 10\n\n", vec![event("message", "YHOO\n+2\n10", "")]),
            (
                ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
                vec![
                    event("message", "first event", "1"),
                    event("message", "second event", ""),
                    event("message", " third event", ""),
                ],
            ),
            (
                "data\n\ndata\ndata\n\ndata:\n",
                vec![event("message", "", ""), event("message", "\n", "")],
            ),
            ("data:test\n\ndata: test\n\n", vec![event("message", "test", ""); 2]),
            (
                "event: add\ndata: 73857293\n\nevent: none\n\nevent: remove\ndata: 2153\nid: 7\n\n\ndata: x\n\n",
                vec![
                    event("add", "73857293", ""),
                    event("remove", "2153", "7"),
                    event("message", "x", "7"),
                ],
            ),
            ("\u{feff}data: a\n\n", vec![event("message", "a", "")]),
            ("id: a\0b\nother: x\ndata: a\n\n", vec![event("message", "a", "")]),
            ("data: never complete\n", vec![]),
        ] {
            for ends in ["\n", "\r", "\r\n"] {
                let stream = stream.replace('\n', ends);
                let bytes = stream.as_bytes();
                assert_eq!(read([bytes]), expected, "{stream:?} whole");
                assert_eq!(read(bytes.chunks(1)), expected, "{stream:?} byte by byte");
                for cut in 0..bytes.len() {
                    let (head, tail) = bytes.split_at(cut);
                    assert_eq!(read([head, tail]), expected, "{stream:?} cut at {cut}");
                }
            }
        }
        assert_eq!(read([&b"data: \xff\n\n"[..]]), [event("message", "\u{fffd}", "")]);
    }

    #[test]
    fn retry_is_a_number_of_milliseconds_or_is_ignored() {
        let mut parser = EventParser::default();
        for (line, retry) in [
            ("retry: x\n", None),
            ("retry: -1\n", None),
            ("retry:\n", None),
            ("retry: 1500\n", Some(1_500)),
            ("retry: 15s\n", Some(1_500)),
            ("retry: 99999999999999999999999\n", Some(u64::MAX)),
        ] {
            assert!(parser.next_event(&mut line.into(), 100).unwrap().is_none());
            assert_eq!(parser.retry, retry.map(Duration::from_millis), "{line:?}");
        }
    }

    #[test]
    fn an_event_is_bounded_whether_in_one_line_or_in_many() {
        let line = [b'a'; 101];
        let mut parser = EventParser::default();
        assert_eq!(parser.next_event(&mut Bytes::copy_from_slice(&line), 100), Err(TooLarge));
        let mut lines = Bytes::from("data: abcdefgh\n".repeat(12));
        assert_eq!(EventParser::default().next_event(&mut lines, 100), Err(TooLarge));
        // Comments are no part of it.
        let mut comments = Bytes::from(": abcdefgh\n".repeat(100) + "data: x\n\n");
        let event = EventParser::default().next_event(&mut comments, 100).unwrap();
        assert_eq!(event.unwrap().data, "x");
    }
}
