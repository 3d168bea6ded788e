//! The addresses of a host, in the order to try them.

use std::net::IpAddr;
use std::ops::Deref;
use std::sync::Arc;

use super::settings::ADDRESSES_MAX;

/// The addresses of a host, 1 to 32, in the order to try them: families alternate (RFC 8305 §4),
/// beginning with IPv6 if this machine had a route to it when the resolver was built. A slice; cheap
/// to clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addresses(Repr);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Repr {
    One(IpAddr),
    Many(Arc<[IpAddr]>),
}

impl Addresses {
    /// The addresses of both families, alternating, each in the order of its response.
    pub(super) fn interleave(first: &[IpAddr], second: &[IpAddr]) -> Self {
        let mut all = Vec::with_capacity((first.len() + second.len()).min(ADDRESSES_MAX));
        let longest = first.len().max(second.len());
        for n in 0..longest {
            all.extend(first.get(n));
            all.extend(second.get(n));
        }
        all.truncate(ADDRESSES_MAX);
        all.into()
    }
}

impl Deref for Addresses {
    type Target = [IpAddr];

    fn deref(&self) -> &[IpAddr] {
        match &self.0 {
            Repr::One(one) => std::slice::from_ref(one),
            Repr::Many(many) => many,
        }
    }
}

impl From<IpAddr> for Addresses {
    fn from(one: IpAddr) -> Self {
        Self(Repr::One(one))
    }
}

impl From<Vec<IpAddr>> for Addresses {
    fn from(all: Vec<IpAddr>) -> Self {
        match all.as_slice() {
            [one] => Self(Repr::One(*one)),
            _ => Self(Repr::Many(all.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(texts: &[&str]) -> Vec<IpAddr> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    #[test]
    fn addresses_of_both_families_alternate() {
        let (six, four) = (addresses(&["::1", "::2", "::3"]), addresses(&["1.1.1.1"]));
        let both = Addresses::interleave(&six, &four);
        assert_eq!(both[..], addresses(&["::1", "1.1.1.1", "::2", "::3"]));
        assert_eq!(Addresses::interleave(&four, &[])[..], four);
    }

    #[test]
    fn addresses_are_bounded_and_both_families_are_among_them() {
        let six: Vec<IpAddr> = (0..500u16).map(|n| [0, 0, 0, 0, 0, 0, 0, n].into()).collect();
        let four: Vec<IpAddr> = (0..500u32).map(|n| n.to_be_bytes().into()).collect();
        let both = Addresses::interleave(&six, &four);
        assert_eq!(both.len(), ADDRESSES_MAX);
        assert_eq!(both.iter().filter(|address| address.is_ipv4()).count(), ADDRESSES_MAX / 2);
    }
}
