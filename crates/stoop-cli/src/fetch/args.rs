//! The options of `stoop fetch` as they are typed. Each value is checked here; the [plan](super::plan)
//! derives the settings from them.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::concurrency::{Concurrency, concurrency};
use super::content_args::ContentArgs;
use super::earlier_args::EarlierArgs;
use super::filter_args::FilterArgs;
use super::help::AFTER_OPTIONS;
use super::input_args::InputArgs;
use super::output_args::{LineFormat, OutputArgs};
use super::politeness::PolitenessArgs;
use super::retry::RetryArgs;
use super::run_args::RunArgs;
use super::stall_args::StallArgs;
use crate::data::DataArgs;
use crate::request_options::ResolveRule;
use crate::units;

/// The options whose values may begin with a hyphen: `-r -500`, `--match-length -5000`, `-d -1`.
pub(crate) const HYPHEN_VALUES: &[&str] = &[
    "range",
    "match_length",
    "match_text",
    "skip_length",
    "skip_text",
    "data",
    "data-binary",
    "data-raw",
    "data-urlencode",
    "json",
];

/// Fetch a list of URLs concurrently: one line of output for each, always, within its deadline
#[derive(Args, Debug, Default)]
#[command(after_long_help = AFTER_OPTIONS, args_override_self = true)]
pub(crate) struct FetchArgs {
    /// URLs to fetch, instead of reading them from standard input
    #[arg(value_name = "URL")]
    pub(super) urls: Vec<String>,

    /// URLs in flight at once; 'auto' finds out how many are best [default: auto]
    ///
    /// 'auto' begins with 100, and stays within what 'ulimit -n' and the memory allow
    #[arg(short, long, value_name = "N|auto", value_parser = concurrency)]
    pub(super) concurrency: Option<Concurrency>,

    /// Deadline of a URL, from its start to the last byte, redirects included [default: 5]
    #[arg(short, long, value_name = "SECONDS", value_parser = units::duration)]
    pub(super) timeout: Option<Duration>,

    /// Longest that name lookup, connecting and TLS may take together [default: the deadline]
    ///
    /// It holds for each new connection. With --http-fallback the default is two fifths of the deadline
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    pub(super) connect_timeout: Option<Duration>,

    #[command(flatten)]
    pub(super) stalls: StallArgs,

    /// Fetch the first N URLs only; up to 64 KiB of input after them may be read, too
    #[arg(short = 'n', long, value_name = "N", value_parser = limit)]
    pub(super) limit: Option<u64>,

    /// End the run after this time, with 'cancelled' for unfinished URLs
    #[arg(long, value_name = "SECONDS", value_parser = units::duration)]
    pub(super) duration: Option<Duration>,

    /// The method, sent in the letters in which it is typed [default: GET, or POST with data]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(super) request: Option<String>,

    /// Fetch a URL without a scheme over http where https is not spoken
    ///
    /// That is where connecting or the handshake of TLS fails, or is not done within --connect-timeout. A certificate that is
    /// not accepted is an error
    #[arg(long, conflicts_with = "robots")]
    pub(super) http_fallback: bool,

    /// Add a header, 'Name: value'; 'Name;' sends it empty; @FILE has one a line
    #[arg(short = 'H', long, value_name = "HEADER", action = ArgAction::Append)]
    pub(super) header: Vec<OsString>,

    #[command(flatten)]
    pub(super) data: DataArgs,

    /// Ask for compressed bodies, and decode them
    #[arg(long)]
    pub(super) compressed: bool,

    /// Keep cookies: read FILE if it is there, and write it at the end, also after a signal or a
    /// failure, in Netscape's format
    #[arg(long, value_name = "FILE")]
    pub(super) cookie_jar: Option<PathBuf>,

    /// End with exit code 22 if any URL came to an error, or a status of 400 or more
    #[arg(long)]
    pub(super) fail: bool,

    /// Go through this proxy: http, https, socks4, socks4a, socks5 or socks5h; '' for none
    #[arg(short = 'x', long, value_name = "URL")]
    pub(super) proxy: Option<String>,

    /// Hosts to reach without a proxy, separated by commas; '*' for all
    #[arg(long, value_name = "HOSTS")]
    pub(super) noproxy: Option<String>,

    /// Use ADDRESS for HOST:PORT, written HOST:PORT:ADDRESS[,ADDRESS]; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS", action = ArgAction::Append, value_parser = ResolveRule::read)]
    pub(super) resolve: Vec<ResolveRule>,

    /// Connect to IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub(super) ipv4: bool,

    /// Connect to IPv6 addresses only
    #[arg(short = '6', long)]
    pub(super) ipv6: bool,

    /// Show the certificate in this PEM file to servers that ask for one
    #[arg(long, value_name = "FILE")]
    pub(super) cert: Option<PathBuf>,

    /// The key of --cert, if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(super) key: Option<PathBuf>,

    /// Redirects to follow before giving up; 0 reports the redirect itself [default: 10]
    #[arg(long, value_name = "N", value_parser = redirects)]
    pub(super) max_redirects: Option<u32>,

    /// Longest body to read, as 8MiB, or 'none' [default: 64MiB]
    ///
    /// Beyond 16 MiB a decoded body may not be more than 1,000 times as large as it came, either, except with 'none' or
    /// --truncate
    #[arg(long, value_name = "SIZE", value_parser = body)]
    pub(super) max_body: Option<Size>,

