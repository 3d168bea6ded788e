//! The hosts of a worker, which take turns.

mod held;
mod turns;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::{Duration, Instant};

use self::held::{HELD_BYTES_MAX, HELD_MAX, HeldJobs};
use super::feedback::Feedback;
use super::host::Host;
use super::host_key::{address_key, host_key};
use super::started::{HostId, Started};
use crate::job::{Extent, Job};
use crate::lane::Batch;
use crate::politeness::Politeness;

/// How many hosts are known before those without jobs are forgotten at once.
const REMEMBERED_MAX: usize = 20_000;

/// The jobs of a worker by their hosts.
pub(super) struct PoliteQueue {
    politeness: Politeness,
    hosts: Vec<Host>,
    free: Vec<HostId>,
    by_key: HashMap<Box<[u8]>, HostId>,
    /// Hosts of which a request that waits may be sent now.
    turns_due: VecDeque<HostId>,
    /// Hosts that may start a job now.
    ready: VecDeque<HostId>,
    /// Hosts whose time comes: to start a job, or to be forgotten.
    timed: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Jobs that name no host: each gets a record at once.
    hostless: Batch,
    /// The jobs in all queues.
    held: HeldJobs,
    /// Room for the key of a job's host.
    key: Vec<u8>,
    /// How many hosts, from the first on, have no jobs any more because they were given up.
    hosts_given_up: usize,
}

