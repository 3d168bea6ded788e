//! How much a run asks of one host.

use std::time::Duration;

use crate::until::FOREVER;

/// How many requests a host bears at once where the run's owner knows nothing of it: browsers open six connections to
/// an origin of HTTP/1.
const PER_HOST: usize = 8;

/// A host that answers at times answers one of so many.
const FAILURES_MAX: u32 = 20;

/// Restarts of programs, and of machines of a cloud, are over by then.
const OUTAGE_MAX: Duration = Duration::from_secs(30);

/// Longer pauses of a host that answers 429 or 503 alone are not worth its jobs' time.
const OVERLOAD_MAX: Duration = Duration::from_secs(600);

/// How much a run asks of one host, in all its workers together: how many jobs are in flight at once, and how much
/// time passes between the starts of two.
///
/// A host that answers 429 or 503 is given half as many at once, and none at all for as long as its Retry-After says,
/// up to [`pause_max`](Self::pause_max); without one, or with one of 0, for a time that begins at a second and doubles each time. It gets
/// one more at once for each round of other answers, up to its limit. Where there was none for
/// [`overload_max`](Self::overload_max), or would be none by the end of its next pause, it is left alone as one that does not answer: its jobs get records of the kind
/// `host_suspended`, and one is tried from time to time.
///
/// A host with which twenty requests in turn came to nothing, without a single response, is left alone for a second, and its
/// jobs wait. Then one request is sent; if that comes to nothing as well, the host is left alone for twice as long, and so on.
/// Once it answers, its jobs go on. Where it has not for [`outage_max`](Self::outage_max), its jobs get records of the kind
/// `host_suspended` from then on, at once and without a request. So all jobs of a host that is gone have their records within
/// that time and the deadline of one more. One of those that come later is tried after 30 s, and the others go on if it is
/// answered; otherwise the host is left alone for twice as long each time, up to five minutes.
///
/// A job whose request was answered, and which waits for a retry when its host is given up, has the record of that answer
/// instead, without its content.
///
/// Of requests that redirects of other hosts lead to, up to 64 wait for a host that does not answer, and further ones get that
/// record at once.
///
/// Each request is counted at the host of its own URL, also one that a redirect leads to and one that is sent again: it
/// waits for its turn there as a job does, and before jobs that were not started. That time is no part of its job's
/// deadline and duration, unless the client has middleware, and the job is not in flight meanwhile. Neither is it during
/// the delay of a retry before that, which counts to its deadline. Ports are no difference: they are one machine.
///
/// Jobs that must wait for their host do not hold up those of others, within a window: each worker holds at most
/// 65,536 jobs that were not started, or 16 MiB of them, and then reads its source no further. Where so many jobs wait
/// for the turns of further requests, no more are started: 2,048 or 16 MiB of them over all workers, and at least 128 or
/// 1 MiB of each worker, beside those that are in flight then. So a list that is sorted by hosts should be shuffled
/// before.
///
/// ```
/// use std::time::Duration;
/// use stoop_fetch::{Fetch, HostGroup, Politeness};
///
/// let polite = Politeness::default().per_host(2).interval(Duration::from_millis(250));
/// let fetch = Fetch::new().politeness(polite.group(HostGroup::RegistrableDomain));
/// # drop(fetch);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Politeness {
    pub(crate) per_host: usize,
    pub(crate) interval: Duration,
    pub(crate) total_interval: Duration,
    pub(crate) pause_max: Duration,
    pub(crate) failures_max: u32,
    pub(crate) outage_max: Duration,
    pub(crate) overload_max: Duration,
    pub(crate) group: HostGroup,
    pub(crate) robots: Option<Box<str>>,
}

