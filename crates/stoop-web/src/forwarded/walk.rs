//! Walks from the connection towards the client, past proxies that are trusted.

use std::net::{IpAddr, SocketAddr};

use stoop::Fields;

use super::client::{ForwardedClient, is_host, is_secure};
use super::element::{Element, Node, read_elements, read_node};
use super::legacy::{members, nth_from_end, read_address};

/// The fields that proxies write. The others are the client's own, and say nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ForwardedFields {
    Forwarded,
    XForwarded,
}

/// A `Forwarded` that is none by its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// What a request's fields tell of its client, if the proxy that it came from is one of those that `is_trusted` knows:
/// that is asked before.
pub(crate) fn client_of(
    reads: ForwardedFields,
    fields: &Fields,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Result<ForwardedClient, Malformed> {
    match reads {
        ForwardedFields::Forwarded => by_forwarded(fields, is_trusted),
        ForwardedFields::XForwarded => Ok(by_legacy(fields, is_trusted)),
    }
}

/// Each proxy adds an element behind those that it has received (RFC 7239 §4), so that the last is the peer's, and the one
/// before it is to be believed if the node that the last has named is trusted. Of scheme and host the first proxy that
/// is believed knows best, and else the one behind it.
fn by_forwarded(
    fields: &Fields,
    is_trusted: impl Fn(IpAddr) -> bool,
) -> Result<ForwardedClient, Malformed> {
    let mut elements = Vec::new();
    for field in fields.all("forwarded") {
        read_elements(field, &mut elements).ok_or(Malformed)?;
    }
    let mut client = ForwardedClient::default();
    for Element { node, scheme, host, .. } in elements.into_iter().rev() {
        if let Some(scheme) = scheme.as_deref().and_then(is_secure) {
            client.is_secure = Some(scheme);
        }
        if let Some(host) = host {
            client.host = Some(Some(host).filter(|host| is_host(host)).ok_or(Malformed)?);
        }
        match node.as_deref().map(read_node) {
            Some(Some(Node::Address(address))) => {
                client.address = Some(address);
                if !is_trusted(address.ip()) {
                    break;
                }
            }
            Some(None) => return Err(Malformed),
            // A node without an address may be a trusted proxy or not, so that its part of the list cannot be trusted.
            Some(Some(Node::Hidden)) | None => break,
        }
    }
    Ok(client)
}

/// The same with three lists. What is no address ends the walk.
fn by_legacy(fields: &Fields, is_trusted: impl Fn(IpAddr) -> bool) -> ForwardedClient {
    let mut hops = 0;
    let mut address: Option<SocketAddr> = None;
    for member in members(fields, "x-forwarded-for").iter().rev() {
        hops += 1;
        let Some(told) = read_address(member) else { break };
        address = Some(told);
        if !is_trusted(told.ip()) {
            break;
        }
    }
    let (schemes, hosts) =
        (members(fields, "x-forwarded-proto"), members(fields, "x-forwarded-host"));
    ForwardedClient {
        address,
        is_secure: nth_from_end(&schemes, hops).and_then(is_secure),
        host: nth_from_end(&hosts, hops).filter(|host| is_host(host)).map(str::to_owned),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10.0.0.0/8 is trusted.
    fn walk(
        reads: ForwardedFields,
        lines: &[(&str, &str)],
    ) -> Option<(String, Option<bool>, String)> {
        let mut fields = Fields::new();
        for (name, value) in lines {
            fields.push(name, value.as_bytes()).unwrap();
        }
        let is_trusted = |ip| matches!(ip, IpAddr::V4(ip) if ip.octets()[0] == 10);
        let client = client_of(reads, &fields, is_trusted).ok()?;
        let address = client.address.map(|address| address.to_string()).unwrap_or_default();
        Some((address, client.is_secure, client.host.unwrap_or_default()))
    }

    fn forwarded(field: &str) -> Option<(String, Option<bool>, String)> {
        walk(ForwardedFields::Forwarded, &[("forwarded", field)])
    }

    fn found(
        address: &str,
        is_secure: Option<bool>,
        host: &str,
    ) -> Option<(String, Option<bool>, String)> {
        Some((address.to_owned(), is_secure, host.to_owned()))
    }

    /// A client may have sent elements of its own, which stand in front.
    #[test]
    fn the_walk_ends_at_the_first_node_that_is_not_trusted() {
        assert_eq!(
            forwarded("for=192.0.2.7;proto=https;host=a.test"),
            found("192.0.2.7:0", Some(true), "a.test")
        );
        let spoofed = "for=10.9.9.9;proto=https;host=evil.test, for=192.0.2.7;proto=http";
        assert_eq!(forwarded(spoofed), found("192.0.2.7:0", Some(false), ""));
        let two =
            "for=1.1.1.1, for=192.0.2.7;proto=https;host=a.test, for=10.0.0.1;proto=http;host=b";
        assert_eq!(forwarded(two), found("192.0.2.7:0", Some(true), "a.test"));
        // What the first does not say, the one behind it does.
        let less = "for=192.0.2.7, for=\"10.0.0.1:80\";proto=https;host=b";
        assert_eq!(forwarded(less), found("192.0.2.7:0", Some(true), "b"));
        // All are trusted: the first of them is the client.
        assert_eq!(forwarded("for=10.0.0.2, for=10.0.0.1"), found("10.0.0.2:0", None, ""));
        assert_eq!(forwarded(""), found("", None, ""));
    }

    #[test]
    fn what_is_hidden_ends_the_walk() {
        assert_eq!(
            forwarded("for=1.1.1.1, for=unknown;proto=https, for=10.0.0.1"),
            found("10.0.0.1:0", Some(true), "")
        );
        assert_eq!(forwarded("for=1.1.1.1, for=_x"), found("", None, ""));
        assert_eq!(forwarded("for=1.1.1.1, proto=https"), found("", Some(true), ""));
    }

    #[test]
    fn what_a_trusted_proxy_should_not_say_is_malformed() {
        for field in ["for=a.test", "for=1.1.1.1;host=\"a b\"", "for=\"", "for=1.1.1.1 x"] {
            assert_eq!(forwarded(field), None, "{field}");
        }
        // In front of where the walk ends only the grammar counts.
        assert_eq!(forwarded("for=a.test, for=1.1.1.1"), found("1.1.1.1:0", None, ""));
    }

    #[test]
    fn the_older_fields_are_walked_alike() {
        let walk = |forwarded: &str, schemes: &str, hosts: &str| {
            let names = ["x-forwarded-for", "x-forwarded-proto", "x-forwarded-host"];
            let lines: Vec<_> = names.into_iter().zip([forwarded, schemes, hosts]).collect();
            let lines: Vec<_> = lines.into_iter().filter(|(_, value)| !value.is_empty()).collect();
            walk(ForwardedFields::XForwarded, &lines)
        };
        assert_eq!(
            walk("192.0.2.7", "https", "a.test"),
            found("192.0.2.7:0", Some(true), "a.test")
        );
        assert_eq!(
            walk("10.9.9.9, 192.0.2.7", "https, http", "evil, a"),
            found("192.0.2.7:0", Some(false), "a")
        );
        assert_eq!(
            walk("192.0.2.7, 10.0.0.1", "https, http", "a, b"),
            found("192.0.2.7:0", Some(true), "a")
        );
        assert_eq!(walk("192.0.2.7, 10.0.0.1", "https", ""), found("192.0.2.7:0", Some(true), ""));
        assert_eq!(walk("1.1.1.1, unknown, 10.0.0.1", "", ""), found("10.0.0.1:0", None, ""));
        assert_eq!(walk("", "https", "a b"), found("", Some(true), ""));
        assert_eq!(walk("", "gopher", ""), found("", None, ""));
    }
}
