//! Asks for robots.txt before a job is fetched: once for each origin of the run, however many jobs wait for it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stoop::{Phase, RedirectAction, StatusCode};

use crate::failures::masked_location;
use crate::kinds;
use crate::record::Outcome;
use crate::robots_client::RobotsClient;
use crate::robots_known::{KnownRobots, Lookup, NO_ROBOTS_RESPONSE, RobotsAnswer, split};

/// Asks what may be fetched.
pub(crate) struct RobotsGate {
    known: Arc<KnownRobots>,
    client: RobotsClient,
}

/// Whether a job may be fetched.
#[derive(Debug)]
pub(crate) enum Permission {
    /// It may, and so often.
    Granted { crawl_delay: Option<Duration> },
    /// It gets this outcome in place of a request.
    Denied { crawl_delay: Option<Duration>, outcome: Outcome },
    /// The origin gave no response, and the job gets this outcome.
    Unknown(Outcome),
}

/// A [`Permission`] that is asked for.
pub(crate) type Asking = Pin<Box<dyn Future<Output = Permission>>>;

impl Permission {
    /// The outcome of a job of which a redirect to `url`, by a response of this status, is not followed because it is not
    /// granted: as the client tells it where that is known before.
    pub(crate) fn refused_redirect(&self, url: &str, status: StatusCode) -> Outcome {
        let text = match self {
            Self::Denied { outcome, .. } => {
                let details = outcome.details.as_ref();
                details.and_then(|details| details.error.as_deref()).unwrap_or_default()
            }
            Self::Unknown(_) | Self::Granted { .. } => NO_ROBOTS_RESPONSE,
        };
        let text = format!("where it leads: {text}");
        let mut outcome = Outcome::local_error(kinds::ROBOTS_DENIED, Phase::Redirect, &text);
        if let Some(details) = &mut outcome.details {
            details.location = Some(masked_location(url.as_bytes()));
            details.status = Some(status.as_u16());
        }
        outcome
    }
}

impl RobotsGate {
    /// Keeps what it is told in `known`.
    pub(crate) fn new(known: Arc<KnownRobots>, client: RobotsClient) -> Self {
        Self { known, client }
    }

    /// Whether `url`, which is absolute and as it is requested, may be fetched. It may take as long as a request.
    pub(crate) async fn ask(&self, url: &str) -> Permission {
        let (origin, path) = split(url);
        match &*self.answer_of(origin).await {
            RobotsAnswer::Silent(outcome) => Permission::Unknown((**outcome).clone()),
            RobotsAnswer::Says { access, why } => {
                let crawl_delay = access.crawl_delay();
                match self.known.denial(access, why.as_deref(), path) {
                    None => Permission::Granted { crawl_delay },
                    Some(text) => {
                        let outcome =
                            Outcome::local_error(kinds::ROBOTS_DENIED, Phase::Request, &text);
                        Permission::Denied { crawl_delay, outcome }
                    }
                }
            }
        }
    }

    /// Asks whether `url` may be fetched, unless it is known that it may.
    pub(crate) fn asking(self: &Arc<Self>, url: &str) -> Option<Asking> {
        let is_known = self.known.answer(split(url).0).is_some();
        if is_known && self.known.redirect(url) == RedirectAction::Follow {
            return None;
        }
        let (gate, url) = (Arc::clone(self), Box::<str>::from(url));
        Some(Box::pin(async move { gate.ask(&url).await }))
    }

    /// The Crawl-delay of the origin of `url`, zero where it has none, if its robots.txt is known.
    pub(crate) fn crawl_delay(&self, url: &str) -> Option<Duration> {
        match &*self.known.answer(split(url).0)? {
            RobotsAnswer::Says { access, .. } => Some(access.crawl_delay().unwrap_or_default()),
            RobotsAnswer::Silent(_) => None,
        }
    }

    /// What an origin says.
    async fn answer_of(&self, origin: &str) -> Arc<RobotsAnswer> {
        loop {
            match self.known.look_or_ask(origin) {
                Lookup::Known(answer) => return answer,
                Lookup::Asked(end) => end.over().await,
                Lookup::Unknown(asking) => {
                    return asking.end(self.client.ask(origin, self.known.agent()).await);
                }
            }
        }
    }
}
