//! The plan of `stoop fetch`: all settings, from flags, variables and defaults, in one value. No later
//! code depends on where a setting came from.

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::thread::available_parallelism;
use std::time::Duration;

use stoop::{Proxies, Retries, Versions};
use stoop_fetch::Politeness;

use super::args::{self, FetchArgs, Size};
use super::concurrency::{Ceiling, Concurrency, concurrency};
use super::content_args::ContentArgs;
use super::cookie_file::CookieFile;
use super::earlier_args::EarlierArgs;
use super::environment::{Environment, Variables};
use super::filter_args::FilterArgs;
use super::jobs_plan::JobsPlan;
use super::output::RecordOutput;
use super::output_args::{CompressionName, LineFormat, ProgressPlan, SummaryStyle, TarKey};
use super::run_args::RunArgs;
use super::stall_args::StallArgs;
use super::template::Template;
use super::{option_files, output_check, untold};
use crate::failure::CommandFailure;
use crate::proxies::proxies;
use crate::request_options::{Family, ResolveRule};
use crate::terminal::{self, TextLayout};
use crate::units;

/// What a run begins with that finds its concurrency: a home connection and one name server can take this many.
const CONCURRENCY: usize = 100;
/// The comparison's deadline.
const TIMEOUT: Duration = Duration::from_secs(5);
pub(super) const REDIRECTS_MAX: u32 = 10;
/// More than nearly every page has, and a limit for endless bodies.
pub(super) const BODY_BYTES_MAX: u64 = 64 << 20;

/// All settings of a run.
#[derive(Clone, Debug)]
pub(crate) struct FetchPlan {
    pub(crate) source: UrlSource,
    pub(crate) jobs: JobsPlan,
    /// How many URLs are in flight at once; where it was not given, what the run begins with until the limit of open
    /// files is known, and then the most that it may find to be best.
    pub(crate) concurrency: usize,
    /// The concurrency was given by a flag or a variable, and not as 'auto'.
    pub(crate) is_concurrency_given: bool,
    /// Why a concurrency that was not given may be no higher.
    pub(crate) ceiling: Ceiling,
    /// How much is asked of one host; none lifts all limits.
    pub(crate) politeness: Option<Politeness>,
    pub(crate) timeout: Duration,
    pub(crate) connect_timeout: Option<Duration>,
    pub(crate) stalls: StallArgs,
    /// How many URLs to read from the source; `None` reads all.
    pub(crate) limit: Option<u64>,
    pub(crate) duration: Option<Duration>,
    pub(crate) max_redirects: u32,
    pub(crate) max_body: Option<u64>,
    /// What becomes of content.
    pub(crate) content: ContentArgs,
    /// What is asked for only if it has changed.
    pub(crate) earlier: EarlierArgs,
    /// Which answers get a line.
    pub(crate) filter: FilterArgs,
    pub(crate) user_agent: String,
    /// The same, if it is not the default.
    pub(super) given_user_agent: Option<String>,
    /// The name that robots.txt knows this program by, if it counts.
    pub(super) robots_token: Option<String>,
    pub(crate) ca: Option<CaCertificates>,
    /// A certificate of the client's, and its key.
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    pub(crate) insecure: bool,
    /// What is asked for, where it is not the plain GET.
    pub(crate) template: Option<Template>,
    pub(crate) decodes: bool,
    /// URLs without a scheme that cannot be fetched over https are over http.
    pub(crate) falls_back_to_http: bool,
    pub(crate) cookies: Option<CookieFile>,
    pub(crate) retries: Retries,
    /// A URL that failed is a failure of the command.
    pub(crate) fails: bool,
    pub(crate) proxies: Proxies,
    pub(crate) resolve: Vec<ResolveRule>,
    pub(crate) family: Family,
    /// The name servers; the system's if empty.
    pub(crate) dns: Vec<SocketAddr>,
    pub(crate) allow_private: bool,
    /// Addresses that are not public are not connected to.
    pub(crate) is_public_only: bool,
    pub(crate) versions: Versions,
    pub(crate) output: RecordOutput,
    /// The length of a file in the folder of the output.
    pub(crate) file_size: Option<u64>,
    /// An archive refers to content that it has already.
    pub(crate) has_revisits: bool,
    /// How an archive or a table is compressed, if that was given.
    pub(super) compression: Option<CompressionName>,
    /// A table has no content.
    pub(super) has_no_body: bool,
    /// Samples of a tar are named by the ids of their jobs.
    pub(crate) has_id_keys: bool,
    /// CSV begins with the names of its columns.
    pub(crate) has_csv_header: bool,
    pub(crate) format: LineFormat,
    pub(crate) summary: SummaryStyle,
    /// The file that gets a report of the run.
    pub(crate) report: Option<PathBuf>,
    /// Threads that fetch, at most `concurrency`.
    pub(crate) cores: usize,
    /// The number of cores was given by a flag.
    pub(crate) is_cores_given: bool,
    /// Idle connections over all cores, where the limit of open files leaves few: otherwise as many as by default.
    pub(crate) idle_max: Option<usize>,
    /// Pretty lines are coloured.
    pub(crate) is_coloured: bool,
    /// Lines go to a terminal, whose control characters they must not contain.
    pub(crate) is_terminal: bool,
    /// The layout of the summary.
    pub(crate) layout: TextLayout,
    /// The folder of the run.
    pub(crate) run: RunArgs,
    /// Nothing is told but errors.
    pub(crate) is_quiet: bool,
    /// How the progress is told on stderr.
    pub(crate) progress: ProgressPlan,
    /// Notes about the settings, printed before the run begins.
    pub(crate) notes: Vec<String>,
}

