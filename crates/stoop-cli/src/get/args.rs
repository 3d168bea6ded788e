//! The options of `stoop get` as they are typed: curl's, with curl's meaning.

use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::condition_args::ConditionArgs;
use super::file_args::FileArgs;
use super::form::FormArgs;
use super::help::HELP;
use super::ignored_args::IgnoredArgs;
use super::output_args::OutputArgs;
use super::protocol_args::ProtocolArgs;
use super::proxy_args::ProxyArgs;
use super::redirect_args::RedirectArgs;
use super::speed::SpeedArgs;
use super::tls_args::TlsArgs;
use super::url_args::UrlArgs;
use super::values::{address, limit, rate};
use crate::data::DataArgs;
use crate::request_options::ResolveRule;

/// Fetch one URL and write it to standard output, with the options and the meaning of curl
#[derive(Args, Debug, Default)]
#[command(after_long_help = HELP, args_override_self = true, version)]
pub(crate) struct GetArgs {
    #[command(flatten)]
    pub(super) url: UrlArgs,

    /// The method [default: GET, or what the other options need]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(super) request: Option<String>,

    /// Add a header, 'Name: value'; 'Name;' sends it empty, 'Name:' not at all; @FILE has one a line
    #[arg(short = 'H', long, value_name = "HEADER", action = ArgAction::Append)]
    pub(super) header: Vec<OsString>,

    #[command(flatten)]
    pub(super) data: DataArgs,

    /// Put the data into the query of the URL, and send a GET
    #[arg(short = 'G', long)]
    pub(super) get: bool,

    #[command(flatten)]
    pub(super) form: FormArgs,

    /// Upload FILE by PUT ('-' is standard input); its name is added to a URL that ends with '/'
    #[arg(short = 'T', long, value_name = "FILE")]
    pub(super) upload_file: Option<PathBuf>,

    #[command(flatten)]
    pub(super) output: OutputArgs,

    #[command(flatten)]
    pub(super) file: FileArgs,

    #[command(flatten)]
    pub(super) condition: ConditionArgs,

    #[command(flatten)]
    pub(super) redirects: RedirectArgs,

    #[command(flatten)]
    pub(super) protocols: ProtocolArgs,

    /// Send HEAD, and write the headers of the response
    #[arg(short = 'I', long)]
    pub(super) head: bool,

    /// Tell the story of the request on standard error
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// Show neither progress nor errors
    #[arg(short, long)]
    pub(super) silent: bool,

    /// Show errors with -s
    #[arg(short = 'S', long)]
    pub(super) show_error: bool,

    /// Fail at a status of 400 or more, and write none of its content then
    #[arg(short, long, conflicts_with = "fail_with_body")]
    pub(super) fail: bool,

    /// Fail at a status of 400 or more, and write the content all the same
    #[arg(long)]
    pub(super) fail_with_body: bool,

    /// The longest that everything may take, or each attempt of --retry; 0 is no limit
    #[arg(short, long, value_name = "SECONDS", value_parser = limit)]
    pub(super) max_time: Option<Duration>,

    /// The longest that name, connection and TLS may take; 0 is the default [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = limit)]
    pub(super) connect_timeout: Option<Duration>,

    #[command(flatten)]
    pub(super) speed: SpeedArgs,

    /// Credentials, USER:PASSWORD; without a password it is asked for
    #[arg(short, long, value_name = "CREDENTIALS")]
    pub(super) user: Option<String>,

    /// Send this bearer token, in place of credentials
    #[arg(long, value_name = "TOKEN")]
    pub(super) oauth2_bearer: Option<String>,

    /// Use the Digest scheme with -u, -n or credentials in the URL
    #[arg(long)]
    pub(super) digest: bool,

    #[command(flatten)]
    pub(super) proxy: ProxyArgs,

    /// Send cookies: 'NAME=VALUE; ...', or those of a file in Netscape's format
    #[arg(short = 'b', long, value_name = "COOKIES", action = ArgAction::Append)]
    pub(super) cookie: Vec<String>,

    /// Leave out the cookies of the file of -b that end with the session, as a browser does at its start
    #[arg(short, long)]
    pub(super) junk_session_cookies: bool,

    /// Write all cookies to FILE at the end, in Netscape's format ('-' is standard output)
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(super) cookie_jar: Option<PathBuf>,

    /// The User-Agent [default: stoop/VERSION]
    #[arg(short = 'A', long, value_name = "TEXT")]
    pub(super) user_agent: Option<String>,

    /// The Referer
    #[arg(short = 'e', long, value_name = "URL")]
    pub(super) referer: Option<String>,

