//! Whether a measurement had its cores to itself: other work on them takes turns, time and caches.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cores::Cores;
use crate::report::Report;
use crate::series::{Metric, Sample, metric};
use crate::usage;

/// How busy the server's core was with anything but the server.
pub(crate) const SERVER_CORE: Metric = metric("core_elsewhere_pct", "core busy elsewhere %", 1);

/// How busy the load's core was with anything but the load.
pub(crate) const LOAD_CORE: Metric =
    metric("load_core_elsewhere_pct", "load's core busy elsewhere %", 1);

/// A median above this is said in the report. The clock of a core has ticks of 10 ms, which are 1 % of
/// the shortest turn.
const PERCENT_MAX: f64 = 3.0;

/// The use of both cores since a moment.
pub(crate) struct CoreWatch<'a> {
    cores: &'a Cores,
    server: i32,
    began: Instant,
    /// Of each core and of its own work, as of then.
    server_core: Duration,
    server_cpu: Duration,
    load_core: Duration,
    load_cpu: Duration,
}

impl<'a> CoreWatch<'a> {
    /// Begins, beside the process `server` on its core. On the core of the load there are this process
    /// and those that it starts and waits for.
    pub(crate) fn begin(cores: &'a Cores, server: i32) -> Result<Self> {
        Ok(Self {
            cores,
            server,
            began: Instant::now(),
            server_core: usage::core_busy(cores.server())?,
            server_cpu: usage::cpu_time(server)?,
            load_core: usage::core_busy(cores.load())?,
            load_cpu: load_cpu()?,
        })
    }

    /// [`SERVER_CORE`] and [`LOAD_CORE`] meanwhile.
    pub(crate) fn end(self) -> Result<Sample> {
        let elapsed = self.began.elapsed().as_secs_f64();
        let elsewhere = |core: Duration, own: Duration| {
            100.0 * core.saturating_sub(own).as_secs_f64() / elapsed
        };
        let since = |before: Duration, now: Duration| now.saturating_sub(before);
        let server = since(self.server_core, usage::core_busy(self.cores.server())?);
        let server_own = since(self.server_cpu, usage::cpu_time(self.server)?);
        let load = since(self.load_core, usage::core_busy(self.cores.load())?);
        let load_own = since(self.load_cpu, load_cpu()?);
        Ok(Sample::from([
            (SERVER_CORE.key, elsewhere(server, server_own)),
            (LOAD_CORE.key, elsewhere(load, load_own)),
        ]))
    }
}

/// A line for each contender whose figures decide nothing.
pub(crate) fn warnings(report: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for series in &report.contenders {
        for (metric, core) in [(SERVER_CORE, "server's"), (LOAD_CORE, "load's")] {
            let median = series.summary(metric.key).map_or(0.0, |summary| summary.median);
            if median > PERCENT_MAX {
                lines.push(format!(
                    "{}: the {core} core was busy with other work for {median:.0} % of the time; \
                     its figures decide nothing",
                    series.name
                ));
            }
        }
    }
    lines
}

/// CPU time of this process, and of its children that have ended and were waited for.
fn load_cpu() -> Result<Duration> {
    let own = used_by(libc::RUSAGE_SELF).context("getrusage")?;
    Ok(own + used_by(libc::RUSAGE_CHILDREN).context("getrusage")?)
}

fn used_by(whose: libc::c_int) -> io::Result<Duration> {
    // SAFETY: a rusage is plain numbers, for which zero is fine.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: `usage` is live for the kernel to fill.
    if unsafe { libc::getrusage(whose, &mut usage) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let time = |time: libc::timeval| {
        Duration::from_secs(time.tv_sec.max(0) as u64)
            + Duration::from_micros(time.tv_usec.max(0) as u64)
    };
    Ok(time(usage.ru_utime) + time(usage.ru_stime))
}
