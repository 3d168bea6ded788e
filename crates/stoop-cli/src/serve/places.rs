//! Where the server listens: the addresses as typed, and the URLs that are printed.

use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use stoop::{Address, Binding, Endpoint};

use super::args::Settings;
use crate::failure::CommandFailure;

/// Where it listens if nothing else is said.
pub(super) const DEFAULT: &str = "127.0.0.1:8080";

/// The place that was typed.
///
/// # Errors
/// [`CommandFailure::Usage`] for text that is none; [`CommandFailure::Io`] for a name without an address.
pub(super) fn binding(typed: &str) -> Result<Binding, CommandFailure> {
    let made = match typed.parse::<u16>() {
        Ok(port) => Ok(Binding::from((Ipv4Addr::LOCALHOST, port))),
        Err(_) => Binding::new(clear_path(typed).unwrap_or(typed)),
    };
    let binding = made.map_err(|error| match error.kind() {
        stoop::ErrorKind::InvalidUrl => CommandFailure::Usage(format!(
            "--listen {typed}: {error}; write HOST:PORT, a PORT of 127.0.0.1, or unix:PATH"
        )),
        _ => CommandFailure::Io(format!("--listen {typed}: {error}")),
    })?;
    Ok(spoken(typed, binding))
}

/// The place that was typed, by sockets that listen there already.
///
/// # Errors
/// [`CommandFailure::Io`] if there is none of them.
pub(super) fn with_sockets(typed: &str, sockets: Vec<OwnedFd>) -> Result<Binding, CommandFailure> {
    let binding = Binding::from_sockets(sockets);
    let binding = binding.map_err(|error| CommandFailure::Io(error.to_string()))?;
    Ok(spoken(typed, binding))
}

/// The path of the Unix socket that was typed, if it is one.
///
/// # Errors
/// As [`binding`].
pub(super) fn unix_path(typed: &str) -> Result<Option<PathBuf>, CommandFailure> {
    Ok(binding(typed)?.to_string().strip_prefix("unix:").map(PathBuf::from))
}

/// On `http://` no TLS is spoken, whatever certificate there is.
fn spoken(typed: &str, binding: Binding) -> Binding {
    if typed.starts_with("http://") { binding.cleartext() } else { binding }
}

/// The Unix socket of `http://unix:PATH`.
fn clear_path(typed: &str) -> Option<&str> {
    typed.strip_prefix("http://").filter(|rest| rest.starts_with("unix:"))
}

/// What a place is called however it is typed, and whatever is spoken there: its address or path, but for a name with
/// several addresses.
///
/// # Errors
/// As [`binding`].
pub(super) fn name(typed: &str) -> Result<String, CommandFailure> {
    let bare = |text: &str| -> String {
        text.trim_start_matches("https://").trim_start_matches("http://").to_owned()
    };
    let shown = binding(typed)?.to_string();
    // The order of several may be another one for the process that takes over.
    let is_unix = shown.starts_with("unix:");
    Ok(bare(if shown.contains(", ") && !is_unix { typed } else { &shown }))
}

/// The place with the whole path of its Unix socket, if it is one: a relative path begins at `base`.
pub(super) fn whole(typed: &str, base: &Path) -> String {
    let whole = || {
        let (scheme, rest) = match clear_path(typed) {
            Some(rest) => ("http://", rest),
            None => ("", typed),
        };
        // With two slashes it is whole, or no path.
        let path = rest.strip_prefix("unix:").filter(|path| !path.starts_with("//"))?;
        let path = std::path::absolute(base.join(path)).ok()?;
        Some(format!("{scheme}unix:{}", path.to_str()?))
    };
    whole().unwrap_or_else(|| typed.to_owned())
}

/// Checks the places that were typed: without listening there.
///
/// # Errors
/// As [`binding`]; and [`CommandFailure::Usage`] for https without a certificate.
pub(super) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    settings.listen.iter().try_for_each(|typed| check_one(typed, settings))
}

/// The same of one place.
///
/// # Errors
/// As [`check`].
pub(super) fn check_one(typed: &str, settings: &Settings) -> Result<(), CommandFailure> {
    if typed.starts_with("https://") && !settings.wants_tls() {
        let why = "needs a certificate: --tls CERT KEY, or --tls-self-signed";
        return Err(CommandFailure::Usage(format!("--listen {typed}: {why}")));
    }
    binding(typed).map(drop)
}

/// Expects that a path is that of a file, in a directory that is there.
///
/// # Errors
/// Why it is not.
pub(super) fn can_be_file(path: &Path) -> Result<(), String> {
    let directory = directory(path);
    match directory.metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(format!("{} is no directory", directory.display()));
        }
        Ok(_) => {}
        Err(error) => return Err(format!("{}: {error}", directory.display())),
    }
    // Parts of a path do not show what is behind its last slash.
    match path.as_os_str().as_bytes().rsplit(|byte| *byte == b'/').next() {
        Some(b"" | b"." | b"..") | None => Err("that is the name of a directory".to_owned()),
        Some(_) => Ok(()),
    }
}

/// The directory that a file is in.
pub(super) fn directory(path: &Path) -> &Path {
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    directory.unwrap_or(Path::new("."))
}

/// The addresses of this machine's interfaces, loopback first.
pub(super) fn local_addresses() -> Vec<IpAddr> {
    let mut addresses: Vec<IpAddr> = match if_addrs::get_if_addrs() {
        Ok(interfaces) => interfaces.iter().map(if_addrs::Interface::ip).collect(),
        Err(_) => Vec::new(),
    };
    addresses.push(Ipv4Addr::LOCALHOST.into());
    // A link-local address of IPv6 says nothing without its interface, which a URL has no place for.
    addresses.retain(|ip| !matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local()));
    addresses.sort_by_key(|ip| (!ip.is_loopback(), ip.is_ipv6(), *ip));
    addresses.dedup();
    addresses
}

