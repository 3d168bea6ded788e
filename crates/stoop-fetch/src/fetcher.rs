//! Fetches a URL with the library's client. No other module uses the client.

use std::time::Instant;

use stoop::{Client, Error, ErrorKind, Fields, Request, Version, without_password};

use crate::client_limits::limits;
use crate::job::JobOptions;
use crate::mask;
use crate::record::{Details, Outcome, Phases, micros};
use crate::robots::{Access, RobotsTxt};
use crate::robots_answer::RobotsAnswer;
use crate::settings::Settings;
use crate::summary::ResultCode;
use crate::template::Template;

/// Creates the fetcher of each worker, from what all of them share.
pub(crate) struct Fetchers {
    #[cfg(feature = "tls")]
    tls: Option<stoop::tls::ClientTls>,
    #[cfg(feature = "tls")]
    warmed_up: std::sync::Once,
}

impl Fetchers {
    pub(crate) fn new(settings: &Settings) -> Self {
        #[cfg(not(feature = "tls"))]
        let _ = settings;
        Self {
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

    /// The fetcher of one worker, which gathers details if `is_detailed`.
    ///
    /// # Errors
    /// The client's own.
    pub(crate) fn for_worker(
        &self,
        settings: &Settings,
        is_detailed: bool,
    ) -> Result<Fetcher, Error> {
        let client = Client::builder();
        let client = match &settings.configure {
            Some(configure) => configure(client),
            None => client,
        };
        let client = client.limits(limits(settings));
        let client = match settings.setup_timeout {
            Some(limit) => client.setup_timeout(limit),
            None => client,
        };
        #[cfg(feature = "tls")]
        let client = match &self.tls {
            Some(tls) => client.tls(tls.clone()),
            None => client,
        };
        Ok(Fetcher { client: client.build()?, template: settings.template.clone(), is_detailed })
    }
}

/// The client of one worker, and how much it reports of each URL.
pub(crate) struct Fetcher {
    client: Client,
    template: Template,
    is_detailed: bool,
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

    /// Sends a request and reads its response, within the deadline from now on.
    pub(crate) async fn fetch(&self, request: Result<Request, Error>) -> Outcome {
        match self.send(request).await {
            Ok(outcome) => outcome,
            Err(error) => self.failed(&error),
        }
    }

    /// Asks for the robots.txt at `url`, within a deadline of its own.
    ///
    /// # Errors
    /// The outcome of a job whose origin gives no response.
    pub(crate) async fn robots(&self, url: &str, agent: &str) -> Result<RobotsAnswer, Outcome> {
        let request = self.template.robots_request(url).map_err(|error| self.failed(&error))?;
        let sent = self.client.send(request).await;
        let mut response = sent.map_err(|error| self.failed(&error))?;
        let status = response.status().as_u16();
        let mut content = Vec::new();
        // What is longer than is read of it counts up to there.
        while response.status().is_success() && content.len() < RobotsTxt::BYTES_MAX {
            match response.body_mut().chunk().await {
                Ok(Some(piece)) => content.extend_from_slice(&piece),
                Ok(None) => break,
                Err(error) => {
                    let why = format!("could not be read ({})", mask::text(&error.to_string()));
                    return Ok(RobotsAnswer { access: Access::Unreachable, why: Some(why.into()) });
                }
            }
        }
        content.truncate(RobotsTxt::BYTES_MAX);
        let access = match Access::from_response(status, &content, agent) {
            Access::Rules(robots) => Access::Rules(robots.without_sitemaps()),
            other => other,
        };
        let why =
            (access == Access::Unreachable).then(|| format!("got the status {status}").into());
        Ok(RobotsAnswer { access, why })
    }

    async fn send(&self, request: Result<Request, Error>) -> Result<Outcome, Error> {
        let mut response = self.client.send(request?).await?;
        let mut details = self.is_detailed.then(|| Details {
            final_url: response.url().map(|url| mask::text(url).into_owned()),
            redirects: Some(response.redirects()),
            attempts: Some(response.attempts()).filter(|attempts| *attempts > 1),
            location: response
                .field("location")
                .filter(|_| response.status().is_redirection())
                .map(masked_location),
            http_version: version(response.version()),
            content_type: response
                .field("content-type")
                .map(|value| String::from_utf8_lossy(value).into_owned()),
            x_robots_tag: robots_tag(response.fields()),
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
                let outcome = Outcome::error(error.kind().as_str());
                return Ok(Outcome { details: details.map(Box::new), ..outcome });
            }
        };
        Ok(Outcome {
            code: ResultCode::Status(response.status().as_u16()),
            body_bytes,
            http2: response.version() == Version::HTTP_2,
            retry_after: match response.status().as_u16() {
                429 | 503 => response.retry_after(),
                _ => None,
            },
            is_host_silent: false,
            details: details.map(Box::new),
        })
    }

    fn failed(&self, error: &Error) -> Outcome {
        let details = self.is_detailed.then(|| Details {
            status: error.status().map(|status| status.as_u16()),
            final_url: error.url().map(|url| mask::text(url).into_owned()),
            redirects: error.url().map(|_| error.redirects()),
            attempts: Some(error.attempts()).filter(|attempts| *attempts > 1),
            location: error.location().map(masked_location),
            error_phase: Some(error.phase().as_str()),
            error: Some(mask::text(&error.to_string()).into_owned()),
            remote_ip: error.remote_address().map(|address| address.ip()),
            remote_port: error.remote_address().map(|address| address.port()),
            phases: Phases::until_head(&error.timings()),
            ..Details::default()
        });
        Outcome {
            is_host_silent: error.redirects() == 0 && is_of_host(error.kind()),
            details: details.map(Box::new),
            ..Outcome::error(error.kind().as_str())
        }
    }
}

/// Whether an error before a response says that the host gives none: not those of this machine, of a proxy, and of the
/// request itself.
fn is_of_host(kind: ErrorKind) -> bool {
    let name = kind.as_str();
    ["dns_", "connect_", "tls_"].iter().any(|begin| name.starts_with(begin))
        || matches!(
            kind,
            ErrorKind::ClosedEarly
                | ErrorKind::Reset
                | ErrorKind::ReadTimeout
                | ErrorKind::TotalTimeout
                | ErrorKind::H1Parse
                | ErrorKind::H2Protocol
        )
}

/// The X-Robots-Tag fields, as one.
fn robots_tag(fields: &Fields) -> Option<String> {
    let values: Vec<_> = fields.all("x-robots-tag").map(String::from_utf8_lossy).collect();
    (!values.is_empty()).then(|| values.join(", "))
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
