//! Finds the addresses of hosts as the clients of a run do, where hosts are told apart by them.

use std::net::IpAddr;

use stoop::Client;
use stoop::dns::{Addresses, Resolver};

use crate::addresses::{AddressFinder, LookingUp};
use crate::politeness::HostGroup;
use crate::settings::Settings;

/// How many names the resolver remembers that all clients share.
const NAMES_MAX: usize = 100_000;

/// The resolver that all clients of the run share, if addresses are looked up before they are connected to.
pub(super) fn shared_resolver(settings: &Settings) -> Option<Resolver> {
    let politeness = settings.politeness.as_ref()?;
    // No file was named that could not be read.
    let resolver = || Resolver::builder().cache_entries_max(NAMES_MAX).build().ok();
    (politeness.group == HostGroup::Address).then(resolver).flatten()
}

/// What finds the addresses of hosts as `client` does.
pub(super) fn finder(client: Client) -> AddressFinder {
    AddressFinder::new(move |url| -> LookingUp {
        let client = client.clone();
        Box::pin(async move { lowest(&client.addresses_of(&url).await.ok()?) })
    })
}

/// The lowest of several addresses. An IPv4 address in the form of IPv6 is what it is (RFC 4291 §2.5.5.2).
fn lowest(addresses: &Addresses) -> Option<IpAddr> {
    addresses.iter().map(IpAddr::to_canonical).min()
}
