//! The members of gzip, one after the other, with zeros between and behind them that are no part of any.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// Reads what is in the members of `input`, to its end.
pub(super) struct Members<R> {
    state: State<R>,
    /// A member has ended.
    has_whole: bool,
}

enum State<R> {
    Within(Box<GzDecoder<R>>),
    Between(R),
    End,
}

impl<R: BufRead> Members<R> {
    /// The input begins with a member.
    pub(super) fn new(input: R) -> Self {
        Self { state: State::Within(Box::new(GzDecoder::new(input))), has_whole: false }
    }

    /// Begins the next member, if there is one.
    fn begin_next(&mut self) -> io::Result<()> {
        let State::Between(input) = &mut self.state else { return Ok(()) };
        loop {
            let bytes = match input.fill_buf() {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                bytes => bytes?,
            };
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            let (is_end, has_more) = (bytes.is_empty(), zeros < bytes.len());
            input.consume(zeros);
            if is_end || has_more {
                self.state = match std::mem::replace(&mut self.state, State::End) {
                    State::Between(input) if has_more => {
                        State::Within(Box::new(GzDecoder::new(input)))
                    }
                    _ => State::End,
                };
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Read for Members<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            match &mut self.state {
                State::Within(member) => {
                    let has_head = member.header().is_some();
                    let read = member.read(into);
                    let is_behind = self.has_whole && !has_head && member.header().is_none();
                    let read = read.map_err(|error| damaged(error, is_behind))?;
                    if read > 0 || into.is_empty() {
                        return Ok(read);
                    }
                    if let State::Within(member) = std::mem::replace(&mut self.state, State::End) {
                        self.state = State::Between(member.into_inner());
                        self.has_whole = true;
                    }
                }
                State::Between(_) => self.begin_next()?,
                State::End => return Ok(0),
            }
        }
    }
}

/// An error of the decoder as what it is: to it, a head that is none is a fault of its caller. `is_behind` says that it is
/// about the head of a member that follows others.
fn damaged(error: io::Error, is_behind: bool) -> io::Error {
    let text = match error.kind() {
        _ if error.raw_os_error().is_some() => return error,
        ErrorKind::InvalidInput | ErrorKind::UnexpectedEof if is_behind => {
            "bytes follow the end of what gzip compressed, and are neither gzip nor zeros; all before them was read"
                .to_owned()
        }
        ErrorKind::InvalidInput | ErrorKind::InvalidData => format!("it is damaged gzip: {error}"),
        ErrorKind::UnexpectedEof => format!("it breaks off within what gzip compressed: {error}"),
        _ => return error,
    };
    let kind = match error.kind() {
        ErrorKind::UnexpectedEof if !is_behind => ErrorKind::UnexpectedEof,
        _ => ErrorKind::InvalidData,
    };
    io::Error::new(kind, text)
}