    /// User-Agent to send [default: stoop/VERSION]
    #[arg(short = 'A', long, value_name = "TEXT", value_parser = user_agent)]
    pub(super) user_agent: Option<String>,

    /// Trust the certificates in this PEM file, besides the system's
    #[arg(long, value_name = "FILE")]
    pub(super) cacert: Option<PathBuf>,

    /// Accept any certificate: an attacker on the network can then read and change the answers
    #[arg(long)]
    pub(super) insecure: bool,

    /// Ask this name server (ADDR or ADDR:PORT) instead of the system's; may be repeated
    #[arg(long, value_name = "ADDR", value_parser = name_server, action = ArgAction::Append)]
    pub(super) dns: Vec<SocketAddr>,

    /// Follow redirects from public to private addresses, too
    #[arg(long)]
    pub(super) allow_private: bool,

    /// Connect to public addresses only, for lists that others wrote
    ///
    /// A URL or a sitemap that leads to another address, such as 127.0.0.1, 10.0.0.1 or 169.254.169.254, by its name or itself,
    /// is 'address_denied', and a redirect 'redirect_denied'. Not with a proxy, which connects to hosts by itself
    #[arg(long, conflicts_with = "allow_private")]
    pub(super) public_only: bool,

    /// Speak HTTP/1.1 only [default: HTTP/2 with https servers that agree to it]
    #[arg(long = "http1.1", conflicts_with = "http2_prior_knowledge")]
    pub(super) http1: bool,

    /// Speak HTTP/2 only, without asking whether the server does; also for http:// URLs
    #[arg(long)]
    pub(super) http2_prior_knowledge: bool,

    /// Ignore the variables that set options, such as LIMIT and STOOP_LIMIT
    #[arg(long)]
    pub(super) no_env: bool,

    /// Threads that fetch [default: the machine's cores, or fewer where 'ulimit -n' is low]
    #[arg(long, value_name = "N", value_parser = cores)]
    pub(super) cores: Option<usize>,

    // A heading goes on until the next one: those that have one come last.
    #[command(flatten)]
    pub(super) input: InputArgs,

    #[command(flatten)]
    pub(super) politeness: PolitenessArgs,

    #[command(flatten)]
    pub(super) retry: RetryArgs,

    #[command(flatten)]
    pub(super) earlier: EarlierArgs,

    #[command(flatten)]
    pub(super) content: ContentArgs,

    #[command(flatten)]
    pub(super) filter: FilterArgs,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    #[command(flatten)]
    pub(super) run: RunArgs,
}

/// A size limit. (Its own type, because clap gives `Option<Option<u64>>` another meaning.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size(pub(crate) Option<u64>);

pub(super) fn limit(text: &str) -> Result<u64, String> {
    units::count(text, 1..=u64::MAX)
}

fn redirects(text: &str) -> Result<u32, String> {
    units::count(text, 0..=100).map(|n| n as u32)
}

fn cores(text: &str) -> Result<usize, String> {
    units::count(text, 1..=1024).map(|n| n as usize)
}

fn body(text: &str) -> Result<Size, String> {
    units::size(text).map(Size)
}

pub(super) fn user_agent(text: &str) -> Result<String, String> {
    if !text.trim().is_empty() && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic()) {
        Ok(text.trim().to_owned())
    } else {
        Err("must be printable ASCII, and not empty".to_owned())
    }
}

pub(super) fn format(text: &str) -> Result<LineFormat, String> {
    match text {
        "plain" | "csv" => Ok(LineFormat::Csv),
        "jsonl" => Ok(LineFormat::Jsonl),
        "pretty" => Ok(LineFormat::Pretty),
        "warc" => Ok(LineFormat::Warc),
        "tar" => Ok(LineFormat::Tar),
        "parquet" => Ok(LineFormat::Parquet),
        _ => Err("must be plain, csv, jsonl, warc, tar, parquet or pretty".to_owned()),
    }
}

fn name_server(text: &str) -> Result<SocketAddr, String> {
    let address = text.parse::<SocketAddr>();
    address.or_else(|_| text.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, 53))).map_err(|_| {
        "must be an IP address, with a port or without (9.9.9.9, 127.0.0.1:5353, [::1]:53)".into()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_server_is_an_address_with_or_without_port() {
        assert_eq!(name_server("9.9.9.9"), Ok("9.9.9.9:53".parse().expect("literal")));
        assert_eq!(name_server("127.0.0.1:5353"), Ok("127.0.0.1:5353".parse().expect("literal")));
        assert_eq!(name_server("::1"), Ok("[::1]:53".parse().expect("literal")));
        assert_eq!(name_server("[::1]:5300"), Ok("[::1]:5300".parse().expect("literal")));
        assert!(name_server("dns.example").is_err_and(|e| e.contains("must be an IP address")));
    }

    #[test]
    fn a_user_agent_cannot_split_the_request() {
        assert!(user_agent("x\r\nEvil: 1").is_err());
        assert!(user_agent("").is_err());
        assert!(user_agent(" ").is_err());
        assert_eq!(
            user_agent("me/1 (+https://me.example)").as_deref(),
            Ok("me/1 (+https://me.example)")
        );
    }
}
