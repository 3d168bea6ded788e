//! The plan: every URL and its expected result, computed and never stored.

use std::time::Duration;

use super::address::{self, HOSTS_MAX, Prefix};
use super::class::Class;
use super::draft::Draft;
use super::expect::{Expect, SUSPENDED};
use super::hosts::{HostKind, Hosts, PlannedHosts};
use super::route::{Ports, UrlParts, authority};

/// A synthetic internet before it runs: a seed, a number of URLs, and two factors.
///
/// Pure and deterministic: the same values give the same plan on every machine, without a clock or a
/// socket. Nothing is stored, so ten million URLs cost no more memory than one.
///
/// # What is planned
///
/// URL `i` belongs to host `i`, whose address is 127.1.0.0 + `i` and whose name is
/// `hI.sSEED.stoop.test`; `www-hI…` is the same host. About 4 % of the URLs are instead a further
/// page (`/p/I`) of a host up to 20 URLs before, as in real lists.
///
/// Of 10,000 URLs about 7,980 are answered 2xx, 979 4xx, 20 5xx and one 300; 1,020 fail, a third
/// each in finding the address, in connecting, and in TLS or afterwards: [`Class::weight`] has the
/// table. 30 % of all redirect, over one to three hops (301, 302, 307, 308; absolute, without a
/// scheme, and relative; mostly from http to https and from the apex to www, now and then from https
/// to http). Three quarters of the URLs begin with https.
///
/// The servers wait before they answer: log-normally, median 0.3 s, σ 1, at most 2.5 s, in the mean
/// 0.47 s for a URL with all its redirects; see [`Plan::latency`]. Bodies of 200s are log-normal too:
/// median 104 kB, σ 1.374, at most 4 MiB, mean 257 kB; those of errors median 3 kB. 60 % of responses
/// have a length, 34 % chunks (3 % with trailers), 6 % end with the connection; 12 % of the servers
/// close after each response.
///
/// Two in three of the well-behaved hosts speak HTTP/2 over TLS with clients that offer it by ALPN,
/// one stream at a time on a connection; the others agree to HTTP/1.1 alone. Over plain HTTP either
/// is understood. What misbehaves does so over HTTP/1.1, but for the 88 of 10,000 URLs whose hosts go
/// wrong over HTTP/2 alone ([`Class::BadHttp2`], 15 of them answered in the end): to clients that do not
/// offer it they answer well.
///
/// # Many URLs on each host
///
/// [`Plan::on`] puts the URLs on a number of [`Hosts`] instead: evenly, with a hot host, or by Zipf's law.
/// A share of the hosts fails, has a robots.txt, or asks for a pause by Retry-After.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    seed: u64,
    urls: u64,
    domain: String,
    ports: Ports,
    latency: f64,
    body: f64,
    /// The hosts that have many URLs each; `None`: nearly each URL has one of its own.
    hosts: Option<PlannedHosts>,
}

impl Plan {
    /// A plan of that many URLs, at most [`HOSTS_MAX`], with ports as in [`Ports::default`].
    pub fn new(seed: u64, urls: u64) -> Self {
        Self {
            seed,
            urls: urls.min(HOSTS_MAX),
            domain: format!("s{seed}.stoop.test"),
            ports: Ports::default(),
            latency: 1.0,
            body: 1.0,
            hosts: None,
        }
    }

    /// Puts the URLs on these hosts. Each URL has a response, redirects, a wait and a body of its own, as
    /// they are distributed without this; where the host fails, all its URLs do, and in the same way.
    ///
    /// The first URLs are `/` of one host each, and all others are `/p/I`, for the number of the URL.
    #[must_use]
    pub fn on(mut self, hosts: Hosts) -> Self {
        self.hosts = Some(PlannedHosts::new(hosts, self.seed, self.urls));
        self
    }

    /// The most that [`Plan::latency`] multiplies by.
    pub const LATENCY_MAX: f64 = 1_000.0;
    /// The most that [`Plan::body`] multiplies by.
    pub const BODY_MAX: f64 = 100.0;

    /// Multiplies how long servers wait. Default 1; 0 answers at once; beyond
    /// [`LATENCY_MAX`](Self::LATENCY_MAX) is that, and what is no number is 0. What stalls still
    /// stalls.
    #[must_use]
    pub fn latency(mut self, factor: f64) -> Self {
        self.latency = within(factor, Self::LATENCY_MAX);
        self
    }

    /// Multiplies how long bodies are. Default 1; bounded as the latency is, by
    /// [`BODY_MAX`](Self::BODY_MAX).
    #[must_use]
    pub fn body(mut self, factor: f64) -> Self {
        self.body = within(factor, Self::BODY_MAX);
        self
    }

    /// The ports that URLs show.
    #[must_use]
    pub fn with_ports(mut self, ports: Ports) -> Self {
        self.ports = ports;
        self
    }

    /// The seed it was made from.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// How many URLs there are.
    pub fn urls(&self) -> u64 {
        self.urls
    }

