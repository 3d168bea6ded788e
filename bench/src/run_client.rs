//! Runs the client of a contender with a list of URLs, and measures its time, memory and connections.

use std::fs::File;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::bench::Bench;
use crate::contender::{self, Placeholders};
use crate::cores::Placement;
use crate::process::Process;
use crate::program::Program;
use crate::usage;

/// How often the memory's high-water mark is read: growth in the last moment is missed.
const LOOK_PERIOD: Duration = Duration::from_millis(20);
/// Sockets are counted only at every fifth look, because that costs more than reading a number.
const LOOKS_PER_COUNT: u32 = 5;

/// The address of the name server for clients that use the system's resolver.
const SYSTEM_DNS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 53, 53, 53)), 53);

/// The client of a contender, ready to start.
pub(crate) struct ClientProgram {
    pub(crate) client: contender::ClientSection,
    pub(crate) program: Program,
}

/// A list to fetch, and how.
pub(crate) struct ClientTask<'a> {
    pub(crate) list: &'a Path,
    pub(crate) lines: &'a Path,
    pub(crate) concurrency: u32,
    pub(crate) timeout_s: u32,
    pub(crate) ca: Option<&'a Path>,
    pub(crate) dns: Option<SocketAddr>,
    /// Use HTTP/2 with servers that agree on it by ALPN, if the client can.
    pub(crate) http2: bool,
    pub(crate) placement: Placement,
    /// A client that takes longer is stopped.
    pub(crate) limit: Duration,
    pub(crate) count_connections: bool,
}

/// The figures of one run.
pub(crate) struct ClientRun {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_connections: usize,
}

impl ClientProgram {
    /// The address at which a name server has to listen for this client: any, or one with port 53 for
    /// the system's resolver, which uses no other port.
    pub(crate) fn name_server(&self) -> SocketAddr {
        match self.uses_system_resolver() {
            true => SYSTEM_DNS,
            false => SocketAddr::from(([127, 0, 0, 1], 0)),
        }
    }

    /// Checks that it has HTTP/2; an error with the reason otherwise.
    pub(crate) fn check_http2(&self) -> Result<(), String> {
        let missing = "it has no HTTP/2 here; leave it out of this work";
        self.client.with_http2.as_ref().map(drop).ok_or_else(|| missing.to_owned())
    }

    fn uses_system_resolver(&self) -> bool {
        self.client.with_dns.is_empty()
    }

    /// Runs the client to its end.
    pub(crate) fn run(
        &self,
        bench: &Bench,
        name: &str,
        task: &ClientTask<'_>,
    ) -> Result<ClientRun> {
        let command = self.command(bench, task)?;
        let started = Instant::now();
        let process = Process::start(command, bench.cores.set(task.placement), name)?;
        let (mut peak_bytes, mut peak_connections, mut looks) = (0, 0, 0);
        let exit = process.wait(task.limit, LOOK_PERIOD, |pid| {
            // A process that is just ending has no figures: those of the last look count.
            peak_bytes = usage::peak_resident_bytes(pid).unwrap_or(0).max(peak_bytes);
            if task.count_connections && looks % LOOKS_PER_COUNT == 0 {
                peak_connections = usage::tcp_connections(pid).max(peak_connections);
            }
            looks += 1;
        })?;
        ensure!(exit.is_success, "{name} failed; its message is above");
        Ok(ClientRun { wall: started.elapsed(), cpu: exit.cpu, peak_bytes, peak_connections })
    }

    fn command(&self, bench: &Bench, task: &ClientTask<'_>) -> Result<Command> {
        let mut placeholders = Placeholders::of(&self.program)
            .with("{concurrency}", task.concurrency)
            .with("{timeout_s}", task.timeout_s);
        let mut line = self.client.start.clone();
        if let Some(ca) = task.ca {
            placeholders = placeholders.with("{ca}", ca.display());
            line.extend(self.client.with_ca.iter().cloned());
        }
        if let Some(dns) = task.dns {
            placeholders = placeholders.with("{dns}", dns);
            line.extend(self.client.with_dns.iter().cloned());
        }
        if task.http2 {
            line.extend(self.client.with_http2.iter().flatten().cloned());
        }
        let mut filled: Vec<String> = line.iter().map(|word| placeholders.fill(word)).collect();
        ensure!(!filled.is_empty(), "`start` is empty; correct the file in contenders/");
        if task.dns.is_some() && self.uses_system_resolver() {
            filled.splice(0..0, system_dns_prefix(bench)?);
        }
        let list = File::open(task.list).with_context(|| task.list.display().to_string())?;
        let lines = File::create(task.lines).with_context(|| task.lines.display().to_string())?;
        let mut command = Command::new(&filled[0]);
        command.args(&filled[1..]).stdin(list).stdout(lines).stderr(Stdio::inherit());
        Ok(command)
    }
}

/// The prefix of a command that makes the system's resolver ask [`SYSTEM_DNS`]: its configuration is
/// replaced in a mount namespace for that command. Needs the right to create one.
fn system_dns_prefix(bench: &Bench) -> Result<Vec<String>> {
    const ENTER: &str = "mount --bind \"$0\" /etc/resolv.conf && exec \"$@\"";
    let configuration = bench.directory().join("resolv.conf");
    std::fs::write(&configuration, format!("nameserver {}\n", SYSTEM_DNS.ip()))
        .context("a configuration for the system's resolver")?;
    let prefix = ["unshare", "--mount", "--", "sh", "-c", ENTER].map(str::to_owned);
    let prefix = [prefix.as_slice(), &[configuration.display().to_string()]].concat();
    let tried = Command::new(&prefix[0]).args(&prefix[1..]).arg("true").output();
    match tried {
        Ok(output) if output.status.success() => Ok(prefix),
        Ok(output) => bail!(
            "it uses the system's resolver, whose name server cannot be set: {}; be root, or leave it \
             out of this work",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(error) => bail!(
            "it uses the system's resolver, and there is no `unshare` to set its name server: {error}"
        ),
    }
}
