//! The progress as lines for a log, every so many seconds.
//!
//! A thread of their own writes them: where nothing reads standard error, as that of a pipe that is full, a write does not end, and
//! the run has to hear signals and the end of `--duration`. Lines that find the one before unwritten are left out.

use std::io;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use stoop_fetch::Progress;
use stoop_fetch::statistics::Statistics;

use super::progress_lines;
use super::progress_text::ProgressText;
use crate::stderr;

/// How long the end waits for the last line, which comes before the summary where standard error is read.
const LAST_LINE_TIME: Duration = Duration::from_millis(200);

/// The lines.
#[derive(Debug)]
pub(super) struct ProgressLog {
    text: ProgressText,
    every: Duration,
    lines: SyncSender<String>,
    /// Is disconnected once all lines are written.
    written: Receiver<()>,
}

impl ProgressLog {
    /// Lines with this text, one each `every`.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub(super) fn new(text: ProgressText, every: Duration) -> io::Result<Self> {
        let (lines, queue) = sync_channel::<String>(1);
        let (writes, written) = sync_channel::<()>(0);
        thread::Builder::new().name("progress".to_owned()).spawn(move || {
            for line in queue {
                stderr::print(&line);
            }
            drop(writes);
        })?;
        Ok(Self { text, every, lines, written })
    }

    /// How often there is to be one.
    pub(super) fn every(&self) -> Duration {
        self.every
    }

    /// Writes a line, or leaves it out where the one before could not be written yet.
    pub(super) fn show(&self, progress: Progress, statistics: Option<Statistics>) {
        let [whole, ..] = self.text.forms(progress);
        let errors = statistics.and_then(|now| progress_lines::errors(&now, usize::MAX));
        let errors = errors.map_or_else(String::new, |errors| format!("; {errors}"));
        let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        let _ = self.lines.try_send(format!("{time} {whole}{errors}\n"));
    }

    /// Ends it with the lines that can be written.
    pub(super) fn end(self) {
        drop(self.lines);
        let _ = self.written.recv_timeout(LAST_LINE_TIME);
    }
}
