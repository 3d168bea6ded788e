//! Asks robots.txt before a worker's jobs are fetched: once for each origin, however many jobs wait for it.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use stoop::Phase;
use tokio::sync::Notify;

use crate::fetcher::Fetcher;
use crate::record::Outcome;
use crate::robots::{Access, FRESH_FOR};
use crate::robots_answer::RobotsAnswer;

/// How long an origin that could not say what it allows is not asked again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(300);

/// How many origins a worker knows, and how many bytes of their files. Beyond, those that it asked first are forgotten.
const ORIGINS_MAX: usize = 50_000;
const BYTES_MAX: usize = 32 << 20;

/// What the robots.txt files of a worker's origins say to one agent.
pub(crate) struct RobotsGate {
    agent: Box<str>,
    origins: RefCell<Origins>,
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

#[derive(Default)]
struct Origins {
    by_name: HashMap<Box<str>, Origin>,
    /// Those that are known, the one that was asked first in front.
    order: VecDeque<Box<str>>,
    bytes: usize,
}

enum Origin {
    /// A job is asking it; the others wait.
    Asked(Rc<AskedOrigin>),
    Known {
        answer: Rc<RobotsAnswer>,
        until: Instant,
    },
}

/// An origin that is being asked.
#[derive(Default)]
struct AskedOrigin {
    done: Notify,
    /// What came of it, for those who wait, where it gave no response.
    failure: RefCell<Option<Outcome>>,
}

impl RobotsGate {
    /// Asks for the product token `agent`.
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.into(), origins: RefCell::default() }
    }

    /// Whether `url`, which is absolute and as it is requested, may be fetched. It may take as long as a request.
    pub(crate) async fn ask(&self, fetcher: &Fetcher, url: &str) -> Permission {
        let (origin, path) = split(url);
        let answer = match self.answer_of(fetcher, origin).await {
            Ok(answer) => answer,
            Err(outcome) => return Permission::Unknown(outcome),
        };
        let crawl_delay = answer.access.crawl_delay();
        if answer.access.is_allowed(path) {
            return Permission::Granted { crawl_delay };
        }
        let text = match &answer.why {
            Some(why) => format!("its robots.txt {why}, and so nothing may be fetched"),
            None => format!("its robots.txt does not allow it to {:?}", self.agent),
        };
        let outcome = Outcome::local_error("robots_denied", Phase::Request, &text);
        Permission::Denied { crawl_delay, outcome }
    }

    /// What an origin says, or the outcome where it could not be asked.
    async fn answer_of(
        &self,
        fetcher: &Fetcher,
        origin: &str,
    ) -> Result<Rc<RobotsAnswer>, Outcome> {
        loop {
            let asked = match self.origins.borrow().by_name.get(origin) {
                Some(Origin::Known { answer, until }) if Instant::now() < *until => {
                    return Ok(Rc::clone(answer));
                }
                Some(Origin::Asked(asked)) => Rc::clone(asked),
                _ => break,
            };
            asked.done.notified().await;
            if let Some(failure) = asked.failure.borrow().as_ref() {
                return Err(failure.clone());
            }
        }
        let asking = Asking::begin(self, origin);
        match fetcher.robots(&format!("{origin}/robots.txt"), &self.agent).await {
            Ok(answer) => Ok(asking.end(answer)),
            Err(outcome) => {
                *asking.asked.failure.borrow_mut() = Some(outcome.clone());
                Err(outcome)
            }
        }
    }
}

/// The asking of one origin. Those who wait are woken however it ends, and share its failure; if it was given up, one of
/// them asks.
struct Asking<'a> {
    gate: &'a RobotsGate,
    origin: &'a str,
    asked: Rc<AskedOrigin>,
}

impl<'a> Asking<'a> {
    fn begin(gate: &'a RobotsGate, origin: &'a str) -> Self {
        let asked = Rc::<AskedOrigin>::default();
        gate.origins.borrow_mut().put(origin, Origin::Asked(Rc::clone(&asked)));
        Self { gate, origin, asked }
    }

    fn end(self, answer: RobotsAnswer) -> Rc<RobotsAnswer> {
        let lifetime = match answer.access {
            Access::Unreachable => UNREACHABLE_FOR,
            Access::Rules(_) | Access::Unavailable => FRESH_FOR,
        };
        let answer = Rc::new(answer);
        let known = Origin::Known { answer: Rc::clone(&answer), until: Instant::now() + lifetime };
        self.gate.origins.borrow_mut().put(self.origin, known);
        answer
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut origins = self.gate.origins.borrow_mut();
        if matches!(origins.by_name.get(self.origin), Some(Origin::Asked(_))) {
            origins.by_name.remove(self.origin);
        }
        self.asked.done.notify_waiters();
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

/// A URL's origin without its end, and what is behind that.
fn split(url: &str) -> (&str, &str) {
    let authority = url.find("://").map_or(0, |at| at + 3);
    let end = url[authority..].find(['/', '?', '#']).map_or(url.len(), |at| authority + at);
    let path = url[end..].split('#').next().unwrap_or_default();
    (&url[..end], if path.is_empty() { "/" } else { path })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::robots::RobotsTxt;

    fn known(file: &str) -> Origin {
        let access = Access::Rules(RobotsTxt::parse(file.as_bytes(), "a"));
        let answer = Rc::new(RobotsAnswer { access, why: None });
        Origin::Known { answer, until: Instant::now() + FRESH_FOR }
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
}
