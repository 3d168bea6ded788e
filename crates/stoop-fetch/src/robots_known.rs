//! What the robots.txt files of a run's origins said, within bounds.

mod answer;
mod origins;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stoop::RedirectAction;

use self::origins::{AskedOrigin, Origins};
use crate::robots::Access;

pub(crate) use self::answer::RobotsAnswer;

/// Why nothing may be fetched of an origin of which robots.txt cannot be had.
pub(crate) const NO_ROBOTS_RESPONSE: &str = "there was no response to a request for robots.txt";

/// What the origins of a run say to one agent. All that fetch for the run share it, and so do their clients, which ask it
/// at each redirect.
pub(crate) struct KnownRobots {
    agent: Box<str>,
    origins: Mutex<Origins>,
}

/// What is known of an origin.
pub(crate) enum Lookup<'a> {
    Known(Arc<RobotsAnswer>),
    /// It is being asked.
    Asked(AskedOrigin),
    /// The caller asks it: no other does until that ends.
    Unknown(Asking<'a>),
}

/// The right to ask an origin. Those who wait for it go on however it ends; if it was given up, one of them asks.
pub(crate) struct Asking<'a> {
    known: &'a KnownRobots,
    origin: &'a str,
    end: AskedOrigin,
    /// What it came to before, if that is still kept.
    before: Option<Arc<RobotsAnswer>>,
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
        if let Some(answer) = origins.fresh(origin) {
            return Lookup::Known(answer);
        }
        if let Some(end) = origins.asked(origin) {
            return Lookup::Asked(end);
        }
        let end = AskedOrigin::new();
        let before = origins.ask(origin, end.clone());
        Lookup::Unknown(Asking { known: self, origin, end, before })
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

    /// What becomes of a redirect to `url`: it is followed unless that is known to be denied. Where the origin has to be asked
    /// first, the redirect waits for that as it does for its turn.
    pub(crate) fn redirect(&self, url: &str) -> RedirectAction {
        let (origin, path) = split(url);
        let Some(answer) = self.answer(origin) else { return RedirectAction::Follow };
        match &*answer {
            RobotsAnswer::Says { access, why } => match self.denial(access, why.as_deref(), path) {
                None => RedirectAction::Follow,
                Some(why) => RedirectAction::Deny(where_it_leads(&why)),
            },
            RobotsAnswer::Silent(_) => RedirectAction::Deny(where_it_leads(NO_ROBOTS_RESPONSE)),
        }
    }

    /// What an origin came to, if it was asked, and that still counts.
    pub(crate) fn answer(&self, origin: &str) -> Option<Arc<RobotsAnswer>> {
        self.lock().fresh(origin)
    }

    fn lock(&self) -> MutexGuard<'_, Origins> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Asking<'_> {
    /// What the origin came to. If it is unreachable now, what it said before goes on to count (RFC 9309 §2.4).
    pub(crate) fn end(self, answer: RobotsAnswer) -> Arc<RobotsAnswer> {
        let (answer, lifetime) = answer.after(self.before.as_deref());
        let answer = Arc::new(answer);
        self.known.lock().tell(self.origin, Arc::clone(&answer), Instant::now() + lifetime);
        answer
    }
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        self.known.lock().end(self.origin);
        self.end.tell();
    }
}

/// Why a redirect is not followed, by why nothing may be fetched where it leads.
pub(crate) fn where_it_leads(why: &str) -> String {
    format!("where it leads: {why}")
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
