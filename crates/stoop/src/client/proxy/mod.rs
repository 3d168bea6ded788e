//! Proxies: which requests go through which, and how.

mod except;
mod forward;
mod rules;
mod server;
mod socks;
mod tunnel;

pub use except::NoProxy;
pub(super) use forward::ProxyFields;
pub use rules::Proxies;
pub(super) use rules::Via;
pub use server::Proxy;
pub(super) use socks::{SocksTarget, open as open_socks};
pub(super) use tunnel::{OpenTunnel, declined, request as tunnel_request, wants_credentials};
