//! An application of axum as a service whose requests have what axum's extractors look for.

use std::any::Any;
use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::Router;
use axum::body::HttpBody;
use axum::extract::{ConnectInfo, Request};
use axum::routing::MethodRouter;
use pin_project_lite::pin_project;
use stoop::{Answer, Body, Handler, TowerHandler};
use tower_service::Service;

use crate::upgrade::{self, Offer};

/// Makes an application a [handler](stoop::Handler) of a [`Server`](stoop::Server): a `Router`, or another service
/// of axum's requests, such as a `MethodRouter`, with whatever layers around it. What makes such services is for
/// [`make_handler`](crate::make_handler).
///
/// It runs wherever handlers run: on a thread for each core ([`run`](stoop::Server::run)), on the caller's
/// ([`run_blocking`](stoop::Server::run_blocking)), or on the caller's runtime ([`run_here`](stoop::Server::run_here)).
/// On the server's own threads `tokio::spawn` in a handler begins a task of that thread.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use axum::{Router, extract::Path, routing::get};
///
/// let hello = async |Path(name): Path<String>| format!("hello {name}");
/// let app = Router::new().route("/hello/{name}", get(hello));
/// let client = stoop::Client::builder().handler(stoop_axum::handler(app)).build()?;
/// let response = client.get("http://here/hello/you").await?;
/// assert_eq!(response.text().await?, "hello you");
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
pub fn handler<S, B>(app: S) -> AxumHandler<AxumService<S>>
where
    S: Service<Request, Response = http::Response<B>> + 'static,
{
    AxumHandler::new(AxumService::new(with_state(app)))
}

/// An application whose handlers are services already, if it is one of axum's routers: as `axum::serve` does, so that
/// they are not made services for each request.
pub(crate) fn with_state<S: 'static>(mut app: S) -> S {
    let any: &mut dyn Any = &mut app;
    if let Some(router) = any.downcast_mut::<Router>() {
        *router = std::mem::take(router).with_state(());
    } else if let Some(router) = any.downcast_mut::<MethodRouter<(), Infallible>>() {
        *router = std::mem::take(router).with_state(());
    }
    app
}

/// An application of axum that answers requests: see [`handler`].
#[derive(Clone, Debug)]
pub struct AxumHandler<T>(TowerHandler<T>);

impl<T> AxumHandler<T> {
    pub(crate) fn new(service: T) -> Self {
        Self(stoop::from_tower(service))
    }
}

impl<T> Handler for AxumHandler<T>
where
    T: 'static,
    TowerHandler<T>: Handler,
{
    type Body = <TowerHandler<T> as Handler>::Body;
    type Output = <TowerHandler<T> as Handler>::Output;
    type Future = <TowerHandler<T> as Handler>::Future;

    fn call(&self, mut request: stoop::Request) -> Answer<Self::Future, Self::Body> {
        upgrade::note(&mut request);
        if let Some(address) = request.remote_address() {
            request.extensions_mut().insert(ConnectInfo(address));
        }
        self.0.call(request)
    }
}

/// The service around an application that gives its requests their `OnUpgrade`.
#[derive(Clone, Debug)]
pub struct AxumService<S> {
    app: S,
}

impl<S> AxumService<S> {
    pub(crate) fn new(app: S) -> Self {
        Self { app }
    }
}

impl<S, B> Service<http::Request<Body>> for AxumService<S>
where
    S: Service<Request, Response = http::Response<B>>,
{
    type Response = http::Response<B>;
    type Error = S::Error;
    type Future = AxumFuture<S::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.app.poll_ready(cx)
    }

    fn call(&mut self, mut request: http::Request<Body>) -> Self::Future {
        let offer = upgrade::offer(&mut request).map(Box::new);
        AxumFuture { called: self.app.call(request.map(content)), offer }
    }
}

/// Content as axum has it: boxed, unless there is none.
fn content(body: Body) -> axum::body::Body {
    match body.is_end_stream() {
        true => axum::body::Body::empty(),
        false => axum::body::Body::new(body),
    }
}

pin_project! {
    /// The future of an [`AxumService`].
    pub struct AxumFuture<F> {
        #[pin]
        called: F,
        // What the request may switch to, if it asks to.
        offer: Option<Box<Offer>>,
    }
}

impl<F, B, E> Future for AxumFuture<F>
where
    F: Future<Output = Result<http::Response<B>, E>>,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let mut result = ready!(this.called.poll(cx));
        if let (Ok(response), Some(offer)) = (&mut result, this.offer.take()) {
            offer.answered(response);
        }
        Poll::Ready(result)
    }
}
