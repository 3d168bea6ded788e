//! What `--check` finds out of a place, without listening there: whether this machine has it, and whether it is given twice.

use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::SocketAddr as UnixAddress;
use std::path::{Path, PathBuf};

use stoop::{Address, Endpoint};

use super::args::Settings;
use super::places;
use crate::failure::CommandFailure;

/// A place that others come behind.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    Inet(SocketAddr),
    Unix(PathBuf),
}

/// Checks a place, beside those before it.
///
/// # Errors
/// [`CommandFailure::Io`] for an address that this machine does not have, and a path where there can be no socket;
/// [`CommandFailure::Usage`] for text that is no place, and for a place that is given twice.
pub(super) fn check(
    typed: &str,
    settings: &Settings,
    taken: &mut Vec<Taken>,
) -> Result<(), CommandFailure> {
    places::check_one(typed, settings)?;
    let binding = places::binding(typed)?.to_string();
    let failed = |why: String| CommandFailure::Io(format!("--listen {typed}: {why}"));
    let place = match binding.strip_prefix("unix:") {
        Some(path) => {
            unix(Path::new(path)).map_err(failed)?;
            Taken::Unix(real(Path::new(path)))
        }
        None => match inet(&binding, own_addresses().as_deref()).map_err(failed)? {
            Some(address) => Taken::Inet(address),
            // Each has a port of its own.
            None => return Ok(()),
        },
    };
    let before = taken.iter().find(|before| excludes(before, &place));
    let again = before.map(|before| match before {
        Taken::Inet(address) if *before != place => format!("{address} has that port already"),
        _ => "is given twice".to_owned(),
    });
    taken.push(place);
    match again {
        Some(why) => Err(CommandFailure::Usage(format!("--listen {typed}: {why}"))),
        None => Ok(()),
    }
}

/// Whether only one of two places can be listened in.
fn excludes(one: &Taken, other: &Taken) -> bool {
    match (one, other) {
        (Taken::Inet(one), Taken::Inet(other)) if one.port() == other.port() => {
            // What IPv6 has of an address of IPv4 is the same one.
            let (one, other) = (one.ip().to_canonical(), other.ip().to_canonical());
            is_among(one, other) || is_among(other, one)
        }
        _ => one == other,
    }
}

/// Whether a socket at `all` gets what comes for `ip`. All addresses of IPv6 are those of IPv4 too, as Linux has it by
/// default.
fn is_among(ip: IpAddr, all: IpAddr) -> bool {
    ip == all
        || match all {
            IpAddr::V4(all) => all.is_unspecified() && ip.is_ipv4(),
            IpAddr::V6(all) => all.is_unspecified() && (ip.is_ipv6() || !places::is_ipv6_alone()),
        }
}

/// The first address of a binding that this machine has; none where any port will do.
fn inet(binding: &str, own: Option<&[IpAddr]>) -> Result<Option<SocketAddr>, String> {
    let endpoints = binding.split(", ").filter_map(|text| text.parse::<Endpoint>().ok());
    let addresses: Vec<_> = endpoints
        .filter_map(|endpoint| match endpoint.address() {
            Address::Inet(address) => Some(*address),
            Address::Unix(_) => None,
        })
        .collect();
    match addresses.iter().find(|address| is_own(address.ip(), own)) {
        Some(address) => Ok(Some(*address).filter(|address| address.port() != 0)),
        None if addresses.is_empty() => Ok(None),
        None => Err("this machine does not have that address".to_owned()),
    }
}

