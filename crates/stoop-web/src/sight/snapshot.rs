//! The figures of all cores together, at one time.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use stoop::ServerStats;

use super::figures::{CoreFigures, RouteFigures};
use super::labels::REASONS;
use super::quantiles::Quantiles;
use super::recent::{RECENT, SLOW_MAX, SecondFigures, SlowExchange};
use super::server::ServerFigures;
use crate::exchange::now;
use crate::shards::Shards;

/// Seconds that are shown.
const MINUTE: u64 = 60;

type StatsSource = Arc<dyn Fn() -> ServerStats + Send + Sync>;
type Measure = Arc<dyn Fn() -> u64 + Send + Sync>;

/// What the middleware counts, and what is shown with it.
pub(super) struct SightState {
    pub(super) began: Instant,
    began_at: SystemTime,
    pub(super) cores: Shards<CoreFigures>,
    joined: Mutex<Joined>,
    /// Whether exchanges are counted by the `metrics` façade too.
    #[cfg(feature = "metrics")]
    pub(super) is_told: std::sync::atomic::AtomicBool,
    /// The second, counted from `began`, from which on the façade is given the figures of the servers next.
    #[cfg(feature = "metrics")]
    servers_due: std::sync::atomic::AtomicU64,
}

/// What is shown beside the figures of the middleware.
#[derive(Clone, Default)]
struct Joined {
    servers: Vec<StatsSource>,
    memory: Option<Measure>,
}

impl Joined {
    /// The figures of all servers together, if there is any.
    fn server(&self) -> Option<ServerFigures> {
        self.servers.iter().map(|stats| ServerFigures::of(&stats())).reduce(ServerFigures::with)
    }
}

impl SightState {
    pub(super) fn new() -> Self {
        Self {
            began: now(),
            began_at: SystemTime::now(),
            cores: Shards::new(),
            joined: Mutex::default(),
            #[cfg(feature = "metrics")]
            is_told: false.into(),
            #[cfg(feature = "metrics")]
            servers_due: 0.into(),
        }
    }

    /// Gives the façade the figures of the servers, once a second at most.
    #[cfg(feature = "metrics")]
    pub(super) fn tell_servers(&self) {
        use std::sync::atomic::Ordering::Relaxed;
        let second = now().saturating_duration_since(self.began).as_secs();
        let due = self.servers_due.load(Relaxed);
        if second < due
            || self.servers_due.compare_exchange(due, second + 1, Relaxed, Relaxed).is_err()
        {
            return;
        }
        if let Some(figures) = self.server() {
            super::facade::server(&figures);
        }
    }

    pub(super) fn add_server(&self, stats: StatsSource) {
        self.joined().servers.push(stats);
    }

    pub(super) fn measure_memory(&self, measure: Measure) {
        self.joined().memory = Some(measure);
    }

    /// The figures of all servers together, as they are now.
    #[cfg(feature = "metrics")]
    pub(super) fn server(&self) -> Option<ServerFigures> {
        // The callers' functions run without the lock.
        let joined = self.joined().clone();
        joined.server()
    }

    fn joined(&self) -> MutexGuard<'_, Joined> {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// All figures.
pub(super) struct Snapshot {
    pub(super) uptime: Duration,
    /// When counting began, in seconds since 1970.
    pub(super) began_unix: f64,
    pub(super) routes: BTreeMap<Arc<str>, RouteFigures>,
    pub(super) in_flight: u64,
    pub(super) cut_short: [u64; REASONS.len()],
    pub(super) clients_left: u64,
    /// How long the exchanges of the last minute took.
    pub(super) durations: Quantiles,
    /// The seconds of the last minute that are over, the oldest first.
    pub(super) seconds: Vec<SecondFigures>,
    /// The slowest first.
    pub(super) slow: Vec<SlowExchange>,
    /// Those of all servers, if there are any.
    pub(super) server: Option<ServerFigures>,
    pub(super) memory_bytes: Option<u64>,
}

impl Snapshot {
    pub(super) fn of(state: &SightState) -> Self {
        let mut all = Self::empty(state);
        let current = all.uptime.as_secs();
        let first = current - all.seconds.len() as u64;
        for core in state.cores.all() {
            all.add(&core);
            for (second, at) in all.seconds.iter_mut().zip(first..) {
                let counted = core.recent.second(at);
                second.requests += counted.requests;
                second.errors += counted.errors;
            }
            core.recent.add_durations(current, &mut all.durations);
            let is_recent = |slow: &&SlowExchange| all.uptime.saturating_sub(slow.at) <= RECENT;
            all.slow.extend(core.recent.slow.iter().filter(is_recent));
        }
        all.slow.sort_by_key(|slow| std::cmp::Reverse(slow.took));
        all.slow.truncate(SLOW_MAX);
        all
    }

    fn empty(state: &SightState) -> Self {
        // The caller's functions run without the lock.
        let joined = state.joined().clone();
        let uptime = now().saturating_duration_since(state.began);
        let began = state.began_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self {
            uptime,
            began_unix: began.as_millis() as f64 / 1e3,
            routes: BTreeMap::new(),
            in_flight: 0,
            cut_short: [0; REASONS.len()],
            clients_left: 0,
            durations: Quantiles::default(),
            seconds: vec![SecondFigures::default(); MINUTE.min(uptime.as_secs()) as usize],
            slow: Vec::new(),
            server: joined.server(),
            memory_bytes: joined.memory.map(|measure| measure()),
        }
    }

    fn add(&mut self, core: &CoreFigures) {
        for (route, figures) in &core.routes {
            // Two cores have two names that are the same.
            self.routes.entry(route.clone()).or_default().add(figures);
        }
        self.in_flight += core.in_flight;
        self.cut_short.iter_mut().zip(core.cut_short).for_each(|(one, other)| *one += other);
        self.clients_left += core.clients_left;
    }

    /// Exchanges of a class of statuses.
    pub(super) fn class(&self, class: usize) -> u64 {
        self.routes.values().map(|figures| figures.class(class)).sum()
    }

    /// All exchanges.
    pub(super) fn count(&self) -> u64 {
        self.routes.values().map(RouteFigures::count).sum()
    }

    /// Exchanges that ended in the last second that is over.
    pub(super) fn last_second(&self) -> u64 {
        self.seconds.last().map_or(0, |second| second.requests)
    }

    /// Exchanges for each second of the last minute, or since the beginning.
    pub(super) fn per_second(&self) -> f64 {
        let requests: u64 = self.seconds.iter().map(|second| second.requests).sum();
        requests as f64 / self.seconds.len().max(1) as f64
    }
}
