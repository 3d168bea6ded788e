//! `X-Forwarded-For`, `X-Forwarded-Proto` and `X-Forwarded-Host`: lists without a specification.

use std::net::{IpAddr, SocketAddr};

/// An address as proxies write it, with a port or without, brackets around IPv6 or none.
pub(super) fn read_address(text: &str) -> Option<SocketAddr> {
    let text = text.trim();
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let address = match (bare.parse::<IpAddr>(), text.parse::<SocketAddr>()) {
        (Ok(ip), _) => SocketAddr::new(ip, 0),
        (_, Ok(address)) => address,
        _ => return None,
    };
    Some(SocketAddr::new(address.ip().to_canonical(), address.port()))
}

/// The members of a list over all fields of that name; none of it where a field is no text.
pub(super) fn members(fields: &stoop::Fields, name: &str) -> Vec<String> {
    let texts = fields.all(name).map(|field| std::str::from_utf8(field).unwrap_or(""));
    let members = texts.flat_map(|field| field.split(',')).map(|member| member.trim().to_owned());
    members.collect()
}

/// What the proxy wrote that is `hops` away, the nearest being the first: where the list is shorter, its first member.
pub(super) fn nth_from_end(members: &[String], hops: usize) -> Option<&str> {
    let index = members.len().checked_sub(hops.clamp(1, members.len().max(1)))?;
    members.get(index).map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_proxies_write_them() {
        for (text, address) in [
            ("192.0.2.1", "192.0.2.1:0"),
            (" 192.0.2.1:80 ", "192.0.2.1:80"),
            ("2001:db8::1", "[2001:db8::1]:0"),
            ("[2001:db8::1]", "[2001:db8::1]:0"),
            ("[2001:db8::1]:80", "[2001:db8::1]:80"),
            ("::ffff:192.0.2.1", "192.0.2.1:0"),
        ] {
            assert_eq!(read_address(text), Some(address.parse().unwrap()), "{text}");
        }
        for none in ["", "unknown", "a.test", "192.0.2.1:x", "192.0.2.1:99999", "\"192.0.2.1\""] {
            assert_eq!(read_address(none), None, "{none}");
        }
    }

    #[test]
    fn members_are_counted_from_the_end() {
        let members = ["a", "b", "c"].map(String::from);
        let nth = |hops| nth_from_end(&members, hops);
        assert_eq!((nth(1), nth(3), nth(9), nth(0)), (Some("c"), Some("a"), Some("a"), Some("c")));
        assert_eq!(nth_from_end(&[], 1), None);
    }
}
