//! Asks for robots.txt before a request is sent: once for each origin of the run, however many jobs wait for it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use stoop::Phase;

use crate::kinds;
use crate::record::Outcome;
use crate::robots_client::RobotsClient;
use crate::robots_known::{KnownRobots, Lookup, RobotsAnswer, split};

/// Asks what may be fetched.
pub(crate) struct RobotsGate {
    known: Arc<KnownRobots>,
    client: RobotsClient,
}

/// Whether a request may be sent.
#[derive(Debug)]
pub(crate) enum Permission {
    /// It may, and so often.
    Granted { crawl_delay: Option<Duration> },
    /// It may not, for this reason.
    Denied { crawl_delay: Option<Duration>, why: String },
    /// The origin gave no response: what would have become of the request, too.
    Unknown(Outcome),
    /// The origin may not be asked at the address that it has: the request is refused there as well.
    Unasked,
}

/// A [`Permission`] that is asked for.
pub(crate) type Asking = Pin<Box<dyn Future<Output = Permission>>>;

impl RobotsGate {
    /// Keeps what it is told in `known`.
    pub(crate) fn new(known: Arc<KnownRobots>, client: RobotsClient) -> Self {
        Self { known, client }
    }

    /// Asks whether a request for `url`, an absolute one, may be sent. Where its origin is not known that takes as long as a
    /// request, which is sent to a public address alone if that is so.
    pub(crate) async fn ask(&self, url: &str, is_public_only: bool) -> Permission {
        let (origin, path) = split(url);
        match self.answer_of(origin, is_public_only).await {
            None => Permission::Unasked,
            Some(answer) => self.permission(&answer, path),
        }
    }

    /// Whether a request for this path may be sent, by what its origin came to.
    fn permission(&self, answer: &RobotsAnswer, path: &str) -> Permission {
        match answer {
            RobotsAnswer::Silent(outcome) => Permission::Unknown((**outcome).clone()),
            RobotsAnswer::Says { access, why } => {
                let crawl_delay = access.crawl_delay();
                match self.known.denial(access, why.as_deref(), path) {
                    None => Permission::Granted { crawl_delay },
                    Some(why) => Permission::Denied { crawl_delay, why },
                }
            }
        }
    }

    /// What [`ask`](Self::ask) returns, where that is known without asking.
    pub(crate) fn known(&self, url: &str) -> Option<Permission> {
        let (origin, path) = split(url);
        self.known.answer(origin).map(|answer| self.permission(&answer, path))
    }

    /// The same as [`ask`](Self::ask), as a future that keeps what it needs.
    pub(crate) fn asking(self: &Arc<Self>, url: &str, is_public_only: bool) -> Asking {
        let (gate, url) = (Arc::clone(self), Box::<str>::from(url));
        Box::pin(async move { gate.ask(&url, is_public_only).await })
    }

    /// The Crawl-delay of the origin of `url`, zero where it has none, if its robots.txt is known.
    pub(crate) fn crawl_delay(&self, url: &str) -> Option<Duration> {
        match &*self.known.answer(split(url).0)? {
            RobotsAnswer::Says { access, .. } => Some(access.crawl_delay().unwrap_or_default()),
            RobotsAnswer::Silent(_) => None,
        }
    }

    /// What an origin says; `None` if it may not be asked at its address.
    async fn answer_of(&self, origin: &str, is_public_only: bool) -> Option<Arc<RobotsAnswer>> {
        loop {
            match self.known.look_or_ask(origin) {
                Lookup::Known(answer) => return Some(answer),
                Lookup::Asked(end) => end.over().await,
                Lookup::Unknown(asking) => {
                    let asked = self.client.ask(origin, is_public_only, self.known.agent());
                    return asked.await.map(|answer| asking.end(answer));
                }
            }
        }
    }
}

/// The outcome of a job whose request is not sent, because robots.txt does not allow it.
pub(crate) fn denied(why: &str) -> Outcome {
    Outcome::local_error(kinds::ROBOTS_DENIED, Phase::Request, why)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use stoop::Client;

    use super::*;
    use crate::settings::Settings;

    /// A public server's redirect had robots.txt asked for at a private address.
    #[test]
    fn a_request_for_public_addresses_alone_asks_no_other_for_robots_txt() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let url = format!("http://{}/a", listener.local_addr().unwrap());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let client = RobotsClient::new(Client::new(), &Settings::default());
        let known = Arc::new(KnownRobots::new("a"));
        let gate = RobotsGate::new(Arc::clone(&known), client);
        // The request itself is refused, which has its own record.
        let permission = runtime.block_on(gate.ask(&url, true));
        assert!(matches!(permission, Permission::Unasked), "{permission:?}");
        assert!(listener.accept().is_err() && gate.known(&url).is_none());
        drop(listener);
        // It is no answer to others.
        let permission = runtime.block_on(gate.ask(&url, false));
        assert!(matches!(permission, Permission::Unknown(_)), "{permission:?}");
    }
}
