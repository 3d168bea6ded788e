//! The command line. Each work has options of its own, and all share [`CommonOptions`].

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
    /// CPU time per request of the server, with a connection for each request
    Churn(ServerOptions),
    /// User memory that an idle connection costs the server
    Memory(MemoryOptions),
    /// How long a bystander waits beside connections that always have requests outstanding
    Fairness(FairnessOptions),
    /// Thousands of clients that send or read one byte a second: what they do to others, and how they end
    Slow(SlowOptions),
    /// Drains of a busy server: whether a request that was executed is not answered
    Drain(DrainOptions),
    /// A busy `stoop serve` whose place a new process takes: whether a connection is refused or reset
    Handover(HandoverOptions),
    /// Small URLs of one fast server: CPU time per request of the client
    Fetch(FetchOptions),
    /// The comparison of fetching clients: one table for the synthetic internet, one for a fast server
    Client(ClientOptions),
    /// The testbed's synthetic internet: answers, deadlines, CPU time and memory of the client
    Internet(InternetOptions),
    /// Requests by a library's client: CPU time per request, and total time
    Requests(RequestsOptions),
    /// What a client makes of servers that close at any moment, fail in every way, or are very many
    Resilience(ResilienceOptions),
    /// The concurrency that `stoop fetch` finds, beside fixed ones: URLs per second
    Concurrency(ConcurrencyOptions),
    /// `stoop fetch` of a mixed list: whether it keeps the limits of its hosts, by their own log, and the time that it takes
    Politeness(PolitenessOptions),
    /// `stoop fetch` of very many hosts, of which some fail: the memory of the client, and its lines
    ManyHosts(ManyHostsOptions),
    /// `stoop fetch --run`, killed at random moments: whether each URL is once in its output, by other programs' readers
    Resume(ResumeOptions),
    /// Pages of 10 KiB, fetched and saved in archives and tables: CPU time per page of the client
    Saving(SavingOptions),
    /// CPU time of decoding content, by a client and by the libraries of the codings alone
    Decode(CommonOptions),
    /// A program that depends on the library: crates, and seconds of its build
    Build(CommonOptions),
    /// A request with each feature built in and not used, in instructions
    Features(OutputOptions),
    /// A request behind a router of 200 routes and without one, in instructions
    Router(OutputOptions),
    /// The protocol machines alone, in instructions, which a busy machine does not change
    Proto(OutputOptions),
}

impl WorkOptions {
    pub(crate) fn output(&self) -> &OutputOptions {
        match self {
            Self::Server(options) | Self::Churn(options) => &options.common.output,
            Self::Memory(options) => &options.common.output,
            Self::Fairness(options) => &options.common.output,
            Self::Slow(options) => &options.common.output,
            Self::Drain(options) => &options.output,
            Self::Handover(options) => &options.output,
            Self::Fetch(options) => &options.common.output,
            Self::Client(options) => &options.common.output,
            Self::Internet(options) => &options.common.output,
            Self::Requests(options) => &options.common.output,
            Self::Resilience(options) => &options.common.output,
            Self::Concurrency(options) => &options.output,
            Self::Politeness(options) => &options.output,
            Self::ManyHosts(options) => &options.output,
            Self::Resume(options) => &options.output,
            Self::Saving(options) => &options.common.output,
            Self::Decode(common) | Self::Build(common) => &common.output,
            Self::Features(output) | Self::Router(output) | Self::Proto(output) => output,
        }
    }
}

fn contenders() -> String {
    let contenders = contender::names().join(", ");
    format!("Contenders, as servers, clients or both: {contenders}")
}

#[derive(Args, Clone)]
pub(crate) struct CommonOptions {
    /// Rounds, in each of which every contender has one turn [default: 5, for client 3, with --baseline 15]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: Option<u32>,
    /// Contenders besides stoop, by the names of their files in contenders/ [default: those of the work,
    /// with --baseline none]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) against: Option<Vec<String>>,
    #[command(flatten)]
    pub(crate) output: OutputOptions,
}

/// The options of all works, also of those without rounds.
#[derive(Args, Clone)]
pub(crate) struct OutputOptions {
    /// Write everything measured to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Draw the compared figures to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Use the programs that were built last time
    #[arg(long)]
    pub(crate) no_build: bool,
    /// Build stoop at this commit too, as one more contender: no figure may be worse than at that commit
    #[arg(long, value_name = "COMMIT")]
    pub(crate) baseline: Option<String>,
}

impl CommonOptions {
    pub(crate) fn rounds(&self) -> u32 {
        let default = if self.output.baseline.is_some() { baseline::ROUNDS } else { 5 };
        self.rounds.unwrap_or(default)
    }

    /// These options with another default for the rounds.
    pub(crate) fn with_default_rounds(&self, rounds: u32) -> Self {
        let default = if self.output.baseline.is_some() { baseline::ROUNDS } else { rounds };
        Self { rounds: self.rounds.or(Some(default)), ..self.clone() }
    }
}

