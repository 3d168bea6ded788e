//! Finds the addresses of hosts as the clients of a run do, where hosts are told apart by them.

#[cfg(all(test, feature = "dns"))]
mod tests;

use std::error::Error as StdError;
use std::net::IpAddr;

use stoop::dns::{Addresses, DnsError, DnsErrorKind, Resolver};
use stoop::{Client, Error, ErrorKind};

use crate::addresses::{AddressFinder, LOOKUPS_MAX, LookedUp, LookingUp};
use crate::politeness::HostGroup;
use crate::settings::Settings;

/// How many names the resolver remembers that all clients share.
const NAMES_MAX: usize = 100_000;

/// How many queries are under way for each worker, as many as a resolver of its own sends. Without DNS of our own they
/// are lookups, each on a thread.
const QUERIES_PER_WORKER: usize = if cfg!(feature = "dns") { 192 } else { 64 };

/// How many queries are under way: as many as the workers send, and the lookups of all that waits for its address, so
/// that neither waits for the other. A lookup sends two, one for each family.
fn queries_max(workers: usize) -> usize {
    workers.saturating_mul(QUERIES_PER_WORKER).saturating_add(2 * LOOKUPS_MAX)
}

/// The resolver that all clients of the run share, if addresses are looked up before they are connected to.
pub(super) fn shared_resolver(settings: &Settings) -> Option<Resolver> {
    let politeness = settings.politeness.as_ref()?;
    // No file was named that could not be read.
    let resolver = || {
        let resolver = Resolver::builder().cache_entries_max(NAMES_MAX);
        resolver.queries_max(queries_max(settings.workers)).build().ok()
    };
    (politeness.group == HostGroup::Address).then(resolver).flatten()
}

/// What finds the addresses of hosts as `client` does.
pub(super) fn finder(client: Client) -> AddressFinder {
    AddressFinder::new(move |url| -> LookingUp {
        let client = client.clone();
        Box::pin(async move {
            match client.addresses_of(&url).await {
                Ok(addresses) => lowest(&addresses).map_or(LookedUp::Nothing, LookedUp::Address),
                Err(error) if has_no_address(&error) => LookedUp::Nothing,
                Err(_) => LookedUp::Failed,
            }
        })
    })
}

/// Whether an error says that there is no address to connect to, rather than that none was found for the moment.
fn has_no_address(error: &Error) -> bool {
    match error.kind() {
        ErrorKind::DnsNxdomain
        | ErrorKind::AddressDenied
        | ErrorKind::ConnectUnreachable
        | ErrorKind::InvalidUrl
        // The client connects to no address.
        | ErrorKind::InvalidMessage => true,
        ErrorKind::DnsOther => match error.source().map(|source| source.downcast_ref()) {
            None => true,
            Some(error) => {
                error.is_some_and(|error: &DnsError| error.kind() == DnsErrorKind::NoRecords)
            }
        },
        _ => false,
    }
}

/// The lowest of several addresses. An IPv4 address in the form of IPv6 is what it is (RFC 4291 §2.5.5.2).
fn lowest(addresses: &Addresses) -> Option<IpAddr> {
    addresses.iter().map(IpAddr::to_canonical).min()
}
