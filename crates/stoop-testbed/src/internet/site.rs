//! What a host of the plan does, computed when somebody comes to it.

use std::time::Duration;

use super::address::{self, Prefix};
use super::class::{Class, Family};
use super::draft::{Draft, Framed};
use super::plan::Plan;
use super::route::{Step, authority, needs_tls, parse_path};
use crate::answer::Framing;
use crate::dns::Lookup;
use crate::origin::Behaviour;

/// Drips and endless bodies: slow enough to cost nothing, steady enough to trip no idle limit.
const DRIP_BYTES: u64 = 100_000;
const DRIP_EVERY: Duration = Duration::from_millis(250);
const ENDLESS_EVERY: Duration = Duration::from_millis(100);

/// How long names may be cached, in seconds: longer than a run.
const TTL: u32 = 300;

/// The loop's steps do not each wait as long as a page does.
const LOOP_STEPS: u32 = 20;

/// Of a body that is cut: at most so much is sent, and at least so much announced.
const CUT_SENT_MAX: u64 = 64 * 1024;
const CUT_ANNOUNCED_MIN: u64 = 1_000;

/// What a host does with its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A well-behaved server: see [`Plan::reply`]. Whoever comes to a host that should not be there
    /// finds one too, where nothing is found.
    Good,
    /// Always the same, whatever is asked.
    Scripted { behaviour: Behaviour, delay: Duration },
}

/// A well-behaved answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reply {
    /// Which URL was asked for.
    pub(crate) url: Option<u64>,
    pub(crate) status: u16,
    pub(crate) framing: Framing,
    pub(crate) body: u64,
    pub(crate) location: Option<String>,
    pub(crate) close: bool,
    /// What the server waits before it answers.
    pub(crate) delay: Duration,
}

impl Reply {
    fn bodiless(url: Option<u64>, status: u16) -> Self {
        Self {
            url,
            status,
            framing: Framing::Length,
            body: 0,
            location: None,
            close: false,
            delay: Duration::ZERO,
        }
    }
}

impl Plan {
    /// What this host does with a connection, with or without TLS.
    pub(crate) fn site(&self, host: u64, tls: bool) -> Site {
        use Class as C;
        let Some(draft) = self.host(host) else { return Site::Good };
        let announced = self.body_length(&draft).max(CUT_ANNOUNCED_MIN);
        let sent = (announced / 2).min(CUT_SENT_MAX);
        let behaviour = match draft.class {
            C::Success if draft.framed == Framed::UntilClose => {
                Behaviour::CloseDelimited { body: self.body_length(&draft) }
            }
            C::Success
            | C::Unfollowed
            | C::ClientError
            | C::ServerError
            | C::RedirectToNxDomain
            | C::RedirectToRefused
            | C::RedirectToBlackHole
            | C::RedirectLoop
            | C::NxDomain
            | C::ServFail
            | C::DnsSilence
            | C::Refused
            | C::BlackHole => return Site::Good,
            class if needs_tls(class) && !tls => return Site::Good,
            C::UntrustedCertificate => Behaviour::UntrustedCertificate,
            C::WrongName => Behaviour::WrongName,
            C::ExpiredCertificate => Behaviour::ExpiredCertificate,
            C::TlsHang => Behaviour::TlsHang,
            C::TlsClose => Behaviour::TlsClose,
            C::HangAfterAccept => Behaviour::HangAfterAccept,
            C::HangAfterHead => Behaviour::HangAfterHead,
            C::Drip => Behaviour::Drip { body: DRIP_BYTES, every: DRIP_EVERY },
            C::EndlessBody => Behaviour::EndlessBody { every: ENDLESS_EVERY },
            C::TruncatedLength => Behaviour::TruncatedLength { sent, announced },
            C::TruncatedChunk => Behaviour::TruncatedChunk,
            C::ResetMidBody => Behaviour::ResetMidBody { sent, announced },
            C::EarlyClose => Behaviour::EarlyClose,
            C::MalformedHead => Behaviour::MalformedHead(draft.malformed),
            C::BadHttp2(kind) => {
                let is_answered = draft.class.family() == Family::Answered;
                let body = if is_answered { self.body_length(&draft) } else { announced };
                let delay = self.delay(&draft) / draft.route.steps.len() as u32;
                return Site::Scripted { behaviour: Behaviour::BadHttp2 { kind, body }, delay };
            }
        };
        Site::Scripted { behaviour, delay: self.delay(&draft) }
    }

