//! [`Monitors`]: what the monitors of all cores share, and the sum of their counts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::control::Control;
use super::counters::{ServerStats, Threads};
use super::events::{ServingObserver, ServingObservers};
use super::monitor::{Exempt, Monitor};
use super::per_address::AddressTable;
use crate::limits::ServerLimits;

/// What the monitors of a server's cores have in common.
pub(crate) struct Monitors {
    observers: ServingObservers,
    exempt: Option<Exempt>,
    /// The connections of each address, where there is a limit for that.
    pub(super) addresses: Option<Arc<AddressTable>>,
    /// How many times each place where it listens was out of descriptors, as far as that was told.
    starved: Box<[AtomicU64]>,
    cores: Mutex<Vec<Arc<Monitor>>>,
}

impl Monitors {
    /// Of a server with so many places where it listens.
    pub(super) fn new(
        observers: Vec<ServingObserver>,
        exempt: Option<Exempt>,
        limits: &ServerLimits,
        places: usize,
    ) -> Arc<Self> {
        Arc::new(Self {
            observers: ServingObservers::new(observers),
            exempt,
            addresses: AddressTable::new(limits.connections_per_address_max),
            starved: (0..places).map(|_| AtomicU64::new(0)).collect(),
            cores: Mutex::default(),
        })
    }

    /// The monitor of another core.
    pub(super) fn core(&self, threads: Threads) -> Arc<Monitor> {
        let (observers, exempt) = (self.observers.clone(), self.exempt.clone());
        let monitor = Arc::new(Monitor::with(observers, exempt, threads));
        self.cores().push(monitor.clone());
        monitor
    }

    /// Notes that the listeners of a place were out of descriptors so many times. True if that was not known: the
    /// listeners of all cores count together.
    pub(super) fn note_starved(&self, place: usize, times: u64) -> bool {
        times > 0 && self.starved[place].fetch_max(times, Relaxed) < times
    }

    /// The counts of all cores, and those that `control` has.
    pub(super) fn stats(&self, control: &Control) -> ServerStats {
        let mut stats = ServerStats {
            open: control.connections(),
            detached: control.detached.load(Relaxed),
            proxy_refusals: control.proxy_refusals.load(Relaxed),
            ..ServerStats::default()
        };
        stats.starved = self.starved.iter().map(|times| times.load(Relaxed)).sum();
        for core in &*self.cores() {
            core.add_to(&mut stats);
        }
        stats
    }

    fn cores(&self) -> MutexGuard<'_, Vec<Arc<Monitor>>> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
