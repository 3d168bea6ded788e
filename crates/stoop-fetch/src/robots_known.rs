//! What the robots.txt files of a run's origins said, within bounds.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop::RedirectAction;
use tokio::sync::Semaphore;

use crate::record::Outcome;
use crate::robots::{Access, FRESH_FOR, RobotsTxt};

/// How long an origin that could not say what it allows is not asked again.
const UNREACHABLE_FOR: Duration = Duration::from_secs(300);

/// How long an origin that gave no response is not asked again: no longer than its jobs then wait, so that the one that tries
/// its host asks.
const SILENT_FOR: Duration = Duration::from_secs(1);

/// How many origins a run knows, and how many bytes of their files. Beyond, those that it asked first are forgotten.
const ORIGINS_MAX: usize = 50_000;
const BYTES_MAX: usize = 32 << 20;

/// What the origins of a run say to one agent. All that fetch for the run share it, and so do their clients, which ask it
/// at each redirect.
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
pub(crate) enum Lookup<'a> {
    Known(Arc<RobotsAnswer>),
    /// It is being asked.
    Asked(AskedOrigin),
    /// The caller asks it: no other does until that ends.
    Unknown(Asking<'a>),
}

/// The end of asking an origin, which any thread can wait for.
#[derive(Clone)]
pub(crate) struct AskedOrigin(Arc<Semaphore>);

/// The right to ask an origin. Those who wait for it go on however it ends; if it was given up, one of them asks.
pub(crate) struct Asking<'a> {
    known: &'a KnownRobots,
    origin: &'a str,
    end: AskedOrigin,
}

#[derive(Default)]
struct Origins {
    by_name: HashMap<Box<str>, Origin>,
    /// Those that are known, the one that was asked first in front.
    order: VecDeque<Box<str>>,
    bytes: usize,
}

enum Origin {
    Asked(AskedOrigin),
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

    /// What is known of an origin. Where that is nothing, it is the caller's to ask.
    pub(crate) fn look_or_ask<'a>(&'a self, origin: &'a str) -> Lookup<'a> {
        let mut origins = self.lock();
        match origins.by_name.get(origin) {
            Some(Origin::Known { answer, until }) if Instant::now() < *until => {
                Lookup::Known(Arc::clone(answer))
            }
            Some(Origin::Asked(end)) => Lookup::Asked(end.clone()),
            _ => {
                let end = AskedOrigin(Arc::new(Semaphore::new(0)));
                origins.put(origin, Origin::Asked(end.clone()));
                Lookup::Unknown(Asking { known: self, origin, end })
            }
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
        let Some(answer) = self.answer(origin) else { return RedirectAction::Stop };
        match &*answer {
            RobotsAnswer::Says { access, why } => match self.denial(access, why.as_deref(), path) {
                None => RedirectAction::Follow,
                Some(why) => RedirectAction::Deny(format!("where it leads: {why}")),
            },
            RobotsAnswer::Silent(_) => {
                let why = "where it leads: there was no response to a request for robots.txt";
                RedirectAction::Deny(why.to_owned())
            }
        }
    }

    /// What an origin came to, if it was asked, and that still counts.
    pub(crate) fn answer(&self, origin: &str) -> Option<Arc<RobotsAnswer>> {
        match self.lock().by_name.get(origin) {
            Some(Origin::Known { answer, until }) if Instant::now() < *until => {
                Some(Arc::clone(answer))
            }
            _ => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Origins> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskedOrigin {
    /// Waits until the origin was asked, or that was given up.
    pub(crate) async fn over(&self) {
        // It has no permits, and fails once it is closed, which may be before.
        let _ = self.0.acquire().await;
    }
}

impl Asking<'_> {
    /// What the origin came to.
    pub(crate) fn end(self, answer: RobotsAnswer) -> Arc<RobotsAnswer> {
        let answer = Arc::new(answer);
        let until = Instant::now() + answer.lifetime();
        let known = Origin::Known { answer: Arc::clone(&answer), until };
        self.known.lock().put(self.origin, known);
        answer
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let mut origins = self.known.lock();
        if matches!(origins.by_name.get(self.origin), Some(Origin::Asked(_))) {
            origins.by_name.remove(self.origin);
        }
        drop(origins);
        self.end.0.close();
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
mod tests;
