//! The cache of a resolver: the results it remembers, and the lookups that run. It does no input or
//! output, and time is an argument.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::addresses::Addresses;
use super::error::DnsError;
use super::stats::ResolverStats;

/// The result of a lookup.
pub(super) type LookupResult = Result<Addresses, DnsError>;

/// The channel by which a lookup sends its result to all callers that wait for it. If it is dropped
/// without a result, the lookup was given up.
pub(super) type ResultSender = Arc<watch::Sender<Option<LookupResult>>>;

/// How a caller gets the result for a name.
pub(super) enum LookupState {
    /// The result is remembered.
    Known(LookupResult),
    /// The result has expired, and may still be used. If no lookup runs, the caller must start one that
    /// sends its result here.
    Stale(LookupResult, Option<ResultSender>),
    /// A lookup runs, whose result comes here.
    Running(watch::Receiver<Option<LookupResult>>, RunsOn),
    /// The caller must start a lookup that sends its result here.
    Started(ResultSender),
}

/// Whether a lookup runs on the runtime of the caller that waits for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunsOn {
    /// It does, so that it goes on as long as the caller waits.
    SameRuntime,
    /// It does not, and that runtime may not be driven just now.
    OtherRuntime,
}

/// The runtime of a caller, if it is on one.
pub(super) type RuntimeId = Option<tokio::runtime::Id>;

struct CacheEntry {
    result: LookupResult,
    expires: Instant,
}

impl CacheEntry {
    /// Its result and whether that has expired, if it may be used. That there is no address is never used
    /// longer than it is known.
    fn usable(&self, now: Instant, stale_max: Duration) -> Option<(LookupResult, bool)> {
        let is_stale = self.expires <= now;
        let may_be_stale =
            self.result.is_ok() && now.saturating_duration_since(self.expires) < stale_max;
        (!is_stale || may_be_stale).then(|| (self.result.clone(), is_stale))
    }
}

/// A cache of two generations. A name that is asked for moves into the young one; when that is full
/// it becomes the old one, and what was not asked for since the last time is forgotten. So the newest
/// half at least is always there, and nothing is sorted or linked.
pub(super) struct Cache {
    young: HashMap<Arc<str>, CacheEntry>,
    old: HashMap<Arc<str>, CacheEntry>,
    lookups: HashMap<Arc<str>, (ResultSender, RuntimeId)>,
    /// Entries of one generation.
    generation_max: usize,
    /// How long addresses may be used once they have expired.
    stale_max: Duration,
    stats: ResolverStats,
}

