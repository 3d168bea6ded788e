//! Where the server listens: the addresses as typed, and the URLs that are printed.

use std::net::{IpAddr, Ipv4Addr};

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
        Err(_) => match clear_path(typed) {
            Some(unix) => Binding::new(unix).map(Binding::cleartext),
            None => Binding::new(typed),
        },
    };
    made.map_err(|error| match error.kind() {
        stoop::ErrorKind::InvalidUrl => CommandFailure::Usage(format!(
            "--listen {typed}: {error}; write HOST:PORT, a PORT of 127.0.0.1, or unix:PATH"
        )),
        _ => CommandFailure::Io(format!("--listen {typed}: {error}")),
    })
}

/// The Unix socket of `http://unix:PATH`, where no TLS is spoken.
fn clear_path(typed: &str) -> Option<&str> {
    typed.strip_prefix("http://").filter(|rest| rest.starts_with("unix:"))
}

/// Checks the places that were typed: without listening there.
///
/// # Errors
/// As [`binding`]; and [`CommandFailure::Usage`] for https without a certificate.
pub(super) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    let has_tls = !settings.tls.is_empty() || settings.tls_self_signed;
    for typed in &settings.listen {
        if typed.starts_with("https://") && !has_tls {
            let why = "needs a certificate: --tls CERT KEY, or --tls-self-signed";
            return Err(CommandFailure::Usage(format!("--listen {typed}: {why}")));
        }
        binding(typed)?;
    }
    Ok(())
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

/// The URLs by which clients reach an endpoint: of one that is all addresses, by each of this machine's.
pub(super) fn urls(endpoint: &Endpoint, addresses: &[IpAddr]) -> Vec<String> {
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
    let reached = addresses.iter().filter(|ip| ip.is_ipv4() == address.is_ipv4());
    reached.map(url).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_an_address_a_port_or_a_path() {
        for (typed, shown) in [
            ("8080", "http://127.0.0.1:8080"),
            ("0.0.0.0:1", "http://0.0.0.0:1"),
            ("https://[::1]:2", "https://[::1]:2"),
            ("unix:/run/a.sock", "unix:/run/a.sock"),
            ("localhost:3", "http://127.0.0.1:3"),
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
    fn all_addresses_are_each_address_of_the_machine() {
        let addresses =
            ["127.0.0.1", "192.0.2.7", "::1", "2001:db8::7"].map(|ip| ip.parse().unwrap());
        let of = |text: &str| urls(&text.parse().unwrap(), &addresses);
        assert_eq!(of("http://0.0.0.0:80"), ["http://127.0.0.1/", "http://192.0.2.7/"]);
        assert_eq!(of("https://[::]:8443"), ["https://[::1]:8443/", "https://[2001:db8::7]:8443/"]);
        assert_eq!(of("http://192.0.2.9:81"), ["http://192.0.2.9:81/"]);
        assert_eq!(of("unix:/run/a"), ["unix:/run/a"]);
        assert_eq!(local_addresses()[0], IpAddr::from(Ipv4Addr::LOCALHOST));
    }
}
