//! A type-erased handler, with which the server is compiled once for each type of content, and not once for each handler.
//!
//! Helpers of tests take it. Tests of handlers themselves pass them to the server as they are.

use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use stoop::{Answer, BoxError, Handler, IntoHandler, IntoResponse, Request, Response};

type AnyFuture<B> = Pin<Box<dyn Future<Output = Response<B>> + Send>>;

/// A handler that answers as another one does, at once or later, with responses of the same type.
pub(crate) struct AnyHandler<B>(Arc<dyn Fn(Request) -> Answer<AnyFuture<B>, B> + Send + Sync>);

/// Conversion of a handler into an [`AnyHandler`].
pub(crate) trait IntoAny<Kind> {
    type Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static;
    fn into_any(self) -> AnyHandler<Self::Body>;
}

impl<K, T> IntoAny<K> for T
where
    T: IntoHandler<K>,
    T::Handler: Send + Sync,
    <T::Handler as Handler>::Body: Send,
    <T::Handler as Handler>::Future: Send,
{
    type Body = <T::Handler as Handler>::Body;

    fn into_any(self) -> AnyHandler<Self::Body> {
        let handler = self.into_handler();
        AnyHandler(Arc::new(move |request| match handler.call(request) {
            Answer::Now(response) => Answer::Now(response),
            Answer::Later(future) => {
                Answer::Later(Box::pin(async { future.await.into_response() }))
            }
        }))
    }
}

impl<B> Handler for AnyHandler<B>
where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Body = B;
    type Output = Response<B>;
    type Future = AnyFuture<B>;

    fn call(&self, request: Request) -> Answer<AnyFuture<B>, B> {
        (self.0)(request)
    }
}
