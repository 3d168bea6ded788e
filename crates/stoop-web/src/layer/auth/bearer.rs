//! [`BearerAuth`]: tokens of the scheme Bearer (RFC 6750).

use std::sync::Arc;

use stoop::{Answer, Body, Request};

use super::{credentials, let_in, missing, quoted, same_secret};
use crate::extract::Rejection;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;

type CheckBearer = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

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
