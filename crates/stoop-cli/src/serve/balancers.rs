//! Those in front of the server: what they say of the client, and how it is read.

use stoop::{Binding, Network, ProxyProtocol};
use stoop_web::TrustedProxies;

use super::args::Settings;
use super::proxies::TrustedProxy;

impl Settings {
    /// Whether requests come from proxies that tell of their clients.
    pub(super) fn trusts_proxies(&self) -> bool {
        !self.trust_forwarded.is_empty() || !self.trust_x_forwarded.is_empty()
    }

    /// What reads the fields of those proxies, if there are some.
    pub(super) fn trusted_proxies(&self) -> Option<TrustedProxies> {
        let networks = |proxies: &[TrustedProxy]| -> Vec<Network> {
            let network = |proxy: &TrustedProxy| match proxy {
                TrustedProxy::In(network) => Some(*network),
                TrustedProxy::Unix => None,
            };
            proxies.iter().filter_map(network).collect()
        };
        let (trusted, read) = match (&*self.trust_forwarded, &*self.trust_x_forwarded) {
            ([], []) => return None,
            ([], trusted) => (trusted, TrustedProxies::x_forwarded(networks(trusted))),
            (trusted, _) => (trusted, TrustedProxies::forwarded(networks(trusted))),
        };
        Some(read.unix(trusted.contains(&TrustedProxy::Unix)))
    }

    /// A place where load balancers connect to, if there are some.
    pub(super) fn behind_balancers(&self, place: Binding) -> Binding {
        match &*self.proxy_protocol {
            [] => place,
            networks => {
                place.proxy_protocol(ProxyProtocol::from_networks(networks.iter().copied()))
            }
        }
    }
}
