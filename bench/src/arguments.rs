//! The command line. Each work has its own few options and all share [`CommonOptions`].

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::contender::STOOP;
use crate::load::Generator;
use crate::run_server::ServerMode;
use crate::{baseline, contender};

#[derive(Parser)]
#[command(version, about = "Runs stoop and its peers side by side and prints ratios")]
#[command(after_help = contenders())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Subcommands,
}

#[derive(Subcommand)]
pub(crate) enum Subcommands {
    #[command(flatten)]
    Run(WorkOptions),
    /// Part of `memory`: opens connections and holds them
    #[command(hide = true)]
    Hold(HoldOptions),
}

#[derive(Subcommand)]
pub(crate) enum WorkOptions {
    /// CPU time per request of the server, in a choice of works
    Server(ServerOptions),
    /// The same with a connection for each request
    Churn(ServerOptions),
    /// User memory that an idle connection costs the server
    Memory(MemoryOptions),
    /// How long a bystander waits beside connections that always have something to do
    Fairness(FairnessOptions),
    /// Small URLs of one fast server: CPU time per request of the client
    Fetch(FetchOptions),
    /// The comparison of fetching clients: the synthetic internet and one fast server, one table each
    Client(ClientOptions),
    /// The testbed's synthetic internet: answers, deadlines, CPU time and memory of the client
    Internet(InternetOptions),
    /// Requests over HTTP/2 by a library's client: CPU time per request, and time in all
    Requests(RequestsOptions),
    /// The protocol machines alone, in instructions: the same on a busy machine
    Proto(OutputOptions),
}

impl WorkOptions {
    pub(crate) fn output(&self) -> &OutputOptions {
        match self {
            Self::Server(options) | Self::Churn(options) => &options.common.output,
            Self::Memory(options) => &options.common.output,
            Self::Fairness(options) => &options.common.output,
            Self::Fetch(options) => &options.common.output,
            Self::Client(options) => &options.common.output,
            Self::Internet(options) => &options.common.output,
            Self::Requests(options) => &options.common.output,
            Self::Proto(output) => output,
        }
    }
}

fn contenders() -> String {
    let contenders = contender::names().join(", ");
    format!("Contenders, as servers, clients or both: {contenders}")
}

#[derive(Args, Clone)]
pub(crate) struct CommonOptions {
    /// How often each contender has its turn [default: 5, of client 3, with --baseline 15]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Contenders beside stoop, by the names of their files in contenders/ [default: the work's own, with
    /// --baseline none]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) against: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// What all have, those too that have no rounds.
#[derive(Args, Clone)]
pub(crate) struct OutputOptions {
    /// Write everything measured to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw what is compared to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Take the programs that were built last time
    #[arg(long)]
    pub(crate) no_build: bool,
    /// Builds stoop as it was at this commit too, as one more contender: nothing may be worse than it was
    #[arg(long, value_name = "COMMIT")]
    pub(crate) baseline: Option<String>,
}

impl CommonOptions {
    pub(crate) fn rounds(&self) -> u32 {
        let usual = if self.output.baseline.is_some() { baseline::ROUNDS } else { 5 };
        self.rounds.unwrap_or(usual)
    }

    /// The same options with fewer rounds, unless their number was given.
    pub(crate) fn usually(&self, rounds: u32) -> Self {
        let usual = if self.output.baseline.is_some() { baseline::ROUNDS } else { rounds };
        Self { rounds: self.rounds.or(Some(usual)), ..self.clone() }
    }
}

#[derive(Args)]
pub(crate) struct ServerOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// What is asked, by name, or `get` for all that begin so [default: get-64, get-512, pipelined, 1m;
    /// of churn: churn]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// Everything that can be asked, which takes hours with many contenders
    #[arg(long, conflicts_with = "work")]
    pub(crate) full: bool,
    /// Connections that are kept busy, instead of the work's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=18000))]
    pub(crate) connections: Option<u32>,
    /// How long each turn is measured, in seconds [default: 2, over HTTP/2 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) seconds: Option<u32>,
    /// What keeps the connections busy, where it can, instead of the work's own
    #[arg(long, value_enum)]
    pub(crate) load: Option<Generator>,
}

#[derive(Args)]
pub(crate) struct MemoryOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// Idle connections in all, each of which has done one request
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u32).range(100..=100_000))]
    pub(crate) connections: u32,
    /// Processes of the contender that they are spread over: one has descriptors for some 19,000
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) servers: u32,
    /// Over TLS
    #[arg(long)]
    pub(crate) tls: bool,
    /// Over HTTP/2
    #[arg(long)]
    pub(crate) http2: bool,
    /// One request that brings 1 GiB instead: by how much the server's memory grows meanwhile
    #[arg(long, conflicts_with_all = ["connections", "servers"])]
    pub(crate) upload: bool,
    /// Clients that read an endless answer slowly instead: by how much the server's memory grows
    #[arg(long, conflicts_with_all = ["connections", "servers", "upload", "tls"])]
    pub(crate) slow_reader: bool,
    /// How many of them; each reads 1 MB/s, and ten or more share 10 MB/s
    #[arg(long, requires = "slow_reader", default_value_t = 1,
        value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) readers: u32,
    /// How long they read, in seconds
    #[arg(long, requires = "slow_reader", default_value_t = 10,
        value_parser = clap::value_parser!(u32).range(3..=30))]
    pub(crate) seconds: u32,
}

#[derive(Args)]
pub(crate) struct FairnessOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// What the others do, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// How long each turn is measured, in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) seconds: u32,
}

#[derive(Args)]
pub(crate) struct HoldOptions {
    pub(crate) address: SocketAddr,
    pub(crate) count: u32,
    #[arg(long)]
    pub(crate) http2: bool,
    #[arg(long)]
    pub(crate) cacert: Option<PathBuf>,
}

#[derive(Args)]
pub(crate) struct FetchOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// URLs on the list
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(1..=5_000_000))]
    pub(crate) urls: u32,
    /// Requests in flight at once
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: u32,
    /// The contender that answers [default: floor; with --http2: stoop, as the floor has none]
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Over HTTP/2 and TLS
    #[arg(long)]
    pub(crate) http2: bool,
    /// Let the client use every core, and not only the one beside the server's
    #[arg(long)]
    pub(crate) unpinned: bool,
}

impl FetchOptions {
    pub(crate) fn server(&self) -> &str {
        let usual = if self.http2 { STOOP } else { "floor" };
        self.server.as_deref().unwrap_or(usual)
    }

    pub(crate) fn mode(&self) -> ServerMode {
        if self.http2 { ServerMode::Http2Tls } else { ServerMode::Plain }
    }
}

#[derive(Args)]
pub(crate) struct RequestsOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// What is sent, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
}

#[derive(Args)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// All contenders, also those that take several times as long as the others together
    #[arg(long, conflicts_with = "against")]
    pub(crate) full: bool,
    /// URLs of the synthetic internet
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) urls: u32,
    /// Requests in flight at once there
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: u32,
    /// URLs of the fast server, at concurrency 64
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=5_000_000))]
    pub(crate) fast_urls: u32,
    /// Deadline of one URL, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) timeout: u32,
    /// From which the whole synthetic internet follows
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

#[derive(Args)]
pub(crate) struct InternetOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// URLs on the list
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) urls: u32,
    /// Requests in flight at once
    #[arg(long, default_value_t = 1_000, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) concurrency: u32,
    /// Deadline of one URL, in seconds
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) timeout: u32,
    /// From which the whole synthetic internet follows
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Testbed on one core and client on the other, where otherwise both use all
    #[arg(long)]
    pub(crate) pinned: bool,
}
