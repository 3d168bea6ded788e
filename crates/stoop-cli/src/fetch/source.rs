//! Where lines come from, and how to stop reading there.
//!
//! Bytes that were read have to be answered, so nobody may be in the middle of a read when a run
//! ends: it could still get some. Whoever reads therefore waits first, for bytes or for the run's
//! end, and then reads what is there.

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

use super::plan::Source;
use crate::stderr;

/// The end of a run before its input's, made known to all who have to know.
#[derive(Debug, Default)]
pub(super) struct Stop {
    asked: AtomicBool,
    /// For the one who waits, the reader; everybody else looks.
    bell: Notify,
}

impl Stop {
    pub(super) fn ask(&self) {
        self.asked.store(true, Relaxed);
        self.bell.notify_one();
    }

    pub(super) fn is_asked(&self) -> bool {
        self.asked.load(Relaxed)
    }
}

/// A source that can be read.
#[derive(Debug)]
pub(super) enum Input {
    File(File),
    Text(Cursor<Vec<u8>>),
}

impl Input {
    /// Opens the source, and says how long it is if that can be known.
    pub(super) fn open(source: &Source) -> io::Result<(Self, u64)> {
        Ok(match source {
            Source::Stdin => {
                let stdin = io::stdin();
                if stdin.is_terminal() {
                    stderr::say(
                        "type or paste URLs, one a line; end with Ctrl-D (--help shows more)",
                    );
                }
                // Without the standard library's buffer, which would take bytes we do not see.
                (Self::File(File::from(stdin.as_fd().try_clone_to_owned()?)), 0)
            }
            Source::File(path) => {
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
            Source::Text(text) => {
                let length = text.len() as u64;
                (Self::Text(Cursor::new(text.clone())), length)
            }
        })
    }
}

/// Opens a named pipe without waiting for its first writer, as anybody else does who opens one: to
/// wait for that is the reader's, who can be told to stop.
fn open_fifo(path: &Path) -> io::Result<File> {
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let _registered_there = runtime.enter();
    let pipe = pipe::OpenOptions::new().open_receiver(path)?;
    Ok(pipe.into_nonblocking_fd()?.into())
}

/// An input that ends when the run does.
pub(super) struct Reader<'a> {
    input: Input,
    stop: &'a Stop,
    runtime: Runtime,
    /// The same file, to wait for its bytes. None where nobody can, because they are always there:
    /// on a disk, in memory. (A second descriptor, because who waits owns it, and kept, because
    /// there may be no other to have in the middle of a run.)
    waiting: Option<OwnedFd>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(mut input: Input, stop: &'a Stop) -> io::Result<Self> {
        if let Input::File(file) = &mut input {
            // Whoever waits for bytes of what cannot be read, such as a pipe's other end, waits for
            // ever; to read none of them is an error at once.
            let _none = file.read(&mut [])?;
        }
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let waiting = match &input {
            Input::File(file) => Some(file.as_fd().try_clone_to_owned()?),
            Input::Text(_) => None,
        };
        Ok(Self { input, stop, runtime, waiting })
    }

    /// Waits for bytes, the end of the input, or that of the run, in which case it says false.
    fn wait(&mut self) -> io::Result<bool> {
        if let Some(file) = self.waiting.take() {
            self.waiting = self.runtime.block_on(async {
                // Registered each time, since only that asks what is there now: events tell what
                // is new, and would have us read until there is nothing, which blocks.
                let Ok(file) = pipe::Receiver::from_owned_fd_unchecked(file) else {
                    return Ok(None);
                };
                tokio::select! {
                    biased;
                    () = self.stop.bell.notified() => {}
                    ready = file.readable() => ready?,
                }
                // In whatever mode it was: nobody changed it.
                file.into_nonblocking_fd().map(Some)
            })?;
        }
        Ok(!self.stop.is_asked())
    }
}

impl Read for Reader<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.wait()? {
            let read = match &mut self.input {
                Input::File(file) => file.read(into),
                Input::Text(text) => text.read(into),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Somebody who shares our terminal or pipe made it non-blocking.
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if self.waiting.is_none() {
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

    fn pipe() -> (Input, io::PipeReader, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let ours = reader.try_clone().expect("a descriptor");
        (Input::File(File::from(OwnedFd::from(ours))), reader, writer)
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_waited_for() {
        let (_reader, writer) = io::pipe().expect("a pipe");
        let input = Input::File(File::from(OwnedFd::from(writer)));
        assert!(Reader::new(input, &Stop::default()).is_err());
    }

    #[test]
    fn all_kinds_of_inputs_are_read_to_their_end() {
        let text = b"some\nlines".repeat(50_000);
        let path = std::env::temp_dir().join(format!("stoop-source-{}", std::process::id()));
        std::fs::write(&path, &text).expect("writable");
        let (piped, _, mut writer) = pipe();
        let copy = text.clone();
        thread::spawn(move || writer.write_all(&copy));
        let (file, length) = Input::open(&Source::File(path.clone())).expect("it is there");
        assert_eq!(length, text.len() as u64);
        let (given, _) = Input::open(&Source::Text(text.clone())).expect("it is here");
        let (null, _) = Input::open(&Source::File("/dev/null".into())).expect("Unix has it");
        for (input, expected) in [(piped, &text[..]), (file, &text), (given, &text), (null, b"")] {
            let stop = Stop::default();
            let mut all = Vec::new();
            let mut reader = Reader::new(input, &stop).expect("descriptors");
            reader.read_to_end(&mut all).expect("readable");
            assert!(all == expected);
        }
        std::fs::remove_file(&path).expect("ours");
    }

    #[test]
    fn who_waits_for_bytes_is_told_of_the_end_and_takes_none_that_come_later() {
        let stop = Stop::default();
        let (input, mut pipe, mut writer) = pipe();
        writer.write_all(b"before").expect("open");
        let mut reader = Reader::new(input, &stop).expect("descriptors");
        let mut bytes = [0; 100];
        assert_eq!(reader.read(&mut bytes).expect("readable"), 6);
        thread::scope(|scope| {
            let waits = scope.spawn(|| reader.read(&mut bytes));
            stop.ask();
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
