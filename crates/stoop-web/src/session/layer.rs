//! [`Sessions`]: the middleware that loads and saves sessions.

use std::sync::Arc;
use std::time::Duration;

use stoop::{Answer, Body, BoxError, Request, Response, StatusCode};

use crate::cookies::{Cookie, SameSite, received};
use crate::layer::vary::add_vary;
use crate::respond::text::text;
use crate::route::middleware::{Middleware, Next};
use crate::route::mode::Mode;
use crate::session::handle::Session;
use crate::session::id::SessionId;
use crate::session::store::{SessionRecord, SessionStore};

/// How long a session without requests lives: as Java's servlets and Django's admins are often set, between the 30 minutes
/// of a bank and the weeks of a forum.
const LIFETIME: Duration = Duration::from_secs(2 * 3600);

/// Bytes of JSON that the values of one session may have: some hundred values, and a store of 10,000 stays below
/// 160 MB.
const BYTES_MAX: usize = 16 * 1024;

/// Ids of one request that the store is asked for. A browser that has cookies of that name for several paths or domains sends
/// all of them, in an order that does not tell which one is this service's (RFC 6265 §5.4).
const IDS_MAX: usize = 4;

/// Gives requests a [`Session`], found by a cookie.
///
/// The cookie is `Secure`, `HttpOnly` and `SameSite=Lax`, lives as long as the browser does, and has an id alone. An id that
/// the store does not know is none: the session begins with a new one. Where several cookies have that name, of the first four the
/// one counts whose id the store knows.
///
/// A response whose handler has used the session is this visitor's: it varies by `Cookie`, and is `private`, so that no
/// shared cache gives its content or its cookie to others (RFC 9111 §7.3). To a Cache-Control of the handler's own `private`
/// is added, unless that says `no-store`, or by `public` or `s-maxage` that it wants the contrary.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{MemoryStore, Router, Session, SessionError, Sessions, get, post};
///
/// async fn log_in(session: Session) -> Result<(), SessionError> {
///     session.renew();
///     session.insert("user", "ada")
/// }
/// async fn who(session: Session) -> Result<String, SessionError> {
///     Ok(session.get("user")?.unwrap_or_else(|| "a stranger".to_owned()))
/// }
///
/// let app = Router::new()
///     .route("/log-in", post(log_in))
///     .route("/log-out", post(async |session: Session| session.end()))
///     .route("/", get(who))
///     .layer(Sessions::new(MemoryStore::new(10_000)))
///     .build()?;
/// let client = Client::builder().handler(app).build()?;
/// assert_eq!(client.get("http://a.test/").await?.text().await?, "a stranger");
/// let response = client.post("http://a.test/log-in").await?;
/// let cookie = String::from_utf8(response.field("set-cookie").unwrap().to_vec())?;
/// let cookie = cookie.split(';').next().unwrap();
/// let response = client.get("http://a.test/").header("cookie", cookie).await?;
/// assert_eq!(response.text().await?, "ada");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone)]
pub struct Sessions(Arc<Settings>);

#[derive(Clone)]
struct Settings {
    store: Arc<dyn SessionStore>,
    name: String,
    lifetime: Duration,
    bytes_max: usize,
    is_secure: bool,
    same_site: SameSite,
}

impl Sessions {
    /// Sessions in that store.
    pub fn new(store: impl SessionStore) -> Self {
        Self(Arc::new(Settings {
            store: Arc::new(store),
            name: "session".to_owned(),
            lifetime: LIFETIME,
            bytes_max: BYTES_MAX,
            is_secure: true,
            same_site: SameSite::Lax,
        }))
    }

    fn with(mut self, change: impl FnOnce(&mut Settings)) -> Self {
        change(Arc::make_mut(&mut self.0));
        self
    }

    /// The cookie's name: `session` by default. Browsers let no other host below the same domain set one whose name begins
    /// with `__Host-`, such as `__Host-session` (RFC 6265bis §4.1.3.2).
    pub fn name(self, name: impl Into<String>) -> Self {
        self.with(|settings| settings.name = name.into())
    }

    /// How long a session without requests lives: two hours by default. Each request begins it anew.
    pub fn lifetime(self, lifetime: Duration) -> Self {
        self.with(|settings| settings.lifetime = lifetime)
    }

    /// Bytes that the values of a session may have, as JSON: 16 KiB by default.
    pub fn bytes_max(self, bytes: usize) -> Self {
        self.with(|settings| settings.bytes_max = bytes)
    }

    /// Whether the cookie is sent over https alone: by default.
    pub fn secure(self, is_secure: bool) -> Self {
        self.with(|settings| settings.is_secure = is_secure)
    }

