//! The members of gzip, one after the other, with zeros between and behind them that are no part of any.

use std::io::{self, BufRead, ErrorKind, Read};

use flate2::bufread::GzDecoder;

/// Reads what is in the members of `input`, to its end.
pub(super) struct Members<R> {
    state: State<R>,
}

enum State<R> {
    Within(Box<GzDecoder<R>>),
    Between(R),
    End,
}

impl<R: BufRead> Members<R> {
    /// The input begins with a member.
    pub(super) fn new(input: R) -> Self {
        Self { state: State::Within(Box::new(GzDecoder::new(input))) }
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
                    let read = member.read(into)?;
                    if read > 0 || into.is_empty() {
                        return Ok(read);
                    }
                    if let State::Within(member) = std::mem::replace(&mut self.state, State::End) {
                        self.state = State::Between(member.into_inner());
                    }
                }
                State::Between(_) => self.begin_next()?,
                State::End => return Ok(0),
            }
        }
    }
}
