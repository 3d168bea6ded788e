//! The options of `stoop serve` as they are typed, or written in a file by the same names.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};
use serde::Deserialize;

use crate::units;

/// Paragraphs are one line each, which are wrapped where the terminal ends.
pub(super) const EXAMPLES: &str = "\
Examples:
  stoop serve public                             # http://127.0.0.1:8080/
  stoop serve public --listing -l 0.0.0.0:8000   # for all of the network
  stoop serve dist --spa --compress              # an application with routes
  stoop serve public --tls-self-signed -l 8443   # https://127.0.0.1:8443/
  stoop serve public --tls cert.pem key.pem -l 'https://[::]:443'
  stoop serve public --auth-new ada < password.txt
  stoop serve --config serve.toml --check

Where to listen: a PORT of 127.0.0.1, HOST:PORT, or unix:PATH. A HOST alone is its port 80, or 443 \
over TLS. 0.0.0.0 is all IPv4 addresses of this machine, [::] all of IPv6. With a certificate, TLS \
is spoken everywhere but on http://HOST:PORT and http://unix:PATH. Sockets of systemd (LISTEN_FDS) are served too, and \
take the place of the default.

Files: GET and HEAD, with ranges, conditional requests and precompressed variants (name.br, \
name.zst, name.gz beside name). Names that begin with a dot are not served, but for .well-known. \
Symbolic links are followed within the directory. A path that ends in a slash is answered by \
index.html in it, or by a listing where --listing allows it, and else by 404.

Passwords: '--auth-new USER' reads one and prints USER:HASH, which '--auth' takes. In a shell put \
it between single quotes, as it has dollar signs in it. Over the network use TLS with it: a \
browser sends the password with each request. What comes to http://HOST:PORT is then redirected to the first place with TLS.

Connections: as many as the system gives descriptors for. One address has at most a quarter of them, so that one client does not take all: what is more is answered 429, or closed. Behind a proxy, which has all clients at one address, use '--connections-per-address 0'.

Status: with --status it is shown to what comes from a loopback address and has no field of a \
proxy's (Forwarded, Via, X-Forwarded-For and their like), and for others there is no such path. A \
proxy on this machine that sends neither these nor the Host that it was asked for hides that its \
clients are elsewhere: have it refuse /_stoop, or use --auth, which holds for the status too.

A file given by --config has the long names of the options, and lists where they can be given \
several times:
  directory = \"public\"
  listen = [\"https://[::]:443\", \"http://[::]:80\"]
  tls = [\"cert.pem\", \"key.pem\"]
  compress = true
Relative paths in it begin at its own directory. Options of the command line come before it.

Signals:
  SIGTERM, SIGINT: no new connections; requests that run have 30 s to end. A second one ends at \
once.
  SIGHUP: reads the file of --config and the certificates again, and opens the access log anew. \
What is wrong then changes nothing. Where it listens and --workers stay.
  SIGUSR2: starts this command again, with the same arguments, hands the listening sockets to it, \
and ends as on SIGTERM once that one serves: no connection is refused meanwhile.

Exit codes: 0 ended by a signal; 2 the command line or the file of --config is wrong; 3 it could \
not listen, or read or write a file.";

/// Serve the files of a directory over HTTP/1.1 and HTTP/2
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES, args_override_self = true)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) settings: Settings,

    /// Read further options from this TOML file
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) config: Option<PathBuf>,

    /// Check the options, the directory, the certificates and the places, and end without listening there
    #[arg(long)]
    pub(super) check: bool,

    /// Read a password from standard input, print the USER:HASH that --auth takes, and end
    #[arg(long, value_name = "USER")]
    pub(super) auth_new: Option<String>,

    /// What other servers call --listen
    #[arg(short, long, value_name = "PORT", hide = true, value_parser = other_name)]
    port: Option<String>,
}

/// What can be said on the command line and in a file.
#[derive(Args, Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Settings {
    /// The directory to serve [default: the current one]
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(super) directory: Option<PathBuf>,

    /// Where to listen: PORT, HOST:PORT or unix:PATH; can be given several times [default: 127.0.0.1:8080]
    #[arg(short, long, value_name = "ADDR")]
    #[serde(deserialize_with = "one_or_several")]
    pub(super) listen: Vec<String>,

    /// Speak TLS with this certificate chain and its key, as PEM
    #[arg(long, value_names = ["CERT", "KEY"], num_args = 2, conflicts_with = "tls_self_signed")]
    pub(super) tls: Vec<PathBuf>,

    /// Speak TLS with a certificate that is made now, for this machine's names and addresses: browsers warn of it
    #[arg(long)]
    pub(super) tls_self_signed: bool,

    /// Answer paths without a file, of pages and not of their parts, by index.html: for applications with routes of
    /// their own
    #[arg(long)]
    pub(super) spa: bool,

    /// List directories that have no index.html
    #[arg(long)]
    pub(super) listing: bool,

    /// Let the pages of all origins read the answers (CORS)
    #[arg(long)]
    pub(super) cors: bool,

    /// Compress what gets smaller by it, in zstd, Brotli or gzip
    #[arg(long)]
    pub(super) compress: bool,

    /// Let in only users with a password: its hash by bcrypt, as of --auth-new or 'htpasswd -nB USER'; can be given
    /// several times
    #[arg(long, value_name = "USER:HASH")]
    #[serde(deserialize_with = "one_or_several")]
    pub(super) auth: Vec<String>,

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
    pub(super) status: Option<StatusFor>,

    /// The number of threads [default: one for each core]
    #[arg(long, value_name = "N", value_parser = workers)]
    pub(super) workers: Option<usize>,

    /// The number of connections that one address may have at a time, 0 for any [default: a quarter of all, and 64 at
    /// least]
    #[arg(long, value_name = "N", value_parser = connections)]
    pub(super) connections_per_address: Option<usize>,

    /// Print nothing but failures
    #[arg(short, long)]
    pub(super) quiet: bool,
}

/// The form of the access log.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum LogFormat {
    /// The Common Log Format
    Common,
    /// The same with Referer and User-Agent, as Apache and nginx write it
    Combined,
    /// JSON, one object a line, with the time of each phase
    Json,
}

/// Who is shown the status.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum StatusFor {
    /// Clients of this machine, which ask for localhost or a loopback address
    Local,
    /// Every client
    All,
}

fn workers(text: &str) -> Result<usize, String> {
    units::count(text, 1..=1024).map(|count| count as usize)
}

fn connections(text: &str) -> Result<usize, String> {
    units::count(text, 0..=u64::from(u32::MAX)).map(|count| count as usize)
}

/// Tells what the option is called here.
fn other_name(port: &str) -> Result<String, String> {
    Err(format!("write '-l {port}', or '-l 0.0.0.0:{port}' for all machines of the network"))
}

/// In a file, one of what can be given several times needs no list.
fn one_or_several<'de, D: serde::Deserializer<'de>>(value: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "expected a string, or a list of strings")]
    enum Given {
        One(String),
        Several(Vec<String>),
    }
    Ok(match Given::deserialize(value)? {
        Given::One(one) => vec![one],
        Given::Several(several) => several,
    })
}
