//! Name resolution: the servers, how long addresses are kept, and errors.
//!
//! A [`Client`](crate::Client) asks the system's name servers and keeps a cache of its own;
//! [`ClientBuilder::resolver`](crate::ClientBuilder::resolver) gives it another [`Resolver`], which several
//! clients may share. A lookup that fails is a [`DnsError`]; of a request it becomes an
//! [`Error`](crate::Error) in [`Phase::Dns`](crate::Phase::Dns).
//!
//! ```no_run
//! use std::time::Duration;
//! use stoop::Client;
//! use stoop::dns::Resolver;
//!
//! # #[cfg(feature = "dns")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let resolver = Resolver::builder().query_timeout(Duration::from_secs(2)).attempts(3).build()?;
//! let client = Client::builder().resolver(resolver).build()?;
//! # Ok(()) }
//! # #[cfg(not(feature = "dns"))]
//! # fn main() {}
//! ```

pub use stoop_io::{Addresses, DnsError, DnsErrorKind, Families, Resolver, ResolverBuilder};
