//! The cores of a measurement: a server has one to itself, and the load another, so that neither takes
//! time from the other.

use std::io;

use anyhow::{Context, Result, bail};

/// The cores on which a process may run.
#[derive(Clone, Copy)]
pub(crate) enum Placement {
    Server,
    Load,
    Anywhere,
}

/// A set of cores as the kernel takes it.
#[derive(Clone, Copy)]
pub(crate) struct CoreSet(libc::cpu_set_t);

impl CoreSet {
    fn only(core: usize) -> Self {
        // SAFETY: a cpu_set_t is plain bits and all zero means no core.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `core` comes from `CoreSet::members` and is below CPU_SETSIZE.
        unsafe { libc::CPU_SET(core, &mut set) };
        Self(set)
    }

    fn of_this_process() -> io::Result<Self> {
        // SAFETY: plain bits, as above.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        // SAFETY: `set` is live and its size is stated.
        match unsafe { libc::sched_getaffinity(0, size_of_val(&set), &mut set) } {
            0 => Ok(Self(set)),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Moves the calling thread to these cores. One system call and no allocation, so that it may be called
    /// between `fork` and `exec`.
    pub(crate) fn enter(&self) -> io::Result<()> {
        // SAFETY: the set is live and its size is stated.
        match unsafe { libc::sched_setaffinity(0, size_of_val(&self.0), &self.0) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    fn members(&self) -> Vec<usize> {
        let size = libc::CPU_SETSIZE as usize;
        // SAFETY: every index is below CPU_SETSIZE.
        (0..size).filter(|&core| unsafe { libc::CPU_ISSET(core, &self.0) }).collect()
    }
}

/// The core of the server and that of the load, of those that this process may use.
pub(crate) struct Cores {
    all: CoreSet,
    server: usize,
    load: usize,
}

impl Cores {
    /// Takes the first two cores that this process may use.
    pub(crate) fn detect() -> Result<Self> {
        let all = CoreSet::of_this_process().context("sched_getaffinity")?;
        match all.members()[..] {
            [server, load, ..] => Ok(Self { all, server, load }),
            _ => bail!(
                "two cores are needed, one for the server and one for the load; \
                 give this process a second one, for example with taskset"
            ),
        }
    }

    pub(crate) fn set(&self, placement: Placement) -> CoreSet {
        match placement {
            Placement::Server => CoreSet::only(self.server),
            Placement::Load => CoreSet::only(self.load),
            Placement::Anywhere => self.all,
        }
    }

    pub(crate) fn server(&self) -> usize {
        self.server
    }

    pub(crate) fn load(&self) -> usize {
        self.load
    }
}
