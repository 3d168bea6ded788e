//! The behaviour of each host of a plan, computed when a client connects to it.

use std::time::Duration;

use super::address::{self, Prefix};
use super::class::{Class, Family};
use super::draft::{Draft, PlannedFraming};
use super::plan::Plan;
use super::planned_response::PlannedResponse;
use super::robots;
use super::route::{ParsedPath, RouteStep, authority, needs_tls, parse_path};
use crate::dns::DnsAnswer;
use crate::origin::Behaviour;
use crate::response::ResponseFraming;

/// Bytes of a body that drips: longer than any client waits for.
const DRIP_BYTES: u64 = 100_000;

/// The time between two bytes of it: slow enough to cost nothing, steady enough to trip no idle limit.
const DRIP_EVERY: Duration = Duration::from_millis(250);

/// The time between two pieces of an endless body, for the same reasons.
const ENDLESS_EVERY: Duration = Duration::from_millis(100);

/// Seconds that names may be cached: longer than a run.
const TTL_SECONDS: u32 = 300;

/// Each step of a redirect loop waits this fraction of what a page waits.
const LOOP_STEPS: u32 = 20;

/// Bytes that are sent at most of a body that is cut.
const CUT_SENT_BYTES_MAX: u64 = 64 * 1024;

/// Bytes that are announced at least of a body that is cut.
const CUT_ANNOUNCED_BYTES_MIN: u64 = 1_000;

/// What a host does with its connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Site {
    /// A well-behaved server: see [`Plan::response`]. Hosts that the plan does not have are such servers
    /// too, and answer 404.
    Good,
    /// A script, the same for every request.
    Scripted { behaviour: Behaviour, delay: Duration },
}

