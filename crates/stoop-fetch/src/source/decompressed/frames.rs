//! The frames of zstd, one after the other, with errors that say what is wrong with them.

use std::io::{self, BufReader, ErrorKind, Read};

/// What the library of zstd says of bytes that begin no frame.
const NO_FRAME: &str = "Unknown frame descriptor";

/// Reads what is in the frames of `input`, to its end.
pub(super) struct Frames<R: Read>(zstd::Decoder<'static, BufReader<Watched<R>>>);

impl<R: Read> Frames<R> {
    /// The input begins with a frame.
    pub(super) fn new(input: R) -> io::Result<Self> {
        let input = BufReader::new(Watched { input, has_failed: false });
        zstd::Decoder::with_buffer(input).map(Self)
    }
}

impl<R: Read> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into);
        read.map_err(|error| match self.0.get_ref().get_ref().has_failed {
            true => error,
            false => damaged(&error),
        })
    }
}

/// An input that remembers whether it failed itself.
struct Watched<R> {
    input: R,
    has_failed: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into);
        self.has_failed = read.is_err();
        read
    }
}

/// An error of the decoder as what it is.
fn damaged(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let (kind, text) = match error.kind() {
        ErrorKind::UnexpectedEof => (
            ErrorKind::UnexpectedEof,
            format!(
                "it breaks off within what zstd compressed: {text}"
            ),
        ),
        // The first frame was one.
        _ if text.contains(NO_FRAME) => (
            ErrorKind::InvalidData,
            "bytes follow the end of what zstd compressed, and are no frame of it; all before them was read".to_owned(),
        ),
        _ => (ErrorKind::InvalidData, format!("it is damaged zstd: {text}")),
    };
    io::Error::new(kind, text)
}
