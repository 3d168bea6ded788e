//! The pages that show how the server does: to clients of this machine, or to all.

use std::net::{IpAddr, SocketAddr};

use stoop::{Answer, Body, Fields, Handler, IntoHandler, Request};
use stoop_web::{
    AppHandler, BasicAuth, Middleware, Mode, Next, Router, Shared, Sight, StatusPage, get,
};

use super::choices::StatusFor;
use crate::failure::CommandFailure;

/// The page for people, and JSON for programs.
pub(super) const PAGE: &str = "/_stoop/status";

/// The figures for Prometheus.
pub(super) const METRICS: &str = "/_stoop/metrics";

/// Fields by which a proxy tells that a request is another client's, beside all that begin with `x-forwarded`.
const FORWARDING: &[&str] =
    &["forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"];

/// The figures, which stay when the settings are read again.
pub(super) fn sight() -> Sight {
    match memory() {
        Some(_) => Sight::new().memory(|| memory().unwrap_or(0)),
        None => Sight::new(),
    }
}

/// Middleware that answers the two paths where they are shown. Elsewhere they are paths like any other: it is not told
/// that there is something.
pub(super) struct Status {
    who: StatusFor,
    pages: AppHandler,
}

impl Status {
    /// The pages with these figures, for users with a password if there are such.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if their router cannot be built.
    pub(super) fn new(
        who: StatusFor,
        sight: &Sight,
        auth: Option<BasicAuth>,
    ) -> Result<Self, CommandFailure> {
        let page = StatusPage::new(sight).title("stoop serve").endpoint();
        let mut router =
            Router::new().route(PAGE, get(page)).route(METRICS, get(sight.prometheus()));
        if let Some(auth) = auth {
            router = router.layer(auth);
        }
        let app = router.build();
        let app = app.map_err(|error| CommandFailure::Io(format!("cannot serve: {error}")))?;
        Ok(Self { who, pages: app.into_handler() })
    }

    fn is_shown_to(&self, request: &Request) -> bool {
        match self.who {
            StatusFor::All => true,
            StatusFor::None => false,
            StatusFor::Local => {
                let (peer, fields) = (request.remote_address(), request.fields());
                is_of_this_machine(peer, request.authority(), fields)
            }
        }
    }
}

impl Middleware<Shared> for Status {
    fn handle(&self, request: Request, next: Next) -> Answer<<Shared as Mode>::Future, Body> {
        match request.path() {
            PAGE | METRICS if self.is_shown_to(&request) => self.pages.call(request),
            _ => next.answer(request),
        }
    }
}

/// Whether a request is one of a client on this machine, which has asked for this machine.
///
/// - What comes over a Unix socket comes from a proxy, mostly, and has no address.
/// - What a proxy on this machine hands on comes from this machine, and is another client's.
/// - A page of the web that has its own name resolved to a loopback address (DNS rebinding) is read by a browser of
///   this machine; and so is what a proxy hands on with the name that its client has asked for.
fn is_of_this_machine(peer: Option<SocketAddr>, authority: &str, fields: &Fields) -> bool {
    let is_forwarded = fields.iter().any(|field| {
        let name = field.name().to_ascii_lowercase();
        name.starts_with("x-forwarded") || FORWARDING.contains(&&*name)
    });
    peer.is_some_and(|peer| is_loopback(peer.ip())) && !is_forwarded && is_own_name(authority)
}

/// Whether an authority is `localhost` or a loopback address, with whatever port.
fn is_own_name(authority: &str) -> bool {
    let host = match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => host,
        _ => authority,
    };
    let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let address = address.unwrap_or(host).parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(is_loopback)
}

fn is_loopback(ip: IpAddr) -> bool {
    ip.to_canonical().is_loopback()
}

/// The first of the URLs of a server by which the page is seen; `None` if it is for this machine, and none of them is.
pub(super) fn url(who: StatusFor, urls: &[String]) -> Option<String> {
    let is_seen = |url: &&String| match url.split_once("://") {
        Some((_, rest)) => who == StatusFor::All || is_own_name(rest.trim_end_matches('/')),
        None => false,
    };
    let url = urls.iter().find(is_seen)?;
    Some(format!("{}{PAGE}", url.trim_end_matches('/')))
}

/// The resident memory of this process, in bytes, where the system tells.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_this_machine_comes_from_it_and_asks_for_it() {
        let is_local = |peer: &str, authority: &str, lines: &[&str]| {
            let mut fields = Fields::new();
            for name in lines {
                fields.push(name, b"for=127.0.0.1").unwrap();
            }
            is_of_this_machine(peer.parse().ok(), authority, &fields)
        };
        let here = "127.0.0.1:9";
        for peer in [here, "127.8.0.1:9", "[::1]:9", "[::ffff:127.0.0.1]:9"] {
            assert!(is_local(peer, "localhost:8080", &["accept"]), "{peer}");
        }
        for peer in ["192.0.2.7:9", "[2001:db8::7]:9", "0.0.0.0:9", "a Unix socket"] {
            assert!(!is_local(peer, "localhost:8080", &[]), "{peer}");
        }
        for authority in
            ["localhost", "LocalHost:1", "127.0.0.1", "127.0.0.1:80", "[::1]:80", "[::1]"]
        {
            assert!(is_local(here, authority, &[]), "{authority}");
        }
        for authority in
            ["", "site.example", "localhost.site.example:80", "192.0.2.7:80", "[::2]:1", ":80"]
        {
            assert!(!is_local(here, authority, &[]), "{authority}");
        }
        for field in ["forwarded", "Via", "x-forwarded-for", "X-Forwarded-Proto", "x-real-ip"] {
            assert!(!is_local(here, "localhost", &[field]), "{field}");
        }
    }

    #[test]
    fn the_page_is_where_a_client_sees_it() {
        let urls =
            ["unix:/run/a", "http://192.0.2.7:8080/", "https://[::1]:8443/"].map(str::to_owned);
        let all = "http://192.0.2.7:8080/_stoop/status";
        assert_eq!(url(StatusFor::All, &urls).as_deref(), Some(all));
        let local = "https://[::1]:8443/_stoop/status";
        assert_eq!(url(StatusFor::Local, &urls).as_deref(), Some(local));
        assert_eq!(url(StatusFor::Local, &urls[..2]), None);
        assert_eq!(url(StatusFor::All, &urls[..1]), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn the_memory_of_this_process_is_known() {
        let bytes = memory().unwrap();
        assert!(bytes > 100 * 1024 && bytes < 1 << 40, "{bytes}");
    }
}
