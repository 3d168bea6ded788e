//! The table of what origins said, which forgets those that were asked first once it is full.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Instant;

use tokio::sync::Semaphore;

use super::answer::RobotsAnswer;

/// How many origins a run knows, and how many bytes of their files. Beyond, those that it asked first are forgotten.
const ORIGINS_MAX: usize = 50_000;
const BYTES_MAX: usize = 32 << 20;

/// The end of asking an origin, which any thread can wait for.
#[derive(Clone)]
pub(crate) struct AskedOrigin(Arc<Semaphore>);

/// What is known of origins. Each operation takes a time that grows with the logarithm of their number at most: it is done
/// under a lock of the whole run.
#[derive(Default)]
pub(super) struct Origins {
    by_name: HashMap<Arc<str>, Origin>,
    /// The names of those that are known, by when they were told: the number of that, which the entry has, too.
    order: BTreeMap<u64, Arc<str>>,
    told: u64,
    bytes: usize,
}

/// An origin that is known, is being asked, or both: what it said before is kept until it says something else.
#[derive(Default)]
struct Origin {
    known: Option<Known>,
    asked: Option<AskedOrigin>,
}

struct Known {
    answer: Arc<RobotsAnswer>,
    until: Instant,
    number: u64,
}

impl Origins {
    /// What an origin came to that still counts.
    pub(super) fn fresh(&self, name: &str) -> Option<Arc<RobotsAnswer>> {
        let known = self.by_name.get(name)?.known.as_ref()?;
        (Instant::now() < known.until).then(|| Arc::clone(&known.answer))
    }

    /// The end of asking an origin that is being asked.
    pub(super) fn asked(&self, name: &str) -> Option<AskedOrigin> {
        self.by_name.get(name)?.asked.clone()
    }

    /// Notes that an origin is asked until `end`, and returns what it came to before, whether that still counts or not.
    pub(super) fn ask(&mut self, name: &str, end: AskedOrigin) -> Option<Arc<RobotsAnswer>> {
        if let Some(origin) = self.by_name.get_mut(name) {
            origin.asked = Some(end);
            return origin.known.as_ref().map(|known| Arc::clone(&known.answer));
        }
        self.by_name.insert(name.into(), Origin { known: None, asked: Some(end) });
        None
    }

    /// Notes that an origin is no longer asked, whatever came of it.
    pub(super) fn end(&mut self, name: &str) {
        if let Some(origin) = self.by_name.get_mut(name) {
            origin.asked = None;
            self.drop_empty(name);
        }
    }

    /// Keeps what an origin came to, until a time, in place of what it said before.
    pub(super) fn tell(&mut self, name: &str, answer: Arc<RobotsAnswer>, until: Instant) {
        let number = self.told;
        self.told += 1;
        self.bytes += answer.held_bytes();
        let name = Arc::<str>::from(name);
        self.order.insert(number, Arc::clone(&name));
        let known = Known { answer, until, number };
        let before = self.by_name.entry(name).or_default().known.replace(known);
        if let Some(before) = before {
            self.bytes -= before.answer.held_bytes();
            self.order.remove(&before.number);
        }
        while self.order.len() > ORIGINS_MAX || self.bytes > BYTES_MAX && self.order.len() > 1 {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        let Some((_, name)) = self.order.pop_first() else { return };
        let Some(origin) = self.by_name.get_mut(&name) else { return };
        if let Some(known) = origin.known.take() {
            self.bytes -= known.answer.held_bytes();
        }
        self.drop_empty(&name);
    }

    fn drop_empty(&mut self, name: &str) {
        let origin = self.by_name.get(name);
        if origin.is_some_and(|origin| origin.known.is_none() && origin.asked.is_none()) {
            self.by_name.remove(name);
        }
    }
}

impl AskedOrigin {
    /// It is asked from now on.
    pub(super) fn new() -> Self {
        Self(Arc::new(Semaphore::new(0)))
    }

    /// Waits until the origin was asked, or that was given up.
    pub(crate) async fn over(&self) {
        // It has no permits, and fails once it is closed, which may be before.
        let _ = self.0.acquire().await;
    }

    /// All who wait for it go on.
    pub(super) fn tell(&self) {
        self.0.close();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::robots::{Access, RobotsTxt};

    fn says(file: &str) -> Arc<RobotsAnswer> {
        let access = Access::Rules(RobotsTxt::parse(file.as_bytes(), "a"));
        Arc::new(RobotsAnswer::Says { access, why: None })
    }

    fn tell(origins: &mut Origins, name: &str, file: &str) {
        origins.tell(name, says(file), Instant::now() + Duration::from_secs(60));
    }

    #[test]
    fn what_is_known_is_bounded_in_number_and_bytes() {
        let mut origins = Origins::default();
        for n in 0..ORIGINS_MAX + 10 {
            tell(&mut origins, &format!("http://host-{n}"), "user-agent: *\ndisallow: /x");
        }
        assert_eq!((origins.order.len(), origins.by_name.len()), (ORIGINS_MAX, ORIGINS_MAX));
        assert!(origins.fresh("http://host-0").is_none());
        let rules: String =
            (0..10_000).map(|n| format!("disallow: /a/rather/long/path/{n}\n")).collect();
        let rules = format!("user-agent: *\n{rules}");
        for n in 0..200 {
            tell(&mut origins, &format!("http://large-{n}"), &rules);
            assert!(origins.bytes <= BYTES_MAX);
        }
        assert!(origins.fresh("http://large-199").is_some());
        // The same origin again takes the place of what it said before.
        let before = (origins.order.len(), origins.bytes);
        tell(&mut origins, "http://large-199", &rules);
        assert_eq!((origins.order.len(), origins.bytes), before);
    }

    /// Each that was asked again had all 50,000 names gone through, under the lock of the run.
    #[test]
    fn an_origin_that_is_told_again_becomes_the_youngest_without_a_walk_over_all() {
        let mut origins = Origins::default();
        for n in 0..ORIGINS_MAX {
            tell(&mut origins, &format!("http://host-{n}"), "");
        }
        // With a walk over all these are 2.5 billion comparisons.
        for n in (0..ORIGINS_MAX).rev() {
            tell(&mut origins, &format!("http://host-{n}"), "");
        }
        let oldest = format!("http://host-{}", ORIGINS_MAX - 1);
        tell(&mut origins, "http://another", "");
        assert!(origins.fresh(&oldest).is_none() && origins.fresh("http://host-0").is_some());
        assert_eq!((origins.order.len(), origins.by_name.len()), (ORIGINS_MAX, ORIGINS_MAX));
    }

    #[test]
    fn what_an_origin_said_is_kept_while_it_is_asked_again_and_where_that_is_given_up() {
        let mut origins = Origins::default();
        assert!(origins.ask("http://a", AskedOrigin::new()).is_none());
        assert!(origins.asked("http://a").is_some());
        origins.end("http://a");
        assert!(origins.by_name.is_empty(), "of it nothing is known");
        origins.tell("http://a", says("user-agent: *\ndisallow: /x"), Instant::now());
        assert!(origins.fresh("http://a").is_none(), "no longer");
        assert!(origins.ask("http://a", AskedOrigin::new()).is_some());
        origins.end("http://a");
        assert!(origins.asked("http://a").is_none());
        assert!(origins.ask("http://a", AskedOrigin::new()).is_some());
    }
}
