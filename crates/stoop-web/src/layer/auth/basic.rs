//! [`BasicAuth`]: names and passwords of the scheme Basic (RFC 7617).

use std::sync::{Arc, OnceLock};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stoop::{Answer, Body, IntoResponse, Request, Response};

use super::known::KnownCredentials;
use super::{User, credentials, let_in, missing, quoted, same_secret};
use crate::blocking::BlockingPool;
use crate::extract::Rejection;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::{Mode, map};

type CheckBasic = Arc<dyn Fn(&str, &str) -> bool + Send + Sync>;

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
    hashed: Option<HashedUsers>,
}

/// A check that takes long, where it runs, and whom it has let in.
#[derive(Clone)]
struct HashedUsers {
    pool: BlockingPool,
    check: CheckBasic,
    known: Arc<KnownCredentials>,
}

/// What is known of a request's credentials.
enum Credentials {
    /// They are this user's.
    Good(String),
    /// They have to be checked, which takes long.
    Unknown { name: String, password: String },
}

impl BasicAuth {
    /// Lets no request in yet. The realm is shown by browsers.
    pub fn new(realm: &str) -> Self {
        let challenge = format!("Basic realm={}, charset=\"UTF-8\"", quoted(realm));
        Self { challenge, users: Vec::new(), check: None, hashed: None }
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

    /// Lets in the users for whom `check` is true, besides all others, where that takes long, as comparing with a hash
    /// made for passwords does (bcrypt, Argon2): it runs in `pool`. Whom it lets in is remembered for a minute, at
    /// most 1,000 of them, by a keyed hash of name and password. A request that finds the pool full is answered
    /// 503.
    ///
    /// ```
    /// use stoop_web::{BasicAuth, BlockingPool};
    ///
    /// # fn verify(name: &str, password: &str) -> bool { false }
    /// let auth = BasicAuth::new("the archive").check_blocking(BlockingPool::new(2, 64), verify);
    /// ```
    pub fn check_blocking(
        mut self,
        pool: BlockingPool,
        check: impl Fn(&str, &str) -> bool + Send + Sync + 'static,
    ) -> Self {
        let known = Arc::default();
        self.hashed = Some(HashedUsers { pool, check: Arc::new(check), known });
        self
    }

    fn credentials_of(&self, request: &Request) -> Result<Credentials, Rejection> {
        let refuse = |why: &str| refused(&self.challenge, why);
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
            return Ok(Credentials::Good(name.to_owned()));
        }
        match &self.hashed {
            Some(hashed) if hashed.known.contains(name, password) => {
                Ok(Credentials::Good(name.to_owned()))
            }
            Some(_) => {
                Ok(Credentials::Unknown { name: name.to_owned(), password: password.to_owned() })
            }
            None => Err(refuse(WRONG)),
        }
    }
}

impl HashedUsers {
    /// Lets a request in, or says what to answer.
    async fn let_in(
        self,
        mut request: Request,
        (name, password): (String, String),
        challenge: String,
        found: Arc<OnceLock<User>>,
    ) -> Result<Request, Response> {
        let Self { pool, check, known } = self;
        let checked = pool.run(move || check(&name, &password).then_some((name, password))).await;
        match checked {
            Ok(Some((name, password))) => {
                known.insert(&name, &password);
                request.extensions_mut().insert(User(name.clone()));
                let _ = found.set(User(name));
                Ok(request)
            }
            Ok(None) => Err(refused(&challenge, WRONG).answer(&request)),
            Err(error) => Err(error.into_response()),
        }
    }
}

const WRONG: &str = "name or password is wrong";

fn refused(challenge: &str, why: &str) -> Rejection {
    missing(why).with_field("www-authenticate", challenge)
}

impl<M: Mode> Middleware<M> for BasicAuth {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let user = match (self.credentials_of(&request), &self.hashed) {
            (Ok(Credentials::Unknown { name, password }), Some(hashed)) => {
                let challenge = self.challenge.clone();
                let found = Arc::new(OnceLock::new());
                let checked = hashed.clone();
                let checked = checked.let_in(request, (name, password), challenge, found.clone());
                let answer = Answer::Later(M::after(Box::pin(checked), next));
                return map::<M>(answer, move |mut response| {
                    if let Some(user) = found.get() {
                        response.extensions_mut().insert(user.clone());
                    }
                    response
                });
            }
            (Ok(Credentials::Good(name)), _) => Ok(name),
            (Ok(Credentials::Unknown { .. }), None) => Err(refused(&self.challenge, WRONG)),
            (Err(rejection), _) => Err(rejection),
        };
        let_in(user, request, next)
    }
}
