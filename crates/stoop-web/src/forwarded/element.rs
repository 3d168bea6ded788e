//! The grammar of `Forwarded` (RFC 7239 §4).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Elements of all fields of a request, beyond which it is malformed: no chain of proxies is so long.
pub(super) const ELEMENTS_MAX: usize = 64;

/// `forwarded-element = [ forwarded-pair ] *( ";" [ forwarded-pair ] )`: what one proxy has said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Element {
    pub(super) node: Option<String>,
    pub(super) by: Option<String>,
    pub(super) scheme: Option<String>,
    pub(super) host: Option<String>,
}

/// A node of §6: where a request came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    Address(SocketAddr),
    /// `unknown`, or an identifier that hides the address (§6.2, §6.3).
    Hidden,
}

/// `Forwarded = 1#forwarded-element`: the elements of one field, added to those before. None if it is malformed.
pub(super) fn read_elements(field: &[u8], elements: &mut Vec<Element>) -> Option<()> {
    let mut rest = std::str::from_utf8(field).ok()?;
    loop {
        rest = trim(rest);
        let mut element = Element::default();
        let mut is_empty = true;
        loop {
            // A pair may be left out, and so may an element (RFC 9110 §5.6.1).
            if !rest.is_empty() && !rest.starts_with([';', ',']) {
                rest = read_pair(rest, &mut element)?;
                is_empty = false;
            }
            rest = trim(rest);
            match rest.strip_prefix(';') {
                Some(behind) => rest = trim(behind),
                None => break,
            }
        }
        if !is_empty {
            if elements.len() == ELEMENTS_MAX {
                return None;
            }
            elements.push(element);
        }
        match rest.strip_prefix(',') {
            Some(behind) => rest = behind,
            None => return rest.is_empty().then_some(()),
        }
    }
}

fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t'])
}

/// `forwarded-pair = token "=" value`, `value = token / quoted-string`. Each parameter stands once; names are compared
/// without regard to case (§4), and those that are not known are read past.
fn read_pair<'a>(text: &'a str, element: &mut Element) -> Option<&'a str> {
    let (name, rest) = read_token(text)?;
    let (value, rest) = read_value(rest.strip_prefix('=')?)?;
    let lower = name.to_ascii_lowercase();
    let slot = match &*lower {
        "for" => &mut element.node,
        "by" => &mut element.by,
        "proto" => &mut element.scheme,
        "host" => &mut element.host,
        _ => return Some(rest),
    };
    slot.replace(value).is_none().then_some(rest)
}

/// `token = 1*tchar` (RFC 9110 §5.6.2).
fn read_token(text: &str) -> Option<(&str, &str)> {
    let is_tchar = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    let end = text.bytes().position(|byte| !is_tchar(byte)).unwrap_or(text.len());
    (end > 0).then(|| text.split_at(end))
}

fn read_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        return read_token(text).map(|(token, rest)| (token.to_owned(), rest));
    };
    let mut value = String::new();
    let mut characters = quoted.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((value, &quoted[at + 1..])),
            '\\' => value.push(characters.next()?.1),
            character => value.push(character),
        }
    }
    None
}

/// `node = nodename [ ":" node-port ]`, `nodename = IPv4address / "[" IPv6address "]" / "unknown" / obfnode` (§6). None
/// if it is malformed.
pub(super) fn read_node(node: &str) -> Option<Node> {
    let (name, port) = match node.rfind(']') {
        Some(end) => (&node[..=end], node[end + 1..].strip_prefix(':')),
        None => node.split_once(':').map_or((node, None), |(name, port)| (name, Some(port))),
    };
    if name.len() + port.map_or(0, |port| port.len() + 1) != node.len() {
        return None;
    }
    // `node-port = port / obfport`, `port = 1*5DIGIT`.
    let port = match port {
        None => 0,
        Some(hidden) if is_obfuscated(hidden) => 0,
        Some(port) if port.bytes().all(|digit| digit.is_ascii_digit()) => port.parse().ok()?,
        Some(_) => return None,
    };
    if name.eq_ignore_ascii_case("unknown") || is_obfuscated(name) {
        return Some(Node::Hidden);
    }
    let ip: IpAddr = match name.strip_prefix('[') {
        Some(inner) => inner.strip_suffix(']')?.parse::<Ipv6Addr>().ok()?.into(),
        None => name.parse::<Ipv4Addr>().ok()?.into(),
    };
    Some(Node::Address(SocketAddr::new(ip.to_canonical(), port)))
}

