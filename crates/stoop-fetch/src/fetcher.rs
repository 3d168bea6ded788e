//! Fetches a URL with the library's client. No other module uses the client.

mod addresses;

use std::sync::Arc;
use std::time::{Duration, Instant};

use stoop::dns::Resolver;
use stoop::{
    Client, ClientBuilder, ClientLimits, Error, ErrorKind, Method, RedirectAction, Redirects,
    Request, Response, RetryBudget, Version,
};
use url::Url;

use crate::addresses::AddressFinder;
use crate::answered::answered;
use crate::capture::{Capture, Clock, Collected, Collector, Exchange, listen, recorded};
use crate::client_limits::limits;
use crate::earlier::{Earlier, Known};
#[cfg(feature = "tls")]
use crate::extract::Extract;
use crate::extract::Extraction;
use crate::failures::{failed, is_of_host};
use crate::job::JobOptions;
use crate::mask;
use crate::record::{Details, Outcome, micros};
use crate::robots::REDIRECTS_MAX;
use crate::robots_client::RobotsClient;
use crate::robots_known::KnownRobots;
use crate::settings::Settings;
use crate::summary::ResultCode;
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
        let redirects = match &robots {
            None => redirects,
            Some(robots) => {
                let (run, robots) = (redirects.clone(), Arc::clone(robots));
                redirects.decided_by(move |attempt| match run.action(attempt) {
                    RedirectAction::Follow => robots.redirect(attempt.to()),
                    other => other,
                })
            }
        };
        let has_exchanges = collector.as_ref().is_some_and(|collector| collector.has_exchanges);
        let client = self.client(settings, limits(settings), redirects, has_exchanges);
        let client = match settings.politeness {
            Some(_) => client.pace(turns::wait_for_turn),
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
            is_detailed,
            extraction: settings.processing.extraction.clone(),
            collector,
            robots,
            earlier: settings.earlier.clone(),
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
        let client = self.client(settings, limits, redirects, false).build()?;
        Ok(RobotsClient::new(client, settings.template.clone()))
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
    is_detailed: bool,
    extraction: Extraction,
    collector: Option<Collector>,
    robots: Option<Arc<KnownRobots>>,
    earlier: Option<Arc<Earlier>>,
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

    /// Sends a request and reads its response, within the deadline from now on. What its content waits for memory is
    /// beside that, and `clock` stands still meanwhile.
    pub(crate) async fn fetch(
        &self,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Outcome {
        match self.send(request, clock).await {
            Ok(outcome) => outcome,
            Err(error) => self.failed(&error),
        }
    }

    async fn send(
        &self,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Result<Outcome, Error> {
        let request = request?;
        let is_head = *request.method() == Method::HEAD;
        let (response, exchanges) = match self.has_exchanges() {
            true => recorded(self.client.send(request)).await,
            false => (self.client.send(request).await, Vec::new()),
        };
        let mut response = response?;
        // The head says so, whatever becomes of the content.
        let overloaded = match response.status().as_u16() {
            429 | 503 => Some(response.retry_after()),
            _ => None,
        };
        let unchanged = self.unchanged(&response, is_head);
        let mut details = self.is_detailed.then(|| Details {
            extracted: self.extraction.of_head(&response),
            ..answered(&response, unchanged.unwrap_or_default())
        });
        // The clock is read only where the time is reported.
        let head = details.is_some().then(Instant::now);
        let (received, mut capture, waited) = self.receive(&mut response, clock, exchanges).await;
        if let (Some(capture), Some(unchanged)) = (&mut capture, &unchanged) {
            capture.not_modified = Some(Box::new(unchanged.response()));
        }
        if let (Some(details), Some(head)) = (&mut details, head) {
            details.phases.t_recv_us = Some(micros(head.elapsed().saturating_sub(waited)));
            details.wire_bytes = response.body_mut().wire_bytes();
        }
        let body_bytes = match received {
            Ok(bytes) => bytes,
            Err(error) => {
                let details = details.map(|details| Details {
                    status: Some(response.status().as_u16()),
                    error_phase: Some(error.phase().as_str()),
                    error: Some(mask::text(&error.to_string()).into_owned()),
                    ..details
                });
                let outcome = Outcome::error(error.kind().as_str());
                let details = details.map(Box::new);
                let blamed = overloaded.and_then(|_| blamed(&response));
                return Ok(Outcome { overloaded, blamed, details, capture, ..outcome });
            }
        };
        Ok(Outcome {
            code: ResultCode::Status(response.status().as_u16()),
            body_bytes,
            http2: response.version() == Version::HTTP_2,
            overloaded,
            is_host_silent: false,
            blamed: overloaded.and_then(|_| blamed(&response)),
            unfollowed: self.robots.as_ref().and_then(|robots| unfollowed(&response, robots)),
            details: details.map(Box::new),
            capture,
        })
    }

    /// What an earlier run has of the URL of a response, if that says that it has not changed.
    fn unchanged(&self, response: &Response, is_head: bool) -> Option<Known<'_>> {
        let earlier = self.earlier.as_ref().filter(|_| response.is_unchanged())?;
        earlier.find(is_head, response.url()?)
    }

    fn has_exchanges(&self) -> bool {
        self.collector.as_ref().is_some_and(|collector| collector.has_exchanges)
    }

    /// Receives the content of a response: counts it, or keeps it. Returns how long it waited for memory, too.
    async fn receive(
        &self,
        response: &mut Response,
        clock: &impl Clock,
        exchanges: Vec<Exchange>,
    ) -> (Result<u64, Error>, Option<Box<Capture>>, Duration) {
        if self.skips_content {
            return (Ok(0), None, Duration::ZERO);
        }
        let Some(collector) = &self.collector else {
            return (response.body_mut().discard().await, None, Duration::ZERO);
        };
        let Collected { mut capture, received, fault, waited } =
            collector.collect(response, clock).await;
        capture.exchanges = exchanges;
        let received = match fault {
            None => Ok(received),
            Some(error) => Err(error),
        };
        (received, Some(Box::new(capture)), waited)
    }

    fn failed(&self, error: &Error) -> Outcome {
        let kind = match (&self.robots, error.kind()) {
            (Some(robots), ErrorKind::RedirectDenied) if is_denied(error, robots) => {
                "robots_denied"
            }
            // Its fields do not fit its content, or each other: what is wrong is the job.
            (_, ErrorKind::InvalidMessage) => "invalid_job",
            (_, kind) => kind.as_str(),
        };
        let outcome = failed(error, kind);
        Outcome {
            is_host_silent: is_of_host(error.kind()),
            blamed: error.url().filter(|_| error.redirects() > 0).map(Box::from),
            details: outcome.details.filter(|_| self.is_detailed),
            ..outcome
        }
    }
}

/// The URL of a response that redirects led to.
fn blamed(response: &Response) -> Option<Box<str>> {
    response.url().filter(|_| response.redirects() > 0).map(Box::from)
}

/// Where a Location leads from a URL.
fn target(url: &str, location: &[u8]) -> Option<Url> {
    Url::parse(url).ok()?.join(std::str::from_utf8(location).ok()?).ok()
}

/// Where a response leads that is a redirect to an origin that was not asked for robots.txt yet.
fn unfollowed(response: &Response, robots: &KnownRobots) -> Option<Box<str>> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.field("location").filter(|_| is_redirect)?;
    let to = target(response.url()?, location)?;
    let stops = robots.redirect(to.as_str()) == RedirectAction::Stop;
    stops.then(|| String::from(to).into())
}

/// Whether a redirect was denied because of robots.txt.
fn is_denied(error: &Error, robots: &KnownRobots) -> bool {
    let to = error.url().zip(error.location()).and_then(|(url, location)| target(url, location));
    to.is_some_and(|to| matches!(robots.redirect(to.as_str()), RedirectAction::Deny(_)))
}
