//! The host that a URL leads to, for a request that waits for its turn there.

use std::pin::Pin;
use std::sync::Arc;

use super::book::Found;
use super::finder::AddressFinder;
use crate::politeness::HostGroup;
use crate::schedule::{host_key, server_key};

/// The host that a URL leads to.
pub(crate) enum UrlHost {
    /// That with this key.
    Known(Box<[u8]>),
    /// That whose key comes, once its address was looked up.
    LookedUp(Pin<Box<dyn Future<Output = Box<[u8]>> + Send>>),
    /// There is none.
    None,
}

impl UrlHost {
    /// The host of `url`, where hosts are told apart by `group`, and by addresses if there is a finder of those.
    pub(crate) fn of(url: &str, group: HostGroup, finder: Option<&Arc<AddressFinder>>) -> Self {
        let mut key = Vec::new();
        let Some(finder) = finder else {
            return match host_key(url.as_bytes(), group, &mut key) {
                true => Self::Known(key.into()),
                false => Self::None,
            };
        };
        if server_key(url.as_bytes(), &mut key).is_none() {
            return Self::None;
        }
        match finder.known(&key) {
            Some(found) => Self::Known(key_of_server(found, &key)),
            None => {
                let finding = finder.find(&key, url.as_bytes());
                Self::LookedUp(Box::pin(async move { key_of_server(finding.await, &key) }))
            }
        }
    }
}

/// The key of a server's host.
fn key_of_server(found: Found, server: &[u8]) -> Box<[u8]> {
    let mut key = Vec::new();
    found.key(server, &mut key);
    key.into()
}
