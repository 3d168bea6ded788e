//! What the robots.txt files of a run's origins said, within bounds.

mod answer;
mod origins;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use stoop::RedirectAction;
use tokio::sync::Semaphore;

use self::origins::Origins;
use crate::robots::Access;

pub(crate) use self::answer::RobotsAnswer;

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

/// The end of asking an origin, which any thread can wait for.
#[derive(Clone)]
pub(crate) struct AskedOrigin(Arc<Semaphore>);

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
        self.lock().fresh(origin)
    }

    fn lock(&self) -> MutexGuard<'_, Origins> {
        // No code under the lock can panic half-way, so the state behind a poisoned lock is sound.
        self.origins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl AskedOrigin {
    fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Waits until the origin was asked, or that was given up.
    pub(crate) async fn over(&self) {
        // It has no permits, and fails once it is closed, which may be before.
        let _ = self.0.acquire().await;
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
        self.end.0.close();
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
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use tokio::runtime::Builder;

    use super::*;
    use crate::record::Outcome;
    use crate::robots::RobotsTxt;

    fn says(file: &str) -> RobotsAnswer {
        RobotsAnswer::Says {
            access: Access::Rules(RobotsTxt::parse(file.as_bytes(), "a")),
            why: None,
        }
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

    fn ask<'a>(robots: &'a KnownRobots, origin: &'a str) -> Asking<'a> {
        match robots.look_or_ask(origin) {
            Lookup::Unknown(asking) => asking,
            Lookup::Known(_) | Lookup::Asked(_) => panic!("{origin} was asked"),
        }
    }

    #[test]
    fn a_redirect_is_followed_where_that_is_known_to_be_allowed() {
        let robots = KnownRobots::new("a");
        assert_eq!(robots.redirect("http://b/x"), RedirectAction::Stop);
        let asking = ask(&robots, "http://b");
        assert_eq!(robots.redirect("http://b/x"), RedirectAction::Stop);
        asking.end(says("user-agent: *\ndisallow: /x"));
        let denied = robots.redirect("http://b/x");
        let why = "where it leads: its robots.txt does not allow it to \"a\"";
        assert_eq!(denied, RedirectAction::Deny(why.to_owned()));
        assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
        assert_eq!(robots.redirect("https://b/y"), RedirectAction::Stop, "another origin");
    }

    #[test]
    fn of_many_threads_one_asks_and_the_others_wait_for_what_it_is_told() {
        for _ in 0..50 {
            let (robots, asked) = (KnownRobots::new("a"), AtomicU32::new(0));
            let ask = async || loop {
                match robots.look_or_ask("http://b") {
                    Lookup::Known(answer) => return answer,
                    Lookup::Asked(end) => end.over().await,
                    // The first two give up.
                    Lookup::Unknown(asking) if asked.fetch_add(1, SeqCst) < 2 => drop(asking),
                    Lookup::Unknown(asking) => return asking.end(says("")),
                }
            };
            let ask = || Builder::new_current_thread().build().expect("one").block_on(ask());
            let answers: Vec<_> = std::thread::scope(|threads| {
                let threads: Vec<_> = (0..8).map(|_| threads.spawn(ask)).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect()
            });
            assert!(answers.iter().all(|answer| Arc::ptr_eq(answer, &answers[0])));
            assert_eq!(asked.load(SeqCst), 3);
        }
    }

    /// RFC 9309 §2.4: an origin whose rules were known got 'robots_denied' for everything once they were a day old and it
    /// answered 503, or gave no response.
    #[test]
    fn rules_that_were_known_go_on_to_count_while_their_origin_is_unreachable() {
        let unavailable =
            || RobotsAnswer::Says { access: Access::Unreachable, why: Some("x".into()) };
        let silent = || {
            let outcome = Outcome::local_error("connect_refused", stoop::Phase::Connect, "refused");
            RobotsAnswer::Silent(Box::new(outcome))
        };
        let expire = |robots: &KnownRobots| {
            let answer = robots.answer("http://b").expect("it still counts");
            robots.lock().tell("http://b", answer, Instant::now());
            assert!(robots.answer("http://b").is_none());
        };
        let robots = KnownRobots::new("a");
        ask(&robots, "http://b").end(says("user-agent: *\ndisallow: /x"));
        for newer in [unavailable(), silent(), unavailable()] {
            expire(&robots);
            ask(&robots, "http://b").end(newer);
            assert_eq!(robots.redirect("http://b/y"), RedirectAction::Follow);
            assert!(
                matches!(robots.redirect("http://b/x"), RedirectAction::Deny(why) if why.contains("allow"))
            );
        }
        expire(&robots);
        ask(&robots, "http://b").end(says("user-agent: *\ndisallow: /y"));
        assert_eq!(robots.redirect("http://b/x"), RedirectAction::Follow, "what it says now");
        // Of another nothing was known.
        ask(&robots, "http://c").end(unavailable());
        assert!(matches!(robots.redirect("http://c/y"), RedirectAction::Deny(_)));
        robots.lock().tell("http://c", Arc::new(unavailable()), Instant::now());
        ask(&robots, "http://c").end(silent());
        let answer = robots.answer("http://c").expect("told");
        assert!(matches!(*answer, RobotsAnswer::Silent(_)), "what it is now");
    }
}
