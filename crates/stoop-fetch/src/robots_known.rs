//! What the robots.txt files of a worker's origins said, within bounds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop::RedirectAction;
use tokio::sync::Notify;

use crate::record::Outcome;
use crate::robots::{Access, FRESH_FOR, RobotsTxt};

/// How long an origin that could not say what it allows is not asked again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(300);

/// How long an origin that gave no response is not asked again.
const SILENT_FOR: Duration = Duration::from_secs(30);

/// How many origins a worker knows, and how many bytes of their files. Beyond, those that it asked first are forgotten.
const ORIGINS_MAX: usize = 50_000;
const BYTES_MAX: usize = 32 << 20;

/// What the origins of a worker say to one agent. (Shared with the worker's client, which asks at each redirect.)
pub(crate) struct KnownRobots {
    agent: Box<str>,
    origins: Mutex<Origins>,
}

/// What came of asking an origin.
pub(crate) enum RobotsAnswer {
    /// It said what it allows, or, with the reason for people, that it cannot say.
    Says { access: Access, why: Option<Box<str>> },
    /// It gave no response; its jobs get this outcome.
    Silent(Box<Outcome>),
}

/// What is known of an origin.
pub(crate) enum Lookup {
    Known(Arc<RobotsAnswer>),
    /// It is being asked. Woken when that ends.
    Asked(Arc<Notify>),
    Unknown,
}

#[derive(Default)]
struct Origins {
    by_name: HashMap<Box<str>, Origin>,
    /// Those that are known, the one that was asked first in front.
    order: VecDeque<Box<str>>,
    bytes: usize,
}

enum Origin {
    Asked(Arc<Notify>),
    Known { answer: Arc<RobotsAnswer>, until: Instant },
}

impl KnownRobots {
    /// Of no origin anything is known.
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.into(), origins: Mutex::default() }
    }

    /// The product token that the files are read for.
    pub(crate) fn agent(&self) -> &str {
        &self.agent
    }

    /// What is known of an origin.
    pub(crate) fn look(&self, origin: &str) -> Lookup {
        match self.lock().by_name.get(origin) {
            Some(Origin::Known { answer, until }) if Instant::now() < *until => {
                Lookup::Known(Arc::clone(answer))
            }
            Some(Origin::Asked(done)) => Lookup::Asked(Arc::clone(done)),
            _ => Lookup::Unknown,
        }
    }

    /// An origin is asked now. The caller wakes who waits for that.
    pub(crate) fn begin(&self, origin: &str) -> Arc<Notify> {
        let done = Arc::new(Notify::new());
        self.lock().put(origin, Origin::Asked(Arc::clone(&done)));
        done
    }

    /// What an origin came to.
    pub(crate) fn end(&self, origin: &str, answer: RobotsAnswer) -> Arc<RobotsAnswer> {
        let answer = Arc::new(answer);
        let until = Instant::now() + answer.lifetime();
        self.lock().put(origin, Origin::Known { answer: Arc::clone(&answer), until });
        answer
    }

    /// An origin was not asked to the end.
    pub(crate) fn give_up(&self, origin: &str) {
        let mut origins = self.lock();
        if matches!(origins.by_name.get(origin), Some(Origin::Asked(_))) {
            origins.by_name.remove(origin);
        }
    }

    /// Why a path may not be fetched, by what its origin says.
    pub(crate) fn denial(&self, access: &Access, why: Option<&str>, path: &str) -> Option<String> {
        match (access.is_allowed(path), why) {
            (true, _) => None,
            (false, Some(why)) => {
                Some(format!("its robots.txt {why}, and so nothing may be fetched"))
            }
            (false, None) => Some(format!("its robots.txt does not allow it to {:?}", self.agent)),
        }
    }

    /// What becomes of a redirect to `url`: it is followed where that is known to be allowed, and is the response where
    /// the origin has to be asked first.
    pub(crate) fn redirect(&self, url: &str) -> RedirectAction {
        let (origin, path) = split(url);
        match self.look(origin) {
            Lookup::Unknown | Lookup::Asked(_) => RedirectAction::Stop,
            Lookup::Known(answer) => match &*answer {
                RobotsAnswer::Says { access, why } => {
                    match self.denial(access, why.as_deref(), path) {
                        None => RedirectAction::Follow,
                        Some(why) => RedirectAction::Deny(format!("where it leads: {why}")),
                    }
                }
                RobotsAnswer::Silent(_) => {
                    let why = "where it leads: there was no response to a request for robots.txt";
                    RedirectAction::Deny(why.to_owned())
                }
            },
        }
    }

    fn lock(&self) -> MutexGuard<'_, Origins> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RobotsAnswer {
    fn lifetime(&self) -> Duration {
        match self {
            Self::Says { access: Access::Unreachable, .. } => UNREACHABLE_FOR,
            Self::Says { .. } => FRESH_FOR,
            Self::Silent(_) => SILENT_FOR,
        }
    }

    /// The memory that it holds, nearly.
    fn held_bytes(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Says { access, why } => {
                    access.robots().map_or(0, RobotsTxt::memory)
                        + why.as_ref().map_or(0, |why| why.len())
                }
                Self::Silent(outcome) => outcome.held_bytes(),
            }
    }
}

