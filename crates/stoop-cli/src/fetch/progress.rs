//! The progress of a run on standard error: lines on the terminal that are drawn anew, or a line for a log every so many
//! seconds.

use std::cell::RefCell;
use std::io::{self, stderr};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use stoop_fetch::Progress;
use stoop_fetch::statistics::Statistics;

use super::output_args::ProgressPlan;
use super::plan::FetchPlan;
use super::progress_lines;
use super::progress_log::ProgressLog;
use super::progress_text::ProgressText;
use super::progress_writer::ProgressWriter;
use super::source::InputLength;
use crate::terminal;

/// The rate shown is that of this time: an average over the whole run would hide a stall.
const RATE_WINDOW: Duration = Duration::from_secs(5);

/// How often the display changes.
const DRAWN_EVERY: Duration = Duration::from_millis(100);

/// How often the statistics are looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A terminal of fewer rows shows one line.
const ROWS_MIN: usize = 6;

/// The progress on standard error.
#[derive(Debug)]
pub(super) enum ProgressDisplay {
    Drawn(DrawnProgress),
    Lines(ProgressLog),
}

impl ProgressDisplay {
    /// The display of a run of `plan`, if there is to be one.
    ///
    /// # Errors
    /// It cannot be started.
    pub(super) fn new(plan: &FetchPlan, input: InputLength) -> io::Result<Option<Self>> {
        Ok(match plan.progress {
            ProgressPlan::None => None,
            ProgressPlan::Drawn => Some(Self::Drawn(DrawnProgress::new(plan, input)?)),
            ProgressPlan::Lines(every) => {
                let text = ProgressText::new(plan, input, every);
                Some(Self::Lines(ProgressLog::new(text, every)?))
            }
        })
    }

    /// How often it is to be shown.
    pub(super) fn every(&self) -> Duration {
        match self {
            Self::Drawn(_) => DRAWN_EVERY,
            Self::Lines(log) => log.every(),
        }
    }

    /// The bar, which has to be hidden while other text is written to the same terminal.
    pub(super) fn bar(&self) -> Option<ProgressBar> {
        match self {
            Self::Drawn(drawn) => Some(drawn.bar.clone()),
            Self::Lines(..) => None,
        }
    }

    /// Removes what is drawn, and ends the lines.
    pub(super) fn clear(self) {
        drop(self);
    }

    /// Shows the current state. What is drawn asks for the statistics once a second, and each line for a log does.
    pub(super) fn show(&self, progress: Progress, statistics: impl FnOnce() -> Option<Statistics>) {
        match self {
            Self::Drawn(drawn) => drawn.show(progress, statistics),
            Self::Lines(log) => log.show(progress, statistics()),
        }
    }
}

/// The lines on the terminal: rate, content, in flight, what limits that, errors by kind, slow hosts, and the time left
/// if the input's size is known.
#[derive(Debug)]
pub(super) struct DrawnProgress {
    bar: ProgressBar,
    writer: ProgressWriter,
    text: ProgressText,
    /// The lines below the first, and when they were made.
    below: RefCell<(Vec<String>, Instant)>,
}

impl DrawnProgress {
    fn new(plan: &FetchPlan, input: InputLength) -> io::Result<Self> {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg}").expect("a good template");
        bar.set_style(if plan.layout.has_boxes { style } else { style.tick_chars(r"|/-\ ") });
        let text = ProgressText::new(plan, input, RATE_WINDOW);
        let shown = bar.clone();
        let writer = ProgressWriter::new(move |messages| {
            for message in messages {
                shown.set_message(message);
                shown.tick();
            }
            shown.finish_and_clear();
        })?;
        let drawn = Self { bar, writer, text, below: (Vec::new(), Instant::now()).into() };
        drawn.show(Progress::default(), || None);
        Ok(drawn)
    }

    fn show(&self, progress: Progress, statistics: impl FnOnce() -> Option<Statistics>) {
        let columns = terminal::columns(&stderr()).unwrap_or(usize::MAX);
        let forms = self.text.forms(progress);
        // The other three: the spinner, a blank, and the last column, in which some terminals break the line.
        let fits = |form: &String| form.chars().count() + 3 <= columns;
        let mut message = forms.into_iter().find(fits).unwrap_or_default();
        // Also where the terminal was wider when they were made.
        for line in self.below(columns, statistics).iter().filter(|line| fits(line)) {
            message.push_str("\n  ");
            message.push_str(line);
        }
        self.writer.write(message);
    }

    /// The lines below the first, on a terminal of so many columns and enough rows.
    fn below(
        &self,
        columns: usize,
        statistics: impl FnOnce() -> Option<Statistics>,
    ) -> Vec<String> {
        if terminal::rows(&stderr()).is_some_and(|rows| rows < ROWS_MIN) {
            return Vec::new();
        }
        let mut below = self.below.borrow_mut();
        let (lines, made) = &mut *below;
        if made.elapsed() >= LOOK_EVERY
            && let Some(statistics) = statistics()
        {
            *lines = progress_lines::lines(&statistics, columns.saturating_sub(3));
            *made = Instant::now();
        }
        lines.clone()
    }
}
