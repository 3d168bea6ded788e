//! Separates a form into parts, without I/O: bytes go in, heads and pieces of content come out.

use bytes::{Buf, Bytes, BytesMut};
use memchr::memmem;

use crate::multipart::head::PartHead;

/// Bytes that the fields of one part may have: as much as a server lets a head's first fields have, and a name of a file is
/// a few hundred.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Bytes in front of the first boundary. RFC 2046 lets there be a preamble; browsers send none.
const PREAMBLE_BYTES_MAX: usize = 8 * 1024;

/// Spaces behind a boundary (RFC 2046 §5.1.1: transport-padding), which no browser sends.
const PADDING_BYTES_MAX: usize = 64;

/// What came out.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Scanned {
    /// A part begins.
    Head(PartHead),
    /// A piece of its content.
    Piece(Bytes),
    /// It ends.
    PartEnd,
    /// There are no further parts.
    End,
    /// More bytes are needed.
    More,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// In front of the first boundary.
    Preamble,
    /// Behind a boundary.
    Boundary,
    /// In the fields of a part.
    Head,
    /// In its content.
    Content,
    /// Behind the last boundary: what comes is read past.
    Epilogue,
}

/// Finds the parts in what has come.
pub(super) struct Scanner {
    state: State,
    /// CR LF, two dashes and the boundary. The first boundary may do without CR LF.
    delimiter: Vec<u8>,
    buffer: BytesMut,
}

impl Scanner {
    pub(super) fn new(boundary: &str) -> Self {
        let delimiter = format!("\r\n--{boundary}").into_bytes();
        Self { state: State::Preamble, delimiter, buffer: BytesMut::new() }
    }

    /// Takes what has come. Call it where [`Scanned::More`] was the answer: then little is held.
    pub(super) fn push(&mut self, bytes: &Bytes) {
        if self.state != State::Epilogue {
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next thing in what has come, or what is wrong with it.
    pub(super) fn scan(&mut self) -> Result<Scanned, &'static str> {
        loop {
            match self.state {
                State::Preamble => {
                    let first = &self.delimiter[2..];
                    let behind = if self.buffer.starts_with(first) {
                        first.len()
                    } else {
                        match find_within(&self.buffer, &self.delimiter, PREAMBLE_BYTES_MAX) {
                            Found::At(at) => at + self.delimiter.len(),
                            Found::NotYet => return Ok(Scanned::More),
                            Found::TooFar => return Err("it does not begin with its boundary"),
                        }
                    };
                    self.buffer.advance(behind);
                    self.state = State::Boundary;
                }
                State::Boundary => match self.behind_boundary()? {
                    Some(state) => self.state = state,
                    None => return Ok(Scanned::More),
                },
                State::Head => return self.head(),
                State::Content => return Ok(self.content()),
                State::Epilogue => {
                    self.buffer.clear();
                    return Ok(Scanned::End);
                }
            }
        }
    }

    /// What follows a boundary: two dashes behind the last one, else CR LF. None if it has not come yet.
    fn behind_boundary(&mut self) -> Result<Option<State>, &'static str> {
        if self.buffer.starts_with(b"--") {
            return Ok(Some(State::Epilogue));
        }
        let padding = self.buffer.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let behind = &self.buffer[padding..];
        if padding > PADDING_BYTES_MAX {
            return Err("a boundary is followed by more than 64 spaces");
        }
        if behind.starts_with(b"\r\n") {
            // What ends the boundary may end an empty head too.
            self.buffer.advance(padding);
            return Ok(Some(State::Head));
        }
        let may_become = b"\r\n".starts_with(behind) || (padding == 0 && behind == b"-");
        if may_become { Ok(None) } else { Err("a boundary is followed by something else") }
    }

    fn head(&mut self) -> Result<Scanned, &'static str> {
        let at = match find_within(&self.buffer, b"\r\n\r\n", HEAD_BYTES_MAX) {
            Found::At(at) => at,
            Found::NotYet => return Ok(Scanned::More),
            Found::TooFar => return Err("the fields of a part have more than 8192 bytes"),
        };
        let head = PartHead::parse(&self.buffer[..at])?;
        self.buffer.advance(at + 4);
        self.state = State::Content;
        Ok(Scanned::Head(head))
    }

    fn content(&mut self) -> Scanned {
        let end = match memmem::find(&self.buffer, &self.delimiter) {
            Some(0) => {
                self.buffer.advance(self.delimiter.len());
                self.state = State::Boundary;
                return Scanned::PartEnd;
            }
            Some(at) => at,
            // What may be the begin of a boundary waits for more.
            None => {
                let length = self.buffer.len();
                let first = length.saturating_sub(self.delimiter.len() - 1);
                let begins = |at: &usize| self.delimiter.starts_with(&self.buffer[*at..]);
                (first..length).find(begins).unwrap_or(length)
            }
        };
        match end {
            0 => Scanned::More,
            end => Scanned::Piece(self.buffer.split_to(end).freeze()),
        }
    }
}

