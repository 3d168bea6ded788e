//! Fetches the sitemaps that an index names as a run fetches its jobs: with a client of the same settings, as politely,
//! and only where robots.txt allows it.

mod in_turn;

use std::fmt::{self, Formatter};
use std::io::{self, Cursor, ErrorKind, Read};
use std::sync::{Arc, OnceLock, Weak};

use bytes::Bytes;
use stoop::{Method, Request, StatusCode};
use tokio::runtime::{Builder, Runtime};

use self::in_turn::NestedSitemap;
use crate::capture::{BodyBudget, Collector};
use crate::concurrency::Concurrency;
use crate::fetcher::{Fetcher, Fetchers};
use crate::record::Outcome;
use crate::robots_gate::RobotsGate;
use crate::robots_known::KnownRobots;
use crate::run_state::RunState;
use crate::schedule::host_key;
use crate::settings::Settings;
use crate::summary::ResultCode;
use crate::turns::InTurn;

/// What sitemaps.org allows a sitemap to have.
const BYTES_MAX: usize = 50 << 20;

/// How often a sitemap is asked for that is answered 429 or 503.
const ATTEMPTS_MAX: u32 = 3;

/// What the sitemaps know of their run, once it has begun.
#[derive(Default)]
pub(crate) struct RunLink {
    /// Its settings, as they are when all are made.
    settings: OnceLock<SitemapSettings>,
    pub(crate) run: OnceLock<Weak<RunState>>,
}

impl RunLink {
    /// The run begins with these settings.
    pub(crate) fn begin(&self, run: &mut Settings) {
        let _ = self.settings.set(SitemapSettings::of(run));
    }
}

impl fmt::Debug for RunLink {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunLink").finish_non_exhaustive()
    }
}

/// The settings with which the sitemaps of a run are fetched.
struct SitemapSettings {
    settings: Settings,
    known: Option<Arc<KnownRobots>>,
}

/// Fetches sitemaps, one at a time, for [`Sitemap::open_nested`](crate::source::Sitemap::open_nested).
/// [`Fetch::nested_sitemaps`](crate::Fetch::nested_sitemaps) makes it.
///
/// A sitemap is fetched by a GET with the fields of the run, without Range, within the deadline of a job. Each request
/// for it waits for the turn of its host, before jobs that were not started, and counts there as that of a job
/// ([`Politeness`](crate::Politeness)). A sitemap that is answered 429 or 503 is asked for again after the pause of its
/// host, three times in all; after that, the next ones of the host are tried once each, until one has another answer.
/// Where robots.txt counts, sitemaps and jobs share what it says.
///
/// Before the run has begun, no turn is waited for, and the settings are those that the run had when this was made.
pub struct NestedSitemaps {
    /// Those of before the run begins.
    settings: SitemapSettings,
    link: Arc<RunLink>,
    /// Made for the first one.
    client: Option<(Runtime, SitemapClient)>,
    /// It has the settings with which the run began.
    is_of_run: bool,
}

/// What fetches a sitemap.
struct SitemapClient {
    fetcher: Fetcher,
    robots: Option<Arc<RobotsGate>>,
    /// The host whose last sitemap was given up because of 429 or 503.
    overloaded: Vec<u8>,
}

impl SitemapSettings {
    /// Those of a run as they are now.
    fn of(run: &mut Settings) -> Self {
        let mut template = run.template.clone();
        (template.method, template.content) = (Method::GET, Bytes::new());
        template.fields.remove("range");
        let settings = Settings {
            concurrency: Concurrency::fixed(1),
            workers: 1,
            politeness: run.politeness.clone(),
            rate: Arc::clone(&run.rate),
            bandwidth: run.bandwidth.clone(),
            timeout: run.timeout,
            setup_timeout: run.setup_timeout,
            read_timeout: run.read_timeout,
            body_rate_min: run.body_rate_min,
            body_bytes_max: Some(BYTES_MAX as u64),
            template,
            redirects: run.redirects.clone(),
            configure: run.configure.clone(),
            #[cfg(feature = "tls")]
            tls: run.tls.clone(),
            stop: run.stop.clone(),
            ..Settings::default()
        };
        Self { settings, known: run.known_robots() }
    }
}

impl NestedSitemaps {
    /// For the run of these settings, to which `link` will lead. Nothing is fetched yet.
    pub(crate) fn new(run: &mut Settings, link: Arc<RunLink>) -> Self {
        Self { settings: SitemapSettings::of(run), link, client: None, is_of_run: false }
    }

