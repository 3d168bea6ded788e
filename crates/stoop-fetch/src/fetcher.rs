//! Fetches a URL with the library's client. No other module uses the client.

mod addresses;
mod answers;
mod sending;

use std::future::ready;
use std::sync::Arc;

use stoop::dns::Resolver;
use stoop::{
    Client, ClientBuilder, ClientLimits, Error, ErrorKind, Method, RedirectAction, Redirects,
    Request, RetryBudget,
};
use url::Url;

use crate::addresses::AddressFinder;
use crate::answered::Describer;
use crate::bandwidth::Bandwidth;
use crate::capture::{Collector, listen};
use crate::client_limits::limits;
#[cfg(feature = "tls")]
use crate::extract::Extract;
use crate::failures::{failed, is_not_spoken, is_of_host};
use crate::job::JobOptions;
use crate::record::Outcome;
use crate::robots::REDIRECTS_MAX;
use crate::robots_client::RobotsClient;
use crate::robots_known::KnownRobots;
use crate::settings::Settings;
use crate::template::Template;
use crate::turns;

/// Creates the fetcher of each worker, from what all of them share.
pub(crate) struct Fetchers {
    /// The resolver of all clients, where hosts are told apart by their addresses, which are looked up for that.
    resolver: Option<Resolver>,
    finder: Option<Arc<AddressFinder>>,
    /// The retries of the run, in all its clients.
    retries: RetryBudget,
    #[cfg(feature = "tls")]
    tls: Option<stoop::tls::ClientTls>,
    #[cfg(feature = "tls")]
    warmed_up: std::sync::Once,
}

impl Fetchers {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self {
            resolver: addresses::shared_resolver(settings),
            finder: None,
            retries: RetryBudget::new(),
            #[cfg(feature = "tls")]
            tls: settings.tls.clone(),
            #[cfg(feature = "tls")]
            warmed_up: std::sync::Once::new(),
        }
    }

    /// Prepares TLS, or waits until another thread has. It takes some 20 to 50 ms, which should count for
    /// no URL, whether it needs TLS or shares a worker with one that does.
    pub(crate) fn warm_up(&self) {
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            self.warmed_up.call_once(|| tls.warm_up());
        }
    }

    /// The fetcher of one worker, which gathers details if `is_detailed`, keeps responses if it has a `collector`, and
    /// follows redirects where `robots` allow it.
    ///
    /// # Errors
    /// The client's own.
    pub(crate) fn for_worker(
        &self,
        settings: &Settings,
        is_detailed: bool,
        collector: Option<Collector>,
        robots: Option<Arc<KnownRobots>>,
    ) -> Result<Fetcher, Error> {
        let redirects = settings.redirects.clone();
        let redirects = match settings.shard {
            None => redirects,
            Some((shard, group)) => {
                decided_by_both(redirects, move |to| match shard.has(to.as_bytes(), group) {
                    true => RedirectAction::Follow,
                    false => RedirectAction::Stop,
                })
            }
        };
        let redirects = match &robots {
            None => redirects,
            Some(robots) => {
                let robots = Arc::clone(robots);
                decided_by_both(redirects, move |to| robots.redirect(to))
            }
        };
        let has_exchanges = collector.as_ref().is_some_and(|collector| collector.has_exchanges);
        let client = self.client(settings, limits(settings), redirects, has_exchanges);
        let client = match settings.falls_back_to_http {
            true => client.observe(|_, event| answers::listen(event)),
            false => client,
        };
        let describer = Describer {
            is_detailed,
            extraction: settings.processing.extraction.clone(),
            earlier: settings.earlier.clone(),
        };
        let client = match settings.politeness {
            Some(_) => {
                let describer = describer.clone();
                client.pace(move |next| turns::wait_for_turn(next, describer.before_retry(next)))
            }
            None => client,
        };
        let client = match settings.earlier.clone() {
            Some(earlier) => client.validators(move |method, url| {
                Some(earlier.find(*method == Method::HEAD, url)?.validators())
            }),
            None => client,
        };
        Ok(Fetcher {
            client: client.build()?,
            template: settings.template.clone(),
            skips_content: settings.skips_content,
            falls_back_to_http: settings.falls_back_to_http,
            content_max: settings.body_bytes_max.filter(|_| !settings.truncates),
            describer,
            collector,
            bandwidth: settings.bandwidth.clone(),
            robots,
        })
    }

    /// The client that asks for robots.txt.
    ///
    /// # Errors
    /// The client's own.
    pub(crate) fn for_robots(&self, settings: &Settings) -> Result<RobotsClient, Error> {
        let mut limits = limits(settings);
        // No more is read than counts.
        limits.wire.body_bytes_max = None;
        limits.decoded_bytes_max = u64::MAX;
        limits.decoded_ratio_max = ClientLimits::default().decoded_ratio_max;
        let redirects = Redirects::follow(REDIRECTS_MAX);
        let (client, rate) = (self.client(settings, limits, redirects, false), &settings.rate);
        let client = match settings.politeness {
            Some(_) => {
                let rate = Arc::clone(rate);
                client.pace(move |_| {
                    rate.pay();
                    ready(())
                })
            }
            None => client,
        };
        Ok(RobotsClient::new(client.build()?, settings))
    }

    /// Has addresses of hosts be found, if those are told apart by them.
    ///
    /// # Errors
    /// The client's own.
    pub(crate) fn find_addresses(&mut self, settings: &Settings) -> Result<(), Error> {
        if self.resolver.is_some() {
            let client = self.client(settings, limits(settings), Redirects::none(), false);
            let client = client.build()?;
            self.finder = Some(Arc::new(addresses::finder(client)));
        }
        Ok(())
    }

    /// What finds the addresses of hosts, if those are told apart by them.
    pub(crate) fn finder(&self) -> Option<Arc<AddressFinder>> {
        self.finder.clone()
    }

    fn client(
        &self,
        settings: &Settings,
        limits: ClientLimits,
        redirects: Redirects,
        has_exchanges: bool,
    ) -> ClientBuilder {
        let client = Client::builder();
        let client = match &self.resolver {
            Some(resolver) => client.resolver(resolver.clone()),
            None => client,
        };
        let client = match &settings.configure {
            Some(configure) => configure(client),
            None => client,
        };
        let client = client.limits(limits).redirects(redirects).retry_budget(self.retries.clone());
        let client = match has_exchanges {
            true => client.observe(|_, event| listen(event)),
            false => client,
        };
        let client = match settings.setup_limit() {
            Some(limit) => client.setup_timeout(limit),
            None => client,
        };
        #[cfg(feature = "tls")]
        let client = client.keep_certificates(settings.processing.extraction.has(Extract::Tls));
        #[cfg(feature = "tls")]
        let client = match &self.tls {
            Some(tls) => client.tls(tls.clone()),
            None => client,
        };
        client
    }
}

