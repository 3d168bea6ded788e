//! Which checks of credentials wait, by their addresses: so that one client does not take all places, and many that guess do
//! not take those of others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::blocking::Urgency;

/// Checks of one address at a time: a browser has six connections to a host.
const WAITING_PER_ADDRESS_MAX: usize = 8;

/// How long an address is known for a check that has failed.
const LATELY: Duration = Duration::from_secs(60);

/// How many addresses are known for that. Beyond it all are forgotten.
const FAILED_MAX: usize = 10_000;

/// Checks that wait or run, of each address; of IPv6, of each network of 64 bits.
#[derive(Default)]
pub(super) struct Waiting(Mutex<Addresses>);

#[derive(Default)]
struct Addresses {
    counts: HashMap<IpAddr, usize>,
    /// When a check has failed last, of addresses of which none was right since.
    failed: HashMap<IpAddr, Instant>,
}

/// A check that waits or runs.
pub(super) struct Waits {
    all: Arc<Waiting>,
    address: Option<IpAddr>,
    urgency: Urgency,
}

impl Waiting {
    /// Counts a check for a client; `None` if there are as many of its address as may be: one where a check has failed
    /// lately. The first check of an address without failures comes before all others. A client without an address is
    /// not bounded: what comes over a Unix socket comes from a proxy, for all of its clients.
    pub(super) fn enter(self: &Arc<Self>, address: Option<IpAddr>, now: Instant) -> Option<Waits> {
        let address = address.map(network);
        let mut urgency = Urgency::First;
        if let Some(address) = address {
            let Addresses { counts, failed } = &mut *self.addresses();
            let has_failed = failed.get(&address).is_some_and(|at| now < *at + LATELY);
            let count = counts.get(&address).copied().unwrap_or(0);
            if count >= if has_failed { 1 } else { WAITING_PER_ADDRESS_MAX } {
                return None;
            }
            if has_failed || count > 0 {
                urgency = Urgency::Later;
            }
            counts.insert(address, count + 1);
        }
        Some(Waits { all: self.clone(), address, urgency })
    }

    fn addresses(&self) -> MutexGuard<'_, Addresses> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waits {
    pub(super) fn urgency(&self) -> Urgency {
        self.urgency
    }

    /// Notes how the check has ended, and that it is over.
    pub(super) fn ended(self, is_right: bool, now: Instant) {
        let Some(address) = self.address else { return };
        let failed = &mut self.all.addresses().failed;
        if is_right {
            failed.remove(&address);
            return;
        }
        if failed.len() >= FAILED_MAX {
            failed.retain(|_, at| now < *at + LATELY);
        }
        if failed.len() >= FAILED_MAX {
            failed.clear();
        }
        failed.insert(address, now);
    }
}

impl Drop for Waits {
    fn drop(&mut self) {
        let Some(address) = self.address else { return };
        let counts = &mut self.all.addresses().counts;
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
    fn an_address_that_has_failed_has_one_check_at_a_time_behind_all_others() {
        let (waiting, start) = (Arc::new(Waiting::default()), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        let enter =
            |host: u8, seconds| waiting.enter(Some(IpAddr::from([192, 0, 2, host])), at(seconds));
        let first = enter(1, 0).unwrap();
        let second = enter(1, 0).unwrap();
        assert_eq!((first.urgency(), second.urgency()), (Urgency::First, Urgency::Later));
        drop(second);
        first.ended(false, at(0));
        let again = enter(1, 59).unwrap();
        assert_eq!(again.urgency(), Urgency::Later);
        assert!(enter(1, 59).is_none());
        assert_eq!(enter(2, 59).unwrap().urgency(), Urgency::First);
        drop(again);
        let after = enter(1, 60).unwrap();
        assert_eq!(after.urgency(), Urgency::First);
        after.ended(false, at(60));
        // One who knows the password.
        enter(1, 61).unwrap().ended(true, at(61));
        assert_eq!(enter(1, 61).unwrap().urgency(), Urgency::First);
    }

    #[test]
    fn no_more_than_the_bound_are_known_to_have_failed() {
        let (waiting, now) = (Arc::new(Waiting::default()), Instant::now());
        for n in 0..=FAILED_MAX as u32 {
            waiting.enter(Some(IpAddr::V4(n.into())), now).unwrap().ended(false, now);
        }
        assert!(waiting.addresses().failed.len() <= FAILED_MAX);
    }

    #[test]
    fn checks_of_one_address_are_bounded_and_others_are_not_held_up() {
        let waiting = Arc::new(Waiting::default());
        let enter = |address: &str| waiting.enter(Some(address.parse().unwrap()), Instant::now());
        let mut held: Vec<_> = (0..WAITING_PER_ADDRESS_MAX)
            .map(|n| enter(&format!("2001:db8::{n}")).unwrap())
            .collect();
        assert!(enter("2001:db8::ffff").is_none(), "they are of one network");
        assert!(enter("2001:db8:0:1::").is_some() && enter("192.0.2.1").is_some());
        assert!(waiting.enter(None, Instant::now()).is_some());
        held.pop();
        assert!(enter("2001:db8::ffff").is_some());
        held.clear();
        assert!(waiting.addresses().counts.is_empty(), "nothing is kept of those that are over");
    }
}
