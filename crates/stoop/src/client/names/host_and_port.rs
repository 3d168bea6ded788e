//! Hosts and ports as callers write them, checked when they are set: one that no URL can have would never be found.

use std::fmt;
use std::net::IpAddr;

use url::Host;

use crate::error::{Error, ErrorKind, Phase};

/// A host in place of which all hosts are meant.
const ANY_HOST: &str = "*";

/// A host as URLs have it, in lower case, without brackets and the root's dot, and a port.
pub(crate) struct HostAndPort {
    pub(in crate::client) host: Option<Box<str>>,
    pub(in crate::client) port: Option<u16>,
}

impl HostAndPort {
    /// Reads `host:port`, of which either may be empty; an IPv6 address is in brackets.
    pub(in crate::client) fn read(text: &str) -> Result<Self, Error> {
        let invalid = |why: &dyn fmt::Display| invalid(text, "host:port", why);
        let (host, port) = text.rsplit_once(':').ok_or_else(|| invalid(&"it has no colon"))?;
        let port = match port {
            "" => None,
            port => Some(read_port(port).map_err(|why| invalid(&why))?),
        };
        let host = match host {
            "" => None,
            host => Some(read_host(host).map_err(|why| invalid(&why))?),
        };
        Ok(Self { host, port })
    }
}

/// Reads what the addresses of a host are kept by: `host`, `host:port`, `*` or `*:port`.
pub(super) fn read_key(text: &str) -> Result<Box<str>, Error> {
    let invalid = |why: InvalidPart<'_>| invalid(text, "a host, or host:port", &why);
    // An IPv6 address alone ends in what could be a port.
    let is_address = text.ends_with(']') || text.parse::<IpAddr>().is_ok();
    let (host, port) = match text.rsplit_once(':').filter(|_| !is_address) {
        Some((host, port)) => (host, Some(read_port(port).map_err(invalid)?)),
        None => (text, None),
    };
    let host = match host {
        ANY_HOST => ANY_HOST.into(),
        host if is_address && !host.ends_with(']') => host.into(),
        host => read_host(host).map_err(invalid)?,
    };
    Ok(match port {
        Some(port) => format!("{host}:{port}").into(),
        None => host,
    })
}

/// A host of a URL as it is compared: in lower case, and without the root's dot.
pub(super) fn key(host: &str) -> Box<str> {
    host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase().into()
}

/// A host in the form that URLs have it in.
fn read_host(host: &str) -> Result<Box<str>, InvalidPart<'_>> {
    if host.contains(':') && !host.starts_with('[') {
        return Err(InvalidPart::NoBrackets(host));
    }
    match Host::parse(host) {
        Ok(Host::Domain(name)) if name != "." => Ok(key(&name)),
        Ok(Host::Ipv4(address)) => Ok(address.to_string().into()),
        Ok(Host::Ipv6(address)) => Ok(address.to_string().into()),
        _ if host.starts_with('[') && host.contains('%') => Err(InvalidPart::Zone(host)),
        _ => Err(InvalidPart::Host(host)),
    }
}

fn read_port(port: &str) -> Result<u16, InvalidPart<'_>> {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let number = port.parse().ok().filter(|_| is_number);
    number.ok_or(InvalidPart::Port(port))
}

fn invalid(text: &str, form: &str, why: &dyn fmt::Display) -> Error {
    let error = Error::new(ErrorKind::InvalidUrl, Phase::Request);
    error.with_text(format_args!("{text:?} is not {form}: {why}"))
}

/// The part that is wrong.
enum InvalidPart<'a> {
    Host(&'a str),
    NoBrackets(&'a str),
    Zone(&'a str),
    Port(&'a str),
}

impl fmt::Display for InvalidPart<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host("") => f.write_str("the host is empty"),
            Self::Host(host) => write!(f, "no URL can have the host {host:?}"),
            Self::NoBrackets(host) => {
                write!(f, "{host:?} has a colon, and an IPv6 address is written in brackets")
            }
            Self::Zone(host) => write!(f, "{host:?} names a zone, which no URL can"),
            Self::Port("") => f.write_str("the port is empty"),
            Self::Port(port) => write!(f, "the port {port:?} is not a number from 0 to 65535"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_kept_as_urls_have_them() {
        for (text, host, port) in [
            (":", None, None),
            (":81", None, Some(81)),
            ("A.Test.:", Some("a.test"), None),
            ("b\u{fc}cher.test:80", Some("xn--bcher-kva.test"), Some(80)),
            ("0x7f.1:80", Some("127.0.0.1"), Some(80)),
            ("[0::1]:80", Some("::1"), Some(80)),
            ("a_b:65535", Some("a_b"), Some(65535)),
        ] {
            let read = HostAndPort::read(text).unwrap();
            assert_eq!((read.host.as_deref(), read.port), (host, port), "{text}");
        }
        for (text, expected) in [
            ("A.Test.", "a.test"),
            ("A.Test.:080", "a.test:80"),
            ("b\u{fc}cher.test:80", "xn--bcher-kva.test:80"),
            ("*", "*"),
            ("*:80", "*:80"),
            ("::1", "::1"),
            ("[::1]", "::1"),
            ("[::1]:80", "::1:80"),
        ] {
            assert_eq!(&*read_key(text).unwrap(), expected, "{text}");
        }
    }

    #[test]
    fn what_no_url_can_have_is_refused_with_the_part_that_is_wrong() {
        let host_and_port = |text| HostAndPort::read(text).map(|_| ()).unwrap_err();
        let key = |text| read_key(text).unwrap_err();
        for (error, expected) in [
            (host_and_port(""), "\"\" is not host:port: it has no colon"),
            (host_and_port("a.test"), "\"a.test\" is not host:port: it has no colon"),
            (host_and_port("a:x"), "the port \"x\" is not a number from 0 to 65535"),
            (host_and_port("a:+80"), "the port \"+80\" is not a number from 0 to 65535"),
            (host_and_port("a:99999"), "the port \"99999\" is not a number from 0 to 65535"),
            (host_and_port("bad host:80"), "no URL can have the host \"bad host\""),
            (host_and_port("a/b:80"), "no URL can have the host \"a/b\""),
            (host_and_port("1.2.3.999:80"), "no URL can have the host \"1.2.3.999\""),
            (host_and_port(".:80"), "no URL can have the host \".\""),
            (host_and_port("[::1:80"), "no URL can have the host \"[::1\""),
            (
                host_and_port("fe80::1%eth0:80"),
                "\"fe80::1%eth0\" has a colon, and an IPv6 address is written in brackets",
            ),
            (
                host_and_port("[fe80::1%eth0]:80"),
                "\"[fe80::1%eth0]\" names a zone, which no URL can",
            ),
            (key(""), "\"\" is not a host, or host:port: the host is empty"),
            (key("bad host"), "no URL can have the host \"bad host\""),
            (key("a.test:"), "the port is empty"),
            (key("a.test:x"), "the port \"x\" is not a number from 0 to 65535"),
            (key(":80"), "the host is empty"),
            (key("http://a.test"), "the port \"//a.test\" is not a number from 0 to 65535"),
        ] {
            assert_eq!((error.kind(), error.phase()), (ErrorKind::InvalidUrl, Phase::Request));
            assert!(error.to_string().contains(expected), "{error}: {expected}");
        }
    }
}