/// The client of one worker, and how much it reports of each URL.
pub(crate) struct Fetcher {
    client: Client,
    template: Template,
    skips_content: bool,
    /// It counts whether a request had a response before it failed.
    falls_back_to_http: bool,
    /// How long content may be; none where it may be of any length, or is cut.
    content_max: Option<u64>,
    describer: Describer,
    collector: Option<Collector>,
    /// How much content the run reads in a second, if there is a limit.
    bandwidth: Option<Arc<Bandwidth>>,
    robots: Option<Arc<KnownRobots>>,
}

impl Fetcher {
    /// The request of a job for `url`.
    ///
    /// # Errors
    /// There is none.
    pub(crate) fn request(&self, url: &str, job: Option<&JobOptions>) -> Result<Request, Error> {
        match job.is_none() && self.template.is_plain() {
            true => Request::get(url),
            false => self.template.request(url, job),
        }
    }

    fn failed(&self, error: &Error) -> Outcome {
        let kind = match (&self.robots, error.kind()) {
            (Some(robots), ErrorKind::RedirectDenied) if is_denied(error, robots) => {
                crate::kinds::ROBOTS_DENIED
            }
            // Its fields do not fit its content, or each other: what is wrong is the job.
            (_, ErrorKind::InvalidMessage) => crate::kinds::INVALID_JOB,
            (_, kind) => kind.as_str(),
        };
        let outcome = failed(error, kind);
        Outcome {
            is_host_silent: is_of_host(error.kind()),
            is_not_spoken: is_not_spoken(error),
            blamed: error.url().filter(|_| error.redirects() > 0).map(Box::from),
            details: outcome.details.filter(|_| self.describer.is_detailed),
            ..outcome
        }
    }
}

/// The same redirects, as far as `decide` has those followed, too, by where they lead.
fn decided_by_both(
    redirects: Redirects,
    decide: impl Fn(&str) -> RedirectAction + Send + Sync + 'static,
) -> Redirects {
    let first = redirects.clone();
    redirects.decided_by(move |attempt| match first.action(attempt) {
        RedirectAction::Follow => decide(attempt.to()),
        other => other,
    })
}

/// Where a Location leads from a URL.
fn target(url: &str, location: &[u8]) -> Option<Url> {
    Url::parse(url).ok()?.join(std::str::from_utf8(location).ok()?).ok()
}

/// Whether a redirect was denied because of robots.txt.
fn is_denied(error: &Error, robots: &KnownRobots) -> bool {
    let to = error.url().zip(error.location()).and_then(|(url, location)| target(url, location));
    to.is_some_and(|to| matches!(robots.redirect(to.as_str()), RedirectAction::Deny(_)))
}
