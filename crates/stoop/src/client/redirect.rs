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
/// request, if its content can be sent again. [`keep_post`](Self::keep_post) and
/// [`trust_all_origins`](Self::trust_all_origins) have it otherwise.
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
    /// A POST stays one behind 301, 302 and 303.
    keeps_post: [bool; 3],
    /// Credentials go along to other origins.
    pub(crate) trusts_all: bool,
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
        Self { max, downgrade: true, keeps_post: [false; 3], trusts_all: false, decide: None }
    }

    /// None: a redirect is a response as any other.
    pub const fn none() -> Self {
        Self::follow(0)
    }

    /// Whether one may lead from https to http: yes by default; [`ErrorKind::RedirectDenied`] if
    /// not.
    pub const fn allow_https_to_http(mut self, allowed: bool) -> Self {
        self.downgrade = allowed;
        self
    }

    /// Has a POST stay a POST with its content behind this status, for servers that mean that: 301, 302 or 303. No other
    /// status changes anything. By default it becomes a GET, as with browsers.
    ///
    /// ```
    /// use stoop::{Client, Redirects, StatusCode};
    ///
    /// let policy = Redirects::follow(5).keep_post(StatusCode::MOVED_PERMANENTLY).keep_post(StatusCode::FOUND);
    /// let client = Client::builder().redirects(policy).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub const fn keep_post(mut self, status: StatusCode) -> Self {
        match status.as_u16() {
            301 => self.keeps_post[0] = true,
            302 => self.keeps_post[1] = true,
            303 => self.keeps_post[2] = true,
            _ => {}
        }
        self
    }

    /// Whether a POST stays one behind a status.
    fn keeps_post(&self, status: StatusCode) -> bool {
        let at = usize::from(status.as_u16()).checked_sub(301);
        at.and_then(|at| self.keeps_post.get(at)).is_some_and(|keeps| *keeps)
    }

    /// Whether the request's Authorization, Cookie and Proxy-Authorization, and credentials for the Digest scheme, go along to
    /// another origin too: no by default. Only where all hosts that a redirect may lead to are trusted with them: a
    /// server names any host that it likes, and from https to http they go in the clear. A Host of the caller's own and
    /// the cookies of a jar stay with theirs.
    ///
    /// ```
    /// use stoop::{Client, RedirectAction, RedirectAttempt, Redirects};
    ///
    /// // The credentials are for this host too, and for no other.
    /// let within = |attempt: &RedirectAttempt<'_>| match attempt.to().starts_with("https://files.example.com/") {
    ///     true => RedirectAction::Follow,
    ///     false => RedirectAction::Stop,
    /// };
    /// let policy = Redirects::follow(5).trust_all_origins(true).decided_by(within);
    /// let client = Client::builder().redirects(policy).build()?;
    /// # Ok::<(), stoop::Error>(())
    /// ```
    pub const fn trust_all_origins(mut self, trusted: bool) -> Self {
        self.trusts_all = trusted;
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
            .field("keeps_post", &self.keeps_post)
            .field("trusts_all", &self.trusts_all)
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

/// The method that the request goes on with by a policy, and whether its content goes along.
pub(crate) fn method(status: StatusCode, method: &Method, policy: &Redirects) -> (Method, bool) {
    match (status.as_u16(), method) {
        (_, &Method::POST) if policy.keeps_post(status) => (Method::POST, true),
        (303, &Method::HEAD) => (Method::HEAD, false),
        (303, _) => (Method::GET, false),
        (301 | 302, &Method::POST) => (Method::GET, false),
        _ => (method.clone(), true),
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

/// Drops what is for the first origin alone: credentials, unless the policy trusts all origins with them, and the host's
/// name, which may be one of the caller's.
pub(crate) fn strip_origin_fields(fields: &mut Fields, policy: &Redirects) {
    if policy.trusts_all {
        return fields.remove("host");
    }
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
mod tests;
