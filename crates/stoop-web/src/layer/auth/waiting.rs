//! How many checks of credentials wait for each address, so that one client does not take all places.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Checks of one address at a time: a browser has six connections to a host.
const WAITING_PER_ADDRESS_MAX: usize = 8;

/// Checks that wait or run, of each address; of IPv6, of each network of 64 bits.
#[derive(Default)]
pub(super) struct Waiting(Mutex<HashMap<IpAddr, usize>>);

/// A check that waits or runs.
pub(super) struct Waits {
    all: Arc<Waiting>,
    address: Option<IpAddr>,
}

impl Waiting {
    /// Counts a check for a client; `None` if there are as many of its address as may be. A client without an address is
    /// not bounded: what comes over a Unix socket comes from a proxy, for all of its clients.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>) -> Option<Waits> {
        let address = address.map(network);
        if let Some(address) = address {
            let mut counts = self.counts();
            let count = counts.entry(address).or_default();
            if *count >= WAITING_PER_ADDRESS_MAX {
                return None;
            }
            *count += 1;
        }
        Some(Waits { all: self.clone(), address })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let mut counts = self.all.counts();
        if let Some(count) = counts.get_mut(&address) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&address);
            }
        }
    }
}

/// The address, or the network of it that one client has (RFC 6177 §2).
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)))
        }
        address => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_of_one_address_are_bounded_and_others_are_not_held_up() {
        let waiting = Arc::new(Waiting::default());
        let enter = |address: &str| waiting.enter(Some(address.parse().unwrap()));
        let mut held: Vec<_> = (0..WAITING_PER_ADDRESS_MAX)
            .map(|n| enter(&format!("2001:db8::{n}")).unwrap())
            .collect();
        assert!(enter("2001:db8::ffff").is_none(), "they are of one network");
        assert!(enter("2001:db8:0:1::").is_some() && enter("192.0.2.1").is_some());
        assert!(waiting.enter(None).is_some());
        held.pop();
        assert!(enter("2001:db8::ffff").is_some());
        held.clear();
        assert!(waiting.counts().is_empty(), "nothing is kept of those that are over");
    }
}
