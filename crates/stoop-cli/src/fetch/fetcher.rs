//! Fetches a URL with the library's client. No other module uses the client.

use std::future::Future;
use std::time::{Duration, Instant};

use stoop::{
    Client, ClientLimits, ClientTime, Error, Redirects, Request, Retries, Version, without_password,
};

use super::args::LineFormat;
use super::outcome::{Details, Phases, UrlOutcome, micros};
use super::plan::FetchPlan;
use super::template::Template;
use crate::failure::CommandFailure;
use crate::mask;
use crate::summary::ResultCode;

/// Creates the fetcher of each core, from what all of them share.
pub(super) struct Fetchers {
    #[cfg(feature = "tls")]
    tls: stoop::ClientTls,
    #[cfg(feature = "tls")]
    warmed_up: std::sync::Once,
}

impl Fetchers {
    /// Reads the certificates that the plan names.
    ///
    /// # Errors
    /// [`CommandFailure::Usage`] for certificates that cannot be used, and for options of a feature that
    /// this program was built without.
    pub(super) fn new(plan: &FetchPlan) -> Result<Self, CommandFailure> {
        if !cfg!(feature = "dns") && !plan.dns.is_empty() {
            return Err(CommandFailure::Usage(
                "--dns: this stoop asks the system for names".to_owned(),
            ));
        }
        let wants_tls = plan.ca.is_some() || plan.insecure || plan.identity.is_some();
        if !cfg!(feature = "tls") && wants_tls {
            return Err(CommandFailure::Usage("this stoop was built without TLS".to_owned()));
        }
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: tls(plan).map_err(|error| CommandFailure::Usage(error.to_string()))?,
            #[cfg(feature = "tls")]
            warmed_up: std::sync::Once::new(),
        })
    }

    /// Prepares TLS, or waits until another thread has. It takes some 20 to 50 ms, which should count for
    /// no URL, whether it needs TLS or shares a core with one that does.
    pub(super) fn warm_up(&self) {
        #[cfg(feature = "tls")]
        self.warmed_up.call_once(|| self.tls.warm_up());
    }

    /// The fetcher of one core.
    ///
    /// # Errors
    /// The client's own.
    pub(super) fn for_core(&self, plan: &FetchPlan) -> Result<Fetcher, Error> {
        let redirects = match u16::try_from(plan.max_redirects) {
            Ok(0) => Redirects::none(),
            Ok(max) => Redirects::follow(max),
            Err(_) => Redirects::follow(u16::MAX),
        };
        let names = |name| plan.template.as_ref().is_some_and(|template| template.names(name));
        let client = Client::builder()
            .limits(limits(plan))
            .redirects(redirects)
            .versions(plan.versions)
            .allow_private(plan.allow_private)
            .decode_content(plan.decodes)
            .proxies(plan.proxies.clone())
            .accept_any(!names("accept"));
        let client = match names("user-agent") {
            true => client,
            false => client.user_agent(plan.user_agent.as_str()),
        };
        let client = match plan.retries {
            0 => client,
            retries => client.retries(Retries::up_to(retries)),
        };
        let client = match &plan.cookies {
            Some(cookies) => client.cookies(cookies.jar.clone()),
            None => client,
        };
        let client = plan.resolve.iter().fold(client, |client, rule| rule.apply(client));
        let client = plan.family.apply(client);
        let client = match plan.connect_timeout {
            Some(limit) => client.setup_timeout(limit),
            None => client,
        };
        #[cfg(feature = "tls")]
        let client = client.tls(self.tls.clone());
        #[cfg(feature = "dns")]
        let client = if plan.dns.is_empty() { client } else { client.name_servers(&plan.dns) };
        Ok(Fetcher {
            client: client.build()?,
            template: plan.template.clone(),
            is_detailed: plan.format == LineFormat::Jsonl,
        })
    }
}

