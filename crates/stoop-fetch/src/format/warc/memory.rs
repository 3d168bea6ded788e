//! What the parts of a record are written to.

use std::net::IpAddr;

/// What is written in parts before a record is: taken once, and not for each.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    pub(super) head: String,
    pub(super) block: Vec<u8>,
    /// The address that was written last, which is mostly the next.
    remote_ip: Option<(IpAddr, Box<str>)>,
}

impl Memory {
    /// An address as text.
    pub(super) fn text_of(&mut self, ip: IpAddr) -> &str {
        let known = self.remote_ip.take().filter(|(known, _)| *known == ip);
        &self.remote_ip.insert(known.unwrap_or_else(|| (ip, ip.to_string().into()))).1
    }
}
