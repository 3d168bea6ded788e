//! What all connections of an internet share with each other and with its name server.

use std::sync::Arc;

use stoop::ServerLimits;
use tokio::sync::Semaphore;

use super::busy::BusyUrls;
use super::plan::Plan;
use crate::certificates::Certificates;
use crate::dns::{DnsAnswer, Zone};
use crate::log::Log;
use crate::stats::Counters;

/// The state that all connections and the name server of an internet share.
pub(super) struct Network {
    pub(super) plan: Plan,
    /// Whether all hosts share 127.0.0.1, so that only names tell them apart.
    pub(super) shared: bool,
    pub(super) certificates: Certificates,
    /// The limits of well-behaved hosts.
    pub(super) limits: ServerLimits,
    pub(super) log: Log,
    pub(super) counters: Counters,
    pub(super) permits: Arc<Semaphore>,
    pub(super) busy: BusyUrls,
}

impl Zone for Arc<Network> {
    fn answer(&self, name: &str) -> (DnsAnswer, Option<u64>) {
        self.plan.dns_answer(name, self.shared)
    }
}
