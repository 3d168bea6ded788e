//! What proxies say of the client: `Forwarded` (RFC 7239), and the fields that were there before it.

mod client;
mod element;
mod legacy;
mod walk;

pub use client::ForwardedClient;
pub(crate) use client::is_host;
pub(crate) use walk::{ForwardedFields, Malformed, client_of};
