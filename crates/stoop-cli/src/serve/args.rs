//! The options of `stoop serve` as they are typed, or written in a file by the same names.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};
use serde::Deserialize;
use stoop::Network;

use super::choices::{self, LinkPolicy, LogFormat, StatusFor};
use super::help::AFTER_OPTIONS;
use super::other_names::OtherNames;
use super::proxies::TrustedProxy;
use super::values;
use crate::units;

/// Serve the files of a directory over HTTP/1.1 and HTTP/2
#[derive(Args, Debug)]
#[command(after_long_help = AFTER_OPTIONS, args_override_self = true)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) settings: Settings,

    /// Read further options from this TOML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,

    /// Check the options, the directory, the pages of --spa and --not-found, the certificates, the users, the log and the places, tell all
    /// that is wrong, and end without listening there
    #[arg(long)]
    pub(super) check: bool,

    /// Read a password from standard input, print the USER:HASH that --auth takes, and end
    #[arg(long, value_name = "USER")]
    pub(super) auth_new: Option<String>,

    #[command(flatten)]
    other: OtherNames,
}

/// The value of an option that is on without one: so the command line can undo what a file says.
const SWITCH: &str = "true|false";

/// What can be said on the command line and in a file.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    /// The directory to serve [default: the current one]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) directory: Option<PathBuf>,

    /// Where to listen: PORT, HOST:PORT or unix:PATH; can be given several times [default: 127.0.0.1:8080]
    #[arg(short, long, value_name = "ADDR")]
    #[serde(deserialize_with = "values::one_or_several")]
    pub(super) listen: Vec<String>,

    /// Give the files of Unix sockets these permissions, in octal: who may connect, as 660 for the owner and the group
    /// [default: what the umask leaves, or what a socket has that is handed over]
    #[arg(long, value_name = "MODE", value_parser = values::permissions)]
    #[serde(deserialize_with = "values::written_permissions")]
    pub(super) unix_mode: Option<u32>,

    /// Speak TLS with this certificate chain and its key, as PEM. Given several times, a client is shown the one for the
    /// name that it asks for, or else the first. No key is to be in the directory that is served
    #[arg(long, value_names = ["CERT", "KEY"], num_args = 2, conflicts_with = "tls_self_signed")]
    #[serde(deserialize_with = "values::certificates")]
    pub(super) tls: Vec<PathBuf>,

    /// Speak TLS with a certificate that is made now, for this machine's names and addresses: browsers warn of it
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) tls_self_signed: Option<bool>,

    /// Answer paths without a file, of pages and not of their parts, by index.html: for applications with routes of
    /// their own
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) spa: Option<bool>,

    /// Answer 404 with this file of the directory, such as 404.html, in place of a line of text
    #[arg(long, value_name = "FILE")]
    pub(super) not_found: Option<String>,

    /// List directories that have no index.html
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) listing: Option<bool>,

    /// Serve names that begin with a dot too, and list them, such as .git and .env; .well-known is served without it
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) hidden: Option<bool>,

    /// What becomes of symbolic links [default: within]
    #[arg(long, value_name = "POLICY")]
    pub(super) symlinks: Option<LinkPolicy>,

    /// Send this Cache-Control with files, or with those of a pattern: '*.js: max-age=3600'; can be given several times, and
    /// the first that a file matches holds
    #[arg(long, value_name = "[PATTERN:]VALUE")]
    #[serde(deserialize_with = "values::one_or_several")]
    pub(super) cache_control: Vec<String>,

    /// Send this field with each answer that has none of that name, as 'X-Frame-Options: DENY'; can be given several times
    #[arg(long, value_name = "NAME: VALUE")]
    #[serde(deserialize_with = "values::one_or_several")]
    pub(super) header: Vec<String>,

    /// Let the pages of all origins read the answers (CORS), and send Authorization where --auth asks for it
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) cors: Option<bool>,

    /// Compress what gets smaller by it, in zstd, Brotli or gzip
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) compress: Option<bool>,

    /// Let in only users with a password: its hash by bcrypt, as of --auth-new or 'htpasswd -nB USER'; can be given
    /// several times
    #[arg(long, value_name = "USER:HASH")]
    #[serde(deserialize_with = "values::one_or_several")]
    pub(super) auth: Vec<String>,

    /// Let in the users of this file too: a USER:HASH on each line, as --auth takes it and htpasswd -B writes it. It is read
    /// again on SIGHUP, and not to be in the directory that is served
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) auth_file: Option<PathBuf>,

    /// Redirect what comes over HTTP without TLS to the first place with TLS (308), and leave out
    /// /.well-known/acme-challenge/, which has no password then [default: on with --auth]
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) https_redirect: Option<bool>,

    /// Write a line for each request to standard output, in this format
    #[arg(long, value_name = "FORMAT")]
    pub(super) access_log: Option<LogFormat>,

    /// Write those lines to this file instead, at its end, in the format common if no other is named
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) access_log_file: Option<PathBuf>,

    /// Show how the server does, at /_stoop/status, and for Prometheus at /_stoop/metrics: to clients of this machine,
    /// unless it says =all
    #[arg(
        long,
        value_name = "WHO",
        num_args = 0..=1,
        default_missing_value = "local",
        require_equals = true
    )]
    #[serde(deserialize_with = "choices::shown_to")]
    pub(super) status: Option<StatusFor>,

    /// Answer /_stoop/ready, without a password, for load balancers: 200, and 503 once the server is about to end
    #[arg(long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) ready: Option<bool>,

    /// Go on for so long after SIGTERM before new connections are refused, while /_stoop/ready is answered 503 already: so
    /// that load balancers send clients elsewhere. It has --ready with it [default: 0]
    #[arg(long, value_name = "SECONDS", value_parser = values::time_or_zero)]
    #[serde(deserialize_with = "values::written_time_or_zero")]
    pub(super) drain_notice: Option<Duration>,

    /// The number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(super) workers: Option<usize>,

    /// The number of connections that one address may have at a time, 0 for any [default: a quarter of all, and 64 at
    /// least; any with --trust-forwarded or --trust-x-forwarded]
    #[arg(long, value_name = "N", value_parser = connections)]
    pub(super) connections_per_address: Option<usize>,

    /// Answer 503 while a thread comes to its requests later than this: it has more to do than it can. 'none' for no limit
    /// [default: 2]
    #[arg(long, value_name = "SECONDS", value_parser = values::time_limit)]
    #[serde(deserialize_with = "values::written_limit")]
    pub(super) lag_max: Option<Duration>,

    /// Answer 503 in place of a response that has not begun within this, as on a disk that hangs; downloads may take longer.
    /// 'none' for no limit [default: 30]
    #[arg(long, value_name = "SECONDS", value_parser = values::time_limit)]
    #[serde(deserialize_with = "values::written_limit")]
    pub(super) handler_timeout: Option<Duration>,

    /// Read a header of the PROXY protocol ahead of each connection, from load balancers in these networks, and close what
    /// comes from others
    #[arg(long, value_name = "FROM_CIDR,...", value_delimiter = ',')]
    #[serde(deserialize_with = "values::separated")]
    pub(super) proxy_protocol: Vec<Network>,

    /// Believe what proxies in these networks say of the client by Forwarded; 'unix' is what comes over Unix sockets
    #[arg(long, value_name = "FROM_CIDR,...", value_delimiter = ',')]
    #[arg(conflicts_with = "trust_x_forwarded")]
    #[serde(deserialize_with = "values::separated")]
    pub(super) trust_forwarded: Vec<TrustedProxy>,

    /// The same by X-Forwarded-For, X-Forwarded-Proto and X-Forwarded-Host
    #[arg(long, value_name = "FROM_CIDR,...", value_delimiter = ',')]
    #[serde(deserialize_with = "values::separated")]
    pub(super) trust_x_forwarded: Vec<TrustedProxy>,

    /// Print nothing but failures, and the access log where it is asked for
    #[arg(short, long, value_name = SWITCH, num_args = 0..=1, default_missing_value = "true")]
    #[arg(require_equals = true, hide_possible_values = true)]
    pub(super) quiet: Option<bool>,
}

fn workers(text: &str) -> Result<usize, String> {
    units::count(text, 1..=1024).map(|count| count as usize)
}

fn connections(text: &str) -> Result<usize, String> {
    units::count(text, 0..=u64::from(u32::MAX)).map(|count| count as usize)
}
