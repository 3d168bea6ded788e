//! Redirects: where a response points to, and what of the request goes there (RFC 9110 §15.4).

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use http::{Method, StatusCode};
use percent_encoding::{AsciiSet, percent_encode};
use stoop_proto::{Fields, without_password};
use url::Url;

use crate::error::{Error, ErrorKind, Phase};
use crate::request::PastRedirect;

/// Which redirects a client follows.
///
/// On a change of origin (scheme, host or port) Authorization, Cookie, Proxy-Authorization and a Host of the
/// caller's own stay behind. A 303, and a 301 or 302 to a POST, becomes a GET without content; 307 and 308 repeat the
/// request, if its content can be sent again.
///
/// ```
/// use stoop::{Client, RedirectAction, RedirectAttempt, Redirects};
///
/// // Only within the domain that was asked for first.
/// let within = |attempt: &RedirectAttempt<'_>| match attempt.same_host() {
///     true => RedirectAction::Follow,
///     false => RedirectAction::Stop,
/// };
/// let client = Client::builder().redirects(Redirects::follow(5).decided_by(within)).build()?;
/// # Ok::<(), stoop::Error>(())
/// ```
#[derive(Clone)]
pub struct Redirects {
    pub(crate) max: u16,
    pub(crate) downgrade: bool,
    decide: Option<Arc<DecideRedirect>>,
}

type DecideRedirect = dyn Fn(&RedirectAttempt<'_>) -> RedirectAction + Send + Sync;

/// A redirect that a policy of the caller's is asked about: [`Redirects::decided_by`].
#[derive(Debug)]
pub struct RedirectAttempt<'a> {
    pub(crate) status: StatusCode,
    pub(crate) from: &'a Url,
    pub(crate) to: &'a Url,
    pub(crate) history: &'a [PastRedirect],
}

impl RedirectAttempt<'_> {
    /// The status of the redirect.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The URL that answered by it.
    pub fn from(&self) -> &str {
        self.from.as_str()
    }

    /// The URL that it leads to. It may have [credentials](crate::without_password) in it.
    pub fn to(&self) -> &str {
        self.to.as_str()
    }

    /// The redirects that were followed before it, the first one first.
    pub fn history(&self) -> &[PastRedirect] {
        self.history
    }

    /// Whether it leads to the same scheme, host and port.
    pub fn same_origin(&self) -> bool {
        same_origin(self.from, self.to)
    }

    /// Whether it leads to the same host.
    pub fn same_host(&self) -> bool {
        self.from.host() == self.to.host()
    }
}

/// What becomes of a redirect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectAction {
    /// It is followed.
    Follow,
    /// It is the response.
    Stop,
    /// The exchange fails with [`ErrorKind::RedirectDenied`], for this reason.
    Deny(String),
}

impl Redirects {
    /// Up to `max` of them; the next one is [`ErrorKind::RedirectLimit`].
    pub const fn follow(max: u16) -> Self {
        Self { max, downgrade: true, decide: None }
    }

    /// None: a redirect is a response as any other.
    pub const fn none() -> Self {
        Self { max: 0, downgrade: true, decide: None }
    }

    /// Whether one may lead from https to http: yes by default; [`ErrorKind::RedirectDenied`] if
    /// not.
    pub const fn allow_https_to_http(mut self, allowed: bool) -> Self {
        self.downgrade = allowed;
        self
    }

    /// Asks `decide` at each redirect that could be followed: one whose Location is an http or https URL,
    /// below the limit, and whose content can be sent again if it is to be.
    pub fn decided_by(
        mut self,
        decide: impl Fn(&RedirectAttempt<'_>) -> RedirectAction + Send + Sync + 'static,
    ) -> Self {
        self.decide = Some(Arc::new(decide));
        self
    }

    /// What becomes of a redirect by this policy, for another one that asks it first.
    pub fn action(&self, attempt: &RedirectAttempt<'_>) -> RedirectAction {
        self.decide.as_ref().map_or(RedirectAction::Follow, |decide| decide(attempt))
    }
}

impl fmt::Debug for Redirects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redirects")
            .field("max", &self.max)
            .field("downgrade", &self.downgrade)
            .field("is_decided", &self.decide.is_some())
            .finish()
    }
}

impl Default for Redirects {
    /// Up to 10, as browsers' fetch, Go and reqwest do or nearly do.
    fn default() -> Self {
        Self::follow(10)
    }
}

/// Whether the status asks to go elsewhere.
pub(crate) fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

/// The method that the request goes on with; content goes along only if it does not change.
pub(crate) fn method(status: StatusCode, method: &Method) -> Method {
    match (status.as_u16(), method) {
        (303, &Method::HEAD) => Method::HEAD,
        (303, _) => Method::GET,
        (301 | 302, &Method::POST) => Method::GET,
        _ => method.clone(),
    }
}

