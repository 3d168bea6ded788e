//! The resources that a process and its descendants use, by the kernel's accounts.

use std::collections::HashSet;
use std::io;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

/// The ids of the process and its descendants.
pub(crate) fn tree(pid: i32) -> Vec<i32> {
    let mut found = vec![pid];
    let mut next = 0;
    while let Some(&parent) = found.get(next) {
        next += 1;
        let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten();
        for task in tasks.flatten() {
            let children = std::fs::read_to_string(task.path().join("children"));
            let ids = children.unwrap_or_default();
            found.extend(ids.split_ascii_whitespace().filter_map(|id| id.parse::<i32>().ok()));
        }
    }
    found
}

/// Whether the process runs. One that has ended and was not reaped does not.
pub(crate) fn is_alive(pid: i32) -> bool {
    state_and_parent(pid).is_some_and(|(state, _)| !state.starts_with(['Z', 'X']))
}

pub(crate) fn parent(pid: i32) -> Option<i32> {
    state_and_parent(pid)?.1.parse().ok()
}

fn state_and_parent(pid: i32) -> Option<(String, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before the state is in parentheses and may contain anything.
    let mut rest = stat.rsplit_once(") ")?.1.split(' ');
    Some((rest.next()?.to_owned(), rest.next()?.to_owned()))
}

/// The CPU time of the process and its descendants so far.
///
/// This is the scheduler's sum of run time, in nanoseconds: the value of `/proc/PID/task/*/schedstat`, but
/// updated when it is read, and including threads that have ended. `utime` and `stime` count the same in
/// ticks of 10 ms.
pub(crate) fn cpu_time(pid: i32) -> Result<Duration> {
    tree(pid).into_iter().map(cpu_time_of_one).sum()
}

fn cpu_time_of_one(pid: i32) -> Result<Duration> {
    let mut clock = 0;
    // SAFETY: `clock` is a live out-pointer.
    let problem = unsafe { libc::clock_getcpuclockid(pid, &mut clock) };
    if problem != 0 {
        let error = io::Error::from_raw_os_error(problem);
        return Err(error).with_context(|| format!("no CPU clock of process {pid}"));
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live out-pointer.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        let error = io::Error::last_os_error();
        return Err(error).with_context(|| format!("process {pid} has ended"));
    }
    Ok(Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32))
}

/// How long `core` has been busy since the machine started.
pub(crate) fn core_busy(core: usize) -> Result<Duration> {
    const IDLE: [usize; 2] = [3, 4];
    const GUEST: usize = 8;
    let text = std::fs::read_to_string("/proc/stat").context("/proc/stat")?;
    let label = format!("cpu{core} ");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&label))
        .with_context(|| format!("core {core} is not in /proc/stat"))?;
    // Guest time is included in user time.
    let ticks: u64 = line
        .split_ascii_whitespace()
        .enumerate()
        .filter(|(column, _)| !IDLE.contains(column) && *column < GUEST)
        .filter_map(|(_, ticks)| ticks.parse::<u64>().ok())
        .sum();
    // SAFETY: sysconf takes a number and returns one.
    let per_second = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    Ok(Duration::from_secs_f64(ticks as f64 / per_second.max(1) as f64))
}

/// The anonymous memory of the process and its descendants (`RssAnon`), in bytes.
///
/// Kernels before 6.17 show a sum that lags by up to some hundred KiB for each core, which is why the work
/// that divides this opens thousands of connections.
pub(crate) fn anonymous_bytes(pid: i32) -> Result<u64> {
    tree(pid).into_iter().map(|pid| status_kib(pid, "RssAnon:").map(|kib| kib * 1024)).sum()
}

/// The memory of the process that is resident now (`VmRSS`), in bytes, without that of its descendants.
pub(crate) fn resident_bytes(pid: i32) -> Result<u64> {
    status_kib(pid, "VmRSS:").map(|kib| kib * 1024)
}

/// The most memory that the process and its running descendants ever had resident (`VmHWM`), in bytes. Read
/// while it runs; `ru_maxrss` would include the memory of this program before `exec`.
pub(crate) fn peak_resident_bytes(pid: i32) -> Result<u64> {
    let own = status_kib(pid, "VmHWM:")?;
    let others = tree(pid).into_iter().skip(1);
    // One of them may end in between.
    let others: u64 = others.filter_map(|pid| status_kib(pid, "VmHWM:").ok()).sum();
    Ok((own + others) * 1024)
}

/// Resets the peak of [`peak_resident_bytes`] to the memory that is resident now, and returns that.
pub(crate) fn reset_peak(pid: i32) -> Result<u64> {
    const RESET_PEAK: &str = "5";
    for pid in tree(pid) {
        std::fs::write(format!("/proc/{pid}/clear_refs"), RESET_PEAK)
            .with_context(|| format!("the peak of process {pid}"))?;
    }
    peak_resident_bytes(pid)
}

fn status_kib(pid: i32, name: &str) -> Result<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status"))
        .with_context(|| format!("process {pid} has ended"))?;
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|value| value.trim().strip_suffix(" kB")?.parse().ok())
        .with_context(|| format!("no {name} of process {pid}"))
}

/// The number of TCP sockets of the process and its descendants that are connected or connecting, without
/// other sockets, such as those of a resolver.
pub(crate) fn tcp_connections(pid: i32) -> usize {
    let mut inodes = HashSet::new();
    for table in ["tcp", "tcp6"] {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        inodes.extend(text.lines().skip(1).filter_map(connection_inode));
    }
    let held = |pid: i32| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        entries
            .filter(|entry| socket_inode(&entry.path()).is_some_and(|i| inodes.contains(&i)))
            .count()
    };
    tree(pid).into_iter().map(held).sum()
}

/// The number of all sockets of the process and its descendants, which is counted much faster.
pub(crate) fn sockets(pid: i32) -> usize {
    let held = |pid: i32| {
        let entries = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
        entries.filter(|entry| socket_inode(&entry.path()).is_some()).count()
    };
    tree(pid).into_iter().map(held).sum()
}

/// The inode of a line of `/proc/net/tcp`, unless the socket listens.
fn connection_inode(line: &str) -> Option<u64> {
    const LISTEN: &str = "0A";
    let fields: Vec<_> = line.split_ascii_whitespace().collect();
    let (state, inode) = (fields.get(3)?, fields.get(9)?);
    if *state == LISTEN { None } else { inode.parse().ok() }
}

/// The inode of a link in `/proc/PID/fd`, if it is a socket.
pub(crate) fn socket_inode(link: &Path) -> Option<u64> {
    let target = std::fs::read_link(link).ok()?;
    target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn this_process() -> i32 {
        std::process::id() as i32
    }

    #[test]
    fn this_process_uses_time_and_memory() {
        let _alone = crate::process::tests::DESCENDANTS.lock();
        assert!(cpu_time(this_process()).unwrap() > Duration::ZERO);
        assert!(anonymous_bytes(this_process()).unwrap() > 0);
        assert!(peak_resident_bytes(this_process()).unwrap() > 0);
        let most = peak_resident_bytes(this_process()).unwrap();
        assert!(reset_peak(this_process()).unwrap() <= most);
        assert!(is_alive(this_process()));
    }

    #[test]
    fn connections_are_counted_and_listeners_are_not() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let before = tcp_connections(this_process());
        let sockets_before = sockets(this_process());
        let _client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let _accepted = listener.accept().unwrap();
        assert_eq!(tcp_connections(this_process()), before + 2);
        assert!(sockets(this_process()) >= sockets_before + 2);
    }
}
