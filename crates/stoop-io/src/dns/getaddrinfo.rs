//! Lookups by the system's resolver, on threads that may block.

use std::io;
use std::net::{IpAddr, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::addresses::Addresses;
use super::cache::LookupResult;
use super::error::{DnsError, DnsErrorKind};
use super::race::{First, race};
use super::settings::{FAILURE_TTL, Families, ResolverSettings, SYSTEM_TTL};
use super::shared_lookup::SharedLookup;

/// Starts lookups.
pub(super) struct Backend {
    settings: ResolverSettings,
    /// Lookups that may be under way; each has a thread.
    threads: Arc<Semaphore>,
}

impl Backend {
    pub(super) fn new(settings: ResolverSettings) -> Self {
        let threads = Arc::new(Semaphore::new(settings.queries_max));
        Self { settings, threads }
    }

    pub(super) fn start(&self, lookup: SharedLookup) {
        let (threads, settings) = (self.threads.clone(), self.settings.clone());
        tokio::spawn(async move {
            let permit = race(threads.acquire_owned(), lookup.abandoned()).await;
            let First::One(permit) = permit else { return };
            tokio::task::spawn_blocking(move || {
                let (result, ttl) = resolve(&lookup, &settings);
                lookup.finish(result, ttl);
                drop(permit);
            });
        });
    }
}

fn resolve(lookup: &SharedLookup, settings: &ResolverSettings) -> (LookupResult, Duration) {
    let name = &*lookup.name;
    let host = if lookup.absolute { format!("{name}.") } else { name.to_owned() };
    let found = match (host.as_str(), 0).to_socket_addrs() {
        Ok(found) => found,
        Err(error) => return explain(name, &error, settings.cache.negative_ttl_max),
    };
    let (mut v4, mut v6) = (Vec::new(), Vec::new());
    for address in found.map(|found| found.ip()) {
        match address {
            IpAddr::V4(_) if settings.families != Families::V6 => v4.push(address),
            IpAddr::V6(_) if settings.families != Families::V4 => v6.push(address),
            IpAddr::V4(_) | IpAddr::V6(_) => {}
        }
    }
    if v4.is_empty() && v6.is_empty() {
        let text = format!("{name} exists but has no address");
        return (
            Err(DnsError::new(DnsErrorKind::NoRecords, text)),
            settings.cache.negative_ttl_max,
        );
    }
    let (first, second) = if settings.v6_first { (v6, v4) } else { (v4, v6) };
    (Ok(Addresses::interleave(&first, &second)), SYSTEM_TTL)
}

/// Reads getaddrinfo's error by its text: the standard library does not give its code.
fn explain(name: &str, error: &io::Error, negative_ttl: Duration) -> (LookupResult, Duration) {
    let text = error.to_string();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let (kind, ttl) = if says(&["No address associated"]) {
        (DnsErrorKind::NoRecords, negative_ttl)
    } else if says(&["not known", "nodename nor servname"]) {
        (DnsErrorKind::NxDomain, negative_ttl)
    } else if says(&["Temporary failure"]) {
        (DnsErrorKind::ServFail, FAILURE_TTL)
    } else {
        (DnsErrorKind::Other, FAILURE_TTL)
    };
    (Err(DnsError::new(kind, format!("{name}: {text}"))), ttl)
}
