//! Fetches a URL with the library's client. No other module uses the client.

use std::time::{Duration, Instant};

use stoop::{Client, ClientLimits, ClientTime, Error, Fields, Request, Version, without_password};

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

/// The limits of a client. The deadline of a URL is its only time limit, unless there is one for
/// connecting: a run that grants a minute means it. And no URL waits for a connection, because the slots
/// are the limit: there are fewer connections over HTTP/2 anyway, as many as an origin's streams need.
fn limits(settings: &Settings) -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.wire.body_bytes_max = settings.body_bytes_max;
    limits.decoded_bytes_max = settings.body_bytes_max.unwrap_or(u64::MAX);
    limits.time = time(settings);
    // A server that stays silent is not given up before the deadline either.
    limits.wire.http2.settings_timeout = settings.timeout;
    limits.wire.http2.ping_timeout = settings.timeout;
    let idle = (settings.idle_max / settings.workers).max(1);
    limits.pool.idle_max = idle;
    limits.pool.idle_per_origin_max = idle;
    limits.pool.per_origin_max = settings.concurrency;
    limits.pool.http2_per_origin_max = settings.concurrency;
    limits.pool.total_max = settings.concurrency + idle;
    limits
}

/// The time limits of a client: each that the library has is set, whatever its default is.
fn time(settings: &Settings) -> ClientTime {
    let mut time = ClientTime::default();
    time.dns = None;
    // The limit for all of connecting includes this. It is also how long a connection waits for a
    // descriptor.
    time.connect = settings.setup_timeout;
    time.tls = None;
    time.head = None;
    time.send_idle = None;
    time.read_idle = None;
    time.body_grace = Duration::ZERO;
    time.body_window = Duration::ZERO;
    time.body_bytes_per_second_min = 0;
    // No request has content for which a server could be asked to continue.
    time.expect_continue = Duration::ZERO;
    time.total = Some(settings.timeout);
    time
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
                let outcome = Self::error(&error);
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
            is_redirected: false,
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
        Outcome { details: details.map(Box::new), ..Self::error(error) }
    }

    /// The outcome of an error, without details.
    fn error(error: &Error) -> Outcome {
        let is_redirected = error.redirects() > 0;
        Outcome { is_redirected, ..Outcome::error(error.kind().as_str()) }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of less than 1,000 bytes a second ended at 30 s, whatever the deadline.
    #[test]
    fn a_deadline_of_90_s_was_shortened_by_limits_that_no_option_names() {
        let settings = Settings { timeout: Duration::from_secs(90), ..Settings::default() };
        let limits = limits(&settings);
        let time = &limits.time;
        let waits = [time.dns, time.connect, time.tls, time.head, time.send_idle];
        assert_eq!(waits, [None; 5]);
        assert_eq!((time.read_idle, time.body_bytes_per_second_min), (None, 0));
        assert_eq!(time.total, Some(settings.timeout));
        let http2 = &limits.wire.http2;
        assert!(
            [http2.settings_timeout, http2.ping_timeout].iter().all(|t| *t >= settings.timeout)
        );
    }
}
