//! An input that may be compressed.

mod begin;
mod frames;
mod inner;
mod members;
mod others;

use std::fmt::{self, Formatter};
use std::io::{self, BufReader, Chain, Cursor, Read};

pub use self::begin::is_compressed;
use self::begin::{is_gzip, is_zstd, may_be_compressed};
use self::frames::Frames;
use self::inner::Inner;
use self::members::Members;

/// Reads what gzip or zstd compressed, by its first bytes, and all else as it is. Several members or frames, one after
/// the other, are one input; frames of zstd that are to be skipped are, and so are zeros behind a member of gzip, with which
/// tapes and block devices are filled up. It takes memory for a window and not for what is in it, however much that is.
///
/// What breaks off is an error of the kind [`UnexpectedEof`](io::ErrorKind::UnexpectedEof). Bytes behind a member of gzip
/// that are neither gzip nor zeros are one of the kind [`InvalidData`](io::ErrorKind::InvalidData), and so are those behind a
/// frame of zstd that are none. What was before them has been read then. What xz, bzip2, lz4, compress, zip, 7z or rar have
/// compressed is of that kind, too, and nothing of it is read; so is what was compressed twice, and a tar archive that was
/// compressed.
///
/// ```
/// use std::io::Read;
/// use stoop_fetch::source::Decompressed;
///
/// let mut list = String::new();
/// Decompressed::new(&b"http://a/\n"[..]).read_to_string(&mut list)?;
/// assert_eq!(list, "http://a/\n");
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Decompressed<R: Read>(State<R>);

/// A reader whose first bytes were looked at.
type Seen<R> = Chain<Cursor<Vec<u8>>, R>;

enum State<R: Read> {
    Unread(R),
    Plain(Seen<R>),
    Gzip(Box<Inner<Members<BufReader<Seen<R>>>>>),
    Zstd(Box<Inner<Frames<Seen<R>>>>),
    /// The first read failed.
    Failed,
}

impl<R: Read> Decompressed<R> {
    /// Reads `input`, and not before it is read itself.
    pub fn new(input: R) -> Self {
        Self(State::Unread(input))
    }
}

impl<R: Read> Read for Decompressed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let State::Unread(_) = &self.0
            && let State::Unread(input) = std::mem::replace(&mut self.0, State::Failed)
        {
            self.0 = State::of(input)?;
        }
        match &mut self.0 {
            State::Plain(input) => input.read(into),
            State::Gzip(input) => input.read(into),
            State::Zstd(input) => input.read(into),
            State::Unread(_) | State::Failed => Ok(0),
        }
    }
}

impl<R: Read> State<R> {
    /// Looks at the first bytes of `input`, as few as tell what it is: more may be long in coming.
    fn of(mut input: R) -> io::Result<Self> {
        let mut begin = Vec::new();
        while may_be_compressed(&begin) {
            let mut byte = [0];
            match input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => begin.push(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        others::check(&begin)?;
        let kinds = (is_gzip(&begin), is_zstd(&begin));
        let seen = Cursor::new(begin).chain(input);
        Ok(match kinds {
            (true, _) => {
                Self::Gzip(Box::new(Inner::new(Members::new(BufReader::new(seen)), "gzip")))
            }
            (_, true) => Self::Zstd(Box::new(Inner::new(Frames::new(seen)?, "zstd"))),
            _ => Self::Plain(seen),
        })
    }
}

impl<R: Read> fmt::Debug for Decompressed<R> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            State::Unread(_) => "Decompressed::Unread",
            State::Plain(_) => "Decompressed::Plain",
            State::Gzip(_) => "Decompressed::Gzip",
            State::Zstd(_) => "Decompressed::Zstd",
            State::Failed => "Decompressed::Failed",
        })
    }
}

#[cfg(test)]
mod tests;
