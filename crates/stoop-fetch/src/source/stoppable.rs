//! An input that a run can stop waiting for.
//!
//! Every job that was read gets a record, so the reader must not be blocked in a read when a run ends: the
//! read could still return bytes. This reader therefore waits first, for bytes or for the end of the run,
//! and then reads the bytes that are there.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use tokio::net::unix::pipe;
use tokio::runtime::{Builder, Runtime};

use crate::stop::Stop;

/// A file, pipe or terminal that reads as ended once the run is stopped, with no byte taken that comes later.
///
/// A plain file needs this only where its disk may be slow; a pipe or a terminal, on which a read can wait
/// for ever, does.
#[derive(Debug)]
pub struct StoppableInput {
    file: File,
    stop: Stop,
    runtime: Runtime,
    /// A second descriptor of the same file, to wait for its bytes. None where that is impossible, because
    /// they are always there, on a disk. (A second one, because waiting takes ownership of it, and kept,
    /// because there may be no free descriptor in the middle of a run.)
    wait_fd: Option<OwnedFd>,
}

impl StoppableInput {
    /// Reads `file` until it or the run that `stop` ends is at its end. It must not be used inside a runtime
    /// of tokio: it waits with one of its own.
    ///
    /// # Errors
    /// The file cannot be read, or there are no descriptors.
    pub fn new(mut file: File, stop: Stop) -> io::Result<Self> {
        // Waiting for bytes of a file that cannot be read, such as a pipe's other end, would never end;
        // reading none of them fails at once.
        let _none = file.read(&mut [])?;
        let runtime = Builder::new_current_thread().enable_io().build()?;
        let wait_fd = Some(file.as_fd().try_clone_to_owned()?);
        Ok(Self { file, stop, runtime, wait_fd })
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
                    () = self.stop.requested() => {}
                    ready = file.readable() => ready?,
                }
                // In the mode in which it was: it has not been changed.
                file.into_nonblocking_fd().map(Some)
            })?;
        }
        Ok(!self.stop.is_requested())
    }
}

impl Read for StoppableInput {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.wait()? {
            match self.file.read(into) {
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

    fn pipe() -> (File, io::PipeReader, io::PipeWriter) {
        let (reader, writer) = io::pipe().expect("a pipe");
        let ours = reader.try_clone().expect("a descriptor");
        (File::from(OwnedFd::from(ours)), reader, writer)
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_not_waited_for() {
        let (_reader, writer) = io::pipe().expect("a pipe");
        let input = File::from(OwnedFd::from(writer));
        assert!(StoppableInput::new(input, Stop::new()).is_err());
    }

    #[test]
    fn a_reader_that_waits_for_bytes_ends_with_the_run_and_takes_none_that_come_later() {
        let stop = Stop::new();
        let (input, mut pipe, mut writer) = pipe();
        writer.write_all(b"before").expect("open");
        let mut reader = StoppableInput::new(input, stop.clone()).expect("descriptors");
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
