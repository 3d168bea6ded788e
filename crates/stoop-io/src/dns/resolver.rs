//! The resolver: what it answers by itself, what it remembers, and what it has looked up.

use std::sync::{Arc, Mutex};

use tokio::sync::watch::Receiver;
use tokio::time::timeout;

use super::answer::Addresses;
#[cfg(feature = "dns")]
use super::ask::Backend;
use super::error::{DnsError, DnsErrorKind};
use super::flight::{Flight, lock};
#[cfg(not(feature = "dns"))]
use super::getaddrinfo::Backend;
use super::hosts;
use super::name::{Host, LOCALHOST};
use super::settings::{LOOKUPS_MAX, OTHER_RUNTIME_WAIT_MAX, ResolverSettings};
use super::table::{Ask, Landing, Near, Outcome, Table};
use crate::timer::now;

/// Looks up the addresses of hosts. Cheap to clone; clones share what they know.
#[derive(Clone)]
pub struct Resolver(Arc<Shared>);

struct Shared {
    table: Arc<Mutex<Table>>,
    hosts: hosts::Table,
    /// Whether incomplete names may be completed by a search list.
    search: bool,
    backend: Backend,
}

impl Resolver {
    pub(super) fn new(settings: ResolverSettings, hosts: hosts::Table) -> Self {
        #[cfg(feature = "dns")]
        let search = settings.servers.search();
        #[cfg(not(feature = "dns"))]
        let search = true;
        let table = Arc::new(Mutex::new(Table::new(settings.cache.entries_max)));
        Self(Arc::new(Shared { table, hosts, search, backend: Backend::new(settings) }))
    }

    /// The addresses of `host`: a name, or an address itself, as it stands in a URL.
    ///
    /// Ready at once if the answer is known. Otherwise it takes as long as the servers take, within
    /// [`query_timeout`](crate::ResolverBuilder::query_timeout) times
    /// [`attempts`](crate::ResolverBuilder::attempts) and the wait for a turn, and must be polled on
    /// a tokio runtime with I/O and time.
    ///
    /// # Errors
    /// If the name has no address, or nobody could tell.
    pub async fn lookup(&self, host: &str) -> Result<Addresses, DnsError> {
        let (name, absolute) = match self.at_hand(host) {
            AtHand::Known(outcome) => return outcome,
            AtHand::Name { name, absolute } => (name, absolute),
        };
        let home = tokio::runtime::Handle::try_current().ok().map(|runtime| runtime.id());
        let mut insisting = false;
        for _ in 0..LOOKUPS_MAX {
            let ask = {
                let mut table = lock(&self.0.table);
                if insisting {
                    table.insist(&name, home, now())
                } else {
                    table.ask(&name, home, now())
                }
            };
            let (mut landing, near) = match ask {
                Ask::Known(outcome) => return outcome,
                Ask::Wait(landing, near) => (landing, near),
                Ask::Start(landing) => (self.start(&name, absolute, landing), Near::Here),
            };
            let landed = match near {
                Near::Here => landed(&mut landing).await,
                Near::Elsewhere => {
                    timeout(OTHER_RUNTIME_WAIT_MAX, landed(&mut landing)).await.ok().flatten()
                }
            };
            if let Some(outcome) = landed {
                return outcome;
            }
            // It was given up with the runtime it ran on, or is not getting on there.
            insisting = near == Near::Elsewhere;
        }
        let text = format!("{host} could not be resolved: every attempt was interrupted");
        Err(DnsError::new(DnsErrorKind::Other, text))
    }

    /// What is known of `host` without asking anybody.
    pub fn known(&self, host: &str) -> Option<Result<Addresses, DnsError>> {
        match self.at_hand(host) {
            AtHand::Known(outcome) => Some(outcome),
            AtHand::Name { name, .. } => lock(&self.0.table).known(&name, now()),
        }
    }

    /// Forgets every name that was looked up.
    pub fn clear(&self) {
        lock(&self.0.table).clear();
    }

    /// Starts a flight, and waits for it with everybody else.
    fn start(&self, key: &str, absolute: bool, to: Landing) -> Receiver<Option<Outcome>> {
        let landing = to.subscribe();
        let name = key.strip_suffix('.').unwrap_or(key);
        let table = self.0.table.clone();
        self.0.backend.start(Flight::new(key, name, absolute, to, table));
        landing
    }

    fn at_hand(&self, host: &str) -> AtHand {
        let (name, absolute) = match Host::parse(host) {
            Err(error) => return AtHand::Known(Err(error)),
            Ok(Host::Address(address)) => return AtHand::Known(Ok(address.into())),
            Ok(Host::Localhost) => return AtHand::Known(Ok(LOCALHOST.to_vec().into())),
            Ok(Host::Name { name, absolute }) => (name, absolute || !self.0.search),
        };
        if let Some(addresses) = self.0.hosts.get(name.as_str()) {
            return AtHand::Known(Ok(addresses.clone()));
        }
        // With a search list in play, `a` and `a.` are two names.
        let name = if absolute && self.0.search { name + "." } else { name };
        AtHand::Name { name, absolute }
    }
}

/// Waits for a flight's outcome; `None` if it was given up.
async fn landed(landing: &mut Receiver<Option<Outcome>>) -> Option<Outcome> {
    landing.wait_for(Option::is_some).await.ok().and_then(|landed| landed.clone())
}

enum AtHand {
    Known(Outcome),
    Name { name: String, absolute: bool },
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").finish_non_exhaustive()
    }
}
