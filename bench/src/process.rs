//! Processes that cannot outlive this program.
//!
//! Four mechanisms ensure that: dropping a [`Process`] stops it and its descendants by their ids, also
//! when a panic unwinds; [`stop_on_signals`] does the same on Ctrl-C, and stops builds too; the
//! kernel sends SIGTERM to each [`Process`] that this program started when it dies in any other way; and as
//! "subreaper" this program adopts descendants whose parent died, so that their ids are not reused
//! before it stops them.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::cores::CoreSet;
use crate::usage;

/// How long a process may take to end after SIGTERM.
const TERM_TIMEOUT: Duration = Duration::from_secs(2);
const POLL: Duration = Duration::from_millis(5);

/// Ids of the processes that were started and not yet reaped.
static RUNNING: Mutex<Vec<i32>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<i32>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts a process. The list is locked meanwhile, so that a signal finds every process in it.
fn spawn(command: &mut Command) -> io::Result<(Child, i32)> {
    let mut running = running();
    let child = command.spawn()?;
    let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
    running.push(pid);
    Ok((child, pid))
}

/// Runs `command`, such as a build, to its end like [`Command::output`], but a signal stops it.
pub(crate) fn output(command: &mut Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (child, pid) = spawn(command)?;
    let output = child.wait_with_output();
    running().retain(|&other| other != pid);
    output
}

/// The line of a command's output that is most likely the reason why it failed.
pub(crate) fn first_error(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let is_error = |line: &&str| {
        ["error", "[ERROR]", "E:", "npm error", "ERROR"].iter().any(|word| line.starts_with(word))
    };
    let last = || text.lines().rfind(|line| !line.trim().is_empty());
    text.lines().find(is_error).or_else(last).unwrap_or("no error text").trim().to_owned()
}

/// A running process, which is stopped when this is dropped.
pub(crate) struct Process {
    pid: i32,
    name: String,
    is_reaped: bool,
}

/// The result of a process that has ended.
pub(crate) struct ProcessExit {
    pub(crate) is_success: bool,
    /// The CPU time of the process and of those of its children that it waited for.
    pub(crate) cpu: Duration,
}

impl Process {
    /// Starts `command` on `cores`.
    pub(crate) fn start(mut command: Command, cores: CoreSet, name: &str) -> Result<Self> {
        // SAFETY: getpid has no preconditions.
        let parent = unsafe { libc::getpid() };
        // SAFETY: the closure runs between fork and exec and makes only system calls: no
        // allocation and no lock.
        unsafe {
            command.pre_exec(move || {
                cores.enter()?;
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // The parent may have died before that call.
                if libc::getppid() == parent { Ok(()) } else { Err(io::ErrorKind::NotFound.into()) }
            });
        }
        let (_, pid) = spawn(&mut command)
            .with_context(|| format!("{name}: {:?} cannot be started", command.get_program()))?;
        Ok(Self { pid, name: name.to_owned(), is_reaped: false })
    }

    /// A child of `parent` that outlives it, and that this program adopts then: see [`stop_on_signals`]. It can be waited
    /// for once the parent has been.
    pub(crate) fn of_child(parent: &Self, pid: i32, name: &str) -> Result<Self> {
        // SAFETY: getpid has no preconditions.
        let this = unsafe { libc::getpid() };
        let mut running = running();
        let of = usage::parent(pid);
        ensure!(of == Some(parent.pid) || of == Some(this), "{name}: {pid} is no child of it");
        running.push(pid);
        Ok(Self { pid, name: name.to_owned(), is_reaped: false })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.pid
    }

    /// Sends it a signal. It is not reaped yet, so that the id is its own.
    pub(crate) fn signal(&self, number: i32) {
        signal(self.pid, number);
    }

    /// An error if the process has ended already.
    pub(crate) fn check_alive(&mut self) -> Result<()> {
        match self.reap()? {
            None => Ok(()),
            Some(_) => bail!("{} ended early; start it by hand to see why", self.name),
        }
    }

    /// Waits for the end, and calls `look` with the id every `period`. Stops a process that takes longer than
    /// `limit`.
    pub(crate) fn wait(
        mut self,
        limit: Duration,
        period: Duration,
        mut look: impl FnMut(i32),
    ) -> Result<ProcessExit> {
        let started = Instant::now();
        loop {
            if let Some(ended) = self.reap()? {
                return Ok(ended);
            }
            if started.elapsed() > limit {
                bail!("{} did not end within {limit:?} and was stopped", self.name);
            }
            look(self.pid);
            std::thread::sleep(period);
        }
    }