    /// Whether this host agrees to HTTP/2 over TLS: some of those that are served well.
    pub(crate) fn offers_http2(&self, host: u64) -> bool {
        self.host(host).is_some_and(|draft| draft.http2) && self.site(host, true) == Site::Good
    }

    /// What a well-behaved host answers to a request that came with this prefix of its name.
    pub(crate) fn reply(&self, host: u64, tls: bool, prefix: Prefix, target: &str) -> Reply {
        let missing = Reply::bodiless(Some(host), 404);
        let Some((page, home)) = parse_path(target) else { return missing };
        let index = page.unwrap_or(host);
        let draft = match page {
            None => self.host(host),
            Some(page) => self.page(host, page).filter(|_| page != host),
        };
        let Some(draft) = draft.filter(|draft| is_served(draft.class)) else { return missing };
        let here = Step { tls, www: prefix == Prefix::Www, home };
        if let Some(location) = self.lost(index, &draft, here) {
            let delay = match draft.class {
                Class::RedirectLoop => self.delay(&draft) / LOOP_STEPS,
                _ => self.delay(&draft),
            };
            return Reply { location: Some(location), delay, ..Reply::bodiless(Some(index), 302) };
        }
        let steps = draft.route.steps;
        let Some(step) = steps.iter().position(|step| *step == here) else { return missing };
        let delay = self.delay(&draft) / steps.len() as u32;
        let reply = Reply { delay, close: draft.closes, ..Reply::bodiless(Some(index), 200) };
        if let Some(location) = draft.route.location(step, &self.place(index, &draft)) {
            return Reply { status: draft.route.status(step), location: Some(location), ..reply };
        }
        let framing = match draft.framed {
            Framed::Length => Framing::Length,
            Framed::Chunked | Framed::UntilClose => Framing::Chunked,
            Framed::ChunkedTrailers => Framing::ChunkedTrailers,
        };
        Reply { status: draft.status, framing, body: self.body_length(&draft), ..reply }
    }

    /// Where the redirects lead that come to no good.
    fn lost(&self, index: u64, draft: &Draft, here: Step) -> Option<String> {
        let place = self.place(index, draft);
        let ports = self.ports();
        let (scheme, port) = if here.tls { ("https", ports.https) } else { ("http", ports.http) };
        let at = |name: &str, port| Some(authority(scheme, name, port) + "/");
        match draft.class {
            Class::RedirectToNxDomain => at(&self.gone(place.host), port),
            Class::RedirectToRefused => at(&place.name(here), ports.refused),
            Class::RedirectToBlackHole => at(&place.name(here), ports.black_hole),
            Class::RedirectLoop => Some(place.path(Step { home: !here.home, ..here })),
            _ => None,
        }
    }

    /// What the name server says to a name in lower case, and which URL it is about.
    pub(crate) fn lookup(&self, name: &str, shared: bool) -> (Lookup, Option<u64>) {
        if name != self.domain() && !name.ends_with(&format!(".{}", self.domain())) {
            return (Lookup::Refused, None);
        }
        let Some((prefix, host)) = address::parse(name, self.domain()) else {
            return (Lookup::NxDomain, None);
        };
        let Some(draft) = self.host(host) else { return (Lookup::NxDomain, None) };
        let lookup = match (prefix, draft.class) {
            (Prefix::Gone, _) | (_, Class::NxDomain) => Lookup::NxDomain,
            (_, Class::ServFail) => Lookup::ServFail,
            (_, Class::DnsSilence) => Lookup::Silence,
            _ if shared => Lookup::addresses([std::net::Ipv4Addr::LOCALHOST], TTL),
            _ => Lookup::addresses(address::address(host), TTL),
        };
        (lookup, Some(host))
    }
}

