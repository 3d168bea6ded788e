//! The progress as lines for a log, every so many seconds.

use std::io;
use std::time::Duration;

use jiff::Timestamp;
use stoop_fetch::Progress;
use stoop_fetch::statistics::Statistics;

use super::progress_lines;
use super::progress_text::ProgressText;
use super::progress_writer::ProgressWriter;
use crate::stderr;

/// The lines.
#[derive(Debug)]
pub(super) struct ProgressLog {
    text: ProgressText,
    every: Duration,
    writer: ProgressWriter,
}

impl ProgressLog {
    /// Lines with this text, one each `every`.
    ///
    /// # Errors
    /// The thread that writes them cannot be started.
    pub(super) fn new(text: ProgressText, every: Duration) -> io::Result<Self> {
        let writer =
            ProgressWriter::new(|lines| lines.iter().for_each(|line| stderr::print(&line)))?;
        Ok(Self { text, every, writer })
    }

    /// How often there is to be one.
    pub(super) fn every(&self) -> Duration {
        self.every
    }

    /// Writes a line.
    pub(super) fn show(&self, progress: Progress, statistics: Option<Statistics>) {
        let [whole, ..] = self.text.forms(progress);
        let errors = statistics.and_then(|now| progress_lines::errors(&now, usize::MAX));
        let errors = errors.map_or_else(String::new, |errors| format!("; {errors}"));
        let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ");
        self.writer.write(format!("{time} {whole}{errors}\n"));
    }
}
