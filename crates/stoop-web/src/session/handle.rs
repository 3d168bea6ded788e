//! [`Session`]: the session of a request as an argument of its handler.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use stoop::{Body, IntoResponse, Response, StatusCode};
use subtle::ConstantTimeEq;

use crate::extract::{FromHead, Head, Place, Problem, Rejection};
use crate::respond::text::text;
use crate::session::id::SessionId;
use crate::session::store::SessionRecord;

/// The name of the value that is the session's token.
const TOKEN: &str = "stoop.token";

/// The session of a request: an argument of handlers behind [`Sessions`](crate::Sessions), without which it is 500.
///
/// It begins with the first value, and a visitor without one has neither a cookie nor a place in the store. A clone is the
/// same session. What is changed is kept when the handler has answered, and only then; of two requests at once, the
/// changes of the one that is answered last.
#[derive(Clone)]
pub struct Session(Arc<Mutex<SessionState>>);

/// What has become of a session.
pub(super) struct SessionState {
    /// By which it came, if it was there.
    pub(super) id: Option<SessionId>,
    pub(super) record: SessionRecord,
    pub(super) is_changed: bool,
    /// It gets another id.
    pub(super) is_renewed: bool,
    /// The handler has read or changed it, so that the response may be for this visitor alone.
    pub(super) is_used: bool,
    bytes_max: usize,
}

/// Why a value cannot be kept in a session, or not be read as the type that is asked for. As an answer it is 500.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// It is no JSON, or not that of the type.
    Value(String),
    /// The session would have more bytes than that: see [`Sessions::bytes_max`](crate::Sessions::bytes_max).
    TooLarge(usize),
    /// The system gives no random numbers.
    NoRandom,
}

impl Session {
    pub(super) fn new(id: Option<SessionId>, record: SessionRecord, bytes_max: usize) -> Self {
        Self(Arc::new(Mutex::new(SessionState {
            id,
            record,
            is_changed: false,
            is_renewed: false,
            is_used: false,
            bytes_max,
        })))
    }

    pub(super) fn state(&self) -> MutexGuard<'_, SessionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for the handler.
    fn used(&self) -> MutexGuard<'_, SessionState> {
        let mut state = self.state();
        state.is_used = true;
        state
    }

    /// The value of that name.
    ///
    /// # Errors
    /// If it is not one of the type `T`.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>, SessionError> {
        let state = self.used();
        let Some(value) = state.record.get(name) else { return Ok(None) };
        T::deserialize(value).map(Some).map_err(|error| SessionError::Value(error.to_string()))
    }

    /// Keeps a value by that name.
    ///
    /// # Errors
    /// If it cannot be JSON, or the session becomes too large: then it is as it was.
    pub fn insert<T: Serialize>(
        &self,
        name: impl Into<String>,
        value: T,
    ) -> Result<(), SessionError> {
        let value = serde_json::to_value(value);
        let value = value.map_err(|error| SessionError::Value(error.to_string()))?;
        let (mut state, name) = (self.used(), name.into());
        let before = state.record.insert(name.clone(), value);
        let bytes_max = state.bytes_max;
        if serde_json::to_vec(&state.record).is_ok_and(|bytes| bytes.len() <= bytes_max) {
            state.is_changed = true;
            return Ok(());
        }
        match before {
            Some(before) => state.record.insert(name, before),
            None => state.record.remove(&name),
        };
        Err(SessionError::TooLarge(bytes_max))
    }

    /// Forgets the value of that name.
    pub fn remove(&self, name: &str) {
        let mut state = self.used();
        state.is_changed |= state.record.remove(name).is_some();
    }

    /// The session's token, by which a form proves that it is one of this service's and not of a page elsewhere that posts in
    /// the visitor's name (CSRF): 40 characters that cannot be guessed, the same until the session is
    /// [renewed](Self::renew) or [ended](Self::end). Put it into a hidden field of each form, or have scripts send it in a
    /// field of their requests, and ask [`is_token`](Self::is_token) before something is changed. The first call keeps it in
    /// the session.
    ///
    /// The cookie is [`SameSite::Lax`](crate::SameSite::Lax) by default, by which browsers leave it away from such requests
    /// already; the token holds where that does not, for pages of other hosts below the same domain.
    ///
    /// ```
    /// use std::collections::HashMap;
    /// use stoop::StatusCode;
    /// use stoop_web::{Form, Html, MemoryStore, Router, Session, SessionError, Sessions, get};
    ///
    /// let form = |session: Session| -> Result<_, SessionError> {
    ///     let token = session.token()?;
    ///     Ok(Html(format!("<form method=post><input type=hidden name=token value={token}>…")))
    /// };
    /// let order = async |session: Session, Form(form): Form<HashMap<String, String>>| {
    ///     match form.get("token").is_some_and(|token| session.is_token(token)) {
    ///         true => StatusCode::NO_CONTENT,
    ///         false => StatusCode::FORBIDDEN,
    ///     }
    /// };
    /// let sessions = Sessions::new(MemoryStore::new(10_000));
    /// let app = Router::new().route("/order", get(form).post(order)).layer(sessions).build()?;
    /// # Ok::<(), stoop_web::RouterError>(())
    /// ```
    ///
    /// # Errors
    /// If the session becomes too large, or the system gives no random numbers.
    pub fn token(&self) -> Result<String, SessionError> {
        if let Some(token) = self.used().record.get(TOKEN).and_then(Value::as_str) {
            return Ok(token.to_owned());
        }
        let token = SessionId::generate().ok_or(SessionError::NoRandom)?;
        self.insert(TOKEN, token.as_str())?;
        Ok(token.as_str().to_owned())
    }

    /// Whether that is the session's [token](Self::token), compared in constant time; false where it has none.
    pub fn is_token(&self, token: &str) -> bool {
        let state = self.used();
        let own = state.record.get(TOKEN).and_then(Value::as_str);
        own.is_some_and(|own| own.as_bytes().ct_eq(token.as_bytes()).into())
    }

    /// Gives the session another id, and forgets the one before and the [token](Self::token). Do it whenever a visitor logs in: an id that was there
    /// before may be one that another has given them (session fixation).
    pub fn renew(&self) {
        let mut state = self.used();
        state.record.remove(TOKEN);
        (state.is_changed, state.is_renewed) = (true, true);
    }

    /// Forgets everything, in the store too, and takes the cookie away: the visitor logs out. Values that are kept after
    /// that begin another session, with an id of its own.
    pub fn end(&self) {
        let mut state = self.used();
        state.record.clear();
        (state.is_changed, state.is_renewed) = (true, true);
    }

    /// Whether there is no value in it.
    pub fn is_empty(&self) -> bool {
        self.used().record.is_empty()
    }
}

impl FromHead for Session {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        head.request().extensions().get::<Self>().cloned().ok_or_else(|| {
            let problem = Problem::new(Place::Service, "", "there are no sessions here");
            Rejection::new(StatusCode::INTERNAL_SERVER_ERROR, problem)
        })
    }
}

/// Without its values.
impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Session({} values)", self.state().record.len())
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(why) => write!(f, "a value of the session: {why}"),
            Self::TooLarge(max) => write!(f, "the session would have more than {max} bytes"),
            Self::NoRandom => f.write_str("the system gives no random numbers"),
        }
    }
}

impl std::error::Error for SessionError {}

impl IntoResponse for SessionError {
    type Body = Body;
    fn into_response(self) -> Response {
        let why = "500 Internal Server Error: the session cannot be changed\n";
        text(StatusCode::INTERNAL_SERVER_ERROR, why)
    }
}
