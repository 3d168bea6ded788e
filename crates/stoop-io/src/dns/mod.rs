//! Names to addresses.
//!
//! A [`Resolver`] answers what needs no server (addresses, `localhost`, the hosts file), remembers
//! what it was told for as long as the answer says (within bounds), and asks each name once however
//! many wait for it. Asking is done by UDP and TCP with hickory's messages, or by getaddrinfo
//! without the feature `dns`.
//!
//! It may be used from any number of tokio runtimes at once. Dropping a lookup hurts nobody else
//! who waits for the same name.

mod answer;
#[cfg(feature = "dns")]
mod ask;
mod builder;
mod error;
mod flight;
#[cfg(not(feature = "dns"))]
mod getaddrinfo;
mod hosts;
mod name;
mod public;
mod race;
mod table;

#[cfg(feature = "dns")]
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch::Receiver;
use tokio::time::timeout;

pub use answer::Addresses;
pub use builder::{Families, ResolverBuilder};
pub use error::{DnsError, DnsErrorKind};
pub use public::is_public;

#[cfg(feature = "dns")]
use self::ask::Backend;
#[cfg(not(feature = "dns"))]
use self::getaddrinfo::Backend;

use self::builder::Settings;
use self::flight::{Flight, lock};
use self::name::{Host, LOCALHOST};
use self::table::{Ask, Landing, Near, Outcome, Table};

/// An address is believed at least this long, whatever its server says, so that one page does not
/// ask for one name fifty times; it is also the least for what a zone denies.
#[cfg(feature = "dns")]
const POSITIVE_MIN: Duration = Duration::from_secs(1);

/// And at most this long.
#[cfg(feature = "dns")]
const POSITIVE_MAX: Duration = Duration::from_secs(3_600);

/// That a name does not exist, or has no address, is believed at most this long.
const NEGATIVE_MAX: Duration = Duration::from_secs(10);

/// That nobody could tell is believed this long, RFC 9520 §3.2: the least it allows.
const FAILURE_LIVES: Duration = Duration::from_secs(1);

/// How long a flight on another runtime is waited for, before one is started here. That runtime may
/// belong to a thread that is doing something else at the moment.
const PATIENCE: Duration = Duration::from_millis(500);

/// Flights a lookup joins or starts before it gives up; each may be lost with what it ran on.
const FLIGHTS_MAX: usize = 4;

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
    /// Asks whom the system is configured to ask (resolv.conf), and honours its hosts file. Both
    /// are read here.
    pub fn system() -> Self {
        Self::builder().build().unwrap_or_else(|_| unreachable!("no file was named"))
    }

    /// Asks these servers and nobody else; honours the system's hosts file.
    #[cfg(feature = "dns")]
    pub fn with_servers(servers: &[SocketAddr]) -> Self {
        let built = Self::builder().servers(servers).build();
        built.unwrap_or_else(|_| unreachable!("no file was named"))
    }

    /// Starts a configuration.
    pub fn builder() -> ResolverBuilder {
        ResolverBuilder::default()
    }

    fn new(settings: Settings, hosts: hosts::Table, cache_entries_max: usize) -> Self {
        #[cfg(feature = "dns")]
        let search = settings.servers.search();
        #[cfg(not(feature = "dns"))]
        let search = true;
        let table = Arc::new(Mutex::new(Table::new(cache_entries_max)));
        Self(Arc::new(Shared { table, hosts, search, backend: Backend::new(settings) }))
    }

    /// The addresses of `host`: a name, or an address itself, as it stands in a URL.
    ///
    /// Ready at once if the answer is known. Otherwise it takes as long as the servers take, within
    /// [`ResolverBuilder::query_timeout`] times [`ResolverBuilder::attempts`] and the wait for a
    /// turn, and must be polled on a tokio runtime with I/O and time.
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
        for _ in 0..FLIGHTS_MAX {
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
                Near::Elsewhere => timeout(PATIENCE, landed(&mut landing)).await.ok().flatten(),
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

/// The time, which a test's paused clock may hold still.
fn now() -> std::time::Instant {
    tokio::time::Instant::now().into_std()
}
