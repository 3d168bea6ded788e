//! An input that gives no more than is allowed, for a parser that would take any number of bytes for one thing.

use std::io::{self, BufRead, BufReader, Read};

use memchr::memchr;

use crate::source::byte_order;

/// So much is read at once.
const READ_BYTES_MAX: usize = 64 << 10;

/// So many bytes tell the encoding.
const BEGIN_BYTES: usize = 4;

/// Reads an input through a buffer.
#[derive(Debug)]
pub(super) struct Bounded<R> {
    input: BufReader<R>,
    /// What may still be taken.
    left: usize,
    /// What was taken so far, and may be taken of the whole input.
    taken: u64,
    taken_max: u64,
    /// The first bytes, as far as they were taken.
    begin: [u8; BEGIN_BYTES],
}

impl<R: Read> Bounded<R> {
    pub(super) fn new(input: R, taken_max: u64) -> Self {
        let input = BufReader::with_capacity(READ_BYTES_MAX, input);
        Self { input, left: 0, taken: 0, taken_max, begin: [0; BEGIN_BYTES] }
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
        // They may come one by one.
        if self.taken < BEGIN_BYTES as u64 {
            let (mut begin, taken) = (self.begin, self.taken as usize);
            let end = BEGIN_BYTES.min(taken + bytes.len());
            begin[taken..end].copy_from_slice(&bytes[..end - taken]);
            byte_order::check(&begin[..end])?;
        }
        if left == 0 && !bytes.is_empty() {
            return too_long("a tag, text or comment of more than 4 MiB");
        }
        Ok(&bytes[..bytes.len().min(left)])
    }

    fn consume(&mut self, bytes: usize) {
        let taken = BEGIN_BYTES.min(self.taken as usize);
        let places = self.begin[taken..].iter_mut();
        places.zip(&self.input.buffer()[..bytes]).for_each(|(place, byte)| *place = *byte);
        self.left = self.left.saturating_sub(bytes);
        self.taken += bytes as u64;
        self.input.consume(bytes);
    }
}
