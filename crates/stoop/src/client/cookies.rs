//! Cookies that servers set, for the requests that follow (RFC 6265).

mod netscape;

use std::cmp::Reverse;
use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cookie_store::{Cookie, CookieStore, RawCookie};
use url::{Host, Url};

use crate::error::{Error, ErrorKind, Phase};

/// Bytes of a cookie's name and value that are kept: RFC 6265 §6.1 wants 4096 at least.
const COOKIE_BYTES_MAX: usize = 4096;

/// Cookies of one domain, and in all: RFC 6265 §6.1 wants 50 and 3000 at least. Beyond it new ones are not
/// kept; those that are there may change.
const DOMAIN_COOKIES_MAX: usize = 180;
const COOKIES_MAX: usize = 3_000;

/// Bytes of a Cookie field: what is beyond is left out, as servers refuse longer heads.
const FIELD_BYTES_MAX: usize = 8 * 1024;

/// The cookies of a client: [`ClientBuilder::cookies`](crate::ClientBuilder::cookies). Cheap to clone; clones
/// share what is in it.
///
/// What a response sets is kept, that of a redirect included, and goes with the requests that it is for. A
/// server cannot set cookies for a public suffix, such as `co.uk`, whose subdomains belong to others, nor those with
/// `Secure` in the clear, unless it is of this machine (loopback). A request that has a Cookie of its own gets none of these.
///
/// ```
/// use stoop::CookieJar;
///
/// let jar = CookieJar::new();
/// jar.add("session=17; Path=/app; Secure", "https://example.com/app/login")?;
/// assert_eq!(jar.get("https://example.com/app/")?.as_deref(), Some("session=17"));
/// assert_eq!(jar.get("http://example.com/app/")?, None);
/// let client = stoop::Client::builder().cookies(jar.clone()).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct CookieJar(Arc<JarState>);

#[derive(Default)]
struct JarState {
    store: Mutex<CookieStore>,
    /// What is sent to a host whatever servers set, in the order of its addition.
    fixed: Mutex<Vec<FixedCookies>>,
    /// Nothing that servers set is kept.
    is_read_only: bool,
}

