//! Servers that misbehave on purpose, and a synthetic internet, on loopback: for testing HTTP
//! clients.
//!
//! A client that works with correct servers may fail with others. This crate is the others. It serves
//! this machine only, needs no privileges and no network, and everything it does follows from its
//! input: a [`Behaviour`], or the seed of a [`Plan`].
//!
//! # One server that does one thing
//!
//! [`Origin`] has a port of its own and one of some ninety behaviours: drips, cuts, resets, black
//! holes, malformed heads, endless ones, redirects to nowhere, broken handshakes and certificates, and
//! what goes wrong over HTTP/2 alone.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! use stoop_testbed::{Behaviour, EntryEnd, Origin};
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! let origin = Origin::start(Behaviour::TruncatedLength { sent: 3, announced: 10 }).await?;
//!
//! // Your client instead of this one, pointed at `origin.url()`.
//! let mut client = tokio::net::TcpStream::connect(origin.address()).await?;
//! client.write_all(b"GET / HTTP/1.1\r\nhost: test\r\n\r\n").await?;
//! let mut answer = Vec::new();
//! client.read_to_end(&mut answer).await?;
//!
//! assert_eq!(answer.len(), origin.log()[0].sent as usize);
//! assert_eq!(origin.log()[0].ended, EntryEnd::PlannedFault);
//! # Ok(())
//! # }
//! ```
//!
//! # A name server that lies
//!
//! [`DnsServer`] answers over UDP and TCP as its [`Records`] say: with addresses, with failures, late,
//! with too much for UDP, with circles of aliases, after forged messages ([`DnsForgery`]), or not at all.
//!
//! # A whole internet
//!
//! [`Internet`] is as many hosts as there are URLs, up to 16 million, each with a name and an
//! address of its own: about 80 % answer 2xx, 10 % 4xx, 10 % fail in every way there is, 30 %
//! redirect. [`Plan`] says for each URL what a correct client must report ([`Expect`]), and the
//! [`Log`] says how long the client really took, as the servers saw it ([`Spans`]). What is answered
//! well is answered by the server of the crate `stoop`, over HTTP/1.1 and HTTP/2; what goes wrong on
//! purpose is scripted, over HTTP/1.1 and, where it is about HTTP/2 ([`BadHttp2`]), frame by frame.
//!
//! Or it is few [`Hosts`] with many URLs each ([`Plan::on`]): evenly, with a hot host, or by Zipf's law
//! ([`Spread`]). A share of them fails, has a robots.txt, or answers 429 and 503 with a Retry-After and
//! recovers ([`HostKind`]). For each URL the plan says what a client reports that keeps to robots.txt
//! ([`Expect::with_robots`]) and one that asks again ([`Expect::with_retries`]).
//!
//! # Where it runs
//!
//! On Linux, as any user. On macOS the hosts of an internet share 127.0.0.1 and are told apart by
//! name ([`HostAddresses`]); everything else is the same. Everything listens on 127.0.0.0/8 only: one
//! listener for all hosts means one that is bound to the loopback device, and what comes to another
//! address nevertheless is dropped.
//!
//! # What it does not do
//!
//! Bodies that are compressed (or bombs that look so), IPv6, and packets that are lost or reordered:
//! loopback does not.

#![forbid(unsafe_code)]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

mod body;
mod certificates;
mod connection;
mod dns;
mod expected;
mod internet;
mod log;
mod log_line;
mod origin;
mod request;
mod response;
mod run;
mod secure;
mod stats;

pub use body::is_body;
pub use dns::{DnsAnswer, DnsForgery, DnsServer, Records};
pub use internet::{
    Class, Expect, Family, HOSTS_MAX, HostAddresses, HostKind, Hosts, Internet, Options, Plan,
    PlannedResult, PlannedUrl, Ports, Spread, UnknownHostKind,
};
pub use log::{
    COLUMNS, EntryEnd, EntryKind, Log, LogEntry, LogSpan, MEMORY_ENTRIES_MAX, MalformedEntry, Spans,
};
pub use origin::{
    BadChunk, BadHttp2, BadLength, Behaviour, MalformedHead, Origin, UnknownBehaviour,
};
pub use run::{RunArgs, run};
pub use stats::Stats;
