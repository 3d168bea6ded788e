//! The redirects from a URL to its response, and the form of each `location`.

use super::address::{self, Prefix};
use super::class::{Class, Family};
use super::random::UrlRandom;

/// The ports a plan's URLs have. A URL at its scheme's default port (80, 443) does not show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// Where plain HTTP is spoken.
    pub http: u16,
    /// Where TLS is spoken.
    pub https: u16,
    /// Where connections are refused.
    pub refused: u16,
    /// Where connections never succeed.
    pub black_hole: u16,
}

impl Default for Ports {
    /// 8080, 8443, 8081 and 8082. A running internet has free ports instead, unless told otherwise.
    fn default() -> Self {
        Self { http: 8080, https: 8443, refused: 8081, black_hole: 8082 }
    }
}

/// One request of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RouteStep {
    pub(crate) tls: bool,
    pub(crate) www: bool,
    /// Below the page itself, at `home`.
    pub(crate) home: bool,
}

const HTTP: RouteStep = RouteStep { tls: false, www: false, home: false };
const HTTPS: RouteStep = RouteStep { tls: true, www: false, home: false };
const WWW: RouteStep = RouteStep { tls: true, www: true, home: false };
const HOME: RouteStep = RouteStep { tls: true, www: false, home: true };
const WWW_HOME: RouteStep = RouteStep { tls: true, www: true, home: true };

/// All the steps of a route, and how often it is drawn among redirecting URLs.
const REDIRECTING: &[(u32, &[RouteStep])] = &[
    (55, &[HTTP, HTTPS]),
    (18, &[HTTPS, WWW]),
    (2, &[WWW, HTTPS]),
    (8, &[HTTPS, HOME]),
    (3, &[HTTPS, HTTP]),
    (10, &[HTTP, HTTPS, WWW]),
    (2, &[HTTPS, WWW, WWW_HOME]),
    (2, &[HTTP, HTTPS, WWW, WWW_HOME]),
];

/// In 10,000 answered URLs: those that redirect first. Together with the redirects that fail this
/// makes 30 % of all.
const REDIRECTED: u32 = 3_213;

/// In 10,000 URLs whose trouble needs TLS: those that come there from plain HTTP.
const REDIRECTED_TO_TLS: u32 = 2_500;

/// In 10,000 others: those that are plain HTTP.
const PLAIN: u32 = 800;

const STATUSES: &[(u32, u16)] = &[(60, 301), (25, 302), (7, 307), (8, 308)];

/// The requests that a client makes for a URL, and the status of each redirect between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RedirectRoute {
    pub(crate) steps: &'static [RouteStep],
    statuses: [u16; 3],
    /// Which of the equivalent forms a `location` has.
    form: u32,
}

impl RedirectRoute {
    pub(crate) fn draw(class: Class, draw: &mut UrlRandom) -> Self {
        let way = draw.below(10_000);
        let redirecting = draw.choose(REDIRECTING).unwrap_or(&[HTTPS]);
        let plain = draw.below(10_000) < PLAIN;
        let steps = if needs_tls(class) {
            if way < REDIRECTED_TO_TLS { &[HTTP, HTTPS][..] } else { &[HTTPS] }
        } else if class.family() == Family::Answered && way < REDIRECTED {
            redirecting
        } else if plain {
            &[HTTP]
        } else {
            &[HTTPS]
        };
        let mut status = || draw.choose(STATUSES).unwrap_or(301);
        let statuses = [status(), status(), status()];
        Self { steps, statuses, form: draw.below(6) }
    }

    /// How many redirects there are between well-behaved places.
    pub(crate) fn hops(&self) -> usize {
        self.steps.len() - 1
    }

    /// The status of the redirect away from this step.
    pub(crate) fn status(&self, step: usize) -> u16 {
        self.statuses.get(step).copied().unwrap_or(301)
    }

    /// What the field `location` says at this step: absolute, without a scheme, or relative.
    pub(crate) fn location(&self, step: usize, place: &UrlParts<'_>) -> Option<String> {
        let (here, there) = (self.steps.get(step)?, self.steps.get(step + 1)?);
        let url = place.url(*there);
        Some(match (here.tls == there.tls, here.www == there.www, self.form) {
            (true, true, 0..=2) => place.path(*there),
            (true, true, 3..=4) => place.relative(*there),
            (true, false, 0) => url[url.find("//").unwrap_or(0)..].to_owned(),
            _ => url,
        })
    }
}

/// Whether a URL of this class fails in the handshake or in what that agrees on, so that plain HTTP to
/// the same host works.
pub(crate) fn needs_tls(class: Class) -> bool {
    matches!(
        class,
        Class::UntrustedCertificate
            | Class::WrongName
            | Class::ExpiredCertificate
            | Class::TlsHang
            | Class::TlsClose
            | Class::BadHttp2(_)
    )
}

/// The parts that the text of a URL is made of.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UrlParts<'a> {
    pub(crate) host: u64,
    /// The URL's own number, if it is a further page of its host.
    pub(crate) page: Option<u64>,
    /// Below [`PRIVATE`].
    pub(crate) is_private: bool,
    pub(crate) domain: &'a str,
    pub(crate) ports: Ports,
}

/// The paths that robots.txt forbids, where there is one, begin so.
pub(crate) const PRIVATE: &str = "/private";