/// Whether it is an address of this machine, as far as its addresses are known.
fn is_own(ip: IpAddr, own: Option<&[IpAddr]>) -> bool {
    let ip = ip.to_canonical();
    let may_be_any = match ip {
        // What is sent to all of a link has an interface in place of an address of one.
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    let is_loopback = ip.is_ipv4() && ip.is_loopback();
    may_be_any || is_loopback || ip.is_unspecified() || own.is_none_or(|own| own.contains(&ip))
}

/// The addresses of this machine's interfaces, if the system tells. Where it lets processes listen at others
/// (`ip_nonlocal_bind`), they do not matter.
fn own_addresses() -> Option<Vec<IpAddr>> {
    let allows_others = |version: &str| {
        let read = std::fs::read_to_string(format!("/proc/sys/net/{version}/ip_nonlocal_bind"));
        read.is_ok_and(|value| value.trim() != "0")
    };
    if allows_others("ipv4") || allows_others("ipv6") {
        return None;
    }
    let interfaces = if_addrs::get_if_addrs().ok()?;
    Some(interfaces.iter().map(if_addrs::Interface::ip).collect())
}

/// Whether a Unix socket can be at a path.
fn unix(path: &Path) -> Result<(), String> {
    UnixAddress::from_pathname(path).map_err(|error| error.to_string())?;
    places::can_be_file(path)?;
    match path.symlink_metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            Err("there is something that is no socket".to_owned())
        }
        _ => Ok(()),
    }
}

/// A path whose directory is written without links.
fn real(path: &Path) -> PathBuf {
    let real = || Some(places::directory(path).canonicalize().ok()?.join(path.file_name()?));
    real().unwrap_or_else(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(listen: &[&str]) -> Result<(), String> {
        let mut taken = Vec::new();
        let settings = Settings::default();
        listen.iter().try_for_each(|typed| {
            check(typed, &settings, &mut taken).map_err(|failure| match failure {
                CommandFailure::Usage(message) | CommandFailure::Io(message) => message,
                other => panic!("{other:?}"),
            })
        })
    }

    #[test]
    fn places_are_checked_without_listening_there() {
        let long = format!("unix:/tmp/{}", "x".repeat(200));
        for (listen, expected) in [
            (&["8080", "127.0.0.1:8080"][..], "--listen 127.0.0.1:8080: is given twice"),
            (
                &["0.0.0.0:1", "127.0.0.1:1"],
                "--listen 127.0.0.1:1: 0.0.0.0:1 has that port already",
            ),
            (
                &["127.0.0.1:1", "0.0.0.0:1"],
                "--listen 0.0.0.0:1: 127.0.0.1:1 has that port already",
            ),
            (&["[::]:1", "[::1]:1"], "--listen [::1]:1: [::]:1 has that port already"),
            (&["127.0.0.1:1", "[::ffff:127.0.0.1]:1"], "]:1: 127.0.0.1:1 has that port already"),
            (&["[::ffff:127.9.9.9]:1", "0.0.0.0:1"], "[::ffff:127.9.9.9]:1 has that port already"),
            (&["127.9.9.9:1", "[::ffff:0.0.0.0]:1"], "127.9.9.9:1 has that port already"),
            (&["unix:/tmp/a", "http://unix:/tmp/a"], "is given twice"),
            (&["unix:/nowhere/at/all/x"], "/nowhere/at/all: No such file"),
            (&["unix:/dev/null"], "there is something that is no socket"),
            (&["unix:/dev/null/x"], "/dev/null is no directory"),
            (&["unix:/tmp/no-such-socket/"], "that is the name of a directory"),
            (&[&*long], "path must be shorter"),
        ] {
            let message = checked(listen).unwrap_err();
            assert!(message.contains(expected), "{listen:?}: {message}");
        }
        let well = [
            "127.0.0.1:0",
            "127.0.0.1:0",
            "[::]:1",
            "0.0.0.0:2",
            "127.9.9.9:3",
            "127.9.9.8:3",
            "[::ffff:127.9.9.7]:3",
            "unix:/tmp/no-such-socket",
        ];
        assert_eq!(checked(&well), Ok(()));
    }

    #[test]
    fn an_address_is_one_of_this_machine() {
        let own = ["192.0.2.7".parse().unwrap(), "::1".parse().unwrap()];
        let of = |binding: &str| inet(binding, Some(&own));
        assert_eq!(of("http://192.0.2.7:80"), Ok(Some("192.0.2.7:80".parse().unwrap())));
        assert_eq!(of("https://[::1]:0"), Ok(None));
        assert!(of("http://192.0.2.8:80").is_err() && of("http://[2001:db8::1]:80").is_err());
        let several = of("http://192.0.2.8:80, http://192.0.2.7:80");
        assert_eq!(several, Ok(Some("192.0.2.7:80".parse().unwrap())));
        assert!(inet("http://192.0.2.8:80", None).is_ok(), "the system does not tell");
    }
}
