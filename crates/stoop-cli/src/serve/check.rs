//! What `--check` finds out of the places without listening there.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::FileTypeExt;
use std::os::unix::net::SocketAddr as UnixAddress;
use std::path::Path;

use stoop::{Address, Endpoint};

use super::args::Settings;
use super::places;
use crate::failure::CommandFailure;

/// What it does not find out, for the message of success.
pub(super) const NOT_CHECKED: &str =
    "not checked: whether its places are free, and whether this user may listen there";

/// Checks all places.
///
/// # Errors
/// [`CommandFailure::Io`] for an address that this machine does not have, and a path where there can be no socket;
/// [`CommandFailure::Usage`] for a place that is given twice.
pub(super) fn places(settings: &Settings) -> Result<(), CommandFailure> {
    let own = own_addresses();
    let mut taken = HashSet::new();
    for typed in &settings.listen {
        let binding = places::binding(typed)?.to_string();
        let failed = |why: &str| CommandFailure::Io(format!("--listen {typed}: {why}"));
        let place = match binding.strip_prefix("unix:") {
            Some(path) => {
                unix(Path::new(path)).map_err(|why| failed(&why))?;
                binding
            }
            None => match inet(&binding, own.as_deref()).map_err(|why| failed(&why))? {
                Some(address) => address.to_string(),
                // Each has a port of its own.
                None => continue,
            },
        };
        if !taken.insert(place) {
            return Err(CommandFailure::Usage(format!("--listen {typed}: is given twice")));
        }
    }
    Ok(())
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
    let may_be_any = match ip {
        // What is sent to all of a link has an interface in place of an address of one.
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
        IpAddr::V4(_) => false,
    };
    let is_loopback = ip.is_ipv4() && ip.is_loopback();
    may_be_any
        || is_loopback
        || ip.is_unspecified()
        || own.is_none_or(|own| own.contains(&ip.to_canonical()))
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
    let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let directory = directory.unwrap_or(Path::new("."));
    match directory.metadata() {
        Ok(found) if !found.is_dir() => {
            return Err(format!("{} is no directory", directory.display()));
        }
        Ok(_) => {}
        Err(error) => return Err(format!("{}: {error}", directory.display())),
    }
    match path.symlink_metadata() {
        Ok(found) if !found.file_type().is_socket() => {
            Err("there is something that is no socket".to_owned())
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(listen: &[&str]) -> Result<(), String> {
        let listen = listen.iter().map(|place| (*place).to_owned()).collect();
        places(&Settings { listen, ..Settings::default() }).map_err(|failure| match failure {
            CommandFailure::Usage(message) | CommandFailure::Io(message) => message,
            other => panic!("{other:?}"),
        })
    }

    #[test]
    fn places_are_checked_without_listening_there() {
        let long = format!("unix:/tmp/{}", "x".repeat(200));
        for (listen, expected) in [
            (&["8080", "127.0.0.1:8080"][..], "--listen 127.0.0.1:8080: is given twice"),
            (&["unix:/nowhere/at/all/x"], "/nowhere/at/all: No such file"),
            (&["unix:/dev/null"], "there is something that is no socket"),
            (&["unix:/dev/null/x"], "/dev/null is no directory"),
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