    /// The ports that URLs show.
    pub fn ports(&self) -> Ports {
        self.ports
    }

    /// The domain of all its hosts: `sSEED.stoop.test`.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The URL with this number, counted from 0; `None` past the end. Costs about a microsecond.
    pub fn url(&self, index: u64) -> Option<PlannedUrl> {
        if index >= self.urls {
            return None;
        }
        let draft = self.draft(index);
        let place = self.place(index, &draft);
        let first = draft.route.steps[0];
        let name = place.name(first);
        let scheme = if first.tls { "https" } else { "http" };
        let text = match draft.class {
            Class::Refused => authority(scheme, &name, self.ports.refused) + &place.path(first),
            Class::BlackHole => {
                authority(scheme, &name, self.ports.black_hole) + &place.path(first)
            }
            _ => place.url(first),
        };
        let its_host = match place.host == index {
            true => draft,
            false => self.draft(place.host),
        };
        let mut expect = self.expect(&draft, its_host.http2);
        match self.kind(place.host) {
            HostKind::RobotsError => expect.is_forbidden = true,
            HostKind::Fails(_) => expect.besides = &[SUSPENDED],
            _ => {}
        }
        Some(PlannedUrl { index, text, host: name, class: draft.class, expect })
    }

    /// All URLs in order, each computed when it is asked for.
    pub fn iter(&self) -> impl Iterator<Item = PlannedUrl> + '_ {
        (0..self.urls).filter_map(|index| self.url(index))
    }

    /// The parts of this URL.
    pub(crate) fn place(&self, index: u64, draft: &Draft) -> UrlParts<'_> {
        let host = self.host_of(index, draft);
        let page = (host != index).then_some(index);
        let is_private = draft.is_private;
        UrlParts { host, page, is_private, domain: &self.domain, ports: self.ports }
    }

    /// The random properties of a URL.
    fn draft(&self, index: u64) -> Draft {
        match &self.hosts {
            None => Draft::new(self.seed, index),
            Some(hosts) => {
                let host = hosts.spread.host(self.seed, index, hosts.count, self.urls);
                Draft::on_host(self.seed, index, host, hosts.kind(self.seed, host))
            }
        }
    }

    /// The kind of a host. Without [`Plan::on`] they have none, but what their URLs are.
    pub(crate) fn kind(&self, host: u64) -> HostKind {
        self.hosts.as_ref().map_or(HostKind::Good, |hosts| hosts.kind(self.seed, host))
    }

    /// The seconds of each Retry-After.
    pub(crate) fn retry_after(&self) -> u32 {
        self.hosts.as_ref().map_or(0, |hosts| hosts.retry_after)
    }

    /// The host of a URL: its own, or that of an earlier URL whose further page it is. Only pages of
    /// well-behaved hosts can be that, and only hosts that are not such a page themselves.
    fn host_of(&self, index: u64, draft: &Draft) -> u64 {
        if let Some(hosts) = &self.hosts {
            return hosts.spread.host(self.seed, index, hosts.count, self.urls);
        }
        let Some(earlier) = draft.page_of.and_then(|distance| index.checked_sub(distance)) else {
            return index;
        };
        let host = Draft::new(self.seed, earlier);
        let joins = draft.is_shareable() && host.is_shareable() && host.page_of.is_none();
        if joins { earlier } else { index }
    }

    /// The draft of this host's own URL; `None` if there is no such host.
    pub(crate) fn host(&self, host: u64) -> Option<Draft> {
        if host >= self.urls {
            return None;
        }
        let draft = self.draft(host);
        (self.host_of(host, &draft) == host).then_some(draft)
    }

    /// The draft of the URL with this number, if it is a page of this host.
    pub(crate) fn page(&self, host: u64, index: u64) -> Option<Draft> {
        if index >= self.urls {
            return None;
        }
        let draft = self.draft(index);
        (self.host_of(index, &draft) == host).then_some(draft)
    }

    /// How long servers wait for a URL, all its redirects together.
    pub(crate) fn delay(&self, draft: &Draft) -> Duration {
        draft.delay.mul_f64(self.latency)
    }

    /// The length of a planned body.
    pub(crate) fn body_length(&self, draft: &Draft) -> u64 {
        (draft.body as f64 * self.body) as u64
    }

    /// The name that does not exist, which failing redirects lead to.
    pub(crate) fn absent_name(&self, host: u64) -> String {
        address::name(Prefix::Gone, host, &self.domain)
    }
}

/// One URL of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlannedUrl {
    /// Its number, from 0.
    pub index: u64,
    /// The URL itself.
    pub text: String,
    /// The name in it.
    pub host: String,
    /// The class of its result.
    pub class: Class,
    /// The result that a correct client reports.
    pub expect: Expect,
}

/// The factor within 0 and `max`; NaN is 0.
fn within(factor: f64, max: f64) -> f64 {
    if factor.is_nan() { 0.0 } else { factor.clamp(0.0, max) }
}