    /// To which requests from other sites the cookie is sent: by default [`SameSite::Lax`].
    pub fn same_site(self, same_site: SameSite) -> Self {
        self.with(|settings| settings.same_site = same_site)
    }
}

impl Settings {
    fn cookie(&self, id: &SessionId) -> Cookie {
        let cookie = Cookie::new(&*self.name, id.as_str());
        cookie.secure(self.is_secure).same_site(self.same_site)
    }

    /// Keeps what has become of a session, and tells the client by which id.
    async fn keep(&self, session: &Session, response: Response) -> Result<Response, BoxError> {
        let (id, changed, is_renewed, is_used) = {
            let state = session.state();
            let changed = state.is_changed.then(|| state.record.clone());
            (state.id.clone(), changed, state.is_renewed, state.is_used)
        };
        // What sets the cookie or takes it away has used the session.
        let response = if is_used { for_one_visitor(response) } else { response };
        match (id, changed) {
            (None, None) => Ok(response),
            // A request that changes nothing must not undo what another one changes meanwhile.
            (Some(id), None) => {
                self.store.touch(&id, self.lifetime).await?;
                Ok(response)
            }
            (None, Some(record)) if record.is_empty() => Ok(response),
            (Some(id), Some(record)) if record.is_empty() => {
                self.store.delete(&id).await?;
                let removal = self.cookie(&id).max_age(Duration::ZERO);
                Ok(removal.set_on(response))
            }
            // Another request may have ended the session, or given it another id: it stays ended.
            (Some(id), Some(record)) if !is_renewed => {
                self.store.update(&id, record, self.lifetime).await?;
                Ok(response)
            }
            (before, Some(record)) => {
                if let Some(before) = before {
                    self.store.delete(&before).await?;
                }
                let id = SessionId::generate().ok_or("the system gives no random numbers")?;
                self.store.save(&id, record, self.lifetime).await?;
                Ok(self.cookie(&id).set_on(response))
            }
        }
    }

    /// The session of the first of these ids, which a client sent, that the store knows.
    async fn load(&self, ids: Vec<SessionId>) -> Result<Session, BoxError> {
        for id in ids {
            if let Some(record) = self.store.load(&id).await? {
                return Ok(Session::new(Some(id), record, self.bytes_max));
            }
        }
        // An id that is not known is not taken over: its sender may have thought it out for others.
        Ok(Session::new(None, SessionRecord::new(), self.bytes_max))
    }
}

/// Keeps a response from what shared caches would give to others.
fn for_one_visitor(mut response: Response) -> Response {
    add_vary(&mut response, "cookie");
    if !response.fields().all("cache-control").any(rules_shared_caches) {
        // Both are a field's name and value.
        let _ = response.fields_mut().push("cache-control", b"private");
    }
    response
}

/// Whether a Cache-Control says itself what shared caches may do (RFC 9111 §5.2.2).
fn rules_shared_caches(value: &[u8]) -> bool {
    value.split(|byte| *byte == b',').any(|directive| {
        let name = directive.split(|byte| *byte == b'=').next().unwrap_or_default().trim_ascii();
        let is = |of: &str| name.eq_ignore_ascii_case(of.as_bytes());
        ["public", "private", "no-store", "s-maxage"].into_iter().any(is)
    })
}

fn failed(_: BoxError) -> Response {
    let why = "500 Internal Server Error: the session cannot be read or written\n";
    text(StatusCode::INTERNAL_SERVER_ERROR, why)
}

impl<M: Mode> Middleware<M> for Sessions {
    fn handle(&self, mut request: Request, next: Next<M>) -> Answer<M::Future, Body> {
        let settings = self.0.clone();
        let sent = received(request.fields());
        let named = sent.iter().filter(|(name, _)| *name == settings.name);
        let ids = named.filter_map(|(_, value)| SessionId::parse(value));
        let ids: Vec<SessionId> = ids.take(IDS_MAX).collect();
        if ids.is_empty() {
            let session = Session::new(None, SessionRecord::new(), settings.bytes_max);
            request.extensions_mut().insert(session.clone());
            let finish = async move |response| {
                settings.keep(&session, response).await.unwrap_or_else(failed)
            };
            return Answer::Later(M::then(M::later(next.answer(request)), finish));
        }
        let slot = Arc::new(std::sync::OnceLock::new());
        let (loaded, before) = (slot.clone(), settings.clone());
        let first = Box::pin(async move {
            let session = before.load(ids).await.map_err(failed)?;
            request.extensions_mut().insert(session.clone());
            let _ = loaded.set(session);
            Ok(request)
        });
        let finish = async move |response| match slot.get() {
            Some(session) => settings.keep(session, response).await.unwrap_or_else(failed),
            None => response,
        };
        Answer::Later(M::then(M::after(first, next), finish))
    }
}
