//! Measures how much other work there was on the cores of a measurement, which takes time and caches.

use std::io;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::cores::Cores;
use crate::report::Report;
use crate::series::{Metric, Sample, metric};
use crate::usage;

/// The metric of how busy the server's core was with anything but the server.
pub(crate) const SERVER_CORE: Metric = metric("core_elsewhere_pct", "core busy elsewhere %", 1);

/// The metric of how busy the load's core was with anything but the load.
pub(crate) const LOAD_CORE: Metric =
    metric("load_core_elsewhere_pct", "load's core busy elsewhere %", 1);

/// The report warns of a median above this. The clock of a core has ticks of 10 ms, which are 1 % of the
/// shortest turn.
const PERCENT_MAX: f64 = 3.0;

/// Watches both cores during a measurement.
pub(crate) struct CoreWatch<'a> {
    cores: &'a Cores,
    server: i32,
    began: Instant,
    /// The busy time of each core, and the CPU time of its own work, at the beginning.
    server_core: Duration,
    server_cpu: Duration,
    load_core: Duration,
    load_cpu: Duration,
}

impl<'a> CoreWatch<'a> {
    /// Begins to watch. The process `server` is on the server's core, and this process is on that of the load,
    /// with those that it starts and waits for.
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

    /// Ends, and returns [`SERVER_CORE`] and [`LOAD_CORE`].
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

/// A warning for each contender whose cores were too busy with other work.
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

/// The CPU time of this process, and of its children that have ended and were waited for.
fn load_cpu() -> Result<Duration> {
    let own = cpu_time_of(libc::RUSAGE_SELF).context("getrusage")?;
    Ok(own + cpu_time_of(libc::RUSAGE_CHILDREN).context("getrusage")?)
}

fn cpu_time_of(whose: libc::c_int) -> io::Result<Duration> {
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
