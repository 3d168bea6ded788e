//! Jobs that wait until the addresses of their servers are found.

use std::collections::{HashMap, VecDeque};

use crate::job::Job;
use crate::lane::Batch;

/// How many jobs wait at most, and how many bytes they and their servers take.
pub(super) const JOBS_MAX: usize = 16_384;
const BYTES_MAX: usize = 4 << 20;

/// What a server takes beside its key and its jobs: some tables, and the least room in each.
const SERVER_BYTES: usize = 400;

/// The jobs that wait, by their servers.
#[derive(Debug, Default)]
pub(super) struct DeferredJobs {
    by_server: HashMap<Box<[u8]>, Batch>,
    /// Servers that were not looked up yet, in the order in which they came.
    unasked: VecDeque<Box<[u8]>>,
    jobs: usize,
    bytes: usize,
}

impl DeferredJobs {
    /// Whether no further job should wait.
    pub(super) fn is_full(&self) -> bool {
        self.jobs >= JOBS_MAX || self.bytes >= BYTES_MAX
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs == 0
    }

    /// Has a job wait for the address of its server.
    pub(super) fn push(&mut self, server: &[u8], job: Job<'_>) {
        self.jobs += 1;
        self.bytes += job.held_bytes();
        if let Some(jobs) = self.by_server.get_mut(server) {
            return jobs.push(job);
        }
        self.bytes += server.len() + SERVER_BYTES;
        let mut jobs = Batch::default();
        jobs.push(job);
        self.by_server.insert(server.into(), jobs);
        self.unasked.push_back(server.into());
    }

    /// Whether a server was not looked up yet.
    pub(super) fn has_unasked(&self) -> bool {
        !self.unasked.is_empty()
    }

    /// The next server that is to be looked up, and the URL of its first job.
    pub(super) fn ask(&mut self) -> Option<(Box<[u8]>, &[u8])> {
        let server = self.unasked.pop_front()?;
        let url = self.by_server.get(&server).and_then(Batch::first)?;
        Some((server, url))
    }

    /// Gives each job of a server to `take`, in their order.
    pub(super) fn take(&mut self, server: &[u8], mut take: impl FnMut(Job<'_>)) {
        let Some(mut jobs) = self.by_server.remove(server) else { return };
        self.bytes -= server.len() + SERVER_BYTES;
        while let Some(job) = jobs.pop() {
            self.jobs -= 1;
            self.bytes -= job.held_bytes();
            take(job);
        }
    }

    /// The servers whose jobs wait, none of which is asked for any more.
    pub(super) fn give_up(&mut self) -> Vec<Box<[u8]>> {
        self.unasked.clear();
        self.by_server.keys().cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::JobOptions;

    #[test]
    fn the_jobs_of_a_server_come_back_in_order() {
        let mut deferred = DeferredJobs::default();
        for (server, url) in [("a:80", "http://a/1"), ("b:80", "http://b/"), ("a:80", "http://a/2")]
        {
            deferred.push(server.as_bytes(), Job::new(url.as_bytes()));
        }
        assert_eq!(deferred.ask(), Some(((*b"a:80").into(), &b"http://a/1"[..])));
        assert_eq!(deferred.ask(), Some(((*b"b:80").into(), &b"http://b/"[..])));
        assert_eq!(deferred.ask(), None);
        let mut taken = Vec::new();
        deferred.take(b"a:80", |job| taken.push(job.url.to_vec()));
        assert_eq!(taken, [b"http://a/1", b"http://a/2"]);
        assert!(!deferred.is_empty());
        assert_eq!(deferred.give_up(), [(*b"b:80").into()]);
        deferred.take(b"b:80", |_| ());
        assert!(deferred.is_empty());
        assert_eq!(deferred.bytes, 0);
    }

    #[test]
    fn jobs_are_bounded_in_number_and_in_bytes() {
        let mut deferred = DeferredJobs::default();
        let mut count = 0;
        while !deferred.is_full() {
            deferred.push(b"a:80", Job::new(b"http://a/"));
            count += 1;
        }
        assert_eq!(count, JOBS_MAX);
        deferred.take(b"a:80", |_| ());
        assert!(!deferred.is_full() && deferred.bytes == 0);
        let content = JobOptions::new().content(vec![b'x'; 1 << 20]);
        for _ in 0..4 {
            deferred.push(b"a:80", Job::new(b"http://a/").with_options(content.clone()));
        }
        assert!(deferred.is_full());
        // Servers count as well.
        let mut deferred = DeferredJobs::default();
        for n in 0.. {
            if deferred.is_full() {
                break;
            }
            let server = format!("host-{n}:80");
            deferred.push(server.as_bytes(), Job::new(server.as_bytes()));
        }
        assert!(deferred.jobs < JOBS_MAX, "{}", deferred.jobs);
    }
}