#[derive(Args)]
pub(crate) struct ServerOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// The works, by name, or `get` for all whose names begin with it [default: get-64, get-512, pipelined,
    /// 1m; for churn: churn]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// All works, which take hours with many contenders
    #[arg(long, conflicts_with = "work")]
    pub(crate) full: bool,
    /// Connections that are kept busy, instead of the work's own number
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=18000))]
    pub(crate) connections: Option<u32>,
    /// How long each turn is measured, in seconds [default: 2, over HTTP/2 1]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) seconds: Option<u32>,
    /// The load generator to use instead of the work's own, where it can send the work's requests
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
    /// Processes of the contender among which they are divided: one has descriptors for some 19,000
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10))]
    pub(crate) servers: u32,
    /// Over TLS
    #[arg(long)]
    pub(crate) tls: bool,
    /// Over HTTP/2
    #[arg(long)]
    pub(crate) http2: bool,
    /// Of WebSocket connections, each of which has had one message sent back
    #[arg(long, conflicts_with_all = ["tls", "http2", "upload", "slow_reader"])]
    pub(crate) websocket: bool,
    /// Of an axum application, on stoop and by `axum::serve`
    #[arg(long, conflicts_with_all = ["tls", "http2", "websocket", "upload", "slow_reader"])]
    pub(crate) axum: bool,
    /// Measure instead how much the server's memory grows during one upload of 1 GiB
    #[arg(long, conflicts_with_all = ["connections", "servers"])]
    pub(crate) upload: bool,
    /// Measure instead how much the server's memory grows while clients read an endless response slowly
    #[arg(long, conflicts_with_all = ["connections", "servers", "upload", "tls"])]
    pub(crate) slow_reader: bool,
    /// How many such clients; each reads 1 MB/s, and ten or more share 10 MB/s
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
    /// The works, which differ in what the other connections do, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// How long each turn is measured, in seconds
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=20))]
    pub(crate) seconds: u32,
}

#[derive(Args)]
pub(crate) struct SlowOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// How many slow clients
    #[arg(long, default_value_t = 9_000, value_parser = clap::value_parser!(u32).range(1..=15_000))]
    pub(crate) clients: u32,
    /// How long they are watched at most, in seconds [default: 20 for heads, 45 for responses]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=120))]
    pub(crate) seconds: Option<u32>,
}

#[derive(Args)]
pub(crate) struct DrainOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// How many drains
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) drains: u32,
}

#[derive(Args)]
pub(crate) struct HandoverOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// How many hand-overs
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub(crate) hand_overs: u32,
}

#[derive(Args)]
pub(crate) struct HoldOptions {
    pub(crate) address: SocketAddr,
    pub(crate) count: u32,
    #[arg(long)]
    pub(crate) http2: bool,
    #[arg(long)]
    pub(crate) websocket: bool,
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
    /// The contender that is the server [default: floor; with --http2 stoop, as the floor has no HTTP/2]
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Option<String>,
    /// Over HTTP/2 and TLS
    #[arg(long)]
    pub(crate) http2: bool,
    /// Let the client use every core, and not only the one of the load
    #[arg(long)]
    pub(crate) unpinned: bool,
}

impl FetchOptions {
    pub(crate) fn server(&self) -> &str {
        let default = if self.http2 { STOOP } else { "floor" };
        self.server.as_deref().unwrap_or(default)
    }

    pub(crate) fn mode(&self) -> ServerMode {
        if self.http2 { ServerMode::Http2Tls } else { ServerMode::Plain }
    }
}

#[derive(Args)]
pub(crate) struct RequestsOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
}

#[derive(Args)]
pub(crate) struct ResilienceOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
}

#[derive(Args)]
pub(crate) struct ConcurrencyOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// Rounds, in each of which every concurrency has one turn
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// How long each turn lasts, in seconds
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(5..=120))]
    pub(crate) seconds: u32,
}

#[derive(Args)]
pub(crate) struct PolitenessOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// The works, by name [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(crate) work: Option<Vec<String>>,
    /// Rounds, in each of which every way to fetch a list has one turn
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// How long the limits of a list have each turn last, in seconds
    #[arg(long, default_value_t = 25, value_parser = clap::value_parser!(u32).range(5..=120))]
    pub(crate) seconds: u32,
}

#[derive(Args)]
pub(crate) struct ManyHostsOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// Rounds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) rounds: u32,
    /// URLs on the list
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1_000..=10_000_000))]
    pub(crate) urls: u32,
    /// Hosts that they are of
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(200..=65_536))]
    pub(crate) hosts: u32,
}

#[derive(Args)]
pub(crate) struct ResumeOptions {
    #[command(flatten)]
    pub(crate) output: OutputOptions,
    /// How often each run is killed
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) kills: u32,
    /// URLs of each run: enough that it is not over before the last kill
    #[arg(long, default_value_t = 60_000, value_parser = clap::value_parser!(u32).range(100..=10_000_000))]
    pub(crate) urls: u32,
}

#[derive(Args)]
pub(crate) struct SavingOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// Pages to save
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u32).range(10..=5_000_000))]
    pub(crate) pages: u32,
    /// Requests in flight at once
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) concurrency: u32,
}

#[derive(Args)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) common: CommonOptions,
    /// All contenders, also those that take longer than all others together
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
    /// The seed of the synthetic internet
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
    /// The seed of the synthetic internet
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Testbed on one core and client on the other, where otherwise both use all
    #[arg(long)]
    pub(crate) pinned: bool,
}
