//! A [`Client`] is a `tower_service::Service` of requests as the `http` crate has them.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use tower_service::Service;

use crate::body::{Body, IntoBody};
use crate::client::Client;
use crate::error::BoxError;
use crate::error::Error;
use crate::request::Request;

/// The response that a service waits for.
type ServiceFuture = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Error>> + Send>>;

/// Sends requests as the `http` crate has them. It is always ready: its bounds are those of the pool, where
/// requests wait first come, first served, as part of the call.
impl<B> Service<http::Request<B>> for Client
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ServiceFuture {
        let client = self.clone();
        let request = Request::try_from(request.map(IntoBody::into_body));
        Box::pin(async move { client.send(request?).await.map(Into::into) })
    }
}

/// The same by reference.
impl<B> Service<http::Request<B>> for &Client
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = http::Response<Body>;
    type Error = Error;
    type Future = ServiceFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<B>) -> ServiceFuture {
        Service::call(&mut (*self).clone(), request)
    }
}
