//! Requests that a proxy reads and sends on (RFC 9112 §3.2.2).

use stoop_proto::RequestHead;
use url::{Position, Url};

use super::server::Proxy;
use crate::error::Error;

/// The fields that were added for a proxy, to be removed when the request goes elsewhere.
pub(crate) type ProxyFields = Vec<Box<str>>;

impl Proxy {
    /// Makes a request one to this proxy: its target names scheme and host, and the proxy's own fields are added
    /// that it does not have. Returns their names.
    pub(crate) fn forward(&self, head: &mut RequestHead, url: &Url) -> Result<ProxyFields, Error> {
        let target = [&url[..Position::BeforeUsername], &url[Position::BeforeHost..]].concat();
        head.set_target(&target)?;
        let mut added = Vec::new();
        for field in self.fields()?.iter() {
            if !head.fields().contains(field.name()) {
                head.fields_mut().push(field.name(), field.value())?;
                added.push(field.name().into());
            }
        }
        Ok(added)
    }
}