#[cfg(feature = "tls")]
fn tls(plan: &FetchPlan) -> Result<stoop::tls::ClientTls, stoop::tls::TlsConfigError> {
    use super::plan::CaCertificates;

    let mut tls = stoop::ClientTls::builder();
    match &plan.ca {
        Some(CaCertificates::File(path)) => tls = tls.ca_file(path),
        Some(CaCertificates::Pem(pem)) => tls = tls.ca_pem(pem.as_str()),
        None => {}
    }
    if plan.insecure {
        tls = tls.dangerous_accept_any_certificate();
    }
    if let Some((chain, key)) = &plan.identity {
        tls = tls.certificate_files(chain, key);
    }
    tls.build()
}

/// The limits of a client. The deadline of a URL is its only time limit, unless there is one for
/// connecting: a run that grants a minute means it. And no URL waits for a connection, because the slots
/// are the limit: there are fewer connections over HTTP/2 anyway, as many as an origin's streams need.
fn limits(plan: &FetchPlan) -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.wire.body_bytes_max = plan.max_body;
    limits.decoded_bytes_max = plan.max_body.unwrap_or(u64::MAX);
    limits.time = time(plan);
    // A server that stays silent is not given up before the deadline either.
    limits.wire.http2.settings_timeout = plan.timeout;
    limits.wire.http2.ping_timeout = plan.timeout;
    let idle = (plan.idle_max / plan.cores).max(1);
    limits.pool.idle_max = idle;
    limits.pool.idle_per_origin_max = idle;
    limits.pool.per_origin_max = plan.concurrency;
    limits.pool.http2_per_origin_max = plan.concurrency;
    limits.pool.total_max = plan.concurrency + idle;
    limits
}

/// The time limits of a client: each that the library has is set, whatever its default is.
fn time(plan: &FetchPlan) -> ClientTime {
    let mut time = ClientTime::default();
    time.dns = None;
    // The limit for all of connecting includes this. It is also how long a connection waits for a
    // descriptor.
    time.connect = plan.connect_timeout;
    time.tls = None;
    time.head = None;
    time.send_idle = None;
    time.read_idle = None;
    time.body_grace = Duration::ZERO;
    time.body_window = Duration::ZERO;
    time.body_bytes_per_second_min = 0;
    // No request has content for which a server could be asked to continue.
    time.expect_continue = Duration::ZERO;
    time.total = Some(plan.timeout);
    time
}

/// The client of one core, and how much it reports of each URL.
pub(super) struct Fetcher {
    client: Client,
    template: Option<Template>,
    is_detailed: bool,
}

impl Fetcher {
    /// Fetches `url`, within the plan's deadline from now on. The URL is parsed at once, and need not
    /// outlive the call.
    pub(super) fn fetch(&self, url: &str) -> impl Future<Output = UrlOutcome> + use<'_> {
        let request = match &self.template {
            None => Request::get(url),
            Some(template) => template.request(url),
        };
        async move {
            match self.send(request).await {
                Ok(outcome) => outcome,
                Err(error) => self.failed(&error, Phases::until_head(&error.timings())),
            }
        }
    }

    async fn send(&self, request: Result<Request, Error>) -> Result<UrlOutcome, Error> {
        let mut response = self.client.send(request?).await?;
        let mut details = self.is_detailed.then(|| Details {
            final_url: response.url().map(|url| mask::text(url).into_owned()),
            redirects: Some(response.redirects()),
            location: response
                .field("location")
                .filter(|_| response.status().is_redirection())
                .map(masked_location),
            http_version: version(response.version()),
            content_type: response
                .field("content-type")
                .map(|value| String::from_utf8_lossy(value).into_owned()),
            remote_ip: response.remote_address().map(|address| address.ip()),
            remote_port: response.remote_address().map(|address| address.port()),
            phases: Phases::until_head(&response.timings()),
            ..Details::default()
        });
        // The clock is read only where the time is reported.
        let head = details.is_some().then(Instant::now);
        let received = response.body_mut().discard().await;
        if let (Some(details), Some(head)) = (&mut details, head) {
            details.phases.t_recv_us = Some(micros(head.elapsed()));
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
                let outcome = UrlOutcome::error(error.kind().as_str());
                return Ok(UrlOutcome { details: details.map(Box::new), ..outcome });
            }
        };
        Ok(UrlOutcome {
            code: ResultCode::Status(response.status().as_u16()),
            body_bytes,
            http2: response.version() == Version::HTTP_2,
            details: details.map(Box::new),
        })
    }

    fn failed(&self, error: &Error, phases: Phases) -> UrlOutcome {
        let details = self.is_detailed.then(|| Details {
            status: error.status().map(|status| status.as_u16()),
            final_url: error.url().map(|url| mask::text(url).into_owned()),
            redirects: error.url().map(|_| error.redirects()),
            location: error.location().map(masked_location),
            error_phase: Some(error.phase().as_str()),
            error: Some(mask::text(&error.to_string()).into_owned()),
            remote_ip: error.remote_address().map(|address| address.ip()),
            remote_port: error.remote_address().map(|address| address.port()),
            phases,
            ..Details::default()
        });
        UrlOutcome { details: details.map(Box::new), ..UrlOutcome::error(error.kind().as_str()) }
    }
}

