//! [`HandlerError`] and [`ContentError`]: the errors of the program's own that its clients are not told.

use std::cell::RefCell;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::error::BoxError;

/// The error by which a handler has failed, as an extension of the response that is sent in its place: the client is
/// not told its text, and [`Server::observe`](crate::Server::observe) is, by
/// [`ServingEvent::HandlerFailed`](crate::ServingEvent::HandlerFailed).
///
/// The server adds it where it makes an error a response: of a service that `from_tower` has made a handler, and of an
/// [`Error`](crate::Error) that a handler returns. A program adds it where it does so itself, to a response of ours or
/// of the `http` crate:
///
/// ```
/// use stoop::{HandlerError, IntoResponse, Response, StatusCode};
///
/// struct Failed(std::io::Error);
///
/// impl IntoResponse for Failed {
///     type Body = stoop::Body;
///     fn into_response(self) -> Response {
///         let mut response = Response::from_status(StatusCode::INTERNAL_SERVER_ERROR);
///         response.extensions_mut().insert(HandlerError::new(self.0));
///         response
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct HandlerError(Arc<dyn Error + Send + Sync>);

impl HandlerError {
    /// That error.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self(error.into().into())
    }

    /// The error itself.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }
}

/// The text of the error.
impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

thread_local! {
    /// That of what this thread is cutting short.
    static CURRENT: RefCell<Option<ContentError>> = const { RefCell::new(None) };
}

/// The error by which the content of a response has failed while it was sent.
///
/// The response is cut short, which [`Response::on_sent`](crate::Response::on_sent) tells as
/// [`CutShort::Content`](crate::CutShort::Content). Meanwhile [`current`](Self::current) tells by what;
/// [`Server::observe`](crate::Server::observe) is told as well, by
/// [`ServingEvent::ContentFailed`](crate::ServingEvent::ContentFailed).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::sync::mpsc::channel;
/// use stoop::{Body, Client, ContentError, Request, Response, Server};
///
/// let (tell, told) = channel();
/// let handler = move |_: Request| {
///     let (sender, body) = Body::channel(1);
///     tokio::spawn(async move { sender.fail(std::io::Error::other("the disk is gone")).await });
///     let tell = tell.clone();
///     Response::new(body).on_sent(move |_| {
///         let _ = tell.send(ContentError::current().map(|error| error.to_string()));
///     })
/// };
/// let server = Server::listen("127.0.0.1:0")?.run_here(handler)?;
/// let answer = Client::new().get(server.endpoint().to_string()).await?;
/// assert!(answer.bytes().await.is_err());
/// assert!(told.recv()?.unwrap().contains("the disk is gone"));
/// # server.close().await;
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct ContentError(Arc<dyn Error + Send + Sync>);

impl ContentError {
    /// That of the response of which this thread is being told that it is cut short. `None` if that has another reason,
    /// if its content panicked, and everywhere else.
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The error itself.
    pub fn error(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0
    }

    pub(crate) fn new(error: BoxError) -> Self {
        Self(error.into())
    }

    /// Runs what cuts the response short.
    pub(crate) fn in_scope(self, work: impl FnOnce()) {
        let _before = Restore(CURRENT.replace(Some(self)));
        work();
    }
}

/// The text of the error.
impl fmt::Display for ContentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Brings back what was current before, after a panic too.
struct Restore(Option<ContentError>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.replace(self.0.take());
    }
}