impl Cache {
    /// A cache for at most `entries_max` results, of which addresses may be used for `stale_max` once they have
    /// expired.
    pub(super) fn new(entries_max: usize, stale_max: Duration) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            lookups: HashMap::new(),
            generation_max: entries_max / 2,
            stale_max,
            stats: ResolverStats::default(),
        }
    }

    /// The result for `name`, or the lookup of it that runs; if there is neither, the caller starts
    /// one.
    pub(super) fn join(&mut self, name: &str, runtime: RuntimeId, now: Instant) -> LookupState {
        if let Some((result, is_stale)) = self.find(name, now) {
            if !is_stale {
                self.stats.hits += 1;
                return LookupState::Known(result);
            }
            self.stats.stale += 1;
            let is_running = self.lookups.contains_key(name);
            return LookupState::Stale(result, (!is_running).then(|| self.start(name, runtime)));
        }
        if let Some((sender, of)) = self.lookups.get(name) {
            self.stats.shared += 1;
            let runs_on = if *of == runtime { RunsOn::SameRuntime } else { RunsOn::OtherRuntime };
            return LookupState::Running(sender.subscribe(), runs_on);
        }
        LookupState::Started(self.start(name, runtime))
    }

    /// As [`Cache::join`], for a caller that has waited for another runtime's lookup long enough:
    /// that one is replaced by one of the caller's own. Callers that wait for the other may still get
    /// its result.
    pub(super) fn join_on_own_runtime(
        &mut self,
        name: &str,
        runtime: RuntimeId,
        now: Instant,
    ) -> LookupState {
        match self.join(name, runtime, now) {
            LookupState::Running(_, RunsOn::OtherRuntime) => {
                LookupState::Started(self.start(name, runtime))
            }
            state => state,
        }
    }

    fn start(&mut self, name: &str, runtime: RuntimeId) -> ResultSender {
        self.stats.lookups += 1;
        let sender = ResultSender::new(watch::Sender::new(None));
        self.lookups.insert(name.into(), (sender.clone(), runtime));
        sender
    }

    /// The remembered result for `name`, if it has not expired by `now`.
    pub(super) fn get(&mut self, name: &str, now: Instant) -> Option<LookupResult> {
        self.find(name, now).filter(|(_, is_stale)| !is_stale).map(|(result, _)| result)
    }

    /// The remembered result for `name`, and whether it has expired by `now`, if it may still be used.
    fn find(&mut self, name: &str, now: Instant) -> Option<(LookupResult, bool)> {
        if let Some(entry) = self.young.get(name) {
            return entry.usable(now, self.stale_max);
        }
        let (name, entry) = self.old.remove_entry(name)?;
        let found = entry.usable(now, self.stale_max)?;
        self.insert_young(name, entry);
        Some(found)
    }

    /// What became of the names that were asked for.
    pub(super) fn stats(&self) -> ResolverStats {
        ResolverStats { remembered: self.young.len() + self.old.len(), ..self.stats }
    }

    /// Remembers the result for `name` until `expires`.
    pub(super) fn insert(&mut self, name: &Arc<str>, result: LookupResult, expires: Instant) {
        self.stats.failed += u64::from(result.is_err());
        self.old.remove(name);
        self.insert_young(name.clone(), CacheEntry { result, expires });
    }

    /// Forgets the lookup that sends to `sender`, unless another has taken its place.
    pub(super) fn remove_lookup(&mut self, name: &str, sender: &ResultSender) {
        if self.lookups.get(name).is_some_and(|(current, _)| Arc::ptr_eq(current, sender)) {
            self.lookups.remove(name);
        }
    }

    /// Forgets all results. Lookups go on.
    pub(super) fn clear(&mut self) {
        self.young = HashMap::new();
        self.old = HashMap::new();
    }

    fn insert_young(&mut self, name: Arc<str>, entry: CacheEntry) {
        if self.generation_max == 0 {
            return;
        }
        if self.young.len() >= self.generation_max && !self.young.contains_key(&name) {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(name, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    fn result(n: u8) -> LookupResult {
        Ok(IpAddr::from([10, 0, 0, n]).into())
    }

    fn start(cache: &mut Cache, name: &str, now: Instant) -> ResultSender {
        match cache.join(name, None, now) {
            LookupState::Started(sender) => sender,
            LookupState::Known(_) | LookupState::Stale(..) | LookupState::Running(..) => {
                panic!("{name} is known or running")
            }
        }
    }

    #[test]
    fn a_result_is_known_until_it_expires() {
        let (mut cache, now) = (Cache::new(10, Duration::ZERO), Instant::now());
        let sender = start(&mut cache, "a", now);
        assert!(
            matches!(cache.join("a", None, now), LookupState::Running(_, RunsOn::SameRuntime)),
            "one lookup for a name"
        );
        cache.insert(&"a".into(), result(1), now + Duration::from_secs(5));
        cache.remove_lookup("a", &sender);
        let second = Duration::from_secs(1);
        assert_eq!(cache.get("a", now + 4 * second), Some(result(1)));
        assert_eq!(cache.get("a", now + 5 * second), None);
        start(&mut cache, "a", now + 5 * second);
    }

    #[test]
    fn addresses_that_have_expired_are_used_while_one_lookup_runs() {
        let second = Duration::from_secs(1);
        let (mut cache, now) = (Cache::new(10, 10 * second), Instant::now());
        let sender = start(&mut cache, "a", now);
        cache.insert(&"a".into(), result(1), now + 5 * second);
        cache.remove_lookup("a", &sender);
        let stale = |state| match state {
            LookupState::Stale(found, sender) => (found, sender.is_some()),
            _ => panic!("it is not stale"),
        };
        assert_eq!(cache.get("a", now + 6 * second), None, "it is not known");
        assert_eq!(stale(cache.join("a", None, now + 6 * second)), (result(1), true));
        assert_eq!(stale(cache.join("a", None, now + 14 * second)), (result(1), false));
        // A lookup that runs is waited for when the time is over.
        let late = cache.join("a", None, now + 15 * second);
        assert!(matches!(late, LookupState::Running(..)));
        // That there is no address is not.
        let none =
            Err(DnsError::new(super::super::error::DnsErrorKind::NxDomain, String::from("b")));
        cache.insert(&"b".into(), none, now + second);
        assert!(matches!(cache.join("b", None, now + 2 * second), LookupState::Started(_)));
        let stats = cache.stats();
        assert_eq!((stats.hits, stats.stale, stats.shared, stats.lookups), (0, 2, 1, 3));
        assert_eq!((stats.failed, stats.remembered), (1, 2));
    }

    #[test]
    fn a_lookup_that_was_given_up_does_not_end_its_successor() {
        let (mut cache, now) = (Cache::new(10, Duration::ZERO), Instant::now());
        let first = start(&mut cache, "a", now);
        cache.remove_lookup("a", &first);
        let _second = start(&mut cache, "a", now);
        cache.remove_lookup("a", &first);
        let other = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let runtime = Some(other.handle().id());
        let state = cache.join("a", runtime, now);
        assert!(matches!(state, LookupState::Running(_, RunsOn::OtherRuntime)));
        let state = cache.join_on_own_runtime("a", runtime, now);
        assert!(matches!(state, LookupState::Started(_)));
        let state = cache.join_on_own_runtime("a", runtime, now);
        assert!(matches!(state, LookupState::Running(_, RunsOn::SameRuntime)), "one is enough");
        assert!(matches!(cache.join("a", None, now), LookupState::Running(..)));
    }

    #[test]
    fn a_cache_keeps_no_more_than_its_maximum_and_what_is_used_stays() {
        let (mut cache, now) = (Cache::new(100, Duration::ZERO), Instant::now());
        let later = now + Duration::from_secs(60);
        cache.insert(&"used".into(), result(0), later);
        for n in 0..1_000u32 {
            cache.insert(&n.to_string().into(), result(1), later);
            assert!(cache.young.len() + cache.old.len() <= 100);
            assert!(cache.get("used", now).is_some());
        }
        assert!(cache.get("999", now).is_some());
        assert!(cache.get("0", now).is_none());
    }

    #[test]
    fn a_cache_for_no_entries_keeps_nothing() {
        let (mut cache, now) = (Cache::new(0, Duration::ZERO), Instant::now());
        cache.insert(&"a".into(), result(1), now + Duration::from_secs(60));
        assert!(cache.get("a", now).is_none());
    }
}