/// Whether a well-behaved host has anything to do with it.
fn is_served(class: Class) -> bool {
    let never = [Class::NxDomain, Class::ServFail, Class::DnsSilence, Class::Refused];
    !never.contains(&class) && class != Class::BlackHole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internet::expect::Answer;

    /// Follows a URL through the plan alone, and says what it comes to.
    fn follow(plan: &Plan, index: u64) -> Option<(u16, u64, u32)> {
        let mut url = plan.url(index)?.text;
        for hops in 0..20 {
            let (scheme, rest) = url.split_once("://")?;
            let (authority, path) = rest.split_once('/')?;
            let (name, _) = authority.split_once(':')?;
            let (prefix, host) = address::parse(name, plan.domain())?;
            let reply = plan.reply(host, scheme == "https", prefix, &format!("/{path}"));
            assert_eq!(reply.url, Some(index), "{url}");
            let Some(location) = reply.location else {
                return Some((reply.status, reply.body, hops));
            };
            url = if location.starts_with("//") {
                format!("{scheme}:{location}")
            } else if location.starts_with('/') {
                format!("{scheme}://{authority}{location}")
            } else if location.contains("://") {
                location
            } else {
                let directory = path.rfind('/').map_or("", |slash| &path[..=slash]);
                format!("{scheme}://{authority}/{directory}{location}")
            };
        }
        None
    }

    #[test]
    fn every_well_behaved_url_leads_to_its_planned_answer() {
        let plan = Plan::new(5, 6_000);
        for url in plan.iter() {
            let Answer::Status { code, body } = url.expect.over_http1().answer else { continue };
            let host = address::parse(&url.host, plan.domain()).map(|(_, host)| host);
            match plan.site(host.unwrap(), true) {
                // Who goes wrong over HTTP/2 alone is good without.
                Site::Good | Site::Scripted { behaviour: Behaviour::BadHttp2 { .. }, .. } => {}
                Site::Scripted { .. } => continue,
            }
            let found = follow(&plan, url.index);
            assert_eq!(found, Some((code, body, url.expect.hops.unwrap())), "{}", url.text);
        }
    }

    #[test]
    fn two_in_three_hosts_that_are_served_well_offer_http2() {
        let plan = Plan::new(5, 6_000);
        let (mut hosts, mut offer) = (0, 0);
        for url in plan.iter() {
            let secure = url.text.starts_with("https:") && url.expect.hops == Some(0);
            let Some((_, host)) = address::parse(&url.host, plan.domain()) else { continue };
            let good = plan.site(host, true) == Site::Good;
            assert!(good || !plan.offers_http2(host), "{}", url.text);
            let scripted = matches!(url.class, Class::BadHttp2(_));
            if let (true, Answer::Status { .. }) = (secure && !scripted, url.expect.answer) {
                assert_eq!(url.expect.http2, plan.offers_http2(host), "{}", url.text);
                hosts += u32::from(good);
                offer += u32::from(url.expect.http2);
            }
        }
        assert!((0.64..0.70).contains(&(f64::from(offer) / f64::from(hosts))), "{offer}/{hosts}");
    }

    #[test]
    fn names_resolve_as_planned() {
        let plan = Plan::new(5, 3_000);
        for url in plan.iter() {
            let (lookup, about) = plan.lookup(&url.host, false);
            match url.class {
                Class::NxDomain => assert_eq!(lookup, Lookup::NxDomain),
                Class::ServFail => assert_eq!(lookup, Lookup::ServFail),
                Class::DnsSilence => assert_eq!(lookup, Lookup::Silence),
                _ => assert_eq!(lookup, Lookup::addresses(address::address(about.unwrap()), TTL)),
            }
        }
        assert_eq!(plan.lookup("example.com", false), (Lookup::Refused, None));
        assert_eq!(plan.lookup("x.s5.stoop.test", false), (Lookup::NxDomain, None));
        assert_eq!(plan.lookup("h3000.s5.stoop.test", false), (Lookup::NxDomain, None));
        assert_eq!(plan.lookup("gone-h1.s5.stoop.test", false).0, Lookup::NxDomain);
    }
}
