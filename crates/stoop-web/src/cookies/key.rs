//! [`CookieKey`]: the secret by which cookies are signed and encrypted.

use std::fmt;

use cookie::{Cookie as Sealed, CookieJar, Key};

use crate::cookies::cookie::Cookie;

/// Bytes of a key: 32 that sign and 32 that encrypt.
const KEY_BYTES: usize = 64;

/// The secret by which cookies are signed (HMAC-SHA-256) and encrypted (AES-256-GCM). A service that is started again
/// reads the cookies of before if it has the same key.
///
/// The name of a cookie is part of what is signed: a value of one cookie is none of another.
#[derive(Clone)]
pub struct CookieKey(Key);

/// How a cookie is protected.
#[derive(Clone, Copy)]
pub(super) enum Protection {
    /// The client can read it, and cannot change it.
    Signed,
    /// The client can do neither.
    Private,
}

impl CookieKey {
    /// A random key: cookies of before it cannot be read.
    ///
    /// # Panics
    /// If the system gives no random numbers.
    pub fn generate() -> Self {
        Self(Key::generate())
    }

    /// A key of 64 random bytes or more, of which the first 64 count; `None` for fewer.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= KEY_BYTES).then(|| Self(Key::from(bytes)))
    }

    /// The key's bytes, to be kept in a safe place.
    pub fn as_bytes(&self) -> &[u8] {
        self.0.master()
    }

    /// The cookie with a value that only this key can read.
    pub(super) fn seal(&self, protection: Protection, cookie: Cookie) -> Cookie {
        let mut jar = CookieJar::new();
        let (name, value) = (cookie.name().to_owned(), cookie.value());
        match protection {
            // What is signed is the value alone: with the name in it, it is of use in no other cookie.
            Protection::Signed => {
                let signed = format!("{name}={value}");
                jar.signed_mut(&self.0).add(Sealed::new(name, signed));
            }
            Protection::Private => {
                jar.private_mut(&self.0).add(Sealed::new(name, value.to_owned()));
            }
        }
        let sealed = jar.get(cookie.name()).map_or("", Sealed::value).to_owned();
        cookie.with_value(sealed)
    }

    /// The value that was sealed; `None` if it was not by this key, or for another name.
    pub(super) fn open(&self, protection: Protection, name: &str, value: &str) -> Option<String> {
        let jar = CookieJar::new();
        let sealed = Sealed::new(name.to_owned(), value.to_owned());
        match protection {
            Protection::Signed => {
                let signed = jar.signed(&self.0).verify(sealed)?;
                Some(signed.value().strip_prefix(name)?.strip_prefix('=')?.to_owned())
            }
            Protection::Private => Some(jar.private(&self.0).decrypt(sealed)?.value().to_owned()),
        }
    }
}

/// Without the secret.
impl fmt::Debug for CookieKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CookieKey")
    }
}
