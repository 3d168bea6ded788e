//! A DNS server on loopback that can answer correctly, wrongly, slowly and not at all.

mod forgery;
mod message;
mod records;
mod server;
mod thread;

pub use records::{DnsAnswer, DnsForgery, Records};
pub use server::DnsServer;

pub(crate) use records::Zone;
pub(crate) use thread::DnsThread;
