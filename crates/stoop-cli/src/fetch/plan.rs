//! `stoop fetch`: what was meant. Flags, variables and defaults become one value that says what to
//! do; nothing after this asks where a setting came from.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use stoop::Versions;

use super::args::{self, FetchArgs, Format, Size, SummaryStyle};
use super::surroundings::{Surroundings, Variables};
use crate::failure::Failure;
use crate::terminal::{self, Look};
use crate::units;

/// As many as a home connection and one name server bear; the comparison's best clients ran 150.
const CONCURRENCY: usize = 100;
/// The comparison's.
const TIMEOUT: Duration = Duration::from_secs(5);
const REDIRECTS_MAX: u32 = 10;
/// Longer than nearly every page, short enough that an endless body ends.
const BODY_BYTES_MAX: u64 = 64 << 20;

/// Everything a run needs to know.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(crate) source: Source,
    pub(crate) concurrency: usize,
    /// It was asked for, and is not the usual one.
    pub(crate) concurrency_given: bool,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Option<Duration>,
    /// URLs to take from the source; `None` takes all.
    pub(crate) limit: Option<u64>,
    pub(crate) duration: Option<Duration>,
    pub(crate) max_redirects: u32,
    pub(crate) max_body: Option<u64>,
    pub(crate) user_agent: String,
    pub(crate) authority: Option<Authority>,
    pub(crate) insecure: bool,
    /// Name servers to ask; the system's if empty.
    pub(crate) dns: Vec<SocketAddr>,
    pub(crate) allow_private: bool,
    pub(crate) versions: Versions,
    /// Lines are written to standard output, or not at all.
    pub(crate) lines: bool,
    pub(crate) format: Format,
    pub(crate) summary: SummaryStyle,
    /// Threads that fetch, at most `concurrency`.
    pub(crate) cores: usize,
    /// They were asked for, and are not all there are.
    pub(crate) cores_given: bool,
    /// Idle connections over all cores, when it is known how many files there are.
    pub(crate) idle_max: usize,
    /// Pretty lines are coloured.
    pub(crate) colour: bool,
    /// Lines go to a terminal, which they must not drive.
    pub(crate) terminal: bool,
    /// How the summary is to look.
    pub(crate) look: Look,
    /// Progress is shown on stderr.
    pub(crate) progress: bool,
    /// What is to be said of the settings before the run begins.
    pub(crate) notes: Vec<String>,
}

/// Where URLs come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
    /// Lines that are here already.
    Text(Vec<u8>),
}

/// Whom to trust besides the system's authorities, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Authority {
    File(PathBuf),
    Pem(String),
}

impl Plan {
    /// What `args` mean here.
    ///
    /// # Errors
    /// [`Failure::Usage`] for a variable of this program whose value is not allowed.
    pub(crate) fn new(args: FetchArgs, here: &Surroundings) -> Result<Self, Failure> {
        let usual = if here.stdout_is_terminal { Format::Pretty } else { Format::Csv };
        let agent = concat!("stoop/", env!("CARGO_PKG_VERSION")).to_owned();
        let mut variables = Variables::new(here, args.no_env);
        let read = &mut variables;
        let concurrency =
            read.or(args.concurrency, "CONCURRENCY", args::concurrency, Some(&CONCURRENCY))?;
        let timeout = read.or(args.timeout, "REQUEST_TIMEOUT", units::duration, Some(&TIMEOUT))?;
        let user_agent = read.or(args.user_agent, "USER_AGENT", args::user_agent, Some(&agent))?;
        let limit = read.or(args.limit, "LIMIT", args::limit, None)?;
        let duration = read.or(args.duration, "DURATION", units::duration, None)?;
        let format = read.or(args.format, "FORMAT", args::format, Some(&usual))?;
        let concurrency_given = concurrency.is_some();
        let concurrency = concurrency.unwrap_or(CONCURRENCY);
        let source = match args.input {
            Some(path) if path.as_os_str() == "-" => Source::Stdin,
            Some(path) => Source::File(path),
            None if args.urls.is_empty() => Source::Stdin,
            None => Source::Text(args.urls.join("\n").into_bytes()),
        };
        let typed = source == Source::Stdin && here.stdin_is_terminal;
        let is_dumb = terminal::is_dumb(here.variable);
        let Size(max_body) = args.max_body.unwrap_or(Size(Some(BODY_BYTES_MAX)));
        let cores_given = args.cores.is_some();
        let cores = args.cores.unwrap_or_else(|| available_parallelism().map_or(1, Into::into));
        Ok(Self {
            source,
            concurrency,
            concurrency_given,
            timeout: timeout.unwrap_or(TIMEOUT),
            connect_timeout: args.connect_timeout,
            limit,
            duration,
            max_redirects: args.max_redirects.unwrap_or(REDIRECTS_MAX),
            max_body,
            user_agent: user_agent.unwrap_or(agent),
            authority: args.cacert.map(Authority::File),
            insecure: args.insecure,
            dns: args.dns,
            allow_private: args.allow_private,
            versions: match (args.http1, args.http2_prior_knowledge) {
                (true, _) => Versions::Http1,
                (false, true) => Versions::Http2,
                (false, false) => Versions::All,
            },
            lines: true,
            format: format.unwrap_or(usual),
            summary: args.summary.unwrap_or(SummaryStyle::Table),
            cores: cores.min(concurrency),
            cores_given,
            idle_max: cores,
            colour: here.stdout_is_terminal && here.variable("NO_COLOR").is_none() && !is_dumb,
            terminal: here.stdout_is_terminal,
            look: Look {
                columns: here.stderr_columns,
                boxes: terminal::has_unicode(here.variable),
            },
            // Users who type URLs must see what they type.
            progress: here.stderr_columns.is_some() && !typed && !is_dumb,
            notes: variables.into_notes(),
        })
    }
}