/// What counts as one host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HostGroup {
    /// The name or address of the URL, whatever its port and scheme.
    #[default]
    Host,
    /// All names under one registrable domain, by the public suffix list: `a.example.co.uk` and
    /// `b.example.co.uk` are one. An address is its own.
    RegistrableDomain,
    /// All names that lead to one IP address, and the address itself.
    ///
    /// Of several addresses of a name the numerically lowest counts, IPv4 before IPv6: names that share another address
    /// alone are not known to be one host. A name without an address, or whose address is not found within the time for
    /// connecting, is a host of its own, as is one whose client connects to no address, such as a Unix socket's.
    ///
    /// Names are looked up once they are read, as the [client](crate::Fetch::client) does, and those of redirects when they
    /// come up. That time is no part of a job's deadline and duration. 96 are looked up at once, and beside them 384 that
    /// take longer than half a second (96 without the feature `dns`). Jobs whose names are being looked up do not hold up
    /// others, within a window: up to 16,384 jobs wait, or 4 MiB of them, and then no more is read. A job stays with the
    /// address that was found when it was read.
    ///
    /// What was found is used for five minutes, of up to 100,000 hosts and ports, and that there is no address for ten
    /// seconds. Where the lookup after that fails (SERVFAIL, no response), the address stays until half an hour after it was
    /// found, and is asked for every ten seconds; a name that had none counts by itself, for one second. An address of IPv6
    /// is used for two seconds, and for twice as long each time after that, up to five minutes: a resolver tells the
    /// addresses of one family when those of the other are late.
    ///
    /// So that requests do not ask name servers again, all clients of the run share one
    /// [resolver](stoop::ClientBuilder::resolver), which asks the system's servers and remembers 100,000 names, for as
    /// long as their records allow. One that [`Fetch::client`](crate::Fetch::client) sets takes its place: it is to be
    /// cloned rather than built for each client, and to allow for 960
    /// [queries](stoop::dns::ResolverBuilder::queries_max) and 192 more for each worker, so that requests do not wait for
    /// the lookups of others. With a [custom one](stoop::ClientBuilder::custom_resolver) each name is looked up at least
    /// twice. Through a proxy, which may know names that are not known here, the addresses of the URLs' own hosts count
    /// where they are found: the names are looked up for that, although the requests would not need it.
    Address,
}

impl Default for Politeness {
    /// Eight jobs at once for each host, without an interval; pauses of up to a minute; after twenty failures in turn one
    /// request after 1 s, 2 s, 4 s and so on, and after 30 s of that the host is given up.
    fn default() -> Self {
        Self {
            per_host: PER_HOST,
            interval: Duration::ZERO,
            total_interval: Duration::ZERO,
            pause_max: Duration::from_secs(60),
            failures_max: FAILURES_MAX,
            outage_max: OUTAGE_MAX,
            overload_max: OVERLOAD_MAX,
            group: HostGroup::Host,
            robots: None,
        }
    }
}

impl Politeness {
    /// How many jobs of a host are in flight at once, at least 1. By default 8.
    #[must_use]
    pub fn per_host(self, jobs: usize) -> Self {
        Self { per_host: jobs.max(1), ..self }
    }

    /// The least time between the starts of two jobs of a host. By default none.
    #[must_use]
    pub fn interval(self, interval: Duration) -> Self {
        Self { interval: interval.min(FOREVER), ..self }
    }

    /// The least time between two requests of the run, to whatever hosts, on average: the inverse of a rate, such as 20 ms
    /// for 50 in a second. By default none.
    ///
    /// Each request counts, also one that a redirect leads to and one that is sent again. One that would come too early waits
    /// before it is in flight, which is no part of its job's deadline and duration, and then takes the turn of its host. What
    /// is up to 10 ms late on its way is made up for; no other pause is followed by more requests at once. Requests for
    /// robots.txt do not wait, and those that follow them wait for longer.
    ///
    /// ```
    /// use std::time::Duration;
    /// use stoop_fetch::{Fetch, Politeness};
    ///
    /// let fetch = Fetch::new().politeness(Politeness::default().total_interval(Duration::from_millis(20)));
    /// # drop(fetch);
    /// ```
    #[must_use]
    pub fn total_interval(self, interval: Duration) -> Self {
        Self { total_interval: interval.min(FOREVER), ..self }
    }

