//! The options of `stoop get` as they are typed: curl's, with curl's meaning.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::help::HELP;
use super::values::{limit, rate};
use crate::data::DataArgs;
use crate::request_options::ResolveRule;

/// Fetch one URL and write it to standard output, with the options and the meaning of curl
#[derive(Args, Debug, Default)]
#[command(after_long_help = HELP, args_override_self = true)]
pub(crate) struct GetArgs {
    /// The URL to fetch
    #[arg(value_name = "URL")]
    pub(super) url: String,

    /// The method [default: GET, or what the other options need]
    #[arg(short = 'X', long, value_name = "METHOD")]
    pub(super) request: Option<String>,

    /// Add a header, 'Name: value'; 'Name;' sends it empty, 'Name:' not at all; @FILE has one a line
    #[arg(short = 'H', long, value_name = "HEADER", action = ArgAction::Append)]
    pub(super) header: Vec<String>,

    #[command(flatten)]
    pub(super) data: DataArgs,

    /// Put the data into the query of the URL, and send a GET
    #[arg(short = 'G', long)]
    pub(super) get: bool,

    /// Add a part to a multipart form: NAME=VALUE, NAME=@FILE, NAME=<FILE, with ;type= and ;filename=
    #[arg(short = 'F', long, value_name = "PART", action = ArgAction::Append)]
    pub(super) form: Vec<String>,

    /// Upload FILE by PUT ('-' is standard input); its name is added to a URL that ends with '/'
    #[arg(short = 'T', long, value_name = "FILE")]
    pub(super) upload_file: Option<PathBuf>,

    /// Write to FILE instead of standard output
    #[arg(short, long, value_name = "FILE", conflicts_with = "remote_name")]
    pub(super) output: Option<PathBuf>,

    /// Write to a file with the last name in the URL's path
    #[arg(short = 'O', long)]
    pub(super) remote_name: bool,

    /// Follow redirects
    #[arg(short = 'L', long)]
    pub(super) location: bool,

    /// Redirects to follow with -L; -1 for any number [default: 50]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) max_redirs: Option<i32>,

    /// Write the headers of responses before the content
    #[arg(short, long)]
    pub(super) include: bool,

    /// Send HEAD, and write the headers of the response
    #[arg(short = 'I', long)]
    pub(super) head: bool,

    /// Tell the story of the request on standard error
    #[arg(short, long)]
    pub(super) verbose: bool,

    /// Accept any certificate: an attacker on the network can then read and change everything
    #[arg(short = 'k', long)]
    pub(super) insecure: bool,

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

    /// The longest that everything may take; 0 is no limit
    #[arg(short, long, value_name = "SECONDS", value_parser = limit)]
    pub(super) max_time: Option<Duration>,

    /// The longest that name, connection and TLS may take; 0 is the default [default: 300]
    #[arg(long, value_name = "SECONDS", value_parser = limit)]
    pub(super) connect_timeout: Option<Duration>,

    /// Credentials, USER:PASSWORD; without a password it is asked for
    #[arg(short, long, value_name = "CREDENTIALS")]
    pub(super) user: Option<String>,

    /// Send this bearer token, in place of credentials
    #[arg(long, value_name = "TOKEN")]
    pub(super) oauth2_bearer: Option<String>,

    /// Use the Digest scheme with -u
    #[arg(long, requires = "user")]
    pub(super) digest: bool,

    /// Go through this proxy: http, https, socks4, socks4a, socks5 or socks5h; '' for none
    #[arg(short = 'x', long, value_name = "URL")]
    pub(super) proxy: Option<String>,

    /// Hosts to reach without a proxy, separated by commas; '*' for all
    #[arg(long, value_name = "HOSTS")]
    pub(super) noproxy: Option<String>,

    /// Send cookies: 'NAME=VALUE; ...', or those of a file in Netscape's format
    #[arg(short = 'b', long, value_name = "COOKIES", action = ArgAction::Append)]
    pub(super) cookie: Vec<String>,

    /// Write all cookies to FILE at the end, in Netscape's format ('-' is standard output)
    #[arg(short = 'c', long, value_name = "FILE")]
    pub(super) cookie_jar: Option<PathBuf>,

    /// The User-Agent [default: stoop/VERSION]
    #[arg(short = 'A', long, value_name = "TEXT")]
    pub(super) user_agent: Option<String>,

    /// The Referer
    #[arg(short = 'e', long, value_name = "URL")]
    pub(super) referer: Option<String>,

    /// Write each piece of content as it comes, which is the default
    #[arg(short = 'N', long)]
    pub(super) no_buffer: bool,

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

    /// Try again so many times after errors and statuses that may pass
    #[arg(long, value_name = "N")]
    pub(super) retry: Option<u32>,

    /// Connect to IPv4 addresses only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub(super) ipv4: bool,

    /// Connect to IPv6 addresses only
    #[arg(short = '6', long)]
    pub(super) ipv6: bool,

    /// Connect through this Unix socket
    #[arg(long, value_name = "PATH")]
    pub(super) unix_socket: Option<PathBuf>,

    /// Write the headers of responses to FILE ('-' is standard output)
    #[arg(short = 'D', long, value_name = "FILE")]
    pub(super) dump_header: Option<PathBuf>,

    /// Take credentials from ~/.netrc
    #[arg(short = 'n', long)]
    pub(super) netrc: bool,

    /// The most bytes a second, as 100K or 2M
    #[arg(long, value_name = "SPEED", value_parser = rate)]
    pub(super) limit_rate: Option<u64>,

    /// Trust the certificates in this PEM file, and no others
    #[arg(long, value_name = "FILE")]
    pub(super) cacert: Option<PathBuf>,

    /// Show the certificate in this PEM file to the server
    #[arg(short = 'E', long, value_name = "FILE")]
    pub(super) cert: Option<PathBuf>,

    /// The key of --cert, if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    pub(super) key: Option<PathBuf>,

    /// Speak HTTP/1.1 only
    #[arg(long = "http1.1", conflicts_with_all = ["http2", "http2_prior_knowledge"])]
    pub(super) http1: bool,

    /// Speak HTTP/2 with https servers that agree to it, which is the default
    #[arg(long)]
    pub(super) http2: bool,

    /// Speak HTTP/2 only, without asking whether the server does
    #[arg(long)]
    pub(super) http2_prior_knowledge: bool,

    /// Write this behind the content: see the formats below (--help)
    #[arg(short = 'w', long, value_name = "FORMAT")]
    pub(super) write_out: Option<String>,
}

impl GetArgs {
    /// How long everything may take, if there is a limit.
    pub(super) fn total(&self) -> Option<Duration> {
        self.max_time.filter(|limit| !limit.is_zero())
    }
}