impl PoliteQueue {
    pub(super) fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            hosts: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            turns_due: VecDeque::new(),
            ready: VecDeque::new(),
            timed: BinaryHeap::new(),
            hostless: Batch::default(),
            held: HeldJobs::default(),
            key: Vec::new(),
            hosts_given_up: 0,
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held.jobs
    }

    pub(super) fn is_full(&self) -> bool {
        self.held.jobs >= HELD_MAX || self.held.bytes >= HELD_BYTES_MAX
    }

    pub(super) fn has_turns(&self) -> bool {
        !self.ready.is_empty() || !self.turns_due.is_empty()
    }

    /// Sorts what came in, and returns how many jobs may at least be started now.
    pub(super) fn ready(&mut self, incoming: &mut Batch, now: Instant) -> usize {
        while !self.is_full() {
            let Some(job) = incoming.pop() else { break };
            self.push(job, now);
        }
        self.look_at_time(now);
        self.ready.len() + self.hostless.len()
    }

    /// Looks at the hosts whose time has come.
    fn look_at_time(&mut self, now: Instant) {
        while let Some(&Reverse((due, id))) = self.timed.peek()
            && due <= now
        {
            self.timed.pop();
            let host = &mut self.hosts[id.index()];
            // The host may have another entry, which is due earlier or later.
            if host.timed_at == Some(due) {
                host.timed_at = None;
                self.settle_anew(id, now);
            }
        }
    }

    /// What a host said to a request that was sent at `start`, and is followed by another.
    pub(super) fn told(&mut self, id: HostId, start: Instant, feedback: Feedback, now: Instant) {
        self.hosts[id.index()].told(&self.politeness, start, feedback, now);
        self.settle_anew(id, now);
    }

    /// The same of the host of a URL, if it has one.
    pub(super) fn told_of(&mut self, url: &[u8], start: Instant, feedback: Feedback, now: Instant) {
        self.key.clear();
        if host_key(url, self.politeness.group, &mut self.key) {
            let id = self.host_of_key(now);
            self.told(id, start, feedback, now);
        }
    }

    /// Whether that is the key of a host.
    pub(super) fn is_host(&self, id: HostId, key: &[u8]) -> bool {
        *self.hosts[id.index()].key == *key
    }

    /// Moves the next job, of the host whose turn it is, into `started`.
    pub(super) fn start(
        &mut self,
        incoming: &mut Batch,
        started: &mut Started,
        now: Instant,
    ) -> bool {
        if self.ready(incoming, now) == 0 {
            return false;
        }
        if let Some(job) = self.hostless.pop() {
            self.held.remove(&job);
            started.put(job, None);
            return true;
        }
        while let Some(id) = self.ready.pop_front() {
            let host = &mut self.hosts[id.index()];
            host.is_ready = false;
            // Requests that wait come first, and may take what its jobs would have had.
            if host.has_turns() {
                self.settle(id, now);
                continue;
            }
            let suspension = host.suspension(now);
            if suspension.is_none() {
                host.started(&self.politeness, now);
            }
            let Some(job) = host.queue.pop() else { return false };
            self.held.remove(&job);
            started.put(job, suspension.is_none().then_some(id));
            started.suspension = suspension;
            self.settle(id, now);
            return true;
        }
        false
    }

    /// A job of `id` has finished that was started at `start`.
    pub(super) fn finished(
        &mut self,
        id: HostId,
        start: Instant,
        feedback: Feedback,
        now: Instant,
    ) {
        let host = &mut self.hosts[id.index()];
        host.finished(&self.politeness, start, feedback, now);
        self.settle_anew(id, now);
    }

    /// Puts a host where it belongs that may have less to start than before.
    fn settle_anew(&mut self, id: HostId, now: Instant) {
        let host = &mut self.hosts[id.index()];
        host.answer_suspended(now);
        let has_turn = host.has_turn(now);
        match std::mem::replace(&mut host.is_due, has_turn) {
            false if has_turn => self.turns_due.push_back(id),
            true if !has_turn => self.turns_due.retain(|due| *due != id),
            _ => {}
        }
        if host.is_ready && host.next_start(now).is_none_or(|at| at > now) {
            host.is_ready = false;
            self.ready.retain(|ready| *ready != id);
        }
        self.settle(id, now);
    }

    /// How many hosts are known, and for how many there are places.
    #[cfg(test)]
    pub(super) fn hosts_known(&self) -> (usize, usize) {
        (self.by_key.len(), self.hosts.len())
    }

    /// A job of `id` knows what robots.txt says, and is sent now if `is_sent`.
    pub(super) fn learned(
        &mut self,
        id: HostId,
        crawl_delay: Option<Duration>,
        is_sent: bool,
        now: Instant,
    ) {
        self.hosts[id.index()].learned(&self.politeness, crawl_delay, is_sent, now);
        self.settle_anew(id, now);
    }

    /// When the time of a host comes.
    pub(super) fn next_time(&self) -> Option<Instant> {
        self.timed.peek().map(|Reverse((due, _))| *due)
    }

    /// Moves a job of any host into `given_up`: it is not started. No job is pushed any more once one was given up.
    pub(super) fn give_up(&mut self, given_up: &mut Started) -> bool {
        let is_empty = |host: &Host| host.queue.is_empty();
        while self.hosts.get(self.hosts_given_up).is_some_and(is_empty) {
            self.hosts_given_up += 1;
        }
        let queue = match self.hosts.get_mut(self.hosts_given_up) {
            Some(host) if self.hostless.is_empty() => &mut host.queue,
            _ => &mut self.hostless,
        };
        let Some(job) = queue.pop() else { return false };
        self.held.remove(&job);
        given_up.put(job, None);
        true
    }

    /// Puts a job into the queue of its host.
    fn push(&mut self, job: Job<'_>, now: Instant) {
        self.held.add(&job);
        self.key.clear();
        let has_host = match job.address {
            Some(address) => {
                address_key(address, &mut self.key);
                true
            }
            None => {
                job.extent == Extent::Whole
                    && host_key(job.url, self.politeness.group, &mut self.key)
            }
        };
        if !has_host {
            self.hostless.push(job);
            return;
        }
        let id = self.host_of_key(now);
        self.hosts[id.index()].queue.push(job);
        self.settle(id, now);
    }

    /// The host with the key that was just made.
    fn host_of_key(&mut self, now: Instant) -> HostId {
        if let Some(id) = self.by_key.get(self.key.as_slice()) {
            return *id;
        }
        let host = Host::new(&self.key, &self.politeness, now);
        let key = host.key.clone();
        let id = match self.free.pop() {
            Some(id) => {
                self.hosts[id.index()] = host;
                id
            }
            None => {
                self.hosts.push(host);
                HostId::from_index(self.hosts.len() - 1)
            }
        };
        self.by_key.insert(key, id);
        id
    }

    /// Puts a host where it belongs, or forgets it.
    fn settle(&mut self, id: HostId, now: Instant) {
        let is_crowded = self.by_key.len() > REMEMBERED_MAX;
        let host = &mut self.hosts[id.index()];
        if host.is_ready || host.is_due {
            return;
        }
        let due = match (host.is_empty(), host.in_flight) {
            (false, _) => host.next_look(now),
            (true, 0) => Some(host.remembered_until(is_crowded)),
            (true, _) => None,
        };
        let Some(due) = due else { return };
        if due > now {
            // An entry that is due before looks again.
            if host.timed_at.is_none_or(|at| due < at) {
                host.timed_at = Some(due);
                self.timed.push(Reverse((due, id)));
            }
        } else if host.is_empty() {
            self.by_key.remove(&host.key);
            *host = Host::forgotten(now);
            self.free.push(id);
        } else if host.has_turn(now) {
            host.is_due = true;
            self.turns_due.push_back(id);
        } else {
            host.is_ready = true;
            self.ready.push_back(id);
        }
    }
}