impl Plan {
    /// How this host treats a connection, with or without TLS.
    pub(crate) fn site(&self, host: u64, tls: bool) -> Site {
        use Class as C;
        let Some(draft) = self.host(host) else { return Site::Good };
        let announced = self.body_length(&draft).max(CUT_ANNOUNCED_BYTES_MIN);
        let sent = (announced / 2).min(CUT_SENT_BYTES_MAX);
        let behaviour = match draft.class {
            C::Success if draft.framed == PlannedFraming::UntilClose => {
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

    /// The response of a well-behaved host to a request for this target, at this prefix of its name.
    pub(crate) fn response(
        &self,
        host: u64,
        tls: bool,
        prefix: Prefix,
        target: &str,
    ) -> PlannedResponse {
        let not_found = PlannedResponse::bodiless(Some(host), 404);
        if robots::is_asked_for(target) {
            return robots::response(self.kind(host), host);
        }
        let Some(ParsedPath { page, home, is_private }) = parse_path(target) else {
            return not_found;
        };
        let index = page.unwrap_or(host);
        let draft = match page {
            None => self.host(host),
            Some(page) => self.page(host, page).filter(|_| page != host),
        };
        let draft = draft.filter(|draft| is_served(draft.class) && draft.is_private == is_private);
        let Some(draft) = draft else { return not_found };
        let here = RouteStep { tls, www: prefix == Prefix::Www, home };
        if let Some(location) = self.failing_location(index, &draft, here) {
            let delay = match draft.class {
                Class::RedirectLoop => self.delay(&draft) / LOOP_STEPS,
                _ => self.delay(&draft),
            };
            return PlannedResponse {
                location: Some(location),
                delay,
                ..PlannedResponse::bodiless(Some(index), 302)
            };
        }
        let steps = draft.route.steps;
        let Some(step) = steps.iter().position(|step| *step == here) else { return not_found };
        let delay = self.delay(&draft) / steps.len() as u32;
        let response = PlannedResponse {
            delay,
            close: draft.closes,
            ..PlannedResponse::bodiless(Some(index), 200)
        };
        if let Some(location) = draft.route.location(step, &self.place(index, &draft)) {
            return PlannedResponse {
                status: draft.route.status(step),
                location: Some(location),
                ..response
            };
        }
        let framing = match draft.framed {
            PlannedFraming::Length => ResponseFraming::Length,
            PlannedFraming::Chunked | PlannedFraming::UntilClose => ResponseFraming::Chunked,
            PlannedFraming::ChunkedTrailers => ResponseFraming::ChunkedTrailers,
        };
        PlannedResponse {
            status: draft.status,
            framing,
            body: self.body_length(&draft),
            busy: draft.busy,
            ..response
        }
    }

    /// The location of a redirect that fails, if this is one.
    fn failing_location(&self, index: u64, draft: &Draft, here: RouteStep) -> Option<String> {
        let place = self.place(index, draft);
        let ports = self.ports();
        let (scheme, port) = if here.tls { ("https", ports.https) } else { ("http", ports.http) };
        let at = |name: &str, port| Some(authority(scheme, name, port) + "/");
        match draft.class {
            Class::RedirectToNxDomain => at(&self.absent_name(place.host), port),
            Class::RedirectToRefused => at(&place.name(here), ports.refused),
            Class::RedirectToBlackHole => at(&place.name(here), ports.black_hole),
            Class::RedirectLoop => Some(place.path(RouteStep { home: !here.home, ..here })),
            _ => None,
        }
    }

    /// What the name server says to a name in lower case, and which URL it is about.
    pub(crate) fn dns_answer(&self, name: &str, shared: bool) -> (DnsAnswer, Option<u64>) {
        if name != self.domain() && !name.ends_with(&format!(".{}", self.domain())) {
            return (DnsAnswer::Refused, None);
        }
        let Some((prefix, host)) = address::parse(name, self.domain()) else {
            return (DnsAnswer::NxDomain, None);
        };
        let Some(draft) = self.host(host) else { return (DnsAnswer::NxDomain, None) };
        let answer = match (prefix, draft.class) {
            (Prefix::Gone, _) | (_, Class::NxDomain) => DnsAnswer::NxDomain,
            (_, Class::ServFail) => DnsAnswer::ServFail,
            (_, Class::DnsSilence) => DnsAnswer::Silence,
            _ if shared => DnsAnswer::addresses([std::net::Ipv4Addr::LOCALHOST], TTL_SECONDS),
            _ => DnsAnswer::addresses(address::address(host), TTL_SECONDS),
        };
        (answer, Some(host))
    }
}

/// Whether a well-behaved host answers requests for a URL of this class.
fn is_served(class: Class) -> bool {
    let never = [Class::NxDomain, Class::ServFail, Class::DnsSilence, Class::Refused];
    !never.contains(&class) && class != Class::BlackHole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internet::expect::PlannedResult;

    /// Follows the redirects of a URL through the plan: status, length and number of redirects.
    fn follow(plan: &Plan, index: u64) -> Option<(u16, u64, u32)> {
        let mut url = plan.url(index)?.text;
        for hops in 0..20 {
            let (scheme, rest) = url.split_once("://")?;
            let (authority, path) = rest.split_once('/')?;
            let (name, _) = authority.split_once(':')?;
            let (prefix, host) = address::parse(name, plan.domain())?;
            let response = plan.response(host, scheme == "https", prefix, &format!("/{path}"));
            assert_eq!(response.url, Some(index), "{url}");
            let Some(location) = response.location else {
                return Some((response.status, response.body, hops));
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
            let PlannedResult::Status { code, body } = url.expect.over_http1().result else {
                continue;
            };
            let host = address::parse(&url.host, plan.domain()).map(|(_, host)| host);
            match plan.site(host.unwrap(), true) {
                // A host that goes wrong over HTTP/2 alone is well-behaved without it.
                Site::Good | Site::Scripted { behaviour: Behaviour::BadHttp2 { .. }, .. } => {}
                Site::Scripted { .. } => continue,
            }
            let found = follow(&plan, url.index);
            assert_eq!(found, Some((code, body, url.expect.hops.unwrap())), "{}", url.text);
        }
    }

    #[test]
    fn two_in_three_well_behaved_hosts_offer_http2() {
        let plan = Plan::new(5, 6_000);
        let (mut hosts, mut offer) = (0, 0);
        for url in plan.iter() {
            let secure = url.text.starts_with("https:") && url.expect.hops == Some(0);
            let Some((_, host)) = address::parse(&url.host, plan.domain()) else { continue };
            let good = plan.site(host, true) == Site::Good;
            assert!(good || !plan.offers_http2(host), "{}", url.text);
            let scripted = matches!(url.class, Class::BadHttp2(_));
            if let (true, PlannedResult::Status { .. }) = (secure && !scripted, url.expect.result) {
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
            let (answer, about) = plan.dns_answer(&url.host, false);
            match url.class {
                Class::NxDomain => assert_eq!(answer, DnsAnswer::NxDomain),
                Class::ServFail => assert_eq!(answer, DnsAnswer::ServFail),
                Class::DnsSilence => assert_eq!(answer, DnsAnswer::Silence),
                _ => {
                    assert_eq!(
                        answer,
                        DnsAnswer::addresses(address::address(about.unwrap()), TTL_SECONDS)
                    )
                }
            }
        }
        assert_eq!(plan.dns_answer("example.com", false), (DnsAnswer::Refused, None));
        assert_eq!(plan.dns_answer("x.s5.stoop.test", false), (DnsAnswer::NxDomain, None));
        assert_eq!(plan.dns_answer("h3000.s5.stoop.test", false), (DnsAnswer::NxDomain, None));
        assert_eq!(plan.dns_answer("gone-h1.s5.stoop.test", false).0, DnsAnswer::NxDomain);
    }
}