    /// Ask for a part: 0-499, 500-, -500
    #[arg(short, long, value_name = "RANGE", conflicts_with = "continue_at")]
    pub(super) range: Option<String>,

    /// Go on at this byte ('-': where the output file ends), and append
    #[arg(short = 'C', long, value_name = "OFFSET")]
    pub(super) continue_at: Option<String>,

    /// Ask for compressed content, and decode it
    #[arg(long)]
    pub(super) compressed: bool,

    /// Use ADDRESS for HOST:PORT, written HOST:PORT:ADDRESS[,ADDRESS]; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS", action = ArgAction::Append, value_parser = ResolveRule::read)]
    pub(super) resolve: Vec<ResolveRule>,

    /// Connect to HOST2:PORT2 in place of HOST1:PORT1; what is left out is any, or stays
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", action = ArgAction::Append)]
    pub(super) connect_to: Vec<String>,

    /// Try again so many times after errors and statuses that may pass, and tell why each time
    #[arg(long, value_name = "N")]
    pub(super) retry: Option<u32>,

    /// Wait so long before each further attempt [default: 1 s, doubled each time]
    #[arg(long, value_name = "SECONDS", value_parser = limit)]
    pub(super) retry_delay: Option<Duration>,

    /// Begin no further attempt after so long; 0 is no limit
    #[arg(long, value_name = "SECONDS", value_parser = limit)]
    pub(super) retry_max_time: Option<Duration>,

    /// Connect from this address of this machine
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    pub(super) interface: Option<IpAddr>,

    /// Have the system probe a connection on which nothing came for so long; 0 is the default [default: 60]
    #[arg(long, value_name = "SECONDS", overrides_with = "no_keepalive")]
    pub(super) keepalive_time: Option<u32>,

    /// Have the system probe no connection
    #[arg(long, overrides_with = "keepalive_time")]
    pub(super) no_keepalive: bool,

    /// Connect to IPv4 addresses only
    #[arg(short = '4', long, overrides_with = "ipv6")]
    pub(super) ipv4: bool,

    /// Connect to IPv6 addresses only
    #[arg(short = '6', long, overrides_with = "ipv4")]
    pub(super) ipv6: bool,

    /// Connect through this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(super) unix_socket: Option<PathBuf>,

    /// Take credentials from ~/.netrc
    #[arg(short = 'n', long)]
    pub(super) netrc: bool,

    /// Take credentials from this file, as from ~/.netrc
    #[arg(long, value_name = "FILE")]
    pub(super) netrc_file: Option<PathBuf>,

    /// The most bytes a second, as 100K or 2M; 0 is no limit
    #[arg(long, value_name = "SPEED", value_parser = rate)]
    pub(super) limit_rate: Option<u64>,

    #[command(flatten)]
    pub(super) tls: TlsArgs,

    /// Speak HTTP/1.1 only
    #[arg(long = "http1.1", overrides_with_all = ["http2", "http2_prior_knowledge"])]
    pub(super) http1: bool,

    /// Speak HTTP/2 with https servers that agree to it, which is the default
    #[arg(long, overrides_with_all = ["http1", "http2_prior_knowledge"])]
    pub(super) http2: bool,

    /// Speak HTTP/2 only, without asking whether the server does
    #[arg(long, overrides_with_all = ["http1", "http2"])]
    pub(super) http2_prior_knowledge: bool,

    #[command(flatten)]
    pub(super) ignored: IgnoredArgs,
}

impl GetArgs {
    /// The Referer, without curl's mark that redirects have one of their own.
    pub(super) fn referer(&self) -> Option<&str> {
        let typed = self.referer.as_deref()?;
        Some(typed.strip_suffix(";auto").unwrap_or(typed))
    }

    /// The most bytes a second, if there is a limit.
    pub(super) fn rate(&self) -> Option<u64> {
        self.limit_rate.filter(|rate| *rate > 0)
    }

    /// Whether the URL is typed as one of https.
    #[cfg(feature = "tls")]
    pub(super) fn is_https(&self) -> bool {
        self.url.typed().get(..6).is_some_and(|scheme| scheme.eq_ignore_ascii_case("https:"))
    }

    /// Whether the request has content.
    pub(super) fn has_content(&self) -> bool {
        let has_data = !self.data.is_empty() && !self.get;
        self.upload_file.is_some() || !self.form.is_empty() || has_data
    }

    /// Whether progress is to be shown where that is possible.
    pub(super) fn wants_progress(&self) -> bool {
        !(self.silent || self.verbose || self.output.no_progress_meter)
    }

    /// How long everything may take, if there is a limit.
    pub(super) fn total(&self) -> Option<Duration> {
        self.max_time.filter(|limit| !limit.is_zero())
    }
}
