//! The settings of a run, and their defaults.

use std::fmt::{self, Formatter};
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use stoop::{ClientBuilder, Redirects};

use crate::bandwidth::Bandwidth;
use crate::concurrency::Concurrency;
use crate::earlier::Earlier;
use crate::politeness::{HostGroup, Politeness};
use crate::processing::Processing;
use crate::progress::Bottleneck;
use crate::record::Record;
use crate::robots_known::KnownRobots;
use crate::source::Shard;
use crate::stop::Stop;
use crate::template::Template;
use crate::total_rate::TotalRate;

/// The deadline of the comparison of concurrent fetching.
const TIMEOUT: Duration = Duration::from_secs(5);
/// More than nearly every page has, and a limit for endless bodies.
const BODY_BYTES_MAX: u64 = 64 << 20;
/// Enough for the next page of a host that was just visited.
const IDLE_CONNECTIONS_MAX: usize = 32;
/// The most besides, where the format writes content.
const PAUSED_CONNECTIONS_MAX: usize = 256;
/// Some hundred pages, and with what the allocator holds back still within 128 MiB.
const CONTENT_MEMORY: usize = 32 << 20;

/// Configures the client of a worker.
pub(crate) type ConfigureClient = dyn Fn(ClientBuilder) -> ClientBuilder + Send + Sync;

/// Says whether a record is written.
pub(crate) type Filter = dyn Fn(&Record<'_>) -> bool + Send + Sync;

/// The settings of a run.
pub(crate) struct Settings {
    pub(crate) concurrency: Concurrency,
    /// Why it is no higher.
    pub(crate) ceiling: Bottleneck,
    /// None for hosts of the caller's own.
    pub(crate) politeness: Option<Politeness>,
    /// The rate of all requests, which is set when the run begins.
    pub(crate) rate: Arc<TotalRate>,
    /// How much content is read in a second, if there is a limit.
    pub(crate) bandwidth: Option<Arc<Bandwidth>>,
    /// What robots.txt files said, where the run has begun to ask, or its sitemaps.
    pub(crate) robots: Option<Arc<KnownRobots>>,
    pub(crate) workers: usize,
    pub(crate) timeout: Duration,
    pub(crate) setup_timeout: Option<Duration>,
    /// How long a server may send nothing of content, and no head of a response.
    pub(crate) read_timeout: Option<Duration>,
    /// How many bytes of content have to come in a second, and how long it may fall behind that.
    pub(crate) body_rate_min: Option<(u64, Duration)>,
    pub(crate) body_bytes_max: Option<u64>,
    /// A longer body is cut, and no error.
    pub(crate) truncates: bool,
    /// Nothing is read of the content.
    pub(crate) skips_content: bool,
    /// The memory that content may take where it is kept, over all workers.
    pub(crate) content_memory: usize,
    pub(crate) processing: Processing,
    /// Which records are written; all if there is none.
    pub(crate) filter: Option<Box<Filter>>,
    /// Content is kept for the filter.
    pub(crate) keeps_content: bool,
    /// URLs without a scheme that cannot be fetched over https are over http.
    pub(crate) falls_back_to_http: bool,
    /// How many connections may be idle, over all workers, if the caller says.
    pub(crate) idle_max: Option<usize>,
    pub(crate) limit: Option<u64>,
    pub(crate) has_statistics: bool,
    /// Where the run has a folder: how often failed jobs were begun anew.
    pub(crate) round: Option<u32>,
    pub(crate) template: Template,
    pub(crate) redirects: Redirects,
    /// Redirects of jobs are followed to hosts of this shard alone.
    pub(crate) shard: Option<(Shard, HostGroup)>,
    /// What is asked for only if it has changed.
    pub(crate) earlier: Option<Arc<Earlier>>,
    pub(crate) configure: Option<Arc<ConfigureClient>>,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<stoop::tls::ClientTls>,
    pub(crate) stop: Stop,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            concurrency: Concurrency::default(),
            ceiling: Bottleneck::Concurrency,
            politeness: Some(Politeness::default()),
            rate: Arc::default(),
            bandwidth: None,
            robots: None,
            workers: available_parallelism().map_or(1, Into::into),
            timeout: TIMEOUT,
            setup_timeout: None,
            read_timeout: None,
            body_rate_min: None,
            body_bytes_max: Some(BODY_BYTES_MAX),
            truncates: false,
            skips_content: false,
            content_memory: CONTENT_MEMORY,
            processing: Processing::default(),
            filter: None,
            keeps_content: false,
            falls_back_to_http: false,
            idle_max: None,
            limit: None,
            has_statistics: false,
            round: None,
            template: Template::default(),
            redirects: Redirects::default(),
            shard: None,
            earlier: None,
            configure: None,
            #[cfg(feature = "tls")]
            tls: None,
            stop: Stop::new(),
        }
    }
}

impl Settings {
    /// How many connections may be idle, over all workers.
    pub(crate) fn idle_max(&self) -> usize {
        self.idle_max.unwrap_or(IDLE_CONNECTIONS_MAX)
    }

    /// The format writes content: its output is full often, and no job begins then, but those in flight come to their end.
    /// Their connections are kept for the jobs that follow.
    pub(crate) fn keep_connections(&mut self) {
        if self.idle_max.is_none() {
            let in_flight = self.concurrency.max().min(PAUSED_CONNECTIONS_MAX);
            self.idle_max = Some(IDLE_CONNECTIONS_MAX + in_flight);
        }
    }

    /// What robots.txt files say to the agent of the run, where they count: one for all that fetch for it.
    pub(crate) fn known_robots(&mut self) -> Option<Arc<KnownRobots>> {
        let agent = self.politeness.as_ref()?.robots.as_deref()?;
        if self.robots.as_ref().is_none_or(|known| known.agent() != agent) {
            self.robots = Some(Arc::new(KnownRobots::new(agent)));
        }
        self.robots.clone()
    }

    /// How long all of connecting may take. What drops connections to https, or does not answer there, leaves time for
    /// http where that is tried.
    pub(crate) fn setup_limit(&self) -> Option<Duration> {
        let with_fallback = self.falls_back_to_http.then(|| self.timeout * 2 / 5);
        self.setup_timeout.or(with_fallback)
    }

    /// Where content is cut.
    pub(crate) fn cut_at(&self) -> Option<u64> {
        self.body_bytes_max.filter(|_| self.truncates)
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("concurrency", &self.concurrency)
            .field("workers", &self.workers)
            .field("timeout", &self.timeout)
            .field("method", &self.template.method)
            .finish_non_exhaustive()
    }
}
