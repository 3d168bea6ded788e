//! Who asks: credentials of the schemes Basic (RFC 7617) and Bearer (RFC 6750).

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use stoop::{Answer, Body, Request, StatusCode};
use subtle::ConstantTimeEq;

use crate::extract::{FromHead, Head, Place, Problem, Rejection};
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

/// Whether two secrets are the same, in a time that tells neither where they differ nor how long they are: their
/// SHA-256 hashes are compared, all bytes of them.
///
/// ```
/// assert!(stoop_web::same_secret(b"hunter2", b"hunter2"));
/// assert!(!stoop_web::same_secret(b"hunter2", b"hunter3"));
/// ```
pub fn same_secret(one: &[u8], other: &[u8]) -> bool {
    Sha256::digest(one).ct_eq(&Sha256::digest(other)).into()
}

/// The name by which [`BasicAuth`] or [`BearerAuth`] has let a request in: an argument of handlers, and an
/// [extension](stoop::Request::extensions) of the request. Where neither is in front of the handler, the answer is 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct User(pub String);

impl FromHead for User {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        head.request().extensions().get().cloned().ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "no credentials are asked for here");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }
}

type CheckBasic = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;
type CheckBearer = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// Lets in requests with a user's name and password: 401 otherwise, with a challenge by which browsers ask for them.
///
/// They are readable by all who see the connection: use it over TLS alone (RFC 7617 §4).
///
/// ```
/// use stoop_web::{BasicAuth, Router, User, get};
///
/// let auth = BasicAuth::new("the archive").user("ada", "correct horse battery staple");
/// let app = Router::new()
///     .route("/", get(|User(name): User| format!("hello, {name}")))
///     .layer(auth)
///     .build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone)]
pub struct BasicAuth {
    challenge: String,
    users: Vec<(String, String)>,
    check: Option<CheckBasic>,
}

impl BasicAuth {
    /// Lets no request in yet. The realm is shown by browsers.
    pub fn new(realm: &str) -> Self {
        let challenge = format!("Basic realm={}, charset=\"UTF-8\"", quoted(realm));
        Self { challenge, users: Vec::new(), check: None }
    }

    /// Lets a user in with that password, compared in constant time.
    ///
    /// # Panics
    /// If the name has a colon in it: no client could send it (RFC 7617 §2).
    pub fn user(mut self, name: impl Into<String>, password: impl Into<String>) -> Self {
        let name = name.into();
        assert!(!name.contains(':'), "a user's name has no colon");
        self.users.push((name, password.into()));
        self
    }

    /// Lets in the users for whom `check` is true, besides those that are listed. It runs on the connection's core: what
    /// takes long, such as a hash for passwords, holds up others there. Compare by [`same_secret`].
    pub fn check(mut self, check: impl Fn(&str, &str) -> bool + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    fn user_of(&self, request: &Request) -> Result<String, Rejection> {
        let refuse = |why: &str| missing(why).with_field("www-authenticate", &*self.challenge);
        let Some(credentials) = credentials(request, "basic") else {
            return Err(refuse("a user's name and password are needed"));
        };
        let decoded = STANDARD.decode(credentials).ok();
        let text = decoded.and_then(|bytes| String::from_utf8(bytes).ok());
        let Some((name, password)) = text.as_deref().and_then(|text| text.split_once(':')) else {
            return Err(refuse("the credentials are malformed"));
        };
        // All are compared, so that the time does not tell which names there are.
        let is_listed = self.users.iter().fold(false, |found, (known, secret)| {
            found
                | (same_secret(known.as_bytes(), name.as_bytes())
                    & same_secret(secret.as_bytes(), password.as_bytes()))
        });
        if is_listed || self.check.as_ref().is_some_and(|check| check(name, password)) {
            return Ok(name.to_owned());
        }
        Err(refuse("name or password is wrong"))
    }
}

impl<M: Mode> Middleware<M> for BasicAuth {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let user = self.user_of(&request);
        let_in(user, request, next)
    }
}

/// Lets in requests with a token: 401 otherwise, with the error that RFC 6750 §3.1 has for it.
///
/// ```
/// use stoop_web::{BearerAuth, Router, get};
///
/// let auth = BearerAuth::new("the API").token("ada", "dGhlIGZhbGNvbg");
/// let app = Router::new().route("/", get(|| "in")).layer(auth).build()?;
/// # Ok::<(), stoop_web::RouterError>(())
/// ```
#[derive(Clone)]
pub struct BearerAuth {
    realm: String,
    tokens: Vec<(String, String)>,
    check: Option<CheckBearer>,
}

impl BearerAuth {
    /// Lets no request in yet.
    pub fn new(realm: &str) -> Self {
        Self { realm: quoted(realm), tokens: Vec::new(), check: None }
    }

    /// Lets a user in with that token, compared in constant time.
    pub fn token(mut self, name: impl Into<String>, token: impl Into<String>) -> Self {
        self.tokens.push((name.into(), token.into()));
        self
    }

    /// Lets in the tokens for which `check` gives a name, besides those that are listed. It runs on the connection's core,
    /// and is not for what waits.
    pub fn check(mut self, check: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        self.check = Some(Arc::new(check));
        self
    }

    fn user_of(&self, request: &Request) -> Result<String, Rejection> {
        let realm = &self.realm;
        let Some(token) = credentials(request, "bearer") else {
            let challenge = format!("Bearer realm={realm}");
            return Err(missing("a token is needed").with_field("www-authenticate", challenge));
        };
        let listed = self.tokens.iter().fold(None, |found, (name, known)| {
            let is = same_secret(known.as_bytes(), token.as_bytes());
            if is { Some(name.clone()) } else { found }
        });
        let user = listed.or_else(|| self.check.as_ref().and_then(|check| check(token)));
        user.ok_or_else(|| {
            let challenge = format!("Bearer realm={realm}, error=\"invalid_token\"");
            missing("the token is not valid").with_field("www-authenticate", challenge)
        })
    }
}

impl<M: Mode> Middleware<M> for BearerAuth {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let user = self.user_of(&request);
        let_in(user, request, next)
    }
}

fn let_in<M: Mode>(
    user: Result<String, Rejection>,
    mut request: Request,
    next: Next<M>,
) -> Answer<M::Future, Body> {
    match user {
        Ok(user) => {
            request.extensions_mut().insert(User(user));
            next.answer(request)
        }
        Err(rejection) => Answer::Now(rejection.answer(&request)),
    }
}

/// The credentials of a request by that scheme (RFC 9110 §11.4). None if there are several: which of them were meant
/// is not known.
fn credentials<'a>(request: &'a Request, scheme: &str) -> Option<&'a str> {
    let mut all = request.fields().all("authorization");
    let (Some(value), None) = (all.next(), all.next()) else { return None };
    let (named, credentials) = std::str::from_utf8(value).ok()?.split_once(' ')?;
    named.eq_ignore_ascii_case(scheme).then(|| credentials.trim_matches(' '))
}

fn missing(why: &str) -> Rejection {
    let problem = Problem::new(Place::Field, "Authorization", why);
    Rejection::new(StatusCode::UNAUTHORIZED, problem)
}

/// A quoted string (RFC 9110 §5.6.4), of what a field can have.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for character in text.chars().filter(|character| !character.is_control()) {
        if matches!(character, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    quoted.push('"');
    quoted
}
