//! Asking DNS servers, by hickory, on a thread of the resolver's own.
//!
//! hickory's sockets and tasks belong to the runtime that made them. A resolver is used from many
//! runtimes, some of which end, or are not driven for a while, before the answer is there; so they
//! belong to none of them. The thread starts with the first question, sleeps while nobody asks, and
//! ends with the resolver.

mod failure;
mod links;

use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use std::{io, thread};

use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts};
use hickory_resolver::config::{ResolverConfig, ResolverOpts};
use hickory_resolver::proto::rr::{Name, RData, RecordType};
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use self::failure::Failure;
use self::links::Links;
use super::answer::Addresses;
use super::builder::{Families, Settings};
use super::error::{DnsError, DnsErrorKind};
use super::flight::Flight;
use super::race::{First, race};
use super::{POSITIVE_MAX, POSITIVE_MIN};

/// How long an answer in one family waits for the other, RFC 8305 §3.
const RESOLUTION_DELAY: Duration = Duration::from_millis(50);

/// How long the other family's answer is still listened for afterwards, to be remembered.
const LATE_ANSWER: Duration = Duration::from_millis(500);

/// The thread's stack: nothing on it recurses.
const STACK_BYTES: usize = 512 * 1024;

/// Servers, and what is put behind incomplete names.
#[derive(Clone, Debug)]
pub(super) struct Servers {
    pub(super) addresses: Vec<SocketAddr>,
    search: Vec<Name>,
    ndots: usize,
}

impl Servers {
    /// These servers, and no search list.
    pub(super) fn named(addresses: &[SocketAddr]) -> Self {
        Self { addresses: addresses.to_vec(), search: Vec::new(), ndots: 1 }
    }

    /// What the system is configured to ask; without a configuration the server on this machine,
    /// resolv.conf(5).
    pub(super) fn system() -> Self {
        let Ok((config, options)) = hickory_resolver::system_conf::read_system_conf() else {
            return Self::named(&[SocketAddr::from(([127, 0, 0, 1], 53))]);
        };
        let address = |server: &NameServerConfig| {
            let port = server.connections.first().map_or(53, |connection| connection.port);
            SocketAddr::new(server.ip, port)
        };
        Self {
            addresses: config.name_servers().iter().map(address).collect(),
            search: config.search().to_vec(),
            ndots: options.ndots,
        }
    }

    /// Whether incomplete names are completed.
    pub(super) fn search(&self) -> bool {
        !self.search.is_empty()
    }
}

/// The thread, once there is something to ask.
pub(super) struct Backend {
    settings: Settings,
    /// Holds only what callers wait for: its length is theirs to bound.
    flights: OnceLock<Result<mpsc::UnboundedSender<Flight>, DnsError>>,
}

impl Backend {
    pub(super) fn new(settings: Settings) -> Self {
        Self { settings, flights: OnceLock::new() }
    }

    pub(super) fn start(&self, flight: Flight) {
        let flights = self.flights.get_or_init(|| {
            spawn(self.settings.clone()).map_err(|error| {
                let text = format!("cannot start looking names up: {error}");
                DnsError::new(DnsErrorKind::Other, text)
            })
        });
        match flights {
            // A thread that is gone drops the flight, which gives it up.
            Ok(flights) => drop(flights.send(flight)),
            Err(error) => flight.land(Err(error.clone()), POSITIVE_MIN),
        }
    }
}

fn spawn(settings: Settings) -> io::Result<mpsc::UnboundedSender<Flight>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let (sender, mut flights) = mpsc::unbounded_channel();
    let run = async move {
        let asker = Arc::new(Asker::new(settings)?);
        while let Some(flight) = flights.recv().await {
            tokio::spawn(asker.clone().fly(flight));
        }
        Ok::<_, io::Error>(())
    };
    let thread = thread::Builder::new().name("stoop-dns".into()).stack_size(STACK_BYTES);
    thread.spawn(move || runtime.block_on(run))?;
    Ok(sender)
}

/// What one family's question came to.
type Reply = Result<Found, Failure>;

struct Found {
    addresses: Vec<IpAddr>,
    lives: Duration,
}

