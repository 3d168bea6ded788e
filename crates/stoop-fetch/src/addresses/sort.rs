//! Sorts the jobs of a run by the addresses of their hosts, which are looked up meanwhile.

#[cfg(test)]
mod tests;

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::book::Found;
use super::deferred::DeferredJobs;
use super::finder::AddressFinder;
use super::lookups::Lookups;
use crate::job::{Extent, Job};
use crate::lane::{Batch, Closed, Lane, Refill};
use crate::schedule::server_key;
use crate::stop::Stop;
use crate::target::{worker_of, worker_of_key};
use crate::until::until;

/// Takes jobs from `intake`, and pushes each into the lane of its worker once the address of its host is known. Returns at
/// the end of `intake`, when all jobs were pushed. Once the run ends early nothing is looked up any more.
///
/// `intake` is woken when a lane has room, and when `stop` is requested.
pub(crate) async fn sort_by_address(
    intake: &Lane,
    lanes: &[Lane],
    finder: &Arc<AddressFinder>,
    stop: &Stop,
) {
    let mut sorter = Sorter::new(intake, lanes, finder);
    let mut lookups = Lookups::default();
    loop {
        if stop.is_requested() {
            lookups = Lookups::default();
            sorter.give_up();
        }
        sorter.sort();
        if sorter.is_done() {
            return;
        }
        while lookups.has_room()
            && let Some((server, line)) = sorter.deferred.ask()
        {
            let finding = finder.find(&server, line);
            lookups.start(server, finding);
        }
        let room_at = lookups.room_at().filter(|_| sorter.deferred.has_unasked());
        tokio::select! {
            biased;
            () = intake.woken() => {}
            Some((server, found)) = lookups.next() => {
                sorter.found(&server, found);
                while let Some((server, found)) = lookups.try_next() {
                    sorter.found(&server, found);
                }
            }
            () = until(room_at) => {}
        }
    }
}

/// Jobs on their way from the intake to the lanes.
struct Sorter<'a> {
    intake: &'a Lane,
    lanes: &'a [Lane],
    finder: &'a Arc<AddressFinder>,
    /// Jobs that were taken from the intake.
    incoming: Batch,
    is_intake_ended: bool,
    deferred: DeferredJobs,
    /// Nothing waits for a lookup any more.
    is_giving_up: bool,
    sorted: SortedJobs,
    /// Room for the key of a server.
    server: Vec<u8>,
}

/// Jobs for each lane.
struct SortedJobs {
    by_worker: Vec<Batch>,
    /// Room for the key of a host.
    key: Vec<u8>,
}

impl<'a> Sorter<'a> {
    fn new(intake: &'a Lane, lanes: &'a [Lane], finder: &'a Arc<AddressFinder>) -> Self {
        let by_worker = lanes.iter().map(|_| Batch::default()).collect();
        Self {
            intake,
            lanes,
            finder,
            incoming: Batch::default(),
            is_intake_ended: false,
            deferred: DeferredJobs::default(),
            is_giving_up: false,
            sorted: SortedJobs { by_worker, key: Vec::new() },
            server: Vec::new(),
        }
    }

    /// Pushes and sorts jobs as long as there are some, there is room in all lanes, and not too many wait for lookups.
    fn sort(&mut self) {
        while self.push() {
            if self.incoming.is_empty() && !self.refill() {
                return;
            }
            self.sort_incoming();
            if !self.incoming.is_empty() {
                self.push();
                return;
            }
        }
    }

    /// Sorts what was taken from the intake, or has it wait, unless too many wait already.
    fn sort_incoming(&mut self) {
        let Self { finder, incoming, deferred, is_giving_up, sorted, server, .. } = self;
        while !deferred.is_full() {
            let Some(job) = incoming.pop() else { return };
            let host = match job.extent {
                Extent::Whole => server_key(job.url, server),
                // No host is asked for it.
                Extent::Overlong | Extent::Interrupted | Extent::InputFailed => None,
            };
            let Some(host) = host else {
                sorted.push_hostless(job);
                continue;
            };
            // An address does not wait behind names, of which no more than a number is looked up at once.
            let found = match finder.known(server) {
                None if *is_giving_up => Some(Found::Nothing),
                None if is_address(&server[..host]) => finder.find_at_once(server, job.url),
                found => found,
            };
            match found {
                Some(found) => sorted.push(job, server, found),
                None => deferred.push(server, job),
            }
        }
    }

    /// Takes jobs from the intake. False if there are none now.
    fn refill(&mut self) -> bool {
        match self.intake.refill(&mut self.incoming) {
            Refill::Lines => true,
            Refill::Empty => false,
            Refill::End => {
                self.is_intake_ended = true;
                false
            }
        }
    }

    /// Pushes what is sorted. False if there is no room for all of it.
    fn push(&mut self) -> bool {
        let mut are_all_pushed = true;
        for (jobs, lane) in self.sorted.by_worker.iter_mut().zip(self.lanes) {
            match lane.try_push(jobs) {
                Ok(is_pushed) => are_all_pushed &= is_pushed,
                Err(Closed) => *jobs = Batch::default(),
            }
        }
        are_all_pushed
    }

    /// Sorts the jobs of a server of which that was found.
    fn found(&mut self, server: &[u8], found: Found) {
        let Self { deferred, sorted, .. } = self;
        deferred.take(server, |job| sorted.push(job, server, found));
    }

    /// Sorts all jobs by their names that wait, and those that are still to come.
    fn give_up(&mut self) {
        self.is_giving_up = true;
        for server in self.deferred.give_up() {
            self.found(&server, Found::Nothing);
        }
    }

    /// Whether all jobs were pushed, and there are no more.
    fn is_done(&self) -> bool {
        self.is_intake_ended
            && self.incoming.is_empty()
            && self.deferred.is_empty()
            && self.sorted.by_worker.iter().all(Batch::is_empty)
    }
}

/// Whether the key of a host is that of an address in a URL.
fn is_address(host: &[u8]) -> bool {
    let is_ipv4 = |host: &str| host.parse::<Ipv4Addr>().is_ok();
    host.starts_with(b"[") || std::str::from_utf8(host).is_ok_and(is_ipv4)
}

impl SortedJobs {
    /// Sorts a job that leads to a server.
    fn push(&mut self, mut job: Job<'_>, server: &[u8], found: Found) {
        found.key(server, &mut self.key);
        if let Found::Address(address) = found {
            job.address = Some(address);
        }
        let worker = worker_of_key(&self.key, self.by_worker.len());
        self.by_worker[worker].push(job);
    }

    /// Sorts a job that leads nowhere.
    fn push_hostless(&mut self, job: Job<'_>) {
        let worker = worker_of(job.url, self.by_worker.len());
        self.by_worker[worker].push(job);
    }
}
