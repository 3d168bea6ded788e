//! From a URL to its outcome: the one place that knows the client.

use std::future::Future;
use std::time::Instant;

use stoop::{Client, ClientLimits, Error, Redirects, Request, Version};

use super::args::Format;
use super::plan::Plan;
use super::record::{Details, Outcome, Phases, micros};
use crate::failure::Failure;
use crate::masked;
use crate::summary::Code;

/// Idle connections over all cores: enough for the next page of a host that was just visited. With
/// those in flight that is all a run ever has open; as many again may still be open in the eyes of
/// servers that did not notice our close yet.
const IDLE_MAX: usize = 32;

/// What the clients of all cores have in common.
pub(super) struct Exchanges {
    #[cfg(feature = "tls")]
    tls: stoop::ClientTls,
    #[cfg(feature = "tls")]
    warmed_up: std::sync::Once,
}

impl Exchanges {
    /// Reads what the plan names.
    ///
    /// # Errors
    /// [`Failure::Usage`] for certificates that cannot be used, and for what this program was built
    /// without.
    pub(super) fn new(plan: &Plan) -> Result<Self, Failure> {
        if !cfg!(feature = "dns") && !plan.dns.is_empty() {
            return Err(Failure::Usage("--dns: this stoop asks the system for names".to_owned()));
        }
        if !cfg!(feature = "tls") && (plan.authority.is_some() || plan.insecure) {
            return Err(Failure::Usage("this stoop was built without TLS".to_owned()));
        }
        Ok(Self {
            #[cfg(feature = "tls")]
            tls: tls(plan).map_err(|error| Failure::Usage(error.to_string()))?,
            #[cfg(feature = "tls")]
            warmed_up: std::sync::Once::new(),
        })
    }

    /// Makes everything ready for TLS, or waits until somebody has. It takes some 20 to 50 ms, which
    /// no URL should have on its clock, nor any other that shares its core.
    pub(super) fn warm_up(&self) {
        #[cfg(feature = "tls")]
        self.warmed_up.call_once(|| self.tls.warm_up());
    }

    /// The client of one core.
    ///
    /// # Errors
    /// The client's own.
    pub(super) fn for_core(&self, plan: &Plan) -> Result<Exchange, Error> {
        let redirects = match u16::try_from(plan.max_redirects) {
            Ok(0) => Redirects::none(),
            Ok(max) => Redirects::follow(max),
            Err(_) => Redirects::follow(u16::MAX),
        };
        let client = Client::builder()
            .limits(limits(plan))
            .redirects(redirects)
            .user_agent(plan.user_agent.as_str())
            .versions(plan.versions)
            .allow_private(plan.allow_private);
        #[cfg(feature = "tls")]
        let client = client.tls(self.tls.clone());
        #[cfg(feature = "dns")]
        let client = if plan.dns.is_empty() { client } else { client.name_servers(&plan.dns) };
        Ok(Exchange { client: client.build()?, detailed: plan.format == Format::Jsonl })
    }
}

#[cfg(feature = "tls")]
fn tls(plan: &Plan) -> Result<stoop::ClientTls, stoop::TlsConfigError> {
    use super::plan::Authority;

    let mut tls = stoop::ClientTls::builder();
    match &plan.authority {
        Some(Authority::File(path)) => tls = tls.ca_file(path),
        Some(Authority::Pem(pem)) => tls = tls.ca_pem(pem.as_str()),
        None => {}
    }
    if plan.insecure {
        tls = tls.dangerous_accept_any_certificate();
    }
    tls.build()
}

/// The deadline of a URL is its only limit of time, unless there is one for connecting: a run that
/// grants a minute means it. And nobody waits for a connection, because the slots are the limit: of
/// HTTP/2 there are fewer anyway, as many as an origin's streams need.
fn limits(plan: &Plan) -> ClientLimits {
    let mut limits = ClientLimits::default();
    limits.wire.body_bytes_max = plan.max_body;
    limits.time.connect = plan.connect_timeout;
    limits.time.dns = None;
    limits.time.tls = None;
    limits.time.first_byte = None;
    limits.time.read_idle = None;
    limits.time.total = Some(plan.timeout);
    let idle = (IDLE_MAX / plan.cores).max(1);
    limits.pool.idle_max = idle;
    limits.pool.idle_per_origin_max = idle;
    limits.pool.per_origin_max = plan.concurrency;
    limits.pool.http2_per_origin_max = plan.concurrency;
    limits.pool.total_max = plan.concurrency + idle;
    limits
}

/// One core's client.
pub(super) struct Exchange {
    client: Client,
    detailed: bool,
}

impl Exchange {
    /// Fetches `url`, which has to be answered by `deadline`. The URL is read at once, and need not
    /// outlive the call.
    pub(super) fn fetch(
        &self,
        url: &str,
        deadline: Instant,
    ) -> impl Future<Output = Outcome> + use<'_> {
        let request = Request::get(url);
        async move {
            match self.send(request, deadline).await {
                Ok(outcome) => outcome,
                Err(error) => self.failed(&error, Phases::until_head(&error.timings())),
            }
        }
    }

    async fn send(
        &self,
        request: Result<Request, Error>,
        deadline: Instant,
    ) -> Result<Outcome, Error> {
        let mut response = self.client.send_by(request?, Some(deadline)).await?;
        let mut details = self.detailed.then(|| Details {
            final_url: response.url().map(|url| masked::text(url).into_owned()),
            redirects: Some(response.redirects()),
            http_version: version(response.version()),
            content_type: response
                .field("content-type")
                .map(|value| String::from_utf8_lossy(value).into_owned()),
            remote_ip: response.remote_address().map(|address| address.ip()),
            remote_port: response.remote_address().map(|address| address.port()),
            phases: Phases::until_head(&response.timings()),
            ..Details::default()
        });
        // Nobody reads this clock for nothing.
        let head = details.is_some().then(Instant::now);
        let received = response.body_mut().discard().await;
        if let (Some(details), Some(head)) = (&mut details, head) {
            details.phases.t_recv_us = Some(micros(head.elapsed()));
        }
        let body_bytes = match received {
            Ok(bytes) => bytes,
            Err(error) => {
                let phases = details.map(|details| details.phases);
                return Ok(self.failed(&error, phases.unwrap_or_default()));
            }
        };
        Ok(Outcome {
            code: Code::Status(response.status().as_u16()),
            body_bytes,
            http2: response.version() == Version::HTTP_2,
            details: details.map(Box::new),
        })
    }

    fn failed(&self, error: &Error, phases: Phases) -> Outcome {
        let details = self.detailed.then(|| Details {
            error_phase: Some(error.phase().as_str()),
            error: Some(masked::text(&error.to_string()).into_owned()),
            remote_ip: error.remote_address().map(|address| address.ip()),
            remote_port: error.remote_address().map(|address| address.port()),
            phases,
            ..Details::default()
        });
        Outcome { details: details.map(Box::new), ..Outcome::error(error.kind().as_str()) }
    }
}

/// The version as ALPN and the record write it.
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

    use super::super::args::EXAMPLES;
    use crate::hints::hint;

    #[test]
    fn every_kind_of_error_has_a_hint_and_stands_in_the_help() {
        for kind in ErrorKind::ALL {
            // Nothing here sends a body.
            if *kind == ErrorKind::RequestBody {
                continue;
            }
            let word = kind.as_str();
            assert!(hint(word).is_some(), "{word}");
            assert!(EXAMPLES.split_whitespace().any(|w| w == word), "{word}");
        }
        assert!(EXAMPLES.contains(Phase::Receive.as_str()));
    }
}