/// `obfnode = "_" 1*( ALPHA / DIGIT / "." / "_" / "-")` (§6.3).
fn is_obfuscated(text: &str) -> bool {
    text.strip_prefix('_').is_some_and(|rest| {
        let is_of_it = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        !rest.is_empty() && rest.bytes().all(is_of_it)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(field: &str) -> Option<Vec<Element>> {
        let mut elements = Vec::new();
        read_elements(field.as_bytes(), &mut elements).map(|()| elements)
    }

    fn nodes(field: &str) -> Vec<String> {
        let elements = read(field).unwrap_or_else(|| panic!("{field}"));
        elements.into_iter().map(|element| element.node.unwrap_or_default()).collect()
    }

    /// §4, the examples.
    #[test]
    fn elements_are_separated_by_commas_and_pairs_by_semicolons() {
        assert_eq!(nodes(r#"for="_gazonk""#), ["_gazonk"]);
        assert_eq!(nodes(r#"For="[2001:db8:cafe::17]:4711""#), ["[2001:db8:cafe::17]:4711"]);
        let all = read("for=192.0.2.60;proto=http;by=203.0.113.43").unwrap().remove(0);
        assert_eq!((&*all.node.unwrap(), &*all.by.unwrap()), ("192.0.2.60", "203.0.113.43"));
        assert_eq!(all.scheme.as_deref(), Some("http"));
        assert_eq!(nodes("for=192.0.2.43, for=198.51.100.17"), ["192.0.2.43", "198.51.100.17"]);
        // §7.1: lists over several fields are one.
        let mut elements = Vec::new();
        for field in [&b"for=a, for=b"[..], b"for=c"] {
            read_elements(field, &mut elements).unwrap();
        }
        assert_eq!(elements.len(), 3);
    }

    #[test]
    fn pairs_and_elements_may_be_empty_and_unknown_parameters_stand() {
        assert_eq!(nodes(" ,for=a;, ,;for=b ; secret=\"x,;\\\"=\"\t,"), ["a", "b"]);
        assert_eq!(nodes(""), [""; 0]);
        let quoted = read(r#"host="a\"b,;=\\";PROTO=HTTPS"#).unwrap().remove(0);
        assert_eq!((&*quoted.host.unwrap(), &*quoted.scheme.unwrap()), ("a\"b,;=\\", "HTTPS"));
    }

    #[test]
    fn another_field_is_malformed() {
        for field in [
            "for",
            "for=",
            "=a",
            "for =a",
            "for= a",
            "for=a b",
            "for=a;for=b",
            "for=[::1]",
            "for=a:80",
            r#"for="a"#,
            r#"for="a\"#,
            r#"for="a"b"#,
            "for=a\u{e9}",
        ] {
            assert_eq!(read(field), None, "{field}");
        }
        let many = vec!["for=a"; ELEMENTS_MAX + 1].join(",");
        assert!(read(&many).is_none() && read(&many[6..]).is_some());
    }

    /// Whatever comes is read to its end or refused, within the bound of elements; and what was read, written as quoted
    /// strings, is read as the same.
    #[test]
    fn no_field_panics_and_what_is_read_is_read_again_the_same() {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        // Bytes that are the same in each run (xorshift, Marsaglia 2003).
        let mut below = |end: usize| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as usize % end
        };
        let parts: [&[u8]; 17] = [
            b"for=",
            b"by=",
            b"host=",
            b"proto=",
            b"x=",
            b"a",
            b"\"",
            b"\\",
            b"[::1]",
            b"1.2.3.4:5",
            b"_b",
            b";",
            b",",
            b" ",
            b"=",
            b"\xc3\xa9",
            b"\xff",
        ];
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
        let mut read = 0;
        for _ in 0..20_000 {
            let count = below(12);
            let field: Vec<u8> = (0..count).flat_map(|_| parts[below(17)]).copied().collect();
            let mut elements = Vec::new();
            if read_elements(&field, &mut elements).is_none() {
                continue;
            }
            assert!(elements.len() <= ELEMENTS_MAX);
            read += usize::from(!elements.is_empty());
            let written = elements.iter().map(|element| {
                let pairs = [
                    ("for", &element.node),
                    ("by", &element.by),
                    ("proto", &element.scheme),
                    ("host", &element.host),
                ];
                let pairs = pairs.iter().filter_map(|(name, value)| {
                    value.as_ref().map(|value| format!("{name}=\"{}\"", quoted(value)))
                });
                let pairs: Vec<_> = pairs.chain(["z=z".to_owned()]).collect();
                pairs.join(";")
            });
            let written = written.collect::<Vec<_>>().join(", ");
            let mut again = Vec::new();
            assert!(read_elements(written.as_bytes(), &mut again).is_some(), "{written}");
            assert_eq!(again, elements, "{written}");
            for node in elements.iter().filter_map(|element| element.node.as_deref()) {
                let _ = read_node(node);
            }
        }
        assert!(read > 100, "{read}");
    }

    /// §6.
    #[test]
    fn a_node_is_an_address_or_hidden() {
        let address = |text: &str| Some(Node::Address(text.parse().unwrap()));
        assert_eq!(read_node("192.0.2.43"), address("192.0.2.43:0"));
        assert_eq!(read_node("192.0.2.43:47011"), address("192.0.2.43:47011"));
        assert_eq!(read_node("[2001:db8::1]"), address("[2001:db8::1]:0"));
        assert_eq!(read_node("[2001:db8::1]:47011"), address("[2001:db8::1]:47011"));
        assert_eq!(read_node("[::ffff:192.0.2.1]:1"), address("192.0.2.1:1"));
        assert_eq!(read_node("192.0.2.43:_port"), address("192.0.2.43:0"));
        for hidden in ["unknown", "Unknown", "unknown:80", "_hidden", "_SEVKISEK", "_a.b-c_:_x"] {
            assert_eq!(read_node(hidden), Some(Node::Hidden), "{hidden}");
        }
        for malformed in [
            "",
            ":",
            ":80",
            "_",
            "_é",
            "a",
            "1.2.3",
            "1.2.3.4:",
            "1.2.3.4:65536",
            "1.2.3.4:x",
            "::1",
            "[::1",
            "[::1]80",
            "[1.2.3.4]",
            "[::1]:",
            "unknown:x",
        ] {
            assert_eq!(read_node(malformed), None, "{malformed}");
        }
    }
}
