//! [`Origins`]: which pages may open a connection.

use stoop::Request;

/// Which web pages may open a connection to a server (RFC 6455 §10.2).
///
/// A browser lets any page connect to any server, sends that server's cookies along, and names the page's origin. A
/// server that goes by cookies has to look at it, or other sites act for its users. Clients that are no
/// browsers send no origin and are accepted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Origins {
    /// Pages of the host and port that the request is for: the default. Behind a proxy that changes Host, name the
    /// origins.
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
                let host =
                    origin.split_once("://").map(|(scheme, host)| (default_port(scheme), host));
                host.is_some_and(|(port, host)| {
                    let authority = request.authority();
                    without_port(host, port).eq_ignore_ascii_case(without_port(authority, port))
                })
            }
            Self::Listed(origins) => {
                origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin))
            }
            Self::Any => true,
        }
    }
}

/// What a browser leaves away (RFC 6454 §6.1), and another client may not.
fn default_port(scheme: &str) -> &'static str {
    if scheme.eq_ignore_ascii_case("https") { ":443" } else { ":80" }
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
        let listed = Origins::Listed(vec!["https://b.test".into()]);
        assert!(allows(&listed, "a.test", Some("https://B.test")));
        assert!(!allows(&listed, "a.test", Some("https://a.test")));
        assert!(allows(&listed, "a.test", None) && allows(&Origins::Any, "a", Some("null")));
    }
}
