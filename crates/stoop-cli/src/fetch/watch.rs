//! What the main thread does while a run goes on: it hears signals, ends the run by them and by `--duration`, and shows the
//! progress.

use std::future::pending;
use std::io;
use std::process::exit;
use std::thread;
use std::time::Duration;

use stoop_fetch::Run;
use tokio::runtime::{Builder, Runtime};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::plan::FetchPlan;
use super::progress::ProgressDisplay;
use crate::failure::CommandFailure;
use crate::signals::{self, Signals};

/// A signal that comes this soon after another is the same one: `timeout` sends each to its child, and
/// then to the process group of the child.
const SAME_SIGNAL_WINDOW: Duration = Duration::from_millis(100);

/// How long a report and cookies have to be written where the first signal comes after the last line.
const LAST_FILES_TIME: Duration = Duration::from_secs(1);

/// Hears signals from the time on when it is made.
pub(super) struct Watch {
    control: Runtime,
    signals: Signals,
    /// When the first signal came.
    interrupted: Option<Instant>,
}

impl Watch {
    /// # Errors
    /// The system's.
    pub(super) fn new() -> io::Result<Self> {
        let control = Builder::new_current_thread().enable_all().build()?;
        let signals = control.block_on(async { Signals::new() })?;
        Ok(Self { control, signals, interrupted: None })
    }

    /// Waits until the last line is written, and ends the run before that by `--duration`, or on a signal, which is
    /// returned. Another signal ends the process.
    pub(super) fn until_the_end(
        &mut self,
        run: &Run,
        plan: &FetchPlan,
        progress: Option<&ProgressDisplay>,
    ) -> Option<u8> {
        let Self { control, signals, interrupted } = self;
        control.block_on(watch(run, plan, progress, signals, interrupted))
    }

    /// Has the next signal end the process: what is written last, as the summary, may have a reader that reads nothing.
    pub(super) fn end_by_signals(self) {
        let Self { control, mut signals, interrupted } = self;
        let hear = move || {
            loop {
                let number = control.block_on(signals.next());
                if interrupted.is_none() {
                    thread::sleep(LAST_FILES_TIME);
                }
                if interrupted.is_none_or(|first| is_another(number, first)) {
                    exit_by(number);
                }
            }
        };
        // Without it all is written as well.
        let _ = thread::Builder::new().name("signals".to_owned()).spawn(hear);
    }
}

async fn watch(
    run: &Run,
    plan: &FetchPlan,
    progress: Option<&ProgressDisplay>,
    signals: &mut Signals,
    interrupted: &mut Option<Instant>,
) -> Option<u8> {
    let begin = Instant::now();
    let every = progress.map_or(Duration::from_secs(1), ProgressDisplay::every);
    let mut ticks = interval_at(begin + every, every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut cause = None;
    loop {
        let duration_over = async {
            match plan.duration {
                Some(duration) if !run.is_stopping() => sleep_until(begin + duration).await,
                _ => pending().await,
            }
        };
        tokio::select! {
            biased;
            () = run.ended() => return cause,
            number = signals.next() => {
                if is_another(number, *interrupted.get_or_insert_with(Instant::now)) {
                    exit_by(number);
                }
                // A signal after the end of --duration changes nothing but the speed of it.
                if !run.is_stopping() {
                    cause = Some(number);
                }
                run.stop();
            }
            () = duration_over => run.stop(),
            _ = ticks.tick(), if progress.is_some() => {
                if let Some(progress) = progress {
                    progress.show(run.progress(), || run.statistics());
                }
            }
        }
    }
}

/// Whether a signal is another one than the first, which came then, and is to end the process.
fn is_another(number: u8, first: Instant) -> bool {
    first.elapsed() >= SAME_SIGNAL_WINDOW && number != signals::HANGUP
}

fn exit_by(number: u8) -> ! {
    exit(i32::from(CommandFailure::Signal(number).exit_code()))
}
