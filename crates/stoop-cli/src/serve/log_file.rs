//! The file that the access log is written to, which another may take the place of.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Whose sender is dropped once the last line is written.
pub(super) type LastLine = Receiver<Infallible>;

/// A file that another may take the place of, between two writes. The old one is closed at once, or once the write that
/// runs has ended.
#[derive(Clone)]
pub(super) struct LogFile(Arc<OpenFile>);

struct OpenFile {
    file: Mutex<Arc<File>>,
    /// Dropped with the last writer, for [`LastLine`].
    held: OnceLock<Sender<Infallible>>,
}

impl LogFile {
    pub(super) fn new(file: File) -> Self {
        let file = Mutex::new(Arc::new(file));
        Self(Arc::new(OpenFile { file, held: OnceLock::new() }))
    }

    /// What tells that the last line is written, once this log is replaced.
    pub(super) fn last_line(&self) -> LastLine {
        let (held, last_line) = channel();
        // A log is replaced once.
        let _ = self.0.held.set(held);
        last_line
    }

    pub(super) fn replace(&self, file: File) {
        *self.file() = Arc::new(file);
    }

    fn file(&self) -> MutexGuard<'_, Arc<File>> {
        self.0.file.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for LogFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let file = self.file().clone();
        (&*file).write(bytes)
    }

    /// Whole lines go to one file.
    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        let file = self.file().clone();
        (&*file).write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_replaced_is_closed_at_once_and_gets_no_more() {
        let folder = std::env::temp_dir().join(format!("stoop-log-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (old, new) = (folder.join("old"), folder.join("new"));
        let made = |path| File::create(path).unwrap();
        let mut written = LogFile::new(made(&old));
        written.write_all(b"one\n").unwrap();
        let held = Arc::downgrade(&written.file());
        written.replace(made(&new));
        assert!(held.upgrade().is_none());
        written.write_all(b"two\n").unwrap();
        let read = (std::fs::read(&old).unwrap(), std::fs::read(&new).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(read, (b"one\n".to_vec(), b"two\n".to_vec()));
    }
}