/// Where a separator is.
enum Found {
    /// Its first byte.
    At(usize),
    /// It may still come within the limit.
    NotYet,
    /// It is behind the limit, whatever comes.
    TooFar,
}

/// Finds a separator that has at most `max` bytes in front of it. The answer depends on the bytes alone, and not on the
/// pieces that they come in.
fn find_within(buffer: &[u8], separator: &[u8], max: usize) -> Found {
    match memmem::find(buffer, separator) {
        Some(at) if at <= max => Found::At(at),
        None if buffer.len() < max + separator.len() => Found::NotYet,
        _ => Found::TooFar,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that comes out of a message that arrives in pieces of that size, contents put together.
    fn scan(message: &[u8], size: usize) -> Result<String, &'static str> {
        let mut scanner = Scanner::new("b");
        let (mut told, mut content) = (String::new(), Vec::new());
        let mut pieces = message.chunks(size);
        loop {
            match scanner.scan()? {
                Scanned::Head(head) => told += &format!("[{}]", head.name),
                Scanned::Piece(piece) => content.extend_from_slice(&piece),
                Scanned::PartEnd => {
                    told += &String::from_utf8_lossy(&std::mem::take(&mut content));
                }
                Scanned::End => return Ok(told),
                Scanned::More => match pieces.next() {
                    Some(piece) => scanner.push(&Bytes::copy_from_slice(piece)),
                    None => return Ok(told + "..."),
                },
            }
        }
    }

    fn part(name: &str, content: &str) -> String {
        format!("--b\r\nContent-Disposition: form-data; name={name}\r\n\r\n{content}\r\n")
    }

    /// RFC 2046 §5.1.1, whole and cut at every place.
    #[test]
    fn parts_are_between_their_boundaries() {
        let first = part("x", "1\r\n--a\r\n-");
        let (empty, last) = (part("y", ""), part("z", "\r\n\r\n--"));
        for (message, told) in [
            (
                format!("{first}{empty}{last}--b--\r\nepilogue --b"),
                "[x]1\r\n--a\r\n-[y][z]\r\n\r\n--",
            ),
            (format!("preamble\r\n{first}--b--"), "[x]1\r\n--a\r\n-"),
            (part("x", "1").replacen("--b", "--b \t", 1) + "--b--", "[x]1"),
            ("--b--".to_owned(), ""),
            (format!("{first}--b-"), "[x]1\r\n--a\r\n-..."),
            (format!("{first}{}", &empty[..20]), "[x]1\r\n--a\r\n-..."),
            (part("x", "1")[..48].to_owned(), "[x]..."),
            (String::new(), "..."),
        ] {
            for size in 1..=message.len().max(1) {
                assert_eq!(
                    scan(message.as_bytes(), size).as_deref(),
                    Ok(told),
                    "{size} of {message:?}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_part_is_refused_before_much_of_it_is_held() {
        for (message, why) in [
            ("x".repeat(PREAMBLE_BYTES_MAX + 5), "it does not begin with its boundary"),
            ("--bc\r\n".to_owned(), "a boundary is followed by something else"),
            ("--b -".to_owned(), "a boundary is followed by something else"),
            ("--b\r\n\r\n".to_owned(), "a part has no Content-Disposition"),
            (
                format!("--b\r\n{}", "x".repeat(9000)),
                "the fields of a part have more than 8192 bytes",
            ),
            (format!("--b{}", " ".repeat(65)), "a boundary is followed by more than 64 spaces"),
        ] {
            // What would make it a form comes too late.
            for behind in ["", "\r\n--b--", "\r\n\r\n--b--"] {
                let message = message.clone() + behind;
                for size in [1, 7, message.len()] {
                    assert_eq!(scan(message.as_bytes(), size), Err(why), "{size}, {behind:?}");
                }
            }
        }
    }

    #[test]
    fn limits_are_exact_whatever_the_pieces_are() {
        let disposition = "Content-Disposition: form-data; name=x\r\nX: ";
        let longest = "x".repeat(HEAD_BYTES_MAX - 2 - disposition.len());
        for message in [
            "x".repeat(PREAMBLE_BYTES_MAX) + "\r\n--b\r\n\r\n--b--",
            format!("--b{}\r\n{disposition}1\r\n\r\n\r\n--b--", " ".repeat(PADDING_BYTES_MAX)),
            format!("--b\r\n{disposition}{longest}\r\n\r\n\r\n--b--"),
        ] {
            let whole = scan(message.as_bytes(), message.len());
            assert!(!matches!(whole, Err(why) if why.contains("more than")), "{whole:?}");
            for size in [1, 7, 8190, 8191, 8192, 8193, 8194, 8195, 8196, 8197] {
                assert_eq!(scan(message.as_bytes(), size), whole, "{size}");
            }
        }
    }
}