type Question<'a> = Pin<Box<dyn Future<Output = Reply> + Send + 'a>>;

/// Lives on the thread.
struct Asker {
    /// One for each server: which to ask next is ours to decide.
    servers: Vec<hickory_resolver::Resolver<Links>>,
    /// The server that is asked first: the one that last answered where another did not.
    preferred: AtomicUsize,
    settings: Settings,
    /// Questions that may be under way; each has a socket.
    questions: Semaphore,
}

impl Asker {
    fn new(settings: Settings) -> io::Result<Self> {
        let server = |address: &SocketAddr| {
            let mut connections = vec![ConnectionConfig::udp(), ConnectionConfig::tcp()];
            connections.iter_mut().for_each(|connection| connection.port = address.port());
            let server = NameServerConfig::new(address.ip(), true, connections);
            let config = ResolverConfig::from_parts(None, Vec::new(), vec![server]);
            let mut builder =
                hickory_resolver::Resolver::builder_with_config(config, Links::default());
            *builder.options_mut() = options(&settings);
            builder.build().map_err(io::Error::other)
        };
        let servers =
            settings.servers.addresses.iter().map(server).collect::<io::Result<Vec<_>>>()?;
        let questions = Semaphore::new(settings.queries_max);
        Ok(Self { servers, preferred: AtomicUsize::new(0), settings, questions })
    }

    async fn fly(self: Arc<Self>, flight: Flight) {
        let First::One(late) = race(self.find(&flight), flight.deserted()).await else { return };
        if let Some((first, question)) = late
            && let Ok(Ok(second)) = timeout(LATE_ANSWER, question).await
        {
            let lives = first.lives.min(second.lives);
            flight.land(Ok(self.order(&first, Some(&second))), lives);
        }
    }

    /// Asks until something is found, lands the flight, and returns a question still open.
    async fn find(&self, flight: &Flight) -> Option<(Found, Question<'_>)> {
        let mut failure = None;
        for name in self.candidates(flight) {
            match self.ask(name).await {
                Ok((first, second, late)) => {
                    let lives = second.as_ref().map_or(first.lives, |s| s.lives.min(first.lives));
                    flight.land(Ok(self.order(&first, second.as_ref())), lives);
                    return late.map(|question| (first, question));
                }
                Err(failed) if failed.is_no_such_name() => failure = failure.or(Some(failed)),
                Err(failed) => {
                    failure = Some(failed);
                    break;
                }
            }
        }
        let failure = failure.unwrap_or_else(Failure::no_candidate);
        let (error, lives) = failure.explain(&flight.name, &self.settings.servers.addresses);
        flight.land(Err(error), lives);
        None
    }

    /// The names to ask for. One with a dot is taken as complete at first; only then, and only if
    /// it has fewer dots than the system's `ndots`, as part of one.
    fn candidates(&self, flight: &Flight) -> Vec<Name> {
        let Ok(bare) = Name::from_ascii(&*flight.name) else { return Vec::new() };
        let mut complete = bare.clone();
        complete.set_fqdn(true);
        let dots = flight.name.bytes().filter(|&byte| byte == b'.').count();
        let Servers { search, ndots, .. } = &self.settings.servers;
        if flight.absolute || dots >= *ndots && dots > 0 {
            return vec![complete];
        }
        let mut names: Vec<Name> =
            search.iter().filter_map(|domain| bare.clone().append_domain(domain).ok()).collect();
        names.iter_mut().for_each(|name| name.set_fqdn(true));
        let at = if dots > 0 { 0 } else { names.len() };
        names.insert(at, complete);
        names
    }

