//! [`Cookie`]: a cookie that a response sets, with its attributes.

use std::fmt;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use stoop::{Response, StatusCode};

/// What is no cookie-octet (RFC 6265 §4.1.1), and the percent sign, by which these are written.
const ENCODED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b',').add(b';').add(b'\\').add(b'%');

/// A cookie that is set: by default one for the whole host, `Path=/`, until the browser ends, that no script reads
/// (`HttpOnly`), that is sent over https alone (`Secure`), and to requests from other sites only where the visitor
/// follows a link (`SameSite=Lax`).
///
/// Browsers take `http://localhost` for secure, but for Safari.
///
/// ```
/// use stoop_web::Cookie;
///
/// let cookie = Cookie::new("theme", "dark mode");
/// assert_eq!(
///     cookie.to_string(),
///     "theme=dark%20mode; Path=/; HttpOnly; Secure; SameSite=Lax"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cookie {
    name: String,
    value: String,
    path: String,
    domain: Option<String>,
    max_age: Option<Duration>,
    is_secure: bool,
    is_http_only: bool,
    same_site: SameSite,
}

/// To which requests from other sites a cookie is sent (RFC 6265bis §5.6.7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SameSite {
    /// To none.
    Strict,
    /// To those by which the visitor comes here: a link, but no form that changes something.
    Lax,
    /// To all. Browsers want the cookie to be secure then.
    None,
}

impl Cookie {
    /// A cookie. What no cookie can have in its value is percent-encoded, and decoded when it is read again. Browsers pass over
    /// one whose name and value have more than 4,096 bytes (RFC 6265bis §5.7).
    pub fn new(name: impl Into<String>, value: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            value: value.into(),
            path: "/".to_owned(),
            domain: None,
            max_age: None,
            is_secure: true,
            is_http_only: true,
            same_site: SameSite::Lax,
        }
    }

    /// A cookie that takes away the one of this name, with the path `/` and without a domain.
    pub fn removal(name: impl Into<String>) -> Self {
        Self::new(name, "").max_age(Duration::ZERO)
    }

    /// Sends it to paths below this one alone.
    pub fn path(mut self, path: impl Into<String>) -> Self {
        self.path = path.into();
        self
    }

    /// Sends it to this host and all below it. Without, it is sent to the host that set it alone.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.domain = Some(domain.into());
        self
    }

    /// How long the browser keeps it, in whole seconds; by default until it ends.
    pub fn max_age(mut self, age: Duration) -> Self {
        self.max_age = Some(age);
        self
    }

    /// Whether it is sent over https alone: by default.
    pub fn secure(mut self, is_secure: bool) -> Self {
        self.is_secure = is_secure;
        self
    }

    /// Whether it is kept from scripts: by default.
    pub fn http_only(mut self, is_http_only: bool) -> Self {
        self.is_http_only = is_http_only;
        self
    }

    /// To which requests from other sites it is sent: by default [`SameSite::Lax`].
    pub fn same_site(mut self, same_site: SameSite) -> Self {
        self.same_site = same_site;
        self
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its value, as it was given.
    pub fn value(&self) -> &str {
        &self.value
    }

    pub(crate) fn with_value(mut self, value: String) -> Self {
        self.value = value;
        self
    }

    /// Adds it to a response as Set-Cookie. A name that is no token, or a path or domain with a semicolon or a control
    /// character in it, is a defect of the handler, and a 500 takes the place of the response, its content and its fields.
    pub fn set_on<B>(&self, mut response: Response<B>) -> Response<B> {
        let is_added = self.is_well_formed()
            && response.fields_mut().push("set-cookie", self.to_string().as_bytes()).is_ok();
        if is_added {
            return response;
        }
        response.fields_mut().clear();
        let response = response.with_status(StatusCode::INTERNAL_SERVER_ERROR);
        response.with_text("500 Internal Server Error: the handler sets a malformed cookie\n")
    }

    fn is_well_formed(&self) -> bool {
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_attribute =
            |text: &str| text.bytes().all(|byte| (b' '..=b'~').contains(&byte) && byte != b';');
        !self.name.is_empty()
            && self.name.bytes().all(is_token)
            && is_attribute(&self.path)
            && self.domain.as_deref().is_none_or(is_attribute)
    }
}

/// The value of Set-Cookie (RFC 6265 §4.1.1).
impl fmt::Display for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = utf8_percent_encode(&self.value, ENCODED);
        write!(f, "{}={value}; Path={}", self.name, self.path)?;
        if let Some(domain) = &self.domain {
            write!(f, "; Domain={domain}")?;
        }
        if let Some(age) = self.max_age {
            write!(f, "; Max-Age={}", age.as_secs())?;
        }
        if self.is_http_only {
            f.write_str("; HttpOnly")?;
        }
        if self.is_secure {
            f.write_str("; Secure")?;
        }
        f.write_str(match self.same_site {
            SameSite::Strict => "; SameSite=Strict",
            SameSite::Lax => "; SameSite=Lax",
            SameSite::None => "; SameSite=None",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_attributes_are_written() {
        let cookie = Cookie::new("a", "1;\u{e4}%\"")
            .path("/x")
            .domain("example.com")
            .max_age(Duration::from_secs(60))
            .secure(false)
            .http_only(false)
            .same_site(SameSite::Strict);
        assert_eq!(
            cookie.to_string(),
            "a=1%3B%C3%A4%25%22; Path=/x; Domain=example.com; Max-Age=60; SameSite=Strict"
        );
        let removal = "a=; Path=/; Max-Age=0; HttpOnly; Secure; SameSite=Lax";
        assert_eq!(Cookie::removal("a").to_string(), removal);
    }

    #[test]
    fn what_would_add_an_attribute_or_a_line_is_refused() {
        for cookie in [
            Cookie::new("", "x"),
            Cookie::new("a b", "x"),
            Cookie::new("a=b", "x"),
            Cookie::new("a", "x").path("/; Domain=evil.test"),
            Cookie::new("a", "x").domain("b\r\nset-cookie: c=d"),
        ] {
            let response = cookie.set_on(Response::from_json("\"secret\""));
            assert_eq!((response.status().as_u16(), response.field("set-cookie")), (500, None));
            assert_eq!(response.field("content-type"), Some(&b"text/plain; charset=utf-8"[..]));
            let why = b"500 Internal Server Error: the handler sets a malformed cookie\n";
            let mut content = std::pin::pin!(response.into_body().bytes(1_000));
            let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
            match content.as_mut().poll(&mut cx) {
                std::task::Poll::Ready(Ok(content)) => assert_eq!(&*content, why),
                other => panic!("{other:?}"),
            }
        }
        let good = Cookie::new("a", "x\r\nb").set_on(Response::from_text(""));
        assert!(good.field("set-cookie").unwrap().starts_with(b"a=x%0D%0Ab;"));
    }
}
