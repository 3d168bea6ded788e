//! What later steps build, built one after the other behind the tests, which wait for much of their time.

use crate::command::Command;
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// What a later step builds.
pub(super) struct BuildAhead {
    pub(super) step: &'static str,
    pub(super) build: fn() -> Command,
}

/// The builds that have not ended, in their order.
#[derive(Clone, Default)]
pub(super) struct BuildsAhead {
    queue: Arc<Queue>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    ended: Condvar,
}

#[derive(Default)]
struct QueueState {
    waiting: VecDeque<&'static BuildAhead>,
    /// The step of the one that runs.
    running: Option<&'static str>,
}

impl BuildsAhead {
    /// Begins with these, in a thread that ends with the last one.
    pub(super) fn start(&self, builds: impl Iterator<Item = &'static BuildAhead>) {
        self.lock().waiting.extend(builds);
        let builds = self.clone();
        thread::spawn(move || while builds.run_next() {});
    }

    /// Builds the next one, and says whether there was one.
    fn run_next(&self) -> bool {
        let mut state = self.lock();
        let Some(BuildAhead { step, build }) = state.waiting.pop_front() else { return false };
        state.running = Some(step);
        drop(state);
        let mut build = build().behind().build();
        // Whether it succeeded is for the step, which builds again.
        let _ = build.stdout(Stdio::null()).stderr(Stdio::null()).status();
        self.lock().running = None;
        self.queue.ended.notify_all();
        true
    }

    /// Leaves what `step` builds to the step, which is about to run: waits for the build that has begun, and drops one that
    /// has not.
    pub(super) fn leave_to(&self, step: &str) {
        let mut state = self.lock();
        state.waiting.retain(|build| build.step != step);
        while state.running == Some(step) {
            state = self.queue.ended.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.queue.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;
    use std::time::Duration;
    use std::{env, fs, process};

    /// The file that the build of this name makes.
    fn made(name: &str) -> PathBuf {
        env::temp_dir().join(format!("stoop-xtask-ahead-{name}-{}", process::id()))
    }

    fn make(name: &str) -> Command {
        Command::new("sh").args(["-c", "sleep 0.2; touch \"$0\""]).arg(made(name))
    }

    #[test]
    fn a_step_finds_its_build_ended_or_builds_itself() {
        const BUILDS: &[BuildAhead] = &[
            BuildAhead { step: "one", build: || make("one") },
            BuildAhead { step: "two", build: || make("two") },
            BuildAhead { step: "three", build: || make("three") },
        ];
        let builds = BuildsAhead::default();
        builds.start(BUILDS.iter());
        while builds.lock().running.is_none() {
            thread::sleep(Duration::from_millis(1));
        }
        // It waits for its turn.
        builds.leave_to("two");
        builds.leave_to("one");
        assert!(made("one").exists());
        while !made("three").exists() {
            thread::sleep(Duration::from_millis(1));
        }
        builds.leave_to("three");
        assert!(!made("two").exists());
        for name in ["one", "three"] {
            fs::remove_file(made(name)).unwrap();
        }
    }
}