impl UrlParts<'_> {
    pub(crate) fn path(&self, step: RouteStep) -> String {
        let above = if self.is_private { PRIVATE } else { "" };
        match (self.page, step.home) {
            (None, false) => format!("{above}/"),
            (None, true) => format!("{above}/home"),
            (Some(page), false) => format!("{above}/p/{page}"),
            (Some(page), true) => format!("{above}/p/{page}/home"),
        }
    }

    /// The path as seen from the page itself.
    fn relative(&self, step: RouteStep) -> String {
        let path = self.path(step);
        let directory = path.find("/p/").map_or(1, |at| at + 3);
        path[directory..].to_owned()
    }

    pub(crate) fn name(&self, step: RouteStep) -> String {
        let prefix = if step.www { Prefix::Www } else { Prefix::Apex };
        address::name(prefix, self.host, self.domain)
    }

    pub(crate) fn url(&self, step: RouteStep) -> String {
        let (scheme, port) =
            if step.tls { ("https", self.ports.https) } else { ("http", self.ports.http) };
        format!("{}{}", authority(scheme, &self.name(step), port), self.path(step))
    }
}

/// `scheme://name:port`, without the port where the scheme implies it.
pub(crate) fn authority(scheme: &str, name: &str, port: u16) -> String {
    match (scheme, port) {
        ("http", 80) | ("https", 443) => format!("{scheme}://{name}"),
        _ => format!("{scheme}://{name}:{port}"),
    }
}

/// What a path says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ParsedPath {
    /// The page it belongs to; `None` is the host's own.
    pub(crate) page: Option<u64>,
    /// Whether it is the page's `home`.
    pub(crate) home: bool,
    /// Whether it is below [`PRIVATE`].
    pub(crate) is_private: bool,
}

/// Reads a target; `None` if no URL of a plan has it.
pub(crate) fn parse_path(target: &str) -> Option<ParsedPath> {
    let path = target.split('?').next().unwrap_or_default();
    let below = path.strip_prefix(PRIVATE);
    let is_private = below.is_some();
    let path = below.unwrap_or(path);
    let (page, home) = match path.strip_prefix("/p/") {
        None => match path {
            "/" => (None, false),
            "/home" => (None, true),
            _ => return None,
        },
        Some(rest) => {
            let (page, home) = rest.strip_suffix("/home").map_or((rest, false), |p| (p, true));
            (Some(page.parse().ok()?), home)
        }
    };
    Some(ParsedPath { page, home, is_private })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLACE: UrlParts<'_> = UrlParts {
        host: 7,
        page: None,
        is_private: false,
        domain: "s1.stoop.test",
        ports: Ports { http: 80, https: 8443, refused: 1, black_hole: 2 },
    };

    #[test]
    fn a_location_has_one_of_three_forms() {
        let route = |steps, form| RedirectRoute { steps, statuses: [301; 3], form };
        let www = route(&[HTTPS, WWW], 1).location(0, &PLACE);
        assert_eq!(www.as_deref(), Some("https://www-h7.s1.stoop.test:8443/"));
        let www = route(&[HTTPS, WWW], 0).location(0, &PLACE);
        assert_eq!(www.as_deref(), Some("//www-h7.s1.stoop.test:8443/"));
        let down = route(&[HTTPS, HTTP], 0).location(0, &PLACE);
        assert_eq!(down.as_deref(), Some("http://h7.s1.stoop.test/"));
        let page = UrlParts { page: Some(9), ..PLACE };
        assert_eq!(route(&[HTTPS, HOME], 0).location(0, &page).as_deref(), Some("/p/9/home"));
        assert_eq!(route(&[HTTPS, HOME], 3).location(0, &page).as_deref(), Some("9/home"));
        assert_eq!(route(&[HTTPS, HOME], 3).location(0, &PLACE).as_deref(), Some("home"));
        assert_eq!(route(&[HTTPS, HOME], 3).location(1, &PLACE), None);
        let private = UrlParts { is_private: true, ..page };
        let home = |form| route(&[HTTPS, HOME], form).location(0, &private);
        assert_eq!(home(0).as_deref(), Some("/private/p/9/home"));
        assert_eq!(home(3).as_deref(), Some("9/home"));
    }

    #[test]
    fn paths_can_be_parsed_back() {
        for page in [None, Some(0), Some(12)] {
            for (step, is_private) in [(HTTPS, false), (HOME, false), (HTTPS, true), (HOME, true)] {
                let path = UrlParts { page, is_private, ..PLACE }.path(step);
                let parsed = ParsedPath { page, home: step.home, is_private };
                assert_eq!(parse_path(&path), Some(parsed), "{path}");
                assert_eq!(path.starts_with("/private/"), is_private);
            }
        }
        let own = ParsedPath { page: None, home: false, is_private: false };
        assert_eq!(parse_path("/?q"), Some(own));
        for other in ["", "/p/", "/p/x", "/p/1/2", "/index.html", "/private", "/private/private/"] {
            assert_eq!(parse_path(other), None, "{other}");
        }
    }

    #[test]
    fn steps_of_a_route_differ() {
        for (_, steps) in REDIRECTING {
            for (i, step) in steps.iter().enumerate() {
                assert!(!steps[..i].contains(step));
            }
        }
        assert_eq!(REDIRECTING.iter().map(|(weight, _)| weight).sum::<u32>(), 100);
    }
}
