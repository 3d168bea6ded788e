//! Cookies that servers set, for the requests that follow (RFC 6265).

mod netscape;

use std::fmt;
use std::io::{self, BufRead, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cookie_store::{Cookie, CookieStore, RawCookie};
use url::Url;

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
/// server cannot set cookies for a public suffix, such as `co.uk`, whose subdomains belong to others. A request
/// that has a Cookie of its own gets none of these.
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
pub struct CookieJar(Arc<Mutex<CookieStore>>);

impl CookieJar {
    /// An empty jar.
    pub fn new() -> Self {
        Self::default()
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

    /// The value of the Cookie field that a request for `url` gets; `None` if there are no cookies for it.
    ///
    /// # Errors
    /// [`ErrorKind::InvalidUrl`].
    pub fn get(&self, url: &str) -> Result<Option<String>, Error> {
        Ok(self.field(&crate::url::parse(url)?))
    }

    /// How many cookies there are, those included that have expired and were not replaced.
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
    }

    /// Reads what [`save`](Self::save) has written.
    ///
    /// # Errors
    /// Those of `reader`, and [`io::ErrorKind::InvalidData`].
    pub fn load(reader: impl BufRead) -> io::Result<Self> {
        let store = cookie_store::serde::json::load_all(reader).map_err(invalid)?;
        Ok(Self(Arc::new(Mutex::new(store))))
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
        for value in values {
            if let Ok(text) = std::str::from_utf8(value) {
                self.keep(text, url);
            }
        }
    }

    /// The value of the Cookie field for a URL.
    pub(super) fn field(&self, url: &Url) -> Option<String> {
        let store = self.store();
        let mut field = String::new();
        for (name, value) in store.get_request_values(url) {
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
        if url.scheme() == "http" && hides_secure(&store, &made, of_domain) {
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
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
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
mod tests {
    use super::*;

    #[test]
    fn cookies_go_where_their_attributes_say() {
        let jar = CookieJar::new();
        for (cookie, url) in [
            ("a=1", "http://x.example.com/"),
            ("b=2; Domain=example.com", "http://x.example.com/"),
            ("c=3; Path=/p", "http://x.example.com/p/q"),
            ("d=4; Secure", "https://x.example.com/"),
        ] {
            jar.add(cookie, url).unwrap();
        }
        let sorted = |url: &str| {
            let field = jar.get(url).unwrap().unwrap_or_default();
            let mut all: Vec<_> = field.split("; ").map(str::to_owned).collect();
            all.sort();
            all.join("; ")
        };
        assert_eq!(sorted("http://x.example.com/"), "a=1; b=2");
        assert_eq!(sorted("http://y.example.com/"), "b=2");
        assert_eq!(sorted("http://x.example.com/p/"), "a=1; b=2; c=3");
        assert_eq!(sorted("https://x.example.com/"), "a=1; b=2; d=4");
        assert_eq!(sorted("http://example.org/"), "");
    }

    #[test]
    fn a_cookie_for_a_public_suffix_or_another_host_is_not_kept() {
        let jar = CookieJar::new();
        for (cookie, url) in [
            ("a=1; Domain=co.uk", "http://shop.co.uk/"),
            ("a=1; Domain=.com", "http://shop.com/"),
            ("a=1; Domain=github.io", "http://me.github.io/"),
            ("a=1; Domain=other.com", "http://shop.com/"),
            ("a=1; Domain=x.shop.com", "http://shop.com/"),
            ("no equals sign", "http://shop.com/"),
        ] {
            assert_eq!(
                jar.add(cookie, url).unwrap_err().kind(),
                ErrorKind::InvalidMessage,
                "{cookie}"
            );
        }
        assert!(jar.is_empty());
        jar.add("a=1; Domain=github.io", "http://github.io/").unwrap();
        assert_eq!(jar.get("http://github.io/").unwrap().as_deref(), Some("a=1"));
    }

    #[test]
    fn cookies_are_replaced_and_expire() {
        let jar = CookieJar::new();
        jar.add("a=1", "http://shop.com/").unwrap();
        jar.add("a=2", "http://shop.com/").unwrap();
        assert_eq!(jar.get("http://shop.com/").unwrap().as_deref(), Some("a=2"));
        let url = Url::parse("http://shop.com/").unwrap();
        jar.keep_all([&b"a=; Max-Age=0"[..], b"\xff=1"].into_iter(), &url);
        assert_eq!(jar.get("http://shop.com/").unwrap(), None);
    }

    #[test]
    fn the_memory_for_cookies_is_bounded() {
        let jar = CookieJar::new();
        for n in 0..400 {
            let _ = jar.add(&format!("c{n}=1"), "http://shop.com/");
        }
        assert_eq!(jar.len(), DOMAIN_COOKIES_MAX);
        assert!(jar.add("c0=other", "http://shop.com/").is_ok(), "what is there may change");
        for host in 0..60 {
            for n in 0..100 {
                let _ = jar.add(&format!("c{n}=1"), &format!("http://h{host}.com/"));
            }
        }
        assert_eq!(jar.len(), COOKIES_MAX);
        assert!(
            CookieJar::new().add(&format!("a={}", "x".repeat(5_000)), "http://a.com/").is_err()
        );
    }

    #[test]
    fn what_is_saved_is_loaded_again() {
        let jar = CookieJar::new();
        jar.add("a=1; Path=/p", "http://shop.com/p").unwrap();
        jar.add("b=2; Max-Age=3600; Secure", "https://shop.com/").unwrap();
        let mut file = Vec::new();
        jar.save(&mut file).unwrap();
        let loaded = CookieJar::load(&file[..]).unwrap();
        assert_eq!(loaded.len(), 2);
        assert_eq!(loaded.get("http://shop.com/p").unwrap().as_deref(), Some("a=1"));
        assert!(CookieJar::load(&b"no json\n"[..]).is_err());
    }

    #[test]
    fn a_cookie_of_another_path_is_another_cookie() {
        let jar = CookieJar::new();
        let mut kept = 0;
        for number in 0..DOMAIN_COOKIES_MAX + 20 {
            kept +=
                usize::from(jar.add(&format!("a=1; Path=/p{number}"), "http://a.test/").is_ok());
        }
        assert_eq!((kept, jar.len()), (DOMAIN_COOKIES_MAX, DOMAIN_COOKIES_MAX));
        // It takes the place of the one that is there.
        assert!(jar.add("a=2; Path=/p7", "http://a.test/").is_ok());
        assert_eq!(jar.get("http://a.test/p7").unwrap().as_deref(), Some("a=2"));
    }

    #[test]
    fn expired_cookies_make_room() {
        let jar = CookieJar::new();
        for number in 0..DOMAIN_COOKIES_MAX {
            jar.add(&format!("c{number}=1; Max-Age=1"), "http://a.test/").unwrap();
        }
        assert!(jar.add("login=1", "http://a.test/").is_err());
        std::thread::sleep(std::time::Duration::from_millis(1_100));
        assert!(jar.add("login=1", "http://a.test/").is_ok());
        assert_eq!(jar.len(), 1);
    }

    #[test]
    fn what_came_in_the_clear_does_not_take_the_place_of_what_is_for_https() {
        let jar = CookieJar::new();
        jar.add("a=1; Secure", "https://a.test/").unwrap();
        assert!(jar.add("a=2", "http://a.test/").is_err());
        assert!(jar.add("a=3", "https://a.test/").is_ok());
        for refused in
            ["__Host-a=1; Secure; Path=/; Domain=a.test", "__Host-a=1; Path=/", "__secure-a=1"]
        {
            assert!(jar.add(refused, "https://a.test/").is_err(), "{refused}");
        }
        assert!(jar.add("__Host-a=1; Secure; Path=/", "https://a.test/").is_ok());
    }

    #[test]
    fn a_cookie_field_is_bounded() {
        let jar = CookieJar::new();
        let value = "v".repeat(3_000);
        (0..9).for_each(|n| jar.add(&format!("c{n}={value}"), "http://a.test/").unwrap());
        let field = jar.get("http://a.test/").unwrap().unwrap();
        assert!((6_000..=FIELD_BYTES_MAX + 2).contains(&field.len()), "{}", field.len());
    }
}