/// The source of the URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UrlSource {
    Stdin,
    File(PathBuf),
    /// Lines in memory.
    Text(Vec<u8>),
}

/// CA certificates to trust besides the system's, in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CaCertificates {
    File(PathBuf),
    Pem(String),
}

impl FetchPlan {
    /// Whether the run keeps statistics.
    pub(crate) fn has_statistics(&self) -> bool {
        self.progress != ProgressPlan::None
            || self.report.is_some()
            || self.summary == SummaryStyle::Full
    }

    /// The plan for `args` in `environment`.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for a variable of this program whose value is not allowed.
    pub(crate) fn new(args: FetchArgs, environment: &Environment) -> Result<Self, CommandFailure> {
        let output = match &args.output.output {
            Some(path) if path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                RecordOutput::Folder(path.clone())
            }
            Some(path) if path.as_os_str() != "-" => RecordOutput::File(path.clone()),
            Some(_) => RecordOutput::Stdout,
            None => args.run.output().unwrap_or(RecordOutput::Stdout),
        };
        let is_terminal = environment.stdout_is_terminal && output == RecordOutput::Stdout;
        let by_name = output_check::format_of_name(&output).unwrap_or(LineFormat::Csv);
        let default_format = if is_terminal { LineFormat::Pretty } else { by_name };
        let default_agent = concat!("stoop/", env!("CARGO_PKG_VERSION")).to_owned();
        let mut variables = Variables::new(environment, args.no_env);
        let read = &mut variables;
        let auto = Concurrency::Auto;
        let given = read.flag_or(args.concurrency, "CONCURRENCY", concurrency, Some(&auto))?;
        let given_concurrency = given.and_then(Concurrency::given);
        let concurrency = given_concurrency.unwrap_or(CONCURRENCY);
        let timeout =
            read.flag_or(args.timeout, "REQUEST_TIMEOUT", units::duration, Some(&TIMEOUT))?;
        let user_agent = read.flag_or(
            args.user_agent.clone(),
            "USER_AGENT",
            args::user_agent,
            Some(&default_agent),
        )?;
        let limit = read.flag_or(args.limit, "LIMIT", args::limit, None)?;
        let duration = read.flag_or(args.duration, "DURATION", units::duration, None)?;
        let format =
            read.flag_or(args.output.format, "FORMAT", args::format, Some(&default_format))?;
        let format = format.unwrap_or(default_format);
        args.input.check(&args.urls)?;
        let jobs = args.input.jobs(args.politeness.group())?;
        output_check::check(format, &output, is_terminal, &args)?;
        option_files::check(&args, &output, format)?;
        args.content.check(format, args.output.no_body)?;
        args.run.check(&output, format, args.output.revisits)?;
        let has_no_body = args.output.no_body || !args.content.is_for_rows();
        let given_user_agent = user_agent.clone();
        let user_agent = user_agent.unwrap_or(default_agent);
        let has_id_keys = args.output.tar_key == Some(TarKey::Id);
        let jobs = if has_id_keys { jobs.with_ids()? } else { jobs };
        let untold = untold::notes(format, &args.content, &jobs)?;
        let source = match args.input.file() {
            Some(path) if path.as_os_str() == "-" => UrlSource::Stdin,
            Some(path) => UrlSource::File(path.to_owned()),
            None if args.urls.is_empty() => UrlSource::Stdin,
            None => UrlSource::Text(args.urls.join("\n").into_bytes()),
        };
        let is_typed = source == UrlSource::Stdin && environment.stdin_is_terminal;
        let is_dumb = terminal::is_dumb(environment.variable);
        let Size(max_body) = args.max_body.unwrap_or(Size(Some(BODY_BYTES_MAX)));
        let is_cores_given = args.cores.is_some();
        let cores = args.cores.unwrap_or_else(|| available_parallelism().map_or(1, Into::into));
        let (method, headers) = args.content.request(args.request.as_deref(), args.header);
        let template = Template::new(method, &headers, &args.data);
        let template = template.map_err(|error| CommandFailure::Usage(error.to_string()))?;
        let mut notes = variables.into_notes();
        notes.extend(template.as_ref().and_then(Template::method_note));
        notes.extend(untold);
        let given_agent = template.as_ref().and_then(|template| template.value("user-agent"));
        let given_agent = given_agent.and_then(|agent| str::from_utf8(agent).ok());
        let agent = given_agent.unwrap_or(&user_agent);
        let politeness = args.politeness.politeness(given_concurrency, agent)?;
        let robots_token = args.politeness.robots_token(agent)?.map(str::to_owned);
        let variable = |name: &str| environment.variable(name).filter(|_| !args.no_env);
        let (url, except) = (args.proxy.as_deref(), args.noproxy.as_deref());
        let proxies = proxies(url, except, variable, |_, proxy| Ok(proxy));
        let proxies = proxies.map_err(CommandFailure::Usage)?;
        if args.public_only && !proxies.is_none() {
            return Err(CommandFailure::Usage(
                "--public-only: a proxy connects to any address by itself; --proxy '' uses none, \
                 whatever the environment says"
                    .to_owned(),
            ));
        }
        Ok(Self {
            source,
            jobs,
            concurrency,
            is_concurrency_given: given_concurrency.is_some(),
            ceiling: Ceiling::default(),
            politeness,
            timeout: timeout.unwrap_or(TIMEOUT),
            connect_timeout: args.connect_timeout,
            stalls: args.stalls,
            limit,
            duration,
            max_redirects: args.max_redirects.unwrap_or(REDIRECTS_MAX),
            max_body,
            content: args.content,
            earlier: args.earlier,
            filter: args.filter,
            user_agent,
            given_user_agent,
            robots_token,
            ca: args.cacert.map(CaCertificates::File),
            identity: args.cert.map(|chain| {
                let key = args.key.unwrap_or_else(|| chain.clone());
                (chain, key)
            }),
            insecure: args.insecure,
            template,
            decodes: args.compressed,
            falls_back_to_http: args.http_fallback,
            cookies: args.cookie_jar.map(CookieFile::open).transpose()?,
            retries: args.retry.retries(),
            fails: args.fail,
            proxies,
            resolve: args.resolve,
            family: Family::new(args.ipv4, args.ipv6),
            dns: args.dns,
            allow_private: args.allow_private,
            is_public_only: args.public_only,
            versions: match (args.http1, args.http2_prior_knowledge) {
                (true, _) => Versions::Http1,
                (false, true) => Versions::Http2,
                (false, false) => Versions::All,
            },
            output,
            file_size: args.output.file_size,
            has_revisits: args.output.revisits,
            compression: args.output.compression,
            has_no_body,
            has_id_keys,
            format,
            has_csv_header: args.output.csv_header,
            summary: args.output.summary(),
            // What is drawn would be drawn over URLs that the user types.
            progress: args
                .output
                .progress(environment.stderr_columns.is_some() && !is_typed && !is_dumb),
            report: args.output.report,
            cores: cores.min(concurrency),
            is_cores_given,
            idle_max: None,
            is_coloured: is_terminal && environment.variable("NO_COLOR").is_none() && !is_dumb,
            is_terminal,
            layout: TextLayout {
                columns: environment.stderr_columns,
                has_boxes: terminal::has_unicode(environment.variable),
            },
            run: args.run,
            is_quiet: args.output.quiet,
            notes: if args.output.quiet { Vec::new() } else { notes },
        })
    }
}
