//! [`BasicAuth`]: names and passwords of the scheme Basic (RFC 7617).

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use stoop::{Answer, Body, IntoResponse, Request, Response, StatusCode};

use super::known::{KnownCredentials, Standing};
use super::waiting::Waiting;
use super::{User, credentials, let_in, missing, quoted, same_secret};
use crate::blocking::{BlockingError, BlockingPool};
use crate::extract::Rejection;
use crate::forwarded::ForwardedClient;
use crate::respond::text::text;
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
    waiting: Arc<Waiting>,
}

/// What is known of a request's credentials.
enum Credentials {
    /// They are this user's.
    Good(String),
    /// They have to be checked, which takes long.
    Unknown(ToCheck),
}

/// Credentials that have to be checked.
struct ToCheck {
    name: String,
    password: String,
    /// They were right some time ago.
    is_stale: bool,
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
    /// most 1,000 of them, by a keyed hash of name and password. After that it is checked again; where that is not
    /// possible because too much is waiting, it is let in for an hour after its last check, so that those who guess passwords
    /// lock no user out. Others that find the pool full are answered 503, and so are those of an address of which eight
    /// are being checked already (of IPv6, of a network of 64 bits): the client's that
    /// [`TrustedProxies`](crate::TrustedProxies) around it have told, or the connection's. An address that has sent wrong
    /// ones within the last minute, and no right ones since, has one check at a time. The first check of an address that has
    /// not comes before all others, and takes the place of one of them where the pool is full: addresses that have guessed
    /// keep none out that has not. Only as many addresses as the pool has places, each with its first guess, can.
    ///
    /// For a name that is unknown, have it take as long as for one that is known, or the time tells which names there are.
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
        let waiting = Arc::default();
        self.hashed = Some(HashedUsers { pool, check: Arc::new(check), known, waiting });
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
        let Some(hashed) = &self.hashed else { return Err(refuse(WRONG)) };
        let standing = hashed.known.standing(name, password);
        let name = name.to_owned();
        Ok(match standing {
            Standing::Fresh => Credentials::Good(name),
            Standing::Stale | Standing::Unknown => Credentials::Unknown(ToCheck {
                name,
                password: password.to_owned(),
                is_stale: standing == Standing::Stale,
            }),
        })
    }
}

impl HashedUsers {
    /// Lets a request in, or says what to answer.
    async fn let_in(
        self,
        mut request: Request,
        asked: ToCheck,
        challenge: String,
        found: Arc<OnceLock<User>>,
    ) -> Result<Request, Response> {
        let name = asked.name.clone();
        match self.is_right(&request, asked).await {
            Ok(true) => {
                let _ = found.set(User(name.clone()));
                request.extensions_mut().insert(User(name));
                Ok(request)
            }
            Ok(false) => Err(refused(&challenge, WRONG).answer(&request)),
            Err(response) => Err(response),
        }
    }

    /// Whether the credentials are right; the answer where that cannot be found out now.
    async fn is_right(&self, request: &Request, asked: ToCheck) -> Result<bool, Response> {
        let Some(waits) = self.waiting.enter(client_of(request), Instant::now()) else {
            return if asked.is_stale { Ok(true) } else { Err(too_many()) };
        };
        let ToCheck { name, password, is_stale } = asked;
        let check = self.check.clone();
        let urgency = waits.urgency();
        // It counts until a thread has come to it, also where its client has left.
        let run = move || {
            let is_right = check(&name, &password);
            waits.ended(is_right, Instant::now());
            (is_right, name, password)
        };
        match self.pool.run_as(urgency, run).await {
            Ok((true, name, password)) => {
                self.known.insert(&name, &password);
                Ok(true)
            }
            Ok((false, name, password)) => {
                self.known.forget(&name, &password);
                Ok(false)
            }
            Err(BlockingError::Full | BlockingError::NoThread) if is_stale => Ok(true),
            Err(error) => Err(error.into_response()),
        }
    }
}

/// The address of a client: as trusted proxies have told it, else the connection's.
fn client_of(request: &Request) -> Option<IpAddr> {
    let told = request.extensions().get().and_then(ForwardedClient::address);
    told.or(request.remote_address()).map(|address| address.ip())
}

/// 503 for one of whose address too many are being checked.
fn too_many() -> Response {
    let why = "503 Service Unavailable: too many passwords of this address are being checked\n";
    let response = text(StatusCode::SERVICE_UNAVAILABLE, why);
    ([("retry-after", "1")], response).into_response()
}

const WRONG: &str = "name or password is wrong";

fn refused(challenge: &str, why: &str) -> Rejection {
    missing(why).with_field("www-authenticate", challenge)
}

impl<M: Mode> Middleware<M> for BasicAuth {
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let user = match (self.credentials_of(&request), &self.hashed) {
            (Ok(Credentials::Unknown(asked)), Some(hashed)) => {
                let challenge = self.challenge.clone();
                let found = Arc::new(OnceLock::new());
                let checked = hashed.clone();
                let checked = checked.let_in(request, asked, challenge, found.clone());
                let answer = Answer::Later(M::after(Box::pin(checked), next));
                return map::<M>(answer, move |mut response| {
                    if let Some(user) = found.get() {
                        response.extensions_mut().insert(user.clone());
                    }
                    response
                });
            }
            (Ok(Credentials::Good(name)), _) => Ok(name),
            (Ok(Credentials::Unknown(_)), None) => Err(refused(&self.challenge, WRONG)),
            (Err(rejection), _) => Err(rejection),
        };
        let_in(user, request, next)
    }
}