    /// Asks for both families at once. An address in one waits for the other only so long; then the
    /// other's question is returned too.
    async fn ask(
        &self,
        name: Name,
    ) -> Result<(Found, Option<Found>, Option<Question<'_>>), Failure> {
        let v4: Question<'_> = Box::pin(self.query(name.clone(), RecordType::A));
        let v6: Question<'_> = Box::pin(self.query(name, RecordType::AAAA));
        let (mut v4, mut v6) = match self.settings.families {
            Families::Both => (v4, v6),
            Families::V4 => return v4.await.map(|found| (found, None, None)),
            Families::V6 => return v6.await.map(|found| (found, None, None)),
        };
        let (first, mut rest) = match race(&mut v4, &mut v6).await {
            First::One(reply) => (reply, v6),
            // RFC 4074 §4.2: some servers deny a name's existence when asked for its AAAA.
            First::Other(reply) => (reply.map_err(Failure::doubtful), v4),
        };
        match first {
            Ok(first) => match timeout(RESOLUTION_DELAY, &mut rest).await {
                Ok(second) => Ok((first, second.ok(), None)),
                Err(_) => Ok((first, None, Some(rest))),
            },
            Err(failure) if failure.is_final() => Err(failure),
            Err(failure) => match rest.await {
                Ok(found) => Ok((found, None, None)),
                Err(other) => Err(failure.worse(other)),
            },
        }
    }

    /// Asks one server after the other, the preferred one first: each at least once, and silent
    /// ones again up to the number of attempts.
    async fn query(&self, name: Name, record: RecordType) -> Reply {
        let _permit = self.questions.acquire().await;
        let first = self.preferred.load(Ordering::Relaxed);
        let count = self.servers.len();
        let mut failure = Failure::no_server();
        for attempt in 0..count.max(self.settings.attempts as usize) {
            let server = (first + attempt) % count.max(1);
            match self.query_one(server, name.clone(), record).await {
                Err(failed) if failed.is_of_server() => {
                    // Nothing is gained by asking it again, unless it did not hear.
                    let again = attempt + 1 < count || failed.is_silence();
                    failure = failed;
                    if !again {
                        break;
                    }
                }
                reply => {
                    if attempt > 0 {
                        self.preferred.store(server, Ordering::Relaxed);
                    }
                    return reply;
                }
            }
        }
        Err(failure)
    }

    async fn query_one(&self, server: usize, name: Name, record: RecordType) -> Reply {
        let Some(hickory) = self.servers.get(server) else { return Err(Failure::no_server()) };
        // hickory bounds the waits it knows of; this bounds the rest: an answer that continues by
        // TCP, an alias that leads on.
        let limit = self.settings.query_timeout * 2;
        let lookup = match timeout(limit, hickory.lookup(name, record)).await {
            Ok(Ok(lookup)) => lookup,
            Ok(Err(error)) => return Err(Failure::new(&error)),
            Err(_) => return Err(Failure::timeout()),
        };
        let address = |data: &RData| match data {
            RData::A(v4) => Some(IpAddr::V4(v4.0)),
            RData::AAAA(v6) => Some(IpAddr::V6(v6.0)),
            _ => None,
        };
        let answers = lookup.answers();
        let addresses: Vec<IpAddr> =
            answers.iter().filter_map(|record| address(&record.data)).collect();
        if addresses.is_empty() {
            return Err(Failure::no_records());
        }
        let seconds = answers.iter().map(|record| record.ttl).min().unwrap_or_default();
        let lives = Duration::from_secs(seconds.into()).clamp(POSITIVE_MIN, POSITIVE_MAX);
        Ok(Found { addresses, lives })
    }

    /// The addresses in the order to try them.
    fn order(&self, first: &Found, second: Option<&Found>) -> Addresses {
        let none = Vec::new();
        let second = second.map_or(&none, |found| &found.addresses);
        let first_is_v6 = first.addresses.first().is_some_and(IpAddr::is_ipv6);
        if first_is_v6 == self.settings.v6_first {
            Addresses::interleave(&first.addresses, second)
        } else {
            Addresses::interleave(second, &first.addresses)
        }
    }
}

/// What hickory is to do, and what we do ourselves: caching, hosts, the search list.
fn options(settings: &Settings) -> ResolverOpts {
    let mut options = ResolverOpts::default();
    options.timeout = settings.query_timeout;
    // It counts the attempts after the first.
    options.attempts = 0;
    options.cache_size = 0;
    options.use_hosts_file = ResolveHosts::Never;
    // The kernel picks ports at random, and knows which are reserved.
    options.os_port_selection = true;
    options
}
