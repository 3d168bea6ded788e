//! Resolves names to addresses.
//!
//! A [`Resolver`] answers what needs no server (addresses, `localhost`, the hosts file), remembers
//! results for as long as their TTL says (within bounds), and looks each name up once, however many
//! callers wait for it. Its queries go by UDP and TCP with hickory's messages, or by getaddrinfo
//! without the feature `dns`.
//!
//! It may be used from any number of tokio runtimes at once. Dropping a lookup does not disturb
//! another that waits for the same name.

mod addresses;
mod builder;
mod cache;
mod error;
#[cfg(not(feature = "dns"))]
mod getaddrinfo;
mod hosts;
#[cfg(feature = "dns")]
mod https;
mod name;
mod public;
#[cfg(feature = "dns")]
mod query;
mod race;
mod resolver;
mod settings;
mod shared_lookup;
mod stats;

pub use addresses::Addresses;
pub use builder::ResolverBuilder;
pub use error::{DnsError, DnsErrorKind};
#[cfg(feature = "dns")]
pub use https::{HttpsRecord, HttpsService};
pub use public::is_public;
pub use resolver::Resolver;
pub use settings::Families;
pub use stats::ResolverStats;
