//! Builds for later steps, one after the other and at low priority while the tests run, which often wait.

use crate::command::Command;
use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

/// The build of a later step.
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
    /// Starts a thread that runs these, and ends with the last one.
    pub(super) fn start(&self, builds: impl Iterator<Item = &'static BuildAhead>) {
        self.lock().waiting.extend(builds);
        let builds = self.clone();
        thread::spawn(move || while builds.run_next() {});
    }

    /// Runs the next build, and says whether there was one.
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

    /// Takes the builds of `step`, which is about to run, from the queue, and waits for one that has begun.
    pub(super) fn leave_to(&self, step: &str) {
        let mut state = self.lock();
        state.waiting.retain(|build| build.step != step);
        if state.running == Some(step) {
            println!("(waits for its build, which has begun)");
        }
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

    /// A file of this test.
    fn file(name: &str) -> PathBuf {
        env::temp_dir().join(format!("stoop-xtask-ahead-{name}-{}", process::id()))
    }

    /// A build that makes the file of this name once there is a file `go`.
    fn make(name: &str) -> Command {
        let script = "until [ -e \"$0\" ]; do sleep 0.01; done; touch \"$1\"";
        Command::new("sh").args(["-c", script]).arg(file("go")).arg(file(name))
    }

    fn wait_until(builds: &BuildsAhead, is_reached: impl Fn(&QueueState) -> bool) {
        while !is_reached(&builds.lock()) {
            thread::sleep(Duration::from_millis(1));
        }
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
        wait_until(&builds, |state| state.running == Some("one"));
        builds.leave_to("two");
        fs::write(file("go"), "").unwrap();
        builds.leave_to("one");
        let one = file("one").exists();
        wait_until(&builds, |state| state.running.is_none() && state.waiting.is_empty());
        builds.leave_to("three");
        let made = ["one", "two", "three"].map(|name| fs::remove_file(file(name)).is_ok());
        fs::remove_file(file("go")).unwrap();
        assert!(one, "the step did not wait for its build");
        assert_eq!(made, [true, false, true]);
    }
}
