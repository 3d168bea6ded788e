//! The resolver: what it answers by itself, what it remembers, and the lookups it starts.

use std::sync::{Arc, Mutex};

use tokio::sync::watch::Receiver;
use tokio::time::timeout;

use super::addresses::Addresses;
use super::cache::{Cache, LookupResult, LookupState, ResultSender, RunsOn};
use super::error::{DnsError, DnsErrorKind};
#[cfg(not(feature = "dns"))]
use super::getaddrinfo::Backend;
use super::hosts::HostsTable;
#[cfg(feature = "dns")]
use super::https::HttpsRecord;
use super::name::{Host, LOCALHOST};
#[cfg(feature = "dns")]
use super::query::Backend;
use super::settings::{LOOKUPS_MAX, OTHER_RUNTIME_WAIT_MAX, ResolverSettings};
use super::shared_lookup::{SharedLookup, lock};
use super::stats::ResolverStats;
use crate::timer::now;

/// Looks up the addresses of hosts. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Resolver(Arc<ResolverShared>);

struct ResolverShared {
    cache: Arc<Mutex<Cache>>,
    hosts: HostsTable,
    /// Whether incomplete names may be completed by a search list.
    has_search: bool,
    backend: Backend,
}

/// What is known of a host before the cache is asked.
enum LocalResult {
    /// Its addresses, or why it cannot have any.
    Done(LookupResult),
    /// It is a name that must be looked up.
    Name { name: String, absolute: bool },
}

impl Resolver {
    pub(super) fn new(settings: ResolverSettings, hosts: HostsTable) -> Self {
        #[cfg(feature = "dns")]
        let has_search = settings.servers.has_search();
        #[cfg(not(feature = "dns"))]
        let has_search = true;
        let cache =
            Arc::new(Mutex::new(Cache::new(settings.cache.entries_max, settings.cache.stale_max)));
        Self(Arc::new(ResolverShared { cache, hosts, has_search, backend: Backend::new(settings) }))
    }