/// Whether a socket at all addresses of IPv6 gets nothing that comes by IPv4, which is not so by default (ipv6(7)).
pub(super) fn is_ipv6_alone() -> bool {
    let read = std::fs::read_to_string("/proc/sys/net/ipv6/bindv6only");
    read.is_ok_and(|value| value.trim() != "0")
}

/// The URLs by which clients reach an endpoint: of one that is all addresses, by each of this machine's. Where
/// `is_ipv6_alone`, a socket at all addresses of IPv6 is not reached by those of IPv4.
pub(super) fn urls(endpoint: &Endpoint, addresses: &[IpAddr], is_ipv6_alone: bool) -> Vec<String> {
    let Address::Inet(address) = endpoint.address() else { return vec![endpoint.to_string()] };
    let scheme = if endpoint.is_secure() { "https" } else { "http" };
    let port = match (scheme, address.port()) {
        ("http", 80) | ("https", 443) => String::new(),
        (_, port) => format!(":{port}"),
    };
    let url = |ip: &IpAddr| match ip {
        IpAddr::V4(ip) => format!("{scheme}://{ip}{port}/"),
        IpAddr::V6(ip) => format!("{scheme}://[{ip}]{port}/"),
    };
    if !address.ip().is_unspecified() {
        return vec![url(&address.ip())];
    }
    let has_both = address.is_ipv6() && !is_ipv6_alone;
    let reached = addresses.iter().filter(|ip| has_both || ip.is_ipv4() == address.is_ipv4());
    reached.map(url).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_a_port_or_a_path() {
        for (typed, shown) in [
            ("8080", "127.0.0.1:8080"),
            ("0.0.0.0:1", "0.0.0.0:1"),
            ("http://0.0.0.0:1", "http://0.0.0.0:1"),
            ("https://[::1]:2", "https://[::1]:2"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("localhost:3", "127.0.0.1:3"),
            ("http://unix:/run/a.sock", "unix:/run/a.sock"),
        ] {
            assert_eq!(binding(typed).unwrap().to_string(), shown);
        }
        for wrong in ["", "70000", "ftp://a:1", "a b"] {
            let Err(CommandFailure::Usage(message)) = binding(wrong) else { panic!("{wrong}") };
            assert!(message.contains("unix:PATH"), "{message}");
        }
        assert!(matches!(binding("name.invalid:1"), Err(CommandFailure::Io(_))));
    }

    #[test]
    fn a_place_has_one_name_however_it_is_typed() {
        for (name, all) in [
            (
                "127.0.0.1:8080",
                &["8080", "127.0.0.1:8080", "http://127.0.0.1:8080/", "localhost:8080"][..],
            ),
            ("[::]:443", &["https://[::]", "[::]:443", "http://[::]:443"]),
            ("unix:/run/a", &["unix:/run/a", "http://unix:/run/a", "unix:///run/a"]),
            ("127.0.0.1:0", &["0", "https://127.0.0.1:0"]),
        ] {
            for typed in all {
                assert_eq!(super::name(typed).unwrap(), name, "{typed}");
            }
        }
        assert!(name("nowhere").is_err());
    }

    #[test]
    fn the_path_of_a_unix_socket_is_found_however_it_is_typed() {
        for (typed, path) in [
            ("unix:/run/a", Some("/run/a")),
            ("http://unix:/run/a", Some("/run/a")),
            ("unix:///run/a", Some("/run/a")),
            ("127.0.0.1:1", None),
        ] {
            assert_eq!(unix_path(typed).unwrap().as_deref(), path.map(Path::new), "{typed}");
        }
    }

    #[test]
    fn a_relative_path_of_a_socket_begins_somewhere() {
        let base = Path::new("/etc/site");
        for (typed, expected) in [
            ("unix:run.sock", "unix:/etc/site/run.sock"),
            ("http://unix:a/b", "http://unix:/etc/site/a/b"),
            ("unix:/run/a", "unix:/run/a"),
            ("unix:///run/a", "unix:///run/a"),
            ("unix://run/a", "unix://run/a"),
            ("127.0.0.1:1", "127.0.0.1:1"),
        ] {
            assert_eq!(whole(typed, base), expected);
        }
        let here = whole("unix:a", Path::new(""));
        assert_eq!(here, format!("unix:{}/a", std::env::current_dir().unwrap().display()));
    }

    #[test]
    fn all_addresses_are_each_address_of_the_machine() {
        let addresses =
            ["127.0.0.1", "192.0.2.7", "::1", "2001:db8::7"].map(|ip| ip.parse().unwrap());
        let of = |text: &str| urls(&text.parse().unwrap(), &addresses, true);
        assert_eq!(of("http://0.0.0.0:80"), ["http://127.0.0.1/", "http://192.0.2.7/"]);
        assert_eq!(of("https://[::]:8443"), ["https://[::1]:8443/", "https://[2001:db8::7]:8443/"]);
        let of_both = urls(&"https://[::]:1".parse().unwrap(), &addresses, false);
        assert_eq!(of_both.len(), 4);
        assert_eq!(of_both[1..3], ["https://192.0.2.7:1/", "https://[::1]:1/"]);
        assert_eq!(
            urls(&"http://[::1]:1".parse().unwrap(), &addresses, false),
            ["http://[::1]:1/"]
        );
        assert_eq!(of("http://192.0.2.9:81"), ["http://192.0.2.9:81/"]);
        assert_eq!(of("unix:/run/a"), ["unix:/run/a"]);
        assert_eq!(local_addresses()[0], IpAddr::from(Ipv4Addr::LOCALHOST));
    }
}
