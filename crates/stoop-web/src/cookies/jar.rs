//! [`Cookies`]: the cookies of a request, and those that its response sets.

use percent_encoding::percent_decode_str;
use stoop::{Fields, IntoResponse, Response};

use crate::cookies::cookie::Cookie;
use crate::cookies::key::{CookieKey, Protection};
use crate::extract::{FromHead, Head, Rejection};

/// The cookies of a request, as an argument of a handler, and those that its answer sets.
///
/// What a client sends may be anything: a value that must be what was set is a signed one, and one that the client must
/// not read a private one.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::{Client, Response};
/// use stoop_web::{Cookie, CookieKey, Cookies, Router, State, get};
///
/// async fn count(State(key): State<CookieKey>, cookies: Cookies) -> Response {
///     let seen = cookies.signed(&key, "seen").and_then(|seen| seen.parse().ok()).unwrap_or(0) + 1;
///     cookies.set_signed(&key, Cookie::new("seen", seen.to_string())).respond(format!("{seen}"))
/// }
///
/// let app = Router::new().route("/", get(count)).state(CookieKey::generate()).build()?;
/// let client = Client::builder().handler(app).build()?;
/// let first = client.get("http://a.test/").await?;
/// let cookie = String::from_utf8(first.field("set-cookie").unwrap().to_vec())?;
/// let cookie = cookie.split(';').next().unwrap();
/// let second = client.get("http://a.test/").header("cookie", cookie).await?;
/// assert_eq!(second.text().await?, "2");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cookies {
    received: Vec<(String, String)>,
    changes: Vec<Cookie>,
}

impl FromHead for Cookies {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        Ok(Self { received: received(head.request().fields()), changes: Vec::new() })
    }
}

impl Cookies {
    /// The value of a plain cookie. Of several of one name, the first: that is the one with the longest path (RFC 6265
    /// §5.4).
    pub fn get(&self, name: &str) -> Option<&str> {
        self.received.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The value of a cookie that was signed with this key. One that was changed is none.
    pub fn signed(&self, key: &CookieKey, name: &str) -> Option<String> {
        self.opened(key, Protection::Signed, name)
    }

    /// The value of a cookie that was encrypted with this key. One that was changed is none.
    pub fn private(&self, key: &CookieKey, name: &str) -> Option<String> {
        self.opened(key, Protection::Private, name)
    }

    /// Of several of one name the first that the key opens: another site below the same domain can set more.
    fn opened(&self, key: &CookieKey, protection: Protection, name: &str) -> Option<String> {
        let named = self.received.iter().filter(|(known, _)| known == name);
        named.filter_map(|(_, value)| key.open(protection, name, value)).next()
    }

    /// All names and values, as they came, decoded.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.received.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Sets a cookie that the client can read and change.
    pub fn set(mut self, cookie: Cookie) -> Self {
        self.changes.push(cookie);
        self
    }

    /// Sets a cookie that the client can read, and cannot change.
    pub fn set_signed(self, key: &CookieKey, cookie: Cookie) -> Self {
        let sealed = key.seal(Protection::Signed, cookie);
        self.set(sealed)
    }

    /// Sets a cookie that the client can neither read nor change.
    pub fn set_private(self, key: &CookieKey, cookie: Cookie) -> Self {
        let sealed = key.seal(Protection::Private, cookie);
        self.set(sealed)
    }

    /// Takes a cookie away that has the path `/` and no domain; for another, [set](Self::set) a [`Cookie::removal`] with
    /// its own.
    pub fn remove(self, name: impl Into<String>) -> Self {
        self.set(Cookie::removal(name))
    }

    /// The response, with the cookies that were set.
    pub fn respond<R: IntoResponse>(self, response: R) -> Response<R::Body> {
        self.changes
            .iter()
            .fold(response.into_response(), |response, cookie| cookie.set_on(response))
    }
}

/// cookie-string (RFC 6265 §4.2.1), from all fields of that name: over HTTP/2 each cookie may have one (RFC 9113
/// §8.2.3). What is no pair is read past, and text that is not UTF-8 left out.
pub(crate) fn received(fields: &Fields) -> Vec<(String, String)> {
    let lines = fields.all("cookie").filter_map(|line| std::str::from_utf8(line).ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let decode = |value: &str| {
        let quoted = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        let value = quoted.unwrap_or(value);
        let decoded = percent_decode_str(value).decode_utf8();
        decoded.map_or_else(|_| value.to_owned(), |decoded| decoded.into_owned())
    };
    pairs.map(|(name, value)| (name.trim().to_owned(), decode(value.trim()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cookies(lines: &[&str]) -> Cookies {
        let mut fields = Fields::new();
        lines.iter().for_each(|line| fields.push("cookie", line.as_bytes()).unwrap());
        Cookies { received: received(&fields), changes: Vec::new() }
    }

    /// RFC 6265 §4.2.1, §5.4.
    #[test]
    fn cookies_are_pairs_of_all_lines() {
        let cookies = cookies(&["a=1; b=\"2\" ;c=x=y;;none; a=3", "d=%C3%A4%zz; e=%ff"]);
        let pairs: Vec<_> = cookies.iter().collect();
        assert_eq!(
            pairs,
            [("a", "1"), ("b", "2"), ("c", "x=y"), ("a", "3"), ("d", "ä%zz"), ("e", "%ff")]
        );
        assert_eq!((cookies.get("a"), cookies.get("A")), (Some("1"), None));
    }

    #[test]
    fn a_protected_cookie_is_one_of_its_key_and_its_name() {
        let (key, other) = (CookieKey::generate(), CookieKey::generate());
        for protection in [Protection::Signed, Protection::Private] {
            let set = key.seal(protection, Cookie::new("a", "s; é"));
            let is_hidden = !set.value().contains("s; ");
            assert_eq!(is_hidden, matches!(protection, Protection::Private));
            let written = set.to_string();
            let sent = written.split(';').next().unwrap();
            let back = cookies(&["a=forged", sent]);
            assert_eq!(back.opened(&key, protection, "a").as_deref(), Some("s; é"));
            assert_eq!(back.opened(&other, protection, "a"), None);
            let renamed = cookies(&[&sent.replacen("a=", "b=", 1)]);
            assert_eq!(renamed.opened(&key, protection, "b"), None);
            let changed = cookies(&[&format!("{sent}x")]);
            assert_eq!(changed.opened(&key, protection, "a"), None);
        }
        let again = CookieKey::from_bytes(key.as_bytes()).unwrap();
        let sealed = key.seal(Protection::Signed, Cookie::new("a", "1"));
        assert_eq!(again.open(Protection::Signed, "a", sealed.value()).as_deref(), Some("1"));
        assert!(CookieKey::from_bytes(&[1; 63]).is_none());
    }
}