    /// The addresses of `host`: a name, or an address itself, as it stands in a URL.
    ///
    /// Ready at once if the result is known. Otherwise it takes as long as the servers take, within
    /// [`query_timeout`](crate::ResolverBuilder::query_timeout) times
    /// [`attempts`](crate::ResolverBuilder::attempts) and the wait for a turn, and must be polled on
    /// a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If the name has no address, or no server could tell.
    pub async fn lookup(&self, host: &str) -> Result<Addresses, DnsError> {
        let (name, absolute) = match self.resolve_locally(host) {
            LocalResult::Done(result) => return result,
            LocalResult::Name { name, absolute } => (name, absolute),
        };
        let runtime = tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.id());
        let mut on_own_runtime = false;
        for _ in 0..LOOKUPS_MAX {
            let state = {
                let mut cache = lock(&self.0.cache);
                if on_own_runtime {
                    cache.join_on_own_runtime(&name, runtime, now())
                } else {
                    cache.join(&name, runtime, now())
                }
            };
            let (mut receiver, runs_on) = match state {
                LookupState::Known(result) => return result,
                LookupState::Stale(result, sender) => {
                    if let Some(sender) = sender {
                        self.start_in_background(&name, absolute, sender);
                    }
                    return result;
                }
                LookupState::Running(receiver, runs_on) => (receiver, runs_on),
                LookupState::Started(sender) => {
                    (self.start(&name, absolute, sender), RunsOn::SameRuntime)
                }
            };
            let received = receive(&mut receiver);
            let result = match runs_on {
                RunsOn::SameRuntime => received.await,
                RunsOn::OtherRuntime => {
                    timeout(OTHER_RUNTIME_WAIT_MAX, received).await.ok().flatten()
                }
            };
            if let Some(result) = result {
                return result;
            }
            // It was given up with the runtime it ran on, or makes no progress there.
            on_own_runtime = runs_on == RunsOn::OtherRuntime;
        }
        let text = format!("{host} could not be resolved: every attempt was interrupted");
        Err(DnsError::new(DnsErrorKind::Other, text))
    }

    /// The HTTPS records of `host` (RFC 9460): where its https server is, and what it speaks. By priority, the
    /// best first, those of one priority in the order of the response; at most 16. Empty if the zone has none,
    /// and for addresses, `localhost` and what is in the hosts file, for which no server is asked.
    ///
    /// A service on another port than 443 has them at `_8443._https.example.com` (§9.1). An
    /// [alias](HttpsRecord::Alias) is not followed, unless it is a CNAME. Where there is an alias, records in
    /// ServiceMode are left out (§2.4.1), and so are those that need keys which are not known here (§8).
    ///
    /// **Nothing connects by them yet**: they are for programs that want to know. They are not remembered
    /// either: each call sends a query.
    ///
    /// ```no_run
    /// # async fn example() -> Result<(), stoop_io::DnsError> {
    /// use stoop_io::{HttpsRecord, Resolver};
    ///
    /// for record in Resolver::system().https_records("example.com").await? {
    ///     match record {
    ///         HttpsRecord::Alias { target } => println!("see {target:?}"),
    ///         HttpsRecord::Service(service) => println!("{} speaks {:?}", service.target, service.alpn),
    ///     }
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If the name does not exist, no server could tell, or one of its records is malformed: then none of them
    /// may be used (§2.2). It takes as long as [`lookup`](Self::lookup), and needs a tokio runtime as that
    /// does.
    #[cfg(feature = "dns")]
    pub async fn https_records(&self, host: &str) -> Result<Vec<HttpsRecord>, DnsError> {
        match self.resolve_locally(host) {
            LocalResult::Done(result) => result.map(|_| Vec::new()),
            LocalResult::Name { name, absolute } => {
                let name = name.strip_suffix('.').unwrap_or(&name);
                self.0.backend.https_records(name, absolute).await
            }
        }
    }

    /// The result for `host` if it is known without asking a server.
    pub fn known(&self, host: &str) -> Option<Result<Addresses, DnsError>> {
        match self.resolve_locally(host) {
            LocalResult::Done(result) => Some(result),
            LocalResult::Name { name, .. } => lock(&self.0.cache).get(&name, now()),
        }
    }

    /// Has a host looked up, unless its result is known or on its way, and does not wait for it.
    ///
    /// # Panics
    /// Outside a tokio runtime with I/O and time, where the host must be looked up.
    pub fn prefetch(&self, host: &str) {
        let LocalResult::Name { name, absolute } = self.resolve_locally(host) else { return };
        let runtime = tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.id());
        let state = lock(&self.0.cache).join(&name, runtime, now());
        match state {
            LookupState::Started(sender) | LookupState::Stale(_, Some(sender)) => {
                self.start_in_background(&name, absolute, sender);
            }
            LookupState::Known(_) | LookupState::Stale(_, None) | LookupState::Running(..) => {}
        }
    }

    /// What became of the names that were asked for.
    pub fn stats(&self) -> ResolverStats {
        lock(&self.0.cache).stats()
    }

    /// Starts a lookup for the cache alone: a task waits for it, because one that no caller waits for is
    /// given up.
    fn start_in_background(&self, name: &str, absolute: bool, sender: ResultSender) {
        let mut receiver = self.start(name, absolute, sender);
        drop(tokio::spawn(async move { receive(&mut receiver).await }));
    }

    /// Forgets every name that was looked up.
    pub fn clear(&self) {
        lock(&self.0.cache).clear();
    }

    /// Starts a lookup, and subscribes to its result as every other caller does.
    fn start(
        &self,
        key: &str,
        absolute: bool,
        sender: ResultSender,
    ) -> Receiver<Option<LookupResult>> {
        let receiver = sender.subscribe();
        let name = key.strip_suffix('.').unwrap_or(key);
        let cache = self.0.cache.clone();
        self.0.backend.start(SharedLookup::new(key, name, absolute, sender, cache));
        receiver
    }

    /// Answers what needs neither a server nor the cache: addresses, `localhost`, the hosts file.
    fn resolve_locally(&self, host: &str) -> LocalResult {
        let (name, absolute) = match Host::parse(host) {
            Err(error) => return LocalResult::Done(Err(error)),
            Ok(Host::Address(address)) => return LocalResult::Done(Ok(address.into())),
            Ok(Host::Localhost) => return LocalResult::Done(Ok(LOCALHOST.to_vec().into())),
            Ok(Host::Name { name, absolute }) => (name, absolute || !self.0.has_search),
        };
        if let Some(addresses) = self.0.hosts.get(name.as_str()) {
            return LocalResult::Done(Ok(addresses.clone()));
        }
        // Where there is a search list, `a` and `a.` are two names.
        let name = if absolute && self.0.has_search { name + "." } else { name };
        LocalResult::Name { name, absolute }
    }
}

/// Waits for the result of a lookup; `None` if the lookup was given up.
async fn receive(receiver: &mut Receiver<Option<LookupResult>>) -> Option<LookupResult> {
    receiver.wait_for(Option::is_some).await.ok().and_then(|result| result.clone())
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}