    /// The content of a sitemap, all of it: its pages are read as slowly as they are fetched, and no server waits for
    /// that.
    ///
    /// It blocks its thread, and must not be called inside a runtime of tokio. A run reads its source on a thread of
    /// its own.
    ///
    /// # Errors
    /// It cannot be fetched, and the error says why. [`Interrupted`](ErrorKind::Interrupted) where the run ended first.
    pub fn open(&mut self, url: &str) -> io::Result<Box<dyn Read + Send>> {
        let Self { settings, link, client, is_of_run } = self;
        let of_run = link.settings.get();
        if of_run.is_some() && !std::mem::replace(is_of_run, true) {
            *client = None;
        }
        let SitemapSettings { settings, known } = of_run.unwrap_or(settings);
        let (runtime, client) = match client {
            Some(made) => made,
            empty => empty.insert((
                Builder::new_current_thread().enable_all().build()?,
                SitemapClient::new(settings, known.as_ref())?,
            )),
        };
        let run = link.run.get().and_then(Weak::upgrade);
        let in_turn = run.as_ref().filter(|run| run.settings.politeness.is_some());
        let content = runtime.block_on(async {
            tokio::select! {
                biased;
                () = settings.stop.requested() => {
                    Err(io::Error::new(ErrorKind::Interrupted, "the run ended first"))
                }
                content = client.fetch(url, in_turn) => content.map_err(io::Error::other),
            }
        });
        Ok(Box::new(Cursor::new(content?)))
    }
}

impl SitemapClient {
    fn new(settings: &Settings, known: Option<&Arc<KnownRobots>>) -> io::Result<Self> {
        let collector = Collector {
            // Content of one job at a time has no other to wait for.
            budget: Arc::new(BodyBudget::new(BYTES_MAX)),
            cut_at: None,
            has_exchanges: false,
            keep_max: usize::MAX,
            spilling: None,
        };
        let fetchers = Fetchers::new(settings);
        let fetcher = fetchers.for_worker(settings, true, Some(collector), known.cloned());
        let robots = match known {
            Some(known) => {
                let client = fetchers.for_robots(settings).map_err(io::Error::other)?;
                Some(Arc::new(RobotsGate::new(Arc::clone(known), client)))
            }
            None => None,
        };
        let fetcher = fetcher.map_err(io::Error::other)?;
        Ok(Self { fetcher, robots, overloaded: Vec::new() })
    }

    /// Fetches a sitemap, in turn where there is a run whose hosts count.
    async fn fetch(&mut self, url: &str, in_turn: Option<&Arc<RunState>>) -> Result<Bytes, String> {
        let mut host = Vec::new();
        if let Some(politeness) = in_turn.and_then(|run| run.settings.politeness.as_ref()) {
            host_key(url.as_bytes(), politeness.group, &mut host);
        }
        let mut attempt = 1;
        loop {
            let mut outcome = self.fetch_once(url, in_turn).await;
            let is_overloaded = outcome.overloaded.is_some() && in_turn.is_some();
            if is_overloaded && attempt < ATTEMPTS_MAX && self.overloaded != host {
                attempt += 1;
                continue;
            }
            if is_overloaded {
                self.overloaded = host;
            } else if self.overloaded == host {
                self.overloaded.clear();
            }
            let content = outcome.capture.take().map(|capture| capture.content);
            return match outcome.code {
                ResultCode::Status(200..=299) => Ok(content.unwrap_or_default()),
                _ => Err(why(&outcome)),
            };
        }
    }

    /// Fetches a sitemap once, if robots.txt allows that: each request in its turn, where there are turns.
    async fn fetch_once(&self, url: &str, in_turn: Option<&Arc<RunState>>) -> Outcome {
        let request = self.fetcher.request(url, None);
        let mut in_turn = InTurn::new(NestedSitemap::new(in_turn, self.robots.as_ref()));
        if let Ok(Some(url)) = request.as_ref().map(Request::url)
            && let Err(ended) = in_turn.turn(url).await
        {
            in_turn.end(&ended);
            return ended;
        }
        let outcome = in_turn.fetch(&self.fetcher, request, &()).await;
        in_turn.end(&outcome);
        outcome
    }
}

/// What a sitemap came to that was not read, as text.
fn why(outcome: &Outcome) -> String {
    let text = outcome.details.as_ref().and_then(|details| details.error.as_deref());
    match outcome.code {
        ResultCode::Status(status) => match StatusCode::from_u16(status) {
            Ok(status) => format!("status {status}"),
            Err(_) => format!("status {status}"),
        },
        ResultCode::Error(crate::kinds::BODY_TOO_LARGE) => "more than 50 MiB".to_owned(),
        ResultCode::Error(kind) => format!("{kind}: {}", text.unwrap_or_default()),
    }
}

impl fmt::Debug for NestedSitemaps {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_struct("NestedSitemaps")
            .field("settings", &self.settings.settings)
            .finish_non_exhaustive()
    }
}
