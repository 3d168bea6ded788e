//! Hosts that are asked over https alone: RFC 6797.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop_io::now;
use url::{Host, Url};

use crate::limits::after;

/// Hosts that are remembered, each with some 100 bytes. Beyond it the one whose time is over first is forgotten.
const HOSTS_MAX: usize = 10_000;

/// Hosts that asked to be reached over https alone, by Strict-Transport-Security (RFC 6797), for a
/// [client](crate::ClientBuilder::hsts). Cheap to clone; clones share their hosts.
///
/// An http URL of such a host, asked for or redirected to, becomes one of https before anything is sent. Hosts are
/// kept in memory, up to 10,000, for the time that they named. Those that are known beforehand are
/// [added](Hsts::add).
///
/// ```
/// use stoop::{Client, Hsts};
///
/// let hsts = Hsts::new();
/// hsts.add("example.com", true);
/// let client = Client::builder().hsts(hsts.clone()).build()?;
/// assert!(hsts.contains("www.example.com"));
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Hsts(Arc<Mutex<SecureHosts>>);

/// Hosts in lower case and without the root's dot, and what they said.
type SecureHosts = HashMap<Box<str>, KnownHost>;

#[derive(Clone, Copy)]
struct KnownHost {
    includes_subdomains: bool,
    /// None if it is known for good.
    until: Option<Instant>,
}

/// What a Strict-Transport-Security says.
#[derive(Debug, PartialEq, Eq)]
struct Policy {
    max_age: u64,
    includes_subdomains: bool,
}

impl Hsts {
    /// None are known.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a host that is kept without a limit of time, with its subdomains if `includes_subdomains`.
    pub fn add(&self, host: &str, includes_subdomains: bool) {
        let known = KnownHost { includes_subdomains, until: None };
        insert(&mut self.hosts(), bare(host).to_ascii_lowercase().into(), known);
    }

    /// Whether a host is asked over https alone.
    pub fn contains(&self, host: &str) -> bool {
        self.knows(&bare(host).to_ascii_lowercase(), now())
    }

    /// §8.2: the host itself, or one above it that speaks for those below.
    fn knows(&self, host: &str, now: Instant) -> bool {
        let hosts = self.hosts();
        let is_known = |name: &str, is_itself: bool| {
            hosts.get(name).is_some_and(|known| {
                (is_itself || known.includes_subdomains)
                    && known.until.is_none_or(|until| now < until)
            })
        };
        let above = host.match_indices('.').filter_map(|(at, _)| host.get(at + 1..));
        is_known(host, true) || above.into_iter().any(|name| is_known(name, false))
    }

    /// Makes an http URL one of https if its host is known (§8.3).
    pub(super) fn secure(&self, url: &mut Url) {
        if url.scheme() == "http"
            && let Some(Host::Domain(host)) = url.host()
            && self.knows(bare(host), now())
        {
            // It fails for no host alone.
            let _ = url.set_scheme("https");
        }
    }

    /// Keeps what a response says of its host (§8.1): only over TLS, and not of addresses.
    pub(super) fn keep(&self, url: &Url, field: &[u8]) {
        let Some(Host::Domain(host)) = url.host() else { return };
        if url.scheme() != "https" {
            return;
        }
        let Some(policy) = Policy::read(field) else { return };
        let mut hosts = self.hosts();
        // What the program has added is not a server's to take away.
        if hosts.get(bare(host)).is_some_and(|known| known.until.is_none()) {
            return;
        }
        if policy.max_age == 0 {
            hosts.remove(bare(host));
            return;
        }
        let until = Some(after(now(), Duration::from_secs(policy.max_age)));
        let includes_subdomains = policy.includes_subdomains;
        insert(&mut hosts, bare(host).into(), KnownHost { includes_subdomains, until });
    }

    fn hosts(&self) -> MutexGuard<'_, SecureHosts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn insert(hosts: &mut SecureHosts, host: Box<str>, known: KnownHost) {
    if hosts.len() >= HOSTS_MAX && !hosts.contains_key(&host) {
        let timed = hosts.iter().filter(|(_, known)| known.until.is_some());
        if let Some(first) =
            timed.min_by_key(|(_, known)| known.until).map(|(host, _)| host.clone())
        {
            hosts.remove(&first);
        }
    }
    hosts.insert(host, known);
}

