//! Names to addresses.
//!
//! A [`Resolver`] answers what needs no server (addresses, `localhost`, the hosts file), remembers
//! what it was told for as long as the answer says (within bounds), and asks each name once however
//! many wait for it. Asking is done by UDP and TCP with hickory's messages, or by getaddrinfo
//! without the feature `dns`.
//!
//! It may be used from any number of tokio runtimes at once. Dropping a lookup hurts nobody else
//! who waits for the same name.

mod answer;
#[cfg(feature = "dns")]
mod ask;
mod builder;
mod error;
mod flight;
#[cfg(not(feature = "dns"))]
mod getaddrinfo;
mod hosts;
mod name;
mod public;
mod race;
mod resolver;
mod settings;
mod table;

pub use answer::Addresses;
pub use builder::ResolverBuilder;
pub use error::{DnsError, DnsErrorKind};
pub use public::is_public;
pub use resolver::Resolver;
pub use settings::Families;