impl Origins {
    fn put(&mut self, name: &str, origin: Origin) {
        let held = match &origin {
            Origin::Known { answer, .. } => Some(answer.held_bytes()),
            Origin::Asked(_) => None,
        };
        if let Some(Origin::Known { answer, .. }) = self.by_name.insert(name.into(), origin) {
            self.bytes -= answer.held_bytes();
            self.order.retain(|known| **known != *name);
        }
        if let Some(held) = held {
            self.bytes += held;
            self.order.push_back(name.into());
        }
        while self.order.len() > ORIGINS_MAX || self.bytes > BYTES_MAX && self.order.len() > 1 {
            let Some(oldest) = self.order.pop_front() else { return };
            if let Some(Origin::Known { answer, .. }) = self.by_name.remove(&oldest) {
                self.bytes -= answer.held_bytes();
            }
        }
    }
}

/// An absolute URL's origin without its end, and what is behind that.
pub(crate) fn split(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    let path = url[end..].split('#').next().unwrap_or_default();
    (&url[..end], if path.is_empty() { "/" } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(file: &str) -> RobotsAnswer {
        RobotsAnswer::Says {
            access: Access::Rules(RobotsTxt::parse(file.as_bytes(), "a")),
            why: None,
        }
    }

    fn known(file: &str) -> Origin {
        Origin::Known { answer: Arc::new(says(file)), until: Instant::now() + FRESH_FOR }
    }

    #[test]
    fn a_url_is_its_origin_and_its_path_with_the_query() {
        for (url, origin, path) in [
            ("http://a/", "http://a", "/"),
            ("https://a:8443/b/c?d=e#f", "https://a:8443", "/b/c?d=e"),
            ("http://a", "http://a", "/"),
        ] {
            assert_eq!(split(url), (origin, path));
        }
    }

    #[test]
    fn what_is_known_is_bounded_in_number_and_bytes() {
        let mut origins = Origins::default();
        for n in 0..ORIGINS_MAX + 10 {
            origins.put(&format!("http://host-{n}"), known("user-agent: *\ndisallow: /x"));
        }
        assert_eq!((origins.order.len(), origins.by_name.len()), (ORIGINS_MAX, ORIGINS_MAX));
        assert!(!origins.by_name.contains_key("http://host-0"));
        let rules: String =
            (0..10_000).map(|n| format!("disallow: /a/rather/long/path/{n}\n")).collect();
        for n in 0..200 {
            origins.put(&format!("http://large-{n}"), known(&format!("user-agent: *\n{rules}")));
            assert!(origins.bytes <= BYTES_MAX);
        }
        assert!(origins.by_name.contains_key("http://large-199"));
        // The same origin again takes the place of what it said before.
        let before = (origins.order.len(), origins.bytes);
        origins.put("http://large-199", known(&format!("user-agent: *\n{rules}")));
        assert_eq!((origins.order.len(), origins.bytes), before);
    }

    #[test]
    fn a_redirect_is_followed_where_that_is_known_to_be_allowed() {
        let robots = KnownRobots::new("a");
        assert_eq!(robots.redirect("http://b/x"), RedirectAction::Stop);
        robots.end("http://b", says("user-agent: *\ndisallow: /x"));
        let denied = robots.redirect("http://b/x");
        let why = "where it leads: its robots.txt does not allow it to \"a\"";
        assert_eq!(denied, RedirectAction::Deny(why.to_owned()));
        assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
        assert_eq!(robots.redirect("https://b/y"), RedirectAction::Stop, "another origin");
    }
}
