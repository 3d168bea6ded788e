//! Cookies (RFC 6265): plain, signed and private.

mod cookie;
mod jar;
mod key;

pub use self::cookie::{Cookie, SameSite};
pub use jar::Cookies;
#[cfg(feature = "sessions")]
pub(crate) use jar::received;
pub use key::CookieKey;
