//! An input that gives no more than is allowed, for a parser that would take any number of bytes for one thing.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr;

use crate::source::byte_order;

/// So much is read at once.
const READ_BYTES_MAX: usize = 64 << 10;

/// Reads an input through a buffer.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    input: BufReader<R>,
    /// What may still be taken.
    left: usize,
    /// What was taken so far, and may be taken of the whole input.
    taken: u64,
    taken_max: u64,
    /// The first byte, once it was taken.
    first: u8,
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(input: R, taken_max: u64) -> Self {
        let input = BufReader::with_capacity(READ_BYTES_MAX, input);
        Self { input, left: 0, taken: 0, taken_max, first: 0 }
    }

    /// Lets so many bytes be taken from now on.
    pub(super) fn allow(&mut self, bytes: usize) {
        self.left = bytes;
    }

    /// How many bytes were read.
    pub(super) fn position(&self) -> u64 {
        self.taken + self.input.buffer().len() as u64
    }

    /// Whether the next piece of markup is here to its end, most likely, so that nothing is waited for.
    pub(super) fn has_markup(&self) -> bool {
        memchr(b'>', self.input.buffer()).is_some()
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

impl<R: Read> BufRead for Bounded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let left = self.left;
        let too_long = |text: &str| Err(io::Error::new(io::ErrorKind::InvalidData, text));
        if self.taken >= self.taken_max {
            return too_long("it has more bytes than sitemaps may have (50 MiB)");
        }
        let bytes = self.input.fill_buf()?;
        match (self.taken, bytes.first()) {
            (0, _) => byte_order::check(bytes)?,
            // The first came alone.
            (1, Some(second)) => byte_order::check(&[self.first, *second])?,
            _ => {}
        }
        if left == 0 && !bytes.is_empty() {
            return too_long("a tag, text or comment of more than 4 MiB");
        }
        Ok(&bytes[..bytes.len().min(left)])
    }

    fn consume(&mut self, bytes: usize) {
        if let (0, Some(first)) = (self.taken, self.input.buffer().first()) {
            self.first = *first;
        }
        self.left = self.left.saturating_sub(bytes);
        self.taken += bytes as u64;
        self.input.consume(bytes);
    }
}
