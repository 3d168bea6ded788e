//! Writes the progress, on a thread of its own: where nothing reads standard error, as that of a pipe that is full or of a terminal
//! whose connection stands still, a write does not end, and the run has to hear signals and the end of `--duration`.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

/// How long the end waits for the last text, which comes before the summary where standard error is read.
const LAST_TEXT_TIME: Duration = Duration::from_secs(1);

/// Hands texts to the thread. Those that find the one before unwritten are left out.
#[derive(Debug)]
pub(super) struct ProgressWriter {
    /// `None` at the end.
    texts: Option<SyncSender<String>>,
    /// Is disconnected once all are written.
    written: Receiver<()>,
}

impl ProgressWriter {
    /// A thread that does this with the texts until there are no more.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn new(write: impl FnOnce(Receiver<String>) + Send + 'static) -> io::Result<Self> {
        let (texts, queue) = sync_channel(1);
        let (writes, written) = sync_channel::<()>(0);
        thread::Builder::new().name("progress".to_owned()).spawn(move || {
            write(queue);
            drop(writes);
        })?;
        Ok(Self { texts: Some(texts), written })
    }

    /// Has a text written, or leaves it out where the one before could not be written yet.
    pub(super) fn write(&self, text: String) {
        if let Some(texts) = &self.texts {
            let _ = texts.try_send(text);
        }
    }
}

impl Drop for ProgressWriter {
    /// Ends it with the texts that can be written.
    fn drop(&mut self) {
        self.texts = None;
        let _ = self.written.recv_timeout(LAST_TEXT_TIME);
    }
}
