//! Options of requests that `get` and `fetch` share: headers, addresses of hosts, the family of addresses.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use stoop::ClientBuilder;

use crate::data::read_file;

/// A header as it is typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Header {
    /// `Name: value`, or `Name;`, which has an empty one.
    Sent(String, Vec<u8>),
    /// `Name:`, which says that none of that name is sent.
    Removed(String),
}

impl Header {
    /// The headers of the options: each one, or a file's.
    ///
    /// # Errors
    /// Those of files, and what is no header.
    pub(crate) fn read_all(options: &[OsString]) -> io::Result<Vec<Self>> {
        let mut all = Vec::new();
        // What is empty, as a variable of the shell may be, says nothing.
        for option in options.iter().filter(|option| !option.is_empty()) {
            let option = option.as_encoded_bytes();
            match option.strip_prefix(b"@") {
                Some(path) => {
                    let content = read_file(&String::from_utf8_lossy(path));
                    let content = content.map_err(|error| {
                        io::Error::new(error.kind(), format!("--header: {error}"))
                    })?;
                    for line in content.split(|byte| *byte == b'\n') {
                        if !line.trim_ascii().is_empty() {
                            all.push(Self::read(line)?);
                        }
                    }
                }
                None => all.push(Self::read(option)?),
            }
        }
        Ok(all)
    }

    fn read(line: &[u8]) -> io::Result<Self> {
        let name = |name: &[u8]| String::from_utf8_lossy(name.trim_ascii()).into_owned();
        if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            return Ok(match line[colon + 1..].trim_ascii() {
                [] => Self::Removed(name(&line[..colon])),
                value => Self::Sent(name(&line[..colon]), value.to_vec()),
            });
        }
        let is_empty = line.trim_ascii_end().strip_suffix(b";");
        is_empty.map(|bare| Self::Sent(name(bare), Vec::new())).ok_or_else(|| {
            let why = format!("-H {:?} is not 'Name: value'", beginning(line));
            io::Error::new(io::ErrorKind::InvalidInput, why)
        })
    }

    /// Whether one of them says that none of that name is sent.
    pub(crate) fn removes(all: &[Self], name: &str) -> bool {
        all.iter().any(
            |header| matches!(header, Self::Removed(removed) if removed.eq_ignore_ascii_case(name)),
        )
    }

    /// Whether one of them has that name.
    pub(crate) fn names(all: &[Self], name: &str) -> bool {
        all.iter().any(|header| match header {
            Self::Sent(known, _) | Self::Removed(known) => known.eq_ignore_ascii_case(name),
        })
    }
}

/// As much of a line without a colon as tells it apart: the rest may be a secret.
fn beginning(line: &[u8]) -> String {
    const CHARS_MAX: usize = 8;
    let line = String::from_utf8_lossy(line);
    let shown: String = line.trim().chars().take(CHARS_MAX).collect();
    if shown.len() < line.trim().len() { shown + "…" } else { shown }
}

/// `HOST:PORT:ADDRESS[,ADDRESS]`: the addresses of a host for a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ResolveRule {
    host: String,
    /// None says that rules before it do not hold.
    addresses: Option<Vec<IpAddr>>,
}

impl ResolveRule {
    /// Reads a rule, for clap.
    ///
    /// # Errors
    /// What is no rule.
    pub(crate) fn read(text: &str) -> Result<Self, String> {
        Self::parse(text).ok_or_else(|| "it is not HOST:PORT:ADDRESS".to_owned())
    }

    fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix('+').unwrap_or(text);
        if let Some(text) = text.strip_prefix('-') {
            let (host, port) = split_host(text)?;
            let port: u16 = port.parse().ok()?;
            return Some(Self { host: format!("{host}:{port}"), addresses: None });
        }
        let (host, rest) = split_host(text)?;
        let (port, addresses) = rest.split_once(':')?;
        let port: u16 = port.parse().ok()?;
        let addresses = addresses.split(',').map(|address| {
            let address = address.trim();
            let bare = address.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
            bare.unwrap_or(address).parse().ok()
        });
        let addresses = addresses.collect::<Option<Vec<_>>>()?;
        let addresses = Some(addresses);
        (!host.is_empty()).then(|| Self { host: format!("{host}:{port}"), addresses })
    }

    /// Has a client use the rules that hold.
    pub(crate) fn apply_all(rules: &[Self], mut builder: ClientBuilder) -> ClientBuilder {
        for (at, rule) in rules.iter().enumerate() {
            let is_removed = rules[at..]
                .iter()
                .any(|later| later.host == rule.host && later.addresses.is_none());
            if let Some(addresses) = rule.addresses.as_ref().filter(|_| !is_removed) {
                builder = builder.resolve(&rule.host, addresses.iter().copied());
            }
        }
        builder
    }
}

/// A host, which may be an IPv6 address in brackets, and what follows the colon behind it.
pub(crate) fn split_host(text: &str) -> Option<(&str, &str)> {
    let end = if text.starts_with('[') { text.find(']')? + 1 } else { text.find(':')? };
    Some((&text[..end], text[end..].strip_prefix(':')?))
}

/// The addresses that are connected to: of one family, or of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Family {
    #[default]
    Both,
    Ipv4,
    Ipv6,
}

impl Family {
    /// Of the options `-4` and `-6`, of which clap takes one.
    pub(crate) fn new(ipv4: bool, ipv6: bool) -> Self {
        match (ipv4, ipv6) {
            (true, _) => Self::Ipv4,
            (false, true) => Self::Ipv6,
            (false, false) => Self::Both,
        }
    }

    /// Has a client keep to it: an address of this end's, of one family alone, can reach no other.
    pub(crate) fn apply(self, builder: ClientBuilder) -> ClientBuilder {
        match self {
            Self::Both => builder,
            Self::Ipv4 => builder.local_address(IpAddr::V4(Ipv4Addr::UNSPECIFIED)),
            Self::Ipv6 => builder.local_address(IpAddr::V6(Ipv6Addr::UNSPECIFIED)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_value_or_none_or_is_removed() {
        let read = |line: &str| Header::read(line.as_bytes()).ok();
        let sent = |name: &str, value: &str| Some(Header::Sent(name.to_owned(), value.into()));
        assert_eq!(read("X-A: b: c "), sent("X-A", "b: c"));
        assert_eq!(read("X-A;"), sent("X-A", ""));
        assert_eq!(read("X-A:"), Some(Header::Removed("X-A".to_owned())));
        assert_eq!(read("X-A"), None);
        let latin1 = Header::read(b"X-A: caf\xe9").ok();
        assert_eq!(latin1, Some(Header::Sent("X-A".to_owned(), b"caf\xe9".to_vec())));
        let all = [Header::Removed("Accept".to_owned())];
        assert!(Header::removes(&all, "accept") && Header::names(&all, "ACCEPT"));
        assert!(!Header::names(&all, "accept-encoding"));
    }

    #[test]
    fn a_rule_has_a_host_that_may_be_an_address() {
        for good in
            ["a:80:127.0.0.1", "a:80:[::1],10.0.0.1", "[::1]:80:127.0.0.1", "+a:1:::1", "-a:80"]
        {
            assert!(ResolveRule::read(good).is_ok(), "{good}");
        }
        for bad in ["", "a", "a:80", "a:x:127.0.0.1", "a:80:b", "a:80:", ":80:::1"] {
            assert!(ResolveRule::read(bad).is_err(), "{bad}");
        }
    }
}
