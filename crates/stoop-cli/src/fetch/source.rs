//! Reading the bytes of the source of URLs, until it or the run ends.
//!
//! Every line that was read has to be answered, so the reader must not be blocked in a read when a run
//! ends: the read could still return bytes. The reader therefore waits first, for bytes or for the end
//! of the run, and then reads the bytes that are there.

use std::fs::File;
use std::io::{self, Cursor, IsTerminal, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

use super::plan::UrlSource;
use crate::stderr;

/// A request to end a run before its input does.
#[derive(Debug, Default)]
pub(super) struct Stop {
    is_requested: AtomicBool,
    /// Wakes the reader, which alone waits for the request; the other threads check the flag.
    reader_wake: Notify,
}

impl Stop {
    pub(super) fn request(&self) {
        self.is_requested.store(true, Relaxed);
        self.reader_wake.notify_one();
    }

    pub(super) fn is_requested(&self) -> bool {
        self.is_requested.load(Relaxed)
    }
}

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
                let length = if about.is_file() { about.len() } else { 0 };
                (Self::File(file), length)
            }
            UrlSource::Text(text) => {
                let length = text.len() as u64;
                (Self::Text(Cursor::new(text.clone())), length)
            }
        })
    }
}

/// Opens a named pipe without waiting for its first writer, as opening one usually does: the
/// [`SourceReader`] waits for that, because it can be told to stop.
fn open_fifo(path: &Path) -> io::Result<File> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _registered_there = runtime.enter();
    let pipe = pipe::OpenOptions::new().open_receiver(path)?;
    Ok(pipe.into_nonblocking_fd()?.into())
}

/// A reader of a source, which returns the end of the input when the run ends.
pub(super) struct SourceReader<'a> {
    input: OpenSource,
    stop: &'a Stop,
    runtime: Runtime,
    /// A second descriptor of the same file, to wait for its bytes. None where that is impossible, because
    /// they are always there: on a disk, in memory. (A second one, because waiting takes ownership of
    /// it, and kept, because there may be no free descriptor in the middle of a run.)
    wait_fd: Option<OwnedFd>,
}

impl<'a> SourceReader<'a> {
    pub(super) fn new(mut input: OpenSource, stop: &'a Stop) -> io::Result<Self> {
        if let OpenSource::File(file) = &mut input {
            // Waiting for bytes of a file that cannot be read, such as a pipe's other end, would never
            // end; reading none of them fails at once.
            let _none = file.read(&mut [])?;
        }
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let wait_fd = match &input {
            OpenSource::File(file) => Some(file.as_fd().try_clone_to_owned()?),
            OpenSource::Text(_) => None,
        };
        Ok(Self { input, stop, runtime, wait_fd })
    }

    /// Waits for bytes, the end of the input, or the end of the run; false for the last.
    fn wait(&mut self) -> io::Result<bool> {
        if let Some(file) = self.wait_fd.take() {
            self.wait_fd = self.runtime.block_on(async {
                // Registered each time, since only that reports the bytes that are there now: later
                // events report new ones alone, and would require reading until there is none, which
                // blocks.
                let Ok(file) = pipe::Receiver::from_owned_fd_unchecked(file) else {
                    return Ok(None);
                };
                tokio::select! {
                    biased;
                    () = self.stop.reader_wake.notified() => {}
                    ready = file.readable() => ready?,
                }
                // In the mode in which it was: it has not been changed.
                file.into_nonblocking_fd().map(Some)
            })?;
        }
        Ok(!self.stop.is_requested())
    }
}

impl Read for SourceReader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.wait()? {
            let read = match &mut self.input {
                OpenSource::File(file) => file.read(into),
                OpenSource::Text(text) => text.read(into),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Another process that shares the terminal or pipe made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.wait_fd.is_none() {
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
                result => return result,
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::thread;

    use super::*;

    fn pipe() -> (OpenSource, io::PipeReader, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let ours = reader.try_clone().expect("a descriptor");
        (OpenSource::File(File::from(OwnedFd::from(ours))), reader, writer)
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_not_waited_for() {
        let (_reader, writer) = io::pipe().expect("a pipe");
        let input = OpenSource::File(File::from(OwnedFd::from(writer)));
        assert!(SourceReader::new(input, &Stop::default()).is_err());
    }

    #[test]
    fn every_kind_of_source_is_read_to_its_end() {
        let text = b"some\nlines".repeat(50_000);
        let path = std::env::temp_dir().join(format!("stoop-source-{}", std::process::id()));
        std::fs::write(&path, &text).expect("writable");
        let (piped, _, mut writer) = pipe();
        let copy = text.clone();
        thread::spawn(move || writer.write_all(&copy));
        let (file, length) = OpenSource::open(&UrlSource::File(path.clone())).expect("it is there");
        assert_eq!(length, text.len() as u64);
        let (given, _) = OpenSource::open(&UrlSource::Text(text.clone())).expect("it is here");
        let (null, _) =
            OpenSource::open(&UrlSource::File("/dev/null".into())).expect("Unix has it");
        for (input, expected) in [(piped, &text[..]), (file, &text), (given, &text), (null, b"")] {
            let stop = Stop::default();
            let mut all = Vec::new();
            let mut reader = SourceReader::new(input, &stop).expect("descriptors");
            reader.read_to_end(&mut all).expect("readable");
            assert!(all == expected);
        }
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn a_reader_that_waits_for_bytes_ends_with_the_run_and_takes_none_that_come_later() {
        let stop = Stop::default();
        let (input, mut pipe, mut writer) = pipe();
        writer.write_all(b"before").expect("open");
        let mut reader = SourceReader::new(input, &stop).expect("descriptors");
        let mut bytes = [0; 100];
        assert_eq!(reader.read(&mut bytes).expect("readable"), 6);
        thread::scope(|scope| {
            let waits = scope.spawn(|| reader.read(&mut bytes));
            stop.request();
            assert_eq!(waits.join().expect("no panic").expect("no error"), 0);
        });
        writer.write_all(b"after").expect("open");
        assert_eq!(reader.read(&mut bytes).expect("no error"), 0);
        drop(writer);
        let mut left = Vec::new();
        pipe.read_to_end(&mut left).expect("readable");
        assert_eq!(left, b"after");
    }
}