/// The Location field without passwords.
fn masked_location(location: &[u8]) -> String {
    mask::text(&without_password(&String::from_utf8_lossy(location))).into_owned()
}

/// The version as the field `http_version` has it.
fn version(version: Version) -> Option<&'static str> {
    match version {
        Version::HTTP_10 => Some("1.0"),
        Version::HTTP_11 => Some("1.1"),
        Version::HTTP_2 => Some("2"),
        Version::HTTP_3 => Some("3"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use stoop::{ErrorKind, Phase};

    use super::super::args::{EXAMPLES, FetchArgs};
    use super::super::environment::Environment;
    use super::*;
    use crate::hints::hint;

    /// A body of less than 1,000 bytes a second ended at 30 s, whatever the deadline.
    #[test]
    fn a_deadline_of_90_s_was_shortened_by_limits_that_no_option_names() {
        let environment = Environment {
            variable: |_| None,
            stdin_is_terminal: false,
            stdout_is_terminal: false,
            stderr_columns: None,
        };
        let mut plan = FetchPlan::new(FetchArgs::default(), &environment).expect("a good plan");
        plan.timeout = Duration::from_secs(90);
        let limits = limits(&plan);
        let time = &limits.time;
        let waits = [time.dns, time.connect, time.tls, time.head, time.send_idle];
        assert_eq!(waits, [None; 5]);
        assert_eq!((time.read_idle, time.body_bytes_per_second_min), (None, 0));
        assert_eq!(time.total, Some(plan.timeout));
        let http2 = &limits.wire.http2;
        assert!([http2.settings_timeout, http2.ping_timeout].iter().all(|t| *t >= plan.timeout));
    }

    #[test]
    fn every_kind_of_error_has_a_hint_and_is_listed_in_the_help() {
        for kind in ErrorKind::ALL {
            let word = kind.as_str();
            let is_listed = EXAMPLES.split_whitespace().any(|w| w == word);
            // `fetch` sends what was checked before the first URL, does not set the limits of the others, and
            // does not save content; a status is no error.
            let is_produced = !matches!(
                kind,
                ErrorKind::RequestBody
                    | ErrorKind::InvalidMessage
                    | ErrorKind::AddressDenied
                    | ErrorKind::QueueTimeout
                    | ErrorKind::TlsTimeout
                    | ErrorKind::FirstByteTimeout
                    | ErrorKind::SlowBody
                    | ErrorKind::HttpStatus
                    | ErrorKind::File
            );
            assert_eq!(is_listed, is_produced, "{word}");
            assert!(hint(word).is_some() || !is_produced, "{word}");
        }
        assert!(EXAMPLES.contains(Phase::Receive.as_str()));
    }
}
