//! A contender's client: given a list, timed to its end, and looked at while it runs.

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

/// How often the memory's high-water mark is read: what a client adds in its last moment is missed.
const LOOK: Duration = Duration::from_millis(20);
/// Counting sockets costs more than reading a number, so it is done less often.
const LOOKS_PER_COUNT: u32 = 5;

/// Where the name server is for clients that ask the system.
const SYSTEM_DNS: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(127, 53, 53, 53)), 53);

/// A client that can be started.
pub(crate) struct ClientProgram {
    pub(crate) client: contender::ClientSection,
    pub(crate) program: Program,
}

/// One run of a list.
pub(crate) struct ClientTask<'a> {
    pub(crate) list: &'a Path,
    pub(crate) lines: &'a Path,
    pub(crate) concurrency: u32,
    pub(crate) timeout_s: u32,
    pub(crate) authority: Option<&'a Path>,
    pub(crate) dns: Option<SocketAddr>,
    /// HTTP/2 with whoever agrees on it by ALPN, where the client can.
    pub(crate) http2: bool,
    pub(crate) placement: Placement,
    /// What takes longer is stopped.
    pub(crate) limit: Duration,
    pub(crate) count_connections: bool,
}

pub(crate) struct ClientRun {
    pub(crate) wall: Duration,
    pub(crate) cpu: Duration,
    pub(crate) peak_bytes: u64,
    pub(crate) peak_connections: usize,
}

impl ClientProgram {
    /// Where a name server has to listen for this client: anywhere, or where the system's resolver
    /// looks, which knows no other port.
    pub(crate) fn name_server(&self) -> SocketAddr {
        match self.asks_the_system() {
            true => SYSTEM_DNS,
            false => SocketAddr::from(([127, 0, 0, 1], 0)),
        }
    }

    /// Whether it speaks HTTP/2, or why not.
    pub(crate) fn speaks_http2(&self) -> Result<(), String> {
        let missing = "it has no HTTP/2 here; leave it out of this work";
        self.client.with_http2.as_ref().map(drop).ok_or_else(|| missing.to_owned())
    }

    fn asks_the_system(&self) -> bool {
        self.client.with_dns.is_empty()
    }

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
        let ended = process.wait(task.limit, LOOK, |pid| {
            // A process that is just ending has nothing to read: the last look counts.
            peak_bytes = usage::peak_resident_bytes(pid).unwrap_or(0).max(peak_bytes);
            if task.count_connections && looks % LOOKS_PER_COUNT == 0 {
                peak_connections = usage::tcp_connections(pid).max(peak_connections);
            }
            looks += 1;
        })?;
        ensure!(ended.success, "{name} failed; what it says is above");
        Ok(ClientRun { wall: started.elapsed(), cpu: ended.cpu, peak_bytes, peak_connections })
    }

    fn command(&self, bench: &Bench, task: &ClientTask<'_>) -> Result<Command> {
        let mut words = Placeholders::of(&self.program)
            .with("{concurrency}", task.concurrency)
            .with("{timeout_s}", task.timeout_s);
        let mut line = self.client.start.clone();
        if let Some(authority) = task.authority {
            words = words.with("{ca}", authority.display());
            line.extend(self.client.with_ca.iter().cloned());
        }
        if let Some(dns) = task.dns {
            words = words.with("{dns}", dns);
            line.extend(self.client.with_dns.iter().cloned());
        }
        if task.http2 {
            line.extend(self.client.with_http2.iter().flatten().cloned());
        }
        let mut filled: Vec<String> = line.iter().map(|word| words.fill(word)).collect();
        ensure!(!filled.is_empty(), "`start` is empty; correct the file in contenders/");
        if task.dns.is_some() && self.asks_the_system() {
            filled.splice(0..0, with_system_dns(bench)?);
        }
        let list = File::open(task.list).with_context(|| task.list.display().to_string())?;
        let lines = File::create(task.lines).with_context(|| task.lines.display().to_string())?;
        let mut command = Command::new(&filled[0]);
        command.args(&filled[1..]).stdin(list).stdout(lines).stderr(Stdio::inherit());
        Ok(command)
    }
}

/// What a command is prefixed with so that the system's resolver asks [`SYSTEM_DNS`]: its
/// configuration is replaced in a mount namespace of that command's own. Takes the right to make
/// one.
fn with_system_dns(bench: &Bench) -> Result<Vec<String>> {
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
            "it asks the system for names, and the system cannot be told whom to ask: {}; \
             be root, or leave it out of this work",
            String::from_utf8_lossy(&output.stderr).trim()
        ),
        Err(error) => bail!("it asks the system for names, and there is no `unshare`: {error}"),
    }
}
