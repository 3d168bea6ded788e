//! Opening the source of URLs: standard input, a file, a named pipe, or the arguments.

use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::path::Path;

use stoop_fetch::Stop;
use stoop_fetch::source::{Decompressed, StoppableInput, is_compressed};
use tokio::net::unix::pipe;
use tokio::runtime::Builder;

use super::plan::UrlSource;
use crate::stderr;

/// An opened source of URLs.
#[derive(Debug)]
pub(super) enum OpenSource {
    File(File),
    Text(Cursor<Vec<u8>>),
}

impl OpenSource {
    /// Opens the source. Returns its length too, 0 if that is unknown.
    pub(super) fn open(source: &UrlSource) -> io::Result<(Self, u64)> {
        Ok(match source {
            UrlSource::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    stderr::message(
                        "type or paste URLs, one a line; end with Ctrl-D (--help shows more)",
                    );
                }
                // Without the standard library's buffer, which would take bytes that are then not seen here.
                (Self::File(File::from(stdin.as_fd().try_clone_to_owned()?)), 0)
            }
            UrlSource::File(path) => {
                if std::fs::metadata(path)?.file_type().is_fifo() {
                    return Ok((Self::File(open_fifo(path)?), 0));
                }
                let file = File::open(path)?;
                let about = file.metadata()?;
                if about.is_dir() {
                    return Err(io::ErrorKind::IsADirectory.into());
                }
                let mut begin = [0; 4];
                // What is in it is longer, by how much is not known before it is read.
                let is_known = about.is_file()
                    && !file.read_at(&mut begin, 0).is_ok_and(|n| is_compressed(&begin[..n]));
                let length = if is_known { about.len() } else { 0 };
                (Self::File(file), length)
            }
            UrlSource::Text(text) => {
                let length = text.len() as u64;
                (Self::Text(Cursor::new(text.clone())), length)
            }
        })
    }

    /// The file that it is, to be read by positions.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn file(self) -> io::Result<File> {
        match self {
            Self::File(file) => Ok(file),
            Self::Text(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// The reader of its bytes, which decompresses them if need be, and is at its end once `stop` is requested.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) fn reader(self, stop: Stop) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::File(file) => Box::new(Decompressed::new(StoppableInput::new(file, stop)?)),
            Self::Text(text) => Box::new(text),
        })
    }
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
        let piped = OpenSource::File(File::from(OwnedFd::from(reader)));
        let copy = text.clone();
        thread::spawn(move || writer.write_all(&copy));
        let (file, length) = OpenSource::open(&UrlSource::File(path.clone())).expect("it is there");
        assert_eq!(length, text.len() as u64);
        let (given, _) = OpenSource::open(&UrlSource::Text(text.clone())).expect("it is here");
        let (null, _) =
            OpenSource::open(&UrlSource::File("/dev/null".into())).expect("Unix has it");
        for (input, expected) in [(piped, &text[..]), (file, &text), (given, &text), (null, b"")] {
            let mut all = Vec::new();
            let mut reader = input.reader(Stop::new()).expect("descriptors");
            reader.read_to_end(&mut all).expect("readable");
            assert!(all == expected);
        }
        std::fs::remove_file(&path).expect("ours");
    }
}