    fn reap(&mut self) -> Result<Option<ProcessExit>> {
        let mut status = 0;
        // SAFETY: a rusage is plain numbers.
        let mut resources: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both out-pointers are live; the id is of a child that was not reaped before.
        let pid = unsafe { libc::wait4(self.pid, &mut status, libc::WNOHANG, &mut resources) };
        if pid == 0 {
            return Ok(None);
        }
        if pid < 0 {
            return Err(io::Error::last_os_error())
                .with_context(|| format!("wait4: {}", self.name));
        }
        self.is_reaped = true;
        running().retain(|&other| other != self.pid);
        let is_success = libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        Ok(Some(ProcessExit {
            is_success,
            cpu: duration(resources.ru_utime) + duration(resources.ru_stime),
        }))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if self.is_reaped {
            return;
        }
        let tree = usage::tree(self.pid);
        signal(self.pid, libc::SIGTERM);
        let began = Instant::now();
        while began.elapsed() < TERM_TIMEOUT && matches!(self.reap(), Ok(None)) {
            std::thread::sleep(POLL);
        }
        if !self.is_reaped {
            signal(self.pid, libc::SIGKILL);
            // SAFETY: a null status pointer is allowed; the id is of a child that was not reaped.
            unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
        }
        kill_adopted(&tree);
        running().retain(|&other| other != self.pid);
    }
}

/// Runs a load on `cores` to its end, and calls `look` every `period`. Returns whether it succeeded, and
/// its standard output.
pub(crate) fn run_to_end(
    mut command: Command,
    cores: CoreSet,
    limit: Duration,
    period: Duration,
    mut look: impl FnMut(),
) -> Result<(bool, String)> {
    let output = tempfile::NamedTempFile::new().context("a file for the load's output")?;
    command.stdin(Stdio::null()).stdout(output.reopen().context("the load's output")?);
    let process = Process::start(command, cores, "the load generator")?;
    let exit = process.wait(limit, period, |_| look())?;
    let text = std::fs::read_to_string(output.path()).context("the load's output")?;
    Ok((exit.is_success, text))
}

/// Makes this program adopt orphans, and makes SIGINT, SIGTERM and SIGHUP stop all processes, call
/// `clean_up` and end the program.
pub(crate) fn stop_on_signals(clean_up: impl Fn() + Send + 'static) -> Result<()> {
    // SAFETY: this option takes one number and changes only who adopts orphans.
    if unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) } != 0 {
        return Err(io::Error::last_os_error()).context("PR_SET_CHILD_SUBREAPER");
    }
    let signals = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];
    let mut signals = signal_hook::iterator::Signals::new(signals).context("signal handlers")?;
    std::thread::spawn(move || {
        let Some(number) = signals.forever().next() else { return };
        // The list stays locked from here on, so no further process is started.
        let running = running();
        let trees: Vec<i32> = running.iter().flat_map(|&pid| usage::tree(pid)).collect();
        // All of them, since build tools do not pass the signal on.
        trees.iter().for_each(|&pid| signal(pid, libc::SIGTERM));
        let began = Instant::now();
        while began.elapsed() < TERM_TIMEOUT && trees.iter().any(|&pid| usage::is_alive(pid)) {
            std::thread::sleep(POLL);
        }
        running.iter().for_each(|&pid| signal(pid, libc::SIGKILL));
        kill_adopted(&trees);
        clean_up();
        std::process::exit(128 + number);
    });
    Ok(())
}

/// Stops those of `tree` that lost their parent and were adopted by this program. The others have ended,
/// and their ids may belong to other processes.
fn kill_adopted(tree: &[i32]) {
    // SAFETY: getpid has no preconditions.
    let this = unsafe { libc::getpid() };
    for &pid in tree.iter().filter(|&&pid| usage::parent(pid) == Some(this)) {
        signal(pid, libc::SIGKILL);
        // SAFETY: a null status pointer is allowed; the id is of a child that was not reaped.
        unsafe { libc::waitpid(pid, std::ptr::null_mut(), 0) };
    }
}

/// Stops the processes that this program adopted, with their descendants: its children that it did not start as a
/// [`Process`]. No other children may run.
pub(crate) fn stop_adopted() {
    // SAFETY: getpid has no preconditions.
    let this = unsafe { libc::getpid() };
    // Locked to the end, so that no process is started and taken for one of them.
    let running = running();
    let mut tree = usage::tree(this);
    tree.retain(|pid| !running.contains(pid));
    kill_adopted(&tree);
}

fn signal(pid: i32, number: i32) {
    // SAFETY: kill takes two numbers. Every id here is of a child that is not reaped, or of a
    // descendant that was there a moment ago.
    unsafe { libc::kill(pid, number) };
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(time.tv_sec.max(0) as u64) + Duration::from_micros(time.tv_usec as u64)
}

#[cfg(test)]
pub(crate) mod tests;