/// A host without the root's dot.
fn bare(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

impl Policy {
    /// §6.1: directives, of which one is required, each at most once, with unknown ones among them.
    fn read(field: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(field).ok()?;
        let (mut max_age, mut includes_subdomains) = (None, false);
        for directive in text.split(';').map(str::trim).filter(|directive| !directive.is_empty()) {
            let (name, value) = match directive.split_once('=') {
                Some((name, value)) => (name.trim(), Some(value.trim())),
                None => (directive, None),
            };
            if name.eq_ignore_ascii_case("max-age") {
                let value = value?;
                let value = value.strip_prefix('"').map_or(Some(value), |v| v.strip_suffix('"'))?;
                let is_number = !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit());
                if !is_number || max_age.is_some() {
                    return None;
                }
                max_age = Some(value.parse().unwrap_or(u64::MAX));
            } else if name.eq_ignore_ascii_case("includesubdomains") {
                if includes_subdomains || value.is_some() {
                    return None;
                }
                includes_subdomains = true;
            }
        }
        max_age.map(|max_age| Self { max_age, includes_subdomains })
    }
}

impl fmt::Debug for Hsts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hsts({} hosts)", self.hosts().len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn the_field_is_read_as_rfc_6797_has_it() {
        let policy = |max_age, includes_subdomains| Some(Policy { max_age, includes_subdomains });
        for (field, read) in [
            ("max-age=31536000", policy(31_536_000, false)),
            ("max-age=15768000 ; includeSubDomains", policy(15_768_000, true)),
            ("max-age=\"31536000\"", policy(31_536_000, false)),
            ("INCLUDESUBDOMAINS; MAX-AGE = 0;; preload", policy(0, true)),
            ("max-age=99999999999999999999999", policy(u64::MAX, false)),
            ("includeSubDomains", None),
            ("max-age", None),
            ("max-age=-1", None),
            ("max-age=", None),
            ("max-age=1; max-age=2", None),
            ("max-age=\"1", None),
            ("max-age=1; includeSubDomains; includeSubDomains", None),
            ("", None),
        ] {
            assert_eq!(Policy::read(field.as_bytes()), read, "{field}");
        }
    }

    #[test]
    fn a_host_is_known_as_itself_or_by_one_above_it() {
        let hsts = Hsts::new();
        hsts.keep(&url("https://a.example/"), b"max-age=100");
        hsts.keep(&url("https://b.example./"), b"max-age=100; includeSubDomains");
        hsts.add("C.example.", false);
        for (text, becomes) in [
            ("http://a.example/x?y", "https://a.example/x?y"),
            ("http://A.example./", "https://a.example./"),
            ("http://a.example:8080/", "https://a.example:8080/"),
            ("http://sub.a.example/", "http://sub.a.example/"),
            ("http://sub.sub.b.example/", "https://sub.sub.b.example/"),
            ("http://subb.example/", "http://subb.example/"),
            ("http://c.example/", "https://c.example/"),
            ("http://d.example/", "http://d.example/"),
        ] {
            let mut url = url(text);
            hsts.secure(&mut url);
            assert_eq!(url.as_str(), becomes);
        }
        assert!(hsts.contains("SUB.b.example.") && !hsts.contains("sub.c.example"));
    }

    #[test]
    fn only_names_over_tls_are_kept_until_their_time_is_over_or_they_take_it_back() {
        let hsts = Hsts::new();
        for not in ["http://a.example/", "https://127.0.0.1/", "https://[::1]/"] {
            hsts.keep(&url(not), b"max-age=100");
        }
        assert!(hsts.hosts().is_empty());
        hsts.keep(&url("https://a.example/"), b"max-age=100");
        let now = now();
        assert!(hsts.knows("a.example", now + Duration::from_secs(99)));
        assert!(!hsts.knows("a.example", now + Duration::from_secs(101)));
        hsts.keep(&url("https://a.example/"), b"no max-age");
        assert!(hsts.contains("a.example"));
        hsts.keep(&url("https://a.example/"), b"max-age=0");
        assert!(!hsts.contains("a.example"));
    }

    #[test]
    fn the_hosts_are_bounded_and_those_that_were_added_stay() {
        let hsts = Hsts::new();
        hsts.add("kept.example", true);
        for n in 0..HOSTS_MAX + 10 {
            let age = format!("max-age={}", n + 100);
            hsts.keep(&url(&format!("https://h{n}.example/")), age.as_bytes());
        }
        assert_eq!(hsts.hosts().len(), HOSTS_MAX);
        assert!(hsts.contains("kept.example") && !hsts.contains("h0.example"));
        assert!(hsts.contains(&format!("h{}.example", HOSTS_MAX + 9)));
    }
}