/// The text of cookies, and the host that they are for.
struct FixedCookies {
    host: String,
    /// They are not sent in the clear.
    is_secure: bool,
    text: String,
}

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty jar that keeps nothing of what servers set: it sends what the program adds.
    ///
    /// ```
    /// let jar = stoop::CookieJar::read_only();
    /// jar.add("session=17", "https://example.com/")?;
    /// let client = stoop::Client::builder().cookies(jar).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub fn read_only() -> Self {
        Self(Arc::new(JarState { is_read_only: true, ..JarState::default() }))
    }

    /// Keeps a cookie as if a response from `url` had set it: the value of a Set-Cookie field.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`], and [`ErrorKind::InvalidMessage`] for a cookie that is malformed, may not be set
    /// from there, or has expired.
    pub fn add(&self, set_cookie: &str, url: &str) -> Result<(), Error> {
        let url = crate::url::parse(url)?;
        match self.keep(set_cookie, &url) {
            Some(()) => Ok(()),
            None => {
                let error = Error::new(ErrorKind::InvalidMessage, Phase::Request);
                Err(error.with_detail("the cookie is malformed, or not one that this URL may set"))
            }
        }
    }

    /// Has cookies, such as `a=1; b=2`, sent as they are to the host of `url`, behind those of the jar: to all of its ports, for
    /// all paths, and not in the clear if `url` is one of https. Servers do not replace them, and no file gets them.
    ///
    /// ```
    /// let jar = stoop::CookieJar::new();
    /// jar.add_fixed("session=17", "https://example.com/")?;
    /// jar.add("theme=dark", "https://example.com/")?;
    /// let sent = jar.get("https://example.com:8443/app")?;
    /// assert_eq!(sent.as_deref(), Some("theme=dark; session=17"));
    /// assert_eq!(jar.get("http://example.com/")?.as_deref(), Some("theme=dark"));
    /// # Ok::<(), stoop::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`], and [`ErrorKind::InvalidMessage`] for a text that no field can have.
    pub fn add_fixed(&self, text: &str, url: &str) -> Result<(), Error> {
        let url = crate::url::parse(url)?;
        if http::HeaderValue::from_str(text).is_err() {
            let error = Error::new(ErrorKind::InvalidMessage, Phase::Request);
            return Err(error.with_detail("cookies are text without control characters"));
        }
        let (text, host) = (text.trim().to_owned(), url.host_str().unwrap_or_default().to_owned());
        self.fixed().push(FixedCookies { host, is_secure: url.scheme() == "https", text });
        Ok(())
    }

    /// The value of the Cookie field that a request for `url` gets; `None` if there are no cookies for it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`].
    pub fn get(&self, url: &str) -> Result<Option<String>, Error> {
        Ok(self.field(&crate::url::parse(url)?))
    }

    /// How many cookies there are, those included that have expired and were not replaced; fixed ones are not counted.
    pub fn len(&self) -> usize {
        self.store().iter_any().count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.store().iter_any().next().is_none()
    }

    /// Forgets all cookies.
    pub fn clear(&self) {
        self.store().clear();
        self.fixed().clear();
    }

    /// Reads what [`save`](Self::save) has written.
    ///
    /// # Errors
    /// Those of `reader`, and [`io::ErrorKind::InvalidData`].
    pub fn load(reader: impl BufRead) -> io::Result<Self> {
        let store = cookie_store::serde::json::load_all(reader).map_err(invalid)?;
        Ok(Self(Arc::new(JarState { store: Mutex::new(store), ..JarState::default() })))
    }

    /// Writes all cookies as JSON, with those that end with the session. They are secrets:
    /// a program that reads the file can use them.
    ///
    /// # Errors
    /// Those of `writer`.
    pub fn save(&self, mut writer: impl Write) -> io::Result<()> {
        cookie_store::serde::json::save_incl_expired_and_nonpersistent(&self.store(), &mut writer)
            .map_err(invalid)
    }

    /// Keeps what a response sets.
    pub(super) fn keep_all<'a>(&self, values: impl Iterator<Item = &'a [u8]>, url: &Url) {
        if self.0.is_read_only {
            return;
        }
        for value in values {
            if let Ok(text) = std::str::from_utf8(value) {
                self.keep(text, url);
            }
        }
    }

    /// The value of the Cookie field for a URL: cookies with longer paths come first (RFC 6265 §5.4, step 2). Those
    /// of one length are in the order of their names, because the jar knows no times of creation.
    pub(super) fn field(&self, url: &Url) -> Option<String> {
        let store = self.store();
        let mut cookies = store.matches(url);
        cookies.sort_unstable_by_key(|cookie| (Reverse(cookie.path.as_ref().len()), cookie.name()));
        let mut field = String::new();
        for (name, value) in cookies.iter().map(|cookie| cookie.name_value()) {
            if field.len() + name.len() + value.len() > FIELD_BYTES_MAX {
                continue;
            }
            if !field.is_empty() {
                field.push_str("; ");
            }
            field.push_str(name);
            field.push('=');
            field.push_str(value);
        }
        let fixed = self.fixed();
        let is_for = |cookies: &&FixedCookies| {
            Some(&*cookies.host) == url.host_str() && (!cookies.is_secure || is_secure(url))
        };
        for cookies in fixed.iter().filter(is_for) {
            if !field.is_empty() {
                field.push_str("; ");
            }
            field.push_str(&cookies.text);
        }
        (!field.is_empty()).then_some(field)
    }

    fn keep(&self, set_cookie: &str, url: &Url) -> Option<()> {
        let cookie = RawCookie::parse(set_cookie.to_owned()).ok()?;
        if cookie.name().len() + cookie.value().len() > COOKIE_BYTES_MAX {
            return None;
        }
        let host = url.host_str()?;
        let domain =
            cookie.domain().map(|domain| domain.trim_start_matches('.').to_ascii_lowercase());
        // RFC 6265 §5.3, step 5: for a public suffix only if it is the host itself.
        if let Some(domain) = domain.as_deref().filter(|domain| !domain.is_empty())
            && domain != host
            && is_public_suffix(domain)
        {
            return None;
        }
        let mut store = self.store();
        let domain = domain.filter(|domain| !domain.is_empty());
        let of_domain = domain.as_deref().unwrap_or(host);
        if !fits_prefix(&cookie) {
            return None;
        }
        let made = Cookie::try_from_raw_cookie(&cookie, url).ok()?.into_owned();
        if !is_secure(url)
            && (made.secure() == Some(true) || hides_secure(&store, &made, of_domain))
        {
            return None;
        }
        if !has_room(&store, &made, of_domain) {
            remove_expired(&mut store);
            if !has_room(&store, &made, of_domain) {
                return None;
            }
        }
        store.insert(made, url).ok().map(drop)
    }

    fn store(&self) -> MutexGuard<'_, CookieStore> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fixed(&self) -> MutexGuard<'_, Vec<FixedCookies>> {
        self.0.fixed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether what a response from that URL says of itself to be secure may be kept so: RFC 6265bis §5.7. Nothing
/// between is there to change what comes from this machine.
fn is_secure(url: &Url) -> bool {
    let is_here = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    is_here || url.scheme() == "https"
}

/// Whether a cookie is as the prefix of its name says: RFC 6265bis §4.1.3.
fn fits_prefix(cookie: &RawCookie<'_>) -> bool {
    let has = |prefix: &str| {
        let start = cookie.name().get(..prefix.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(prefix))
    };
    let is_secure = cookie.secure() == Some(true);
    if has("__Host-") {
        return is_secure && cookie.domain().is_none() && cookie.path() == Some("/");
    }
    is_secure || !has("__Secure-")
}

/// Whether a cookie that came in the clear would take the place of one that is for https alone: RFC 6265bis §5.7.
fn hides_secure(store: &CookieStore, cookie: &Cookie<'_>, of_domain: &str) -> bool {
    let mut kept = store.iter_any().filter(|kept| kept.name() == cookie.name());
    kept.any(|kept| {
        kept.secure() == Some(true)
            && kept.path == cookie.path
            && kept.domain.as_cow().is_some_and(|kept| kept == of_domain)
    })
}

/// Whether there is room for a cookie: it takes the place of another, or there are few enough, in all and of its domain.
fn has_room(store: &CookieStore, cookie: &Cookie<'_>, of_domain: &str) -> bool {
    let (mut all, mut same) = (0, 0);
    for kept in store.iter_any() {
        all += 1;
        if kept.domain.as_cow().is_some_and(|kept| kept == of_domain) {
            same += 1;
            if kept.name() == cookie.name() && kept.path == cookie.path {
                return true;
            }
        }
    }
    all < COOKIES_MAX && same < DOMAIN_COOKIES_MAX
}

/// RFC 6265 §5.3: expired cookies are the first that make room.
fn remove_expired(store: &mut CookieStore) {
    let expired = store.iter_any().filter(|cookie| cookie.is_expired());
    let expired: Vec<_> = expired
        .filter_map(|cookie| {
            let domain = cookie.domain.as_cow()?.into_owned();
            Some((domain, cookie.path.to_string(), cookie.name().to_owned()))
        })
        .collect();
    for (domain, path, name) in expired {
        store.remove(&domain, &path, &name);
    }
}

/// Whether a domain is one whose subdomains belong to others (publicsuffix.org). What the list does not name is one
/// if it has no dot.
fn is_public_suffix(domain: &str) -> bool {
    psl::suffix_str(domain).is_some_and(|suffix| suffix == domain)
}

fn invalid(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl fmt::Debug for CookieJar {
    /// How many there are: their values are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CookieJar({} cookies)", self.len())
    }
}

#[cfg(test)]
mod tests;
