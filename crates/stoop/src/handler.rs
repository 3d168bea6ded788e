//! What answers requests: functions, plain or async, closures, and types of one's own.

use std::future::{Future, Ready};
use std::marker::PhantomData;

use bytes::Bytes;

use crate::error::BoxError;
use crate::request::Request;
use crate::response::{IntoResponse, Response};

/// Answers requests on one core.
///
/// **A client that goes away.** When a connection is reset, or broken off under TLS, the futures that
/// answer its requests are dropped where they wait: what must be done to its end belongs in a task
/// of its own. A client that only says that it will send no more may still wait for its answer (RFC
/// 9112 §9.6), and so its handler runs on, also if it has in fact closed: TCP does not tell the two
/// apart before the answer is sent. Where bytes of the client's wait to be read, content or further
/// requests, a reset is noticed within a second. How long a handler may run at all is
/// [`ServerTime::handler`](crate::ServerTime::handler), and for a client that sends no more
/// [`ServerTime::half_closed`](crate::ServerTime::half_closed). Why a future is dropped,
/// [`DroppedHandler`](crate::DroppedHandler) tells meanwhile.
///
/// Implement it to name the future and body types; a function needs nothing of the kind, see
/// [`IntoHandler`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer requests",
    label = "not a handler",
    note = "a handler is `fn(Request) -> impl IntoResponse`, the same as an `async fn` or a closure, or a type \
            that implements `stoop::Handler`"
)]
pub trait Handler: 'static {
    /// Streamed content of responses.
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static;
    /// What a response that takes time comes as.
    type Output: IntoResponse<Body = Self::Body>;
    /// What makes a response that takes time. It need not be `Send` on the server's own cores.
    type Future: Future<Output = Self::Output> + 'static;
    /// Begins to answer. Runs on the connection's core: what blocks here blocks all its connections.
    fn call(&self, request: Request) -> Answer<Self::Future, Self::Body>;
}

/// A response, now or later.
pub enum Answer<F, B> {
    /// It is there; no future needs to be kept.
    Now(Response<B>),
    /// It takes time.
    Later(F),
}

/// What can be made a [`Handler`]: `fn(Request) -> impl IntoResponse`, the same as `async fn` or
/// closure, or a [`Handler`]. `Kind` tells them apart and is always inferred.
///
/// ```
/// use stoop::{IntoHandler, Request, Response};
///
/// fn plain(_: Request) -> &'static str { "hi" }
/// async fn slow(request: Request) -> Result<Response, stoop::Error> {
///     let text = request.into_body().bytes(1024).await?;
///     Ok(Response::from_bytes(text))
/// }
/// plain.into_handler();
/// slow.into_handler();
/// (|request: Request| Response::from_text(request.path().to_owned())).into_handler();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer requests",
    label = "not a handler",
    note = "a handler is `fn(Request) -> impl IntoResponse`, the same as an `async fn` or a closure, or a type \
            that implements `stoop::Handler`",
    note = "it takes one `stoop::Request`, by value, and returns a `Response`, text, bytes, a `StatusCode`, or \
            a `Result` of these"
)]
pub trait IntoHandler<Kind> {
    /// The handler it becomes.
    type Handler: Handler;
    /// Makes it a handler.
    fn into_handler(self) -> Self::Handler;
}

/// The kind of handlers that are one already.
pub enum Itself {}

/// The kind of functions that return a response.
pub struct Plain<R>(PhantomData<R>);

/// The kind of functions that return a future of a response.
pub struct Async<F>(PhantomData<F>);

impl<H: Handler> IntoHandler<Itself> for H {
    type Handler = H;
    fn into_handler(self) -> H {
        self
    }
}

impl<F, R, B> IntoHandler<Plain<R>> for F
where
    F: Fn(Request) -> R + 'static,
    R: IntoResponse<Body = B> + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Handler = PlainHandler<F>;
    fn into_handler(self) -> PlainHandler<F> {
        PlainHandler(self)
    }
}

impl<F, T, R, B> IntoHandler<Async<T>> for F
where
    F: Fn(Request) -> T + 'static,
    T: Future<Output = R> + 'static,
    R: IntoResponse<Body = B> + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Handler = AsyncHandler<F>;
    fn into_handler(self) -> AsyncHandler<F> {
        AsyncHandler(self)
    }
}

/// A function that returns a response.
#[derive(Clone)]
pub struct PlainHandler<F>(F);

impl<F, R, B> Handler for PlainHandler<F>
where
    F: Fn(Request) -> R + 'static,
    R: IntoResponse<Body = B> + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Body = B;
    type Output = Response<B>;
    type Future = Ready<Response<B>>;
    #[inline]
    fn call(&self, request: Request) -> Answer<Self::Future, B> {
        Answer::Now((self.0)(request).into_response())
    }
}

/// A function that returns a future of a response.
#[derive(Clone)]
pub struct AsyncHandler<F>(F);

impl<F, T, R, B> Handler for AsyncHandler<F>
where
    F: Fn(Request) -> T + 'static,
    T: Future<Output = R> + 'static,
    R: IntoResponse<Body = B> + 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Body = B;
    type Output = R;
    type Future = T;
    #[inline]
    fn call(&self, request: Request) -> Answer<Self::Future, B> {
        Answer::Later((self.0)(request))
    }
}
