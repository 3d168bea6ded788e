//! Middleware that services have in common.

#[cfg(feature = "auth")]
mod auth;
#[cfg(feature = "compression")]
mod compress;
#[cfg(feature = "compression")]
mod compressible;
mod cors;
#[cfg(feature = "compression")]
mod decompress;
#[cfg(feature = "compression")]
mod encoders;
mod hsts;
mod https;
mod proxies;
pub(crate) mod vary;

#[cfg(feature = "auth")]
pub use auth::{BasicAuth, BearerAuth, User, same_secret};
#[cfg(feature = "compression")]
pub use compress::Compress;
pub use cors::Cors;
#[cfg(feature = "compression")]
pub use decompress::Decompress;
pub use hsts::StrictTransport;
pub use https::HttpsRedirect;
#[cfg(feature = "tracing")]
pub(crate) use https::is_secure;
pub use proxies::TrustedProxies;
