//! Opening the source of URLs: standard input, a file, a named pipe, or the arguments.

use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use stoop_fetch::Stop;
use stoop_fetch::source::{Decompressed, StoppableInput};
use tokio::net::unix::pipe;
use tokio::runtime::Builder;

use super::plan::UrlSource;
use crate::stderr;

/// An opened source of URLs.
#[derive(Debug)]
pub(super) struct OpenSource {
    input: OpenInput,
    length: InputLength,
}

#[derive(Debug)]
enum OpenInput {
    File(File),
    Text(Cursor<Vec<u8>>),
}

/// The length of an input as it lies there, compressed or not, and how much of it was read.
#[derive(Clone, Debug)]
pub(super) struct InputLength {
    /// None where it is known at the end only, as that of a pipe.
    pub(super) bytes: Option<u64>,
    read: Arc<AtomicU64>,
}

impl InputLength {
    fn new(bytes: Option<u64>) -> Self {
        Self { bytes: bytes.filter(|bytes| *bytes > 0), read: Arc::default() }
    }

    /// How many bytes were read; none of a file that is read by positions.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Relaxed)
    }
}

/// A reader whose bytes are counted.
struct Counted<R> {
    input: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(into)?;
        self.read.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

impl OpenSource {
    /// Opens the source.
    pub(super) fn open(source: &UrlSource) -> io::Result<Self> {
        let (input, bytes) = match source {
            UrlSource::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    stderr::message(
                        "type or paste URLs, one a line; end with Ctrl-D (--help shows more)",
                    );
                }
                // Without the standard library's buffer, which would take bytes that are then not seen here.
                let file = File::from(stdin.as_fd().try_clone_to_owned()?);
                let left = bytes_left(&file);
                (OpenInput::File(file), left)
            }
            UrlSource::File(path) if std::fs::metadata(path)?.file_type().is_fifo() => {
                (OpenInput::File(open_fifo(path)?), None)
            }
            UrlSource::File(path) => {
                let file = File::open(path)?;
                if file.metadata()?.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                let left = bytes_left(&file);
                (OpenInput::File(file), left)
            }
            UrlSource::Text(text) => {
                (OpenInput::Text(Cursor::new(text.clone())), Some(text.len() as u64))
            }
        };
        Ok(Self { input, length: InputLength::new(bytes) })
    }

    /// Its length, and how much was read.
    pub(super) fn length(&self) -> InputLength {
        self.length.clone()
    }

    /// The file that it is, to be read by positions.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn file(self) -> io::Result<File> {
        match self.input {
            OpenInput::File(file) => Ok(file),
            OpenInput::Text(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The reader of its bytes, which decompresses them if need be, and is at its end once `stop` is requested.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn reader(self, stop: Stop) -> io::Result<Box<dyn Read + Send>> {
        let read = self.length.read;
        Ok(match self.input {
            OpenInput::File(file) => {
                let input = StoppableInput::new(file, stop)?;
                Box::new(Decompressed::new(Counted { input, read }))
            }
            OpenInput::Text(input) => Box::new(Counted { input, read }),
        })
    }
}

/// How much of a file is left to be read; none where it is no file of a certain length.
fn bytes_left(mut file: &File) -> Option<u64> {
    let about = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(about.len().saturating_sub(file.stream_position().ok()?))
}

/// Opens a named pipe without waiting for its first writer, as opening one usually does: the
/// [`StoppableInput`] waits for that, because it can be told to stop.
fn open_fifo(path: &Path) -> io::Result<File> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _registered_there = runtime.enter();
    let pipe = pipe::OpenOptions::new().open_receiver(path)?;
    Ok(pipe.into_nonblocking_fd()?.into())
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::thread;

    use super::*;

    #[test]
    fn every_kind_of_source_is_read_to_its_end() {
        let text = b"some\nlines".repeat(50_000);
        let path = std::env::temp_dir().join(format!("stoop-source-{}", std::process::id()));
        std::fs::write(&path, &text).expect("writable");
        let (reader, mut writer) = io::pipe().expect("a pipe");
        let piped = File::from(OwnedFd::from(reader));
        let piped = OpenSource { length: InputLength::new(None), input: OpenInput::File(piped) };
        let copy = text.clone();
        thread::spawn(move || writer.write_all(&copy));
        let open = |source| OpenSource::open(&source).expect("it is there");
        let file = open(UrlSource::File(path.clone()));
        let given = open(UrlSource::Text(text.clone()));
        let null = open(UrlSource::File("/dev/null".into()));
        for (input, expected, is_known) in [
            (piped, &text[..], false),
            (file, &text, true),
            (given, &text, true),
            (null, b"", false),
        ] {
            let length = input.length();
            assert_eq!(length.bytes, is_known.then_some(expected.len() as u64));
            let mut all = Vec::new();
            let mut reader = input.reader(Stop::new()).expect("descriptors");
            reader.read_to_end(&mut all).expect("readable");
            assert!(all == expected);
            assert_eq!(length.read(), expected.len() as u64);
        }
        std::fs::remove_file(&path).expect("ours");
    }
}
