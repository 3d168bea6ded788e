//! Services of tower in both directions: a [`Client`] is one, and one answers the requests of a server.
//!
//! Both speak the messages of the `http` crate. This is the one file that knows `tower_service`.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};

use bytes::Bytes;
use http::StatusCode;
use pin_project_lite::pin_project;
use tower_service::Service;

use crate::body::{Body, IntoBody};
use crate::client::Client;
use crate::error::{BoxError, Error};
use crate::handler::{Answer, Handler};
use crate::request::Request;
use crate::response::{HandlerError, Response};

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

/// Makes a service of tower a handler: an axum `Router`, or any [`Service`] of `http::Request<Body>` whose response
/// is an `http::Response` of any body of [`Bytes`], with whatever layers around it.
///
/// Its requests have what [`Request::into_http`] gives them, and the [`ConnectionInfo`](crate::ConnectionInfo) as an
/// extension. A response made by [`Response::upgrade`] or [`Response::tunnel`], converted by `into`, switches the
/// connection. Trailers go both ways.
///
/// The service is cloned for each request, asked whether it is ready, and called; the future is polled on the
/// connection's core, where it need not be `Send`. [`Server::run`](crate::Server::run) needs a service that is
/// `Send + Sync`, and [`Server::run_here`](crate::Server::run_here) one whose future and body are `Send` too. A service
/// that is neither is made on each worker: [`Server::run_with`](crate::Server::run_with),
/// [`Server::run_blocking_with`](crate::Server::run_blocking_with).
///
/// An error of the service is answered 500, but for an [`Error`], whose answer says whose fault it is. Its text is told
/// to [`Server::observe`](crate::Server::observe), as
/// [`ServingEvent::HandlerFailed`](crate::ServingEvent::HandlerFailed), and is in the access log of `stoop-web` around
/// the service. A layer that fails, such as tower's timeout, wants one around it that makes its error a response.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use std::convert::Infallible;
/// use std::future::{Ready, ready};
/// use std::task::{Context, Poll};
/// use stoop::{Body, Client};
///
/// #[derive(Clone)]
/// struct Hello;
///
/// impl tower_service::Service<http::Request<Body>> for Hello {
///     type Response = http::Response<Body>;
///     type Error = Infallible;
///     type Future = Ready<Result<http::Response<Body>, Infallible>>;
///     fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
///         Poll::Ready(Ok(()))
///     }
///     fn call(&mut self, request: http::Request<Body>) -> Self::Future {
///         ready(Ok(http::Response::new(format!("hello from {}", request.uri()).into())))
///     }
/// }
///
/// let client = Client::builder().handler(stoop::from_tower(Hello)).build()?;
/// assert_eq!(client.get("http://anywhere/here").await?.text().await?, "hello from /here");
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
pub fn from_tower<S>(service: S) -> TowerHandler<S> {
    TowerHandler(service)
}

/// A service of tower that answers requests: see [`from_tower`].
#[derive(Clone, Debug)]
pub struct TowerHandler<S>(S);

impl<S, B> Handler for TowerHandler<S>
where
    S: Service<http::Request<Body>, Response = http::Response<B>> + Clone + 'static,
    S::Error: Into<BoxError>,
    S::Future: 'static,
    B: http_body::Body<Data = Bytes, Error: Into<BoxError>> + 'static,
{
    type Body = B;
    type Output = Response<B>;
    type Future = TowerFuture<S, B>;

    fn call(&self, mut request: Request) -> Answer<Self::Future, B> {
        if let Some(connection) = request.connection() {
            request.extensions_mut().insert(connection);
        }
        let (uri, fields) = match request.uri_and_fields() {
            Ok(head) => head,
            Err(error) => {
                let text = format!("400 Bad Request: the target is no URI: {error}\n");
                return Answer::Now(Response::refusal(StatusCode::BAD_REQUEST, text));
            }
        };
        let mut service = self.0.clone();
        // Most services are always ready. One that is not is asked again, by the task that waits for it.
        match service.poll_ready(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(Ok(())) => Answer::Later(TowerFuture {
                state: TowerState::Called {
                    future: service.call(request.into_http_with(uri, fields)),
                },
                body: PhantomData,
            }),
            Poll::Ready(Err(error)) => Answer::Now(failure(error.into())),
            Poll::Pending => {
                let request = Some(Box::new(request.into_http_with(uri, fields)));
                let state = TowerState::Waiting { service, request };
                Answer::Later(TowerFuture { state, body: PhantomData })
            }
        }
    }
}

pin_project! {
    /// The future of a [`TowerHandler`].
    pub struct TowerFuture<S: Service<http::Request<Body>>, B> {
        #[pin]
        state: TowerState<S, S::Future>,
        body: PhantomData<fn() -> B>,
    }
}

pin_project! {
    #[project = TowerStateProjection]
    enum TowerState<S, F> {
        /// The service is not ready yet. The request is large, and few wait: every future is moved.
        Waiting { service: S, request: Option<Box<http::Request<Body>>> },
        Called { #[pin] future: F },
    }
}

impl<S, B> Future for TowerFuture<S, B>
where
    S: Service<http::Request<Body>, Response = http::Response<B>>,
    S::Error: Into<BoxError>,
{
    type Output = Response<B>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response<B>> {
        let mut state = self.project().state;
        loop {
            let result = match state.as_mut().project() {
                TowerStateProjection::Called { future } => ready!(future.poll(cx)),
                TowerStateProjection::Waiting { service, request } => {
                    match ready!(service.poll_ready(cx)) {
                        Err(error) => Err(error),
                        Ok(()) => {
                            // The state changes with the call, so that there is one call alone.
                            let Some(request) = request.take() else { return Poll::Pending };
                            let future = service.call(*request);
                            state.set(TowerState::Called { future });
                            continue;
                        }
                    }
                }
            };
            return Poll::Ready(match result {
                Ok(response) => response.into(),
                Err(error) => failure(error.into()),
            });
        }
    }
}

/// The answer to a request whose service failed.
#[cold]
fn failure<B>(error: BoxError) -> Response<B> {
    let mut response = match error.downcast_ref::<Error>().map(Error::answer) {
        Some(status) => Response::refusal(status, format!("{status}\n")),
        None => Response::failure(StatusCode::INTERNAL_SERVER_ERROR, "the service failed"),
    };
    response.extensions_mut().insert(HandlerError::new(error));
    response
}
