//! The hosts of a worker, which take turns.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::time::Instant;

use super::feedback::Feedback;
use super::host::{Host, Place};
use super::host_key::host_key;
use super::started::{HostId, Started};
use crate::lane::Batch;
use crate::politeness::Politeness;
use crate::source::Extent;

/// How many jobs are held of hosts that may start none now, and how many bytes of them.
const HELD_MAX: usize = 65_536;
const HELD_BYTES_MAX: usize = 16 << 20;

/// The jobs of a worker by their hosts.
pub(super) struct PoliteQueue {
    politeness: Politeness,
    hosts: Vec<Host>,
    free: Vec<HostId>,
    by_key: HashMap<Box<[u8]>, HostId>,
    /// Hosts that may start a job now.
    ready: VecDeque<HostId>,
    /// Hosts whose time comes: to start a job, or to be forgotten.
    timed: BinaryHeap<Reverse<(Instant, HostId)>>,
    /// Jobs that name no host: each gets a record at once.
    hostless: Batch,
    /// The jobs in all queues, and their bytes.
    held: usize,
    held_bytes: usize,
    /// Room for the key of a job's host.
    key: Vec<u8>,
}

impl PoliteQueue {
    pub(super) fn new(politeness: Politeness) -> Self {
        Self {
            politeness,
            hosts: Vec::new(),
            free: Vec::new(),
            by_key: HashMap::new(),
            ready: VecDeque::new(),
            timed: BinaryHeap::new(),
            hostless: Batch::default(),
            held: 0,
            held_bytes: 0,
            key: Vec::new(),
        }
    }

    pub(super) fn held(&self) -> usize {
        self.held
    }

    pub(super) fn is_full(&self) -> bool {
        self.held >= HELD_MAX || self.held_bytes >= HELD_BYTES_MAX
    }

    pub(super) fn has_turns(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Sorts what came in, and returns how many jobs may at least be started now.
    pub(super) fn ready(&mut self, incoming: &mut Batch, now: Instant) -> usize {
        while !self.is_full() {
            let Some((line, extent)) = incoming.pop() else { break };
            self.push(line, extent, now);
        }
        while let Some(&Reverse((due, id))) = self.timed.peek()
            && due <= now
        {
            self.timed.pop();
            self.hosts[id.index()].place = Place::None;
            self.settle(id, now);
        }
        self.ready.len() + self.hostless.len()
    }

    /// Moves the next job, of the host whose turn it is, into `line`.
    pub(super) fn start(
        &mut self,
        incoming: &mut Batch,
        line: &mut Vec<u8>,
        now: Instant,
    ) -> Option<Started> {
        if self.ready(incoming, now) == 0 {
            return None;
        }
        let (host, queue) = match self.hostless.is_empty() {
            false => (None, &mut self.hostless),
            true => {
                let id = self.ready.pop_front()?;
                let host = &mut self.hosts[id.index()];
                host.place = Place::None;
                host.started(&self.politeness, now);
                (Some(id), &mut host.queue)
            }
        };
        let (text, extent) = queue.pop()?;
        line.extend_from_slice(text);
        self.held -= 1;
        self.held_bytes -= text.len();
        if let Some(id) = host {
            self.settle(id, now);
        }
        Some(Started { extent, host })
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
        if host.place == Place::Ready && !(host.has_room() && host.next_start <= now) {
            host.place = Place::None;
            self.ready.retain(|ready| *ready != id);
        }
        self.settle(id, now);
    }

    /// How many hosts are known, and for how many there are places.
    #[cfg(test)]
    pub(super) fn hosts_known(&self) -> (usize, usize) {
        (self.by_key.len(), self.hosts.len())
    }

    /// When the time of a host comes.
    pub(super) fn due(&self) -> Option<Instant> {
        self.timed.peek().map(|Reverse((due, _))| *due)
    }

    /// Takes a job of any host, which is not started.
    pub(super) fn discard(&mut self, line: &mut Vec<u8>) -> Option<Extent> {
        let mut queues = std::iter::once(&mut self.hostless)
            .chain(self.hosts.iter_mut().map(|host| &mut host.queue));
        let (text, extent) = queues.find_map(Batch::pop)?;
        line.extend_from_slice(text);
        self.held -= 1;
        self.held_bytes -= text.len();
        Some(extent)
    }

    /// Puts a job into the queue of its host.
    fn push(&mut self, line: &[u8], extent: Extent, now: Instant) {
        self.held += 1;
        self.held_bytes += line.len();
        self.key.clear();
        let has_host =
            extent == Extent::Whole && host_key(line, self.politeness.group, &mut self.key);
        if !has_host {
            self.hostless.push(line, extent);
            return;
        }
        let id = self.host_of_key(now);
        self.hosts[id.index()].queue.push(line, extent);
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

    /// Puts a host that stands nowhere where it belongs, or forgets it.
    fn settle(&mut self, id: HostId, now: Instant) {
        let host = &mut self.hosts[id.index()];
        if host.place != Place::None {
            return;
        }
        let due = match (host.queue.is_empty(), host.in_flight) {
            (false, _) if host.has_room() => host.next_start,
            (true, 0) => host.remembered_until(),
            _ => return,
        };
        if due > now {
            host.place = Place::Timed;
            self.timed.push(Reverse((due, id)));
        } else if host.queue.is_empty() {
            self.by_key.remove(&host.key);
            *host = Host::forgotten(now);
            self.free.push(id);
        } else {
            host.place = Place::Ready;
            self.ready.push_back(id);
        }
    }
}
