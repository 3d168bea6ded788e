//! The progress of the content of a request: on the terminal while it is sent, until the head of the response comes.

use std::convert::Infallible;
use std::io::{IsTerminal, stdin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use indicatif::ProgressBar;
use stoop::ClientEvent;
use tokio::time::sleep;

use super::args::GetArgs;
use super::progress;
use super::record::{Content, Record};

/// How often it is drawn.
const TICK: Duration = Duration::from_millis(100);

/// The progress of content that is sent, as far as the record [counts](super::content::SendTerms::is_counted) it.
#[derive(Clone, Debug)]
pub(super) struct SendProgress {
    record: Record,
    is_shown: bool,
    /// That of the request that is under way.
    line: Arc<Mutex<Option<Line>>>,
}

#[derive(Debug)]
struct Line {
    bar: ProgressBar,
    total: Option<u64>,
    is_drawn: bool,
}

impl SendProgress {
    /// That of the request of these options, if it is one to show. A line would be drawn over content that is typed.
    pub(super) fn new(args: &GetArgs, record: &Record) -> Self {
        let is_stdin = args.upload_file.as_ref().is_some_and(|path| path.as_os_str() == "-");
        let is_typed = is_stdin && stdin().is_terminal();
        Self {
            record: record.clone(),
            is_shown: args.has_content()
                && args.wants_progress()
                && progress::is_possible()
                && !is_typed,
            line: Arc::default(),
        }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.is_shown
    }

    /// Notes an event that the record has noted.
    pub(super) fn note(&self, event: &ClientEvent<'_>) {
        match event {
            ClientEvent::Sending { .. } => self.begin(),
            ClientEvent::Responded { .. }
            | ClientEvent::Retrying { .. }
            | ClientEvent::Failed { .. } => self.clear(),
            _ => {}
        }
    }

    /// Waits for the end of a transfer, and shows what is sent meanwhile.
    pub(super) async fn beside<T>(&self, transfer: impl Future<Output = T>) -> T {
        if !self.is_shown {
            return transfer.await;
        }
        tokio::select! {
            ended = transfer => ended,
            never = self.draw_for_ever() => match never {},
        }
    }

    /// Removes it from the terminal.
    pub(super) fn clear(&self) {
        if let Some(line) = self.line().take() {
            line.bar.finish_and_clear();
        }
    }

    fn begin(&self) {
        self.clear();
        let total = match self.record.content() {
            _ if !self.is_shown => return,
            Content::Bytes(0) => return,
            Content::Bytes(bytes) => Some(bytes),
            Content::Unknown(_) => None,
        };
        *self.line() = Some(Line { bar: progress::line(total), total, is_drawn: false });
    }

    async fn draw_for_ever(&self) -> Infallible {
        loop {
            sleep(TICK).await;
            self.draw();
        }
    }

    fn draw(&self) {
        let sent = self.record.sent().bytes();
        let mut line = self.line();
        let Some(line) = line.as_mut() else { return };
        // What is sent at once has no progress to show.
        if line.is_drawn || line.total.is_none_or(|total| sent < total) {
            line.is_drawn = true;
            line.bar.set_position(sent);
        }
    }

    fn line(&self) -> MutexGuard<'_, Option<Line>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