    /// The longest pause that a host is given after it answered 429 or 503, whatever its Retry-After says, and the longest
    /// Crawl-delay. By default 60 s.
    #[must_use]
    pub fn pause_max(self, pause: Duration) -> Self {
        Self { pause_max: pause.min(FOREVER), ..self }
    }

    /// How many requests to a host may come to nothing in turn until it is left alone for a while; 0 for any number. By
    /// default 20.
    #[must_use]
    pub fn failures_max(self, requests: u32) -> Self {
        Self { failures_max: requests, ..self }
    }

    /// How long the jobs of a host wait for it that was left alone because it did not answer, and is tried from time to time.
    /// When a request that is sent after that comes to nothing, too, they get records of the kind `host_suspended`. Zero has them
    /// get those at once. By default 30 s.
    #[must_use]
    pub fn outage_max(self, outage: Duration) -> Self {
        Self { outage_max: outage.min(FOREVER), ..self }
    }

    /// How long a host may answer nothing but 429 and 503 until its jobs get records of the kind `host_suspended`. Otherwise
    /// each job would take a pause, and a host with thousands of them, days. They get those before that where the next pause
    /// would end later: a host that asks by Retry-After for a longer one than this is given up at once, if
    /// [`pause_max`](Self::pause_max) allows for it. Zero has them get those from the first such answer on. By default 10
    /// minutes.
    #[must_use]
    pub fn overload_max(self, overload: Duration) -> Self {
        Self { overload_max: overload.min(FOREVER), ..self }
    }

    /// What counts as one host. By default [`HostGroup::Host`].
    #[must_use]
    pub fn group(self, group: HostGroup) -> Self {
        Self { group, ..self }
    }

    /// Whether it holds up no job as long as hosts answer, where so many are in flight in all.
    pub(crate) fn allows_at_once(&self, jobs: usize) -> bool {
        let has_no_interval = self.interval.is_zero() && self.total_interval.is_zero();
        let is_by_name = self.group != HostGroup::Address;
        self.per_host >= jobs && has_no_interval && self.robots.is_none() && is_by_name
    }

    /// Fetches only what robots.txt (RFC 9309) allows to `agent`, a [product token](crate::robots::is_product_token).
    /// By default none is asked for.
    ///
    /// The file is fetched once for all jobs of an origin, before the first of them, with the User-Agent of the run, and
    /// is used for a day; these requests have no records, and up to five redirects to it are followed. What the file does
    /// not allow gets a record of the kind `robots_denied`, and so does all of an origin that answers 429 or 5xx, which is
    /// asked again after five minutes. Where there is no response, the record has that error, for a second without another
    /// attempt. An origin that cannot be reached once a day is over goes on with what it said before (RFC 9309 §2.4), and is
    /// asked every five minutes. A Crawl-delay is an [`interval`](Self::interval), if that is shorter, of up to
    /// [`pause_max`](Self::pause_max).
    ///
    /// The run keeps what concerns it of the files of 50,000 origins, and no more than 32 MiB of that. Beyond either, those
    /// that it asked first are forgotten, and are asked again when they have another job.
    ///
    /// A redirect is followed where the file of its origin allows that, and is otherwise a record of the kind
    /// `robots_denied` too. Where that file is not known yet, the job waits for it, and its clock stands still meanwhile.
    ///
    /// ```
    /// use stoop_fetch::{Fetch, Politeness};
    ///
    /// let fetch = Fetch::new()
    ///     .politeness(Politeness::default().robots("examplebot"))
    ///     .client(|client| client.user_agent("examplebot/1.0 (+https://bot.example/)"));
    /// # drop(fetch);
    /// ```
    #[must_use]
    pub fn robots(self, agent: &str) -> Self {
        Self { robots: Some(agent.into()), ..self }
    }
}