/// Where a Location leads from `url`: relative or absolute, http or https, with a host. `secure` makes it one of https
/// where its host wants that.
pub(crate) fn target(
    url: &Url,
    location: &[u8],
    policy: &Redirects,
    secure: impl FnOnce(&mut Url),
) -> Result<Url, Error> {
    let denied = |why: fmt::Arguments<'_>| {
        Error::new(ErrorKind::RedirectDenied, Phase::Redirect).with_detail(why)
    };
    let location = text(location);
    let shown = without_password(&location);
    let mut next =
        url.join(&location).map_err(|error| denied(format_args!("{shown:?}: {error}")))?;
    next.set_fragment(None);
    // The same rule as for a URL that is asked for.
    crate::url::check(&next)
        .map_err(|_| denied(format_args!("{shown:?} is not an http or https URL")))?;
    secure(&mut next);
    if url.scheme() == "https" && next.scheme() == "http" && !policy.downgrade {
        return Err(denied(format_args!("{} would leave https", without_password(next.as_str()))));
    }
    Ok(next)
}

/// A Location as text. Some servers send bytes of another encoding: then each stands for itself.
fn text(location: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(location) {
        Ok(text) => text.into(),
        Err(_) => percent_encode(location, BEYOND_ASCII).into(),
    }
}

/// Nothing but what is not ASCII.
const BEYOND_ASCII: &AsciiSet = &AsciiSet::EMPTY;

/// Whether two URLs are of one origin: RFC 6454 §5.
pub(crate) fn same_origin(a: &Url, b: &Url) -> bool {
    a.scheme() == b.scheme()
        && a.host() == b.host()
        && a.port_or_known_default() == b.port_or_known_default()
}

/// Drops what is for the first origin alone: credentials, and the host's name, which may be one of the caller's.
pub(crate) fn strip_origin_fields(fields: &mut Fields) {
    for name in
        ["authorization", "cookie", "cookie2", "host", "proxy-authorization", "www-authenticate"]
    {
        fields.remove(name);
    }
}

/// Drops what described the content that does not go along.
pub(crate) fn strip_content(fields: &mut Fields) {
    for name in [
        "content-encoding",
        "content-language",
        "content-length",
        "content-location",
        "content-type",
        "digest",
        "expect",
        "last-modified",
        "transfer-encoding",
    ] {
        fields.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn methods_change_as_the_rfc_and_browsers_have_it() {
        for (status, from, to) in [
            (301, Method::POST, Method::GET),
            (302, Method::POST, Method::GET),
            (301, Method::PUT, Method::PUT),
            (303, Method::PUT, Method::GET),
            (303, Method::HEAD, Method::HEAD),
            (307, Method::POST, Method::POST),
            (308, Method::DELETE, Method::DELETE),
            (302, Method::HEAD, Method::HEAD),
        ] {
            assert_eq!(method(StatusCode::from_u16(status).unwrap(), &from), to, "{status} {from}");
        }
    }

    #[test]
    fn locations_are_resolved_against_where_they_came_from() {
        let from = url("https://a.example/b/c?d");
        let policy = Redirects::default();
        for (location, to) in [
            ("/x", "https://a.example/x"),
            ("x", "https://a.example/b/x"),
            ("?y", "https://a.example/b/c?y"),
            ("//b.example", "https://b.example/"),
            ("http://b.example/#frag", "http://b.example/"),
            ("../../..", "https://a.example/"),
            (" /a b/ä\t", "https://a.example/a%20b/%C3%A4"),
        ] {
            assert_eq!(target(&from, location.as_bytes(), &policy, |_| {}).unwrap().as_str(), to);
        }
        let latin1 = target(&from, b"/\xe4?%C3", &policy, |_| {}).unwrap();
        assert_eq!(latin1.as_str(), "https://a.example/%E4?%C3");
        for bad in ["ftp://a/", "file:///etc/passwd", "javascript:1", "http://", "http://[::1"] {
            let kind = target(&from, bad.as_bytes(), &policy, |_| {}).unwrap_err().kind();
            assert_eq!(kind, ErrorKind::RedirectDenied, "{bad}");
        }
        let strict = Redirects::default().allow_https_to_http(false);
        assert!(target(&from, b"http://a.example/", &strict, |_| {}).is_err());
    }

    #[test]
    fn what_is_said_of_a_location_has_no_credentials_in_it() {
        let from = url("https://a.example/");
        let strict = Redirects::default().allow_https_to_http(false);
        for bad in [
            "http://me:s3cret@b.example/",
            "ftp://me:s3cret@b.example/",
            "//me:s3cret@b.example:99999/",
            "http://me:s3cret/4@b.example/",
            " \thttps://me:s3cret@[::1",
        ] {
            let error = target(&from, bad.as_bytes(), &strict, |_| {}).unwrap_err().to_string();
            assert!(!error.contains("s3cret") && error.contains("***@"), "{error}");
        }
    }

    #[test]
    fn an_origin_is_scheme_host_and_port() {
        let a = url("https://a.example/");
        assert!(same_origin(&a, &url("https://a.example:443/x")));
        for other in ["http://a.example/", "https://b.example/", "https://a.example:8443/"] {
            assert!(!same_origin(&a, &url(other)), "{other}");
        }
    }
}
