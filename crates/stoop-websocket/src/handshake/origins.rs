//! [`Origins`]: which pages may open a connection.

use stoop::Request;

/// Which web pages may open a connection to a server (RFC 6455 §10.2).
///
/// A browser lets any page connect to any server, sends that server's cookies along, and names the page's origin. A
/// server that goes by cookies has to look at it, or other sites act for its users. Clients that are no
/// browsers send no origin and are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Pages of the host and port that the request is for: the default. Over TLS they have to have come over https: what an
    /// attacker on the way has put into `http://example.com` opens no `wss://example.com`. Without TLS either scheme will
    /// do, because a proxy may have ended that of the page.
    ///
    /// Only the connection is looked at, and not what proxies say: behind one that ends TLS or changes Host, name the
    /// origins by [`Listed`](Self::Listed), with their scheme.
    #[default]
    Same,
    /// Pages of these origins, such as `https://example.com`, without a path.
    Listed(Vec<String>),
    /// All pages, also of other sites.
    Any,
}

impl Origins {
    pub(crate) fn allow(&self, request: &Request) -> bool {
        let Some(origin) = request.field("origin") else { return true };
        let Ok(origin) = str::from_utf8(origin) else { return *self == Self::Any };
        match self {
            Self::Same => {
                let connection = request.connection();
                let is_secure = connection.is_some_and(|connection| connection.is_secure());
                is_same(origin, request.authority(), is_secure)
            }
            Self::Listed(origins) => {
                origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin))
            }
            Self::Any => true,
        }
    }
}

/// Whether an origin is that of a request for `authority`, which came over TLS or not. A browser leaves the scheme's own
/// port away (RFC 6454 §6.1), and another client may not.
fn is_same(origin: &str, authority: &str, is_secure: bool) -> bool {
    let Some((scheme, host)) = origin.split_once("://") else { return false };
    let port = match () {
        () if scheme.eq_ignore_ascii_case("https") => ":443",
        () if scheme.eq_ignore_ascii_case("http") && !is_secure => ":80",
        () => return false,
    };
    without_port(host, port).eq_ignore_ascii_case(without_port(authority, port))
}

fn without_port<'a>(host: &'a str, port: &str) -> &'a str {
    host.strip_suffix(port).unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(origins: &Origins, host: &str, origin: Option<&str>) -> bool {
        let mut request = Request::get("/chat").unwrap().with_field("host", host).unwrap();
        if let Some(origin) = origin {
            request = request.with_field("origin", origin).unwrap();
        }
        origins.allow(&request)
    }

    /// RFC 6455 §10.2.
    #[test]
    fn pages_of_other_sites_are_refused_unless_they_are_listed() {
        let same = Origins::Same;
        for (host, origin, allowed) in [
            ("a.test", None, true),
            ("a.test", Some("https://a.test"), true),
            ("A.test:443", Some("https://a.TEST"), true),
            ("a.test:8080", Some("http://a.test:8080"), true),
            ("a.test:8080", Some("http://a.test"), false),
            ("a.test", Some("https://b.test"), false),
            ("a.test", Some("https://a.test.evil"), false),
            ("a.test", Some("null"), false),
            ("a.test", Some("a.test"), false),
            ("", Some(""), false),
        ] {
            assert_eq!(allows(&same, host, origin), allowed, "{host} {origin:?}");
        }
        for (host, origin, plain, secure) in [
            ("a.test", "https://a.test", true, true),
            ("a.test", "HTTPS://a.test:443", true, true),
            ("a.test", "http://a.test", true, false),
            ("a.test:8443", "https://a.test:8443", true, true),
            ("a.test:8443", "http://a.test:8443", true, false),
            ("a.test", "ftp://a.test", false, false),
            ("a.test", "https://b.test", false, false),
        ] {
            assert_eq!(is_same(origin, host, false), plain, "{host} {origin}");
            assert_eq!(is_same(origin, host, true), secure, "{host} {origin}");
        }
        let listed = Origins::Listed(vec!["https://b.test".into()]);
        assert!(allows(&listed, "a.test", Some("https://B.test")));
        assert!(!allows(&listed, "a.test", Some("https://a.test")));
        assert!(allows(&listed, "a.test", None) && allows(&Origins::Any, "a", Some("null")));
    }
}
