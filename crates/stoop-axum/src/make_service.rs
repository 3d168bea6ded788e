//! A make-service of axum as a service whose requests have what axum's extractors look for.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::extract::Request;
use pin_project_lite::pin_project;
use stoop::{Binding, Body, ConnectionInfo};
use tower_service::Service;

use crate::incoming::IncomingStream;
use crate::listen::Listen;
use crate::service::{AxumFuture, AxumHandler, AxumService, with_state};

/// Makes a make-service of axum's a [handler](stoop::Handler) of a [`Server`](stoop::Server), as
/// [`handler`](crate::handler) does with an application: for a `ConnectInfo` of one's own.
///
/// The make-service is called for each request, and not once for each connection: a handler of stoop's knows requests.
/// Those of axum do nothing then but clone the application, and add the `ConnectInfo`.
///
/// ```no_run
/// use axum::extract::connect_info::{ConnectInfo, Connected};
/// use axum::{Router, routing::get};
/// use stoop_axum::IncomingStream;
///
/// /// Whether the client came over TLS.
/// #[derive(Clone)]
/// struct IsSecure(bool);
///
/// impl Connected<IncomingStream<'_>> for IsSecure {
///     fn connect_info(stream: IncomingStream<'_>) -> Self {
///         IsSecure(stream.connection().is_some_and(|connection| connection.tls().is_some()))
///     }
/// }
///
/// # fn example(tls: stoop::ServerTls) -> Result<(), stoop::Error> {
/// let told = async |ConnectInfo(IsSecure(secure)): ConnectInfo<IsSecure>| secure.to_string();
/// let app = Router::new().route("/", get(told)).into_make_service_with_connect_info::<IsSecure>();
/// let server = stoop::Server::listen("http://[::]:80")?.also_listen("https://[::]:443")?.tls(tls);
/// let server = server.limits(stoop_axum::server_limits()).run(stoop_axum::make_handler(app))?;
/// # server.join();
/// # Ok(()) }
/// ```
pub fn make_handler<M, S, B>(make_service: M) -> AxumHandler<MakeService<M, Binding>>
where
    M: Service<IncomingStream<'static>, Response = S, Error = Infallible> + 'static,
    S: Service<Request, Response = http::Response<B>>,
{
    AxumHandler::new(MakeService::new(with_state(make_service)))
}

/// The service around a make-service, which calls it for each request, and what it makes with the request.
pub struct MakeService<M, L> {
    make_service: M,
    listener: PhantomData<fn(L)>,
}

impl<M, L> MakeService<M, L> {
    pub(crate) fn new(make_service: M) -> Self {
        Self { make_service, listener: PhantomData }
    }
}

impl<M: Clone, L> Clone for MakeService<M, L> {
    fn clone(&self) -> Self {
        Self::new(self.make_service.clone())
    }
}

impl<M: fmt::Debug, L> fmt::Debug for MakeService<M, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MakeService").field(&self.make_service).finish()
    }
}

impl<M, L, S, B> Service<http::Request<Body>> for MakeService<M, L>
where
    L: Listen,
    M: Service<IncomingStream<'static, L>, Response = S, Error = Infallible>,
    S: Service<Request, Response = http::Response<B>>,
{
    type Response = http::Response<B>;
    type Error = S::Error;
    type Future = MakeFuture<M::Future, S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.make_service.poll_ready(cx).map_err(|never| match never {})
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let connection = request.extensions().get::<ConnectionInfo>().copied();
        let making = self.make_service.call(IncomingStream::new(connection));
        MakeFuture { state: MakeState::Making { making, request: Some(request) } }
    }
}

pin_project! {
    /// The future of a [`MakeService`].
    pub struct MakeFuture<F, S: Service<Request>> {
        #[pin]
        state: MakeState<F, S, S::Future>,
    }
}

pin_project! {
    #[project = MakeStateProjection]
    enum MakeState<F, S, C> {
        Making { #[pin] making: F, request: Option<http::Request<Body>> },
        /// The service is not ready yet.
        Waiting { service: AxumService<S>, request: Option<http::Request<Body>> },
        Called { #[pin] called: AxumFuture<C> },
    }
}

impl<F, S, B> Future for MakeFuture<F, S>
where
    F: Future<Output = Result<S, Infallible>>,
    S: Service<Request, Response = http::Response<B>>,
{
    type Output = Result<http::Response<B>, S::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = self.project().state;
        loop {
            // Each state changes as it takes the request, so that it is there.
            let next = match state.as_mut().project() {
                MakeStateProjection::Called { called } => return called.poll(cx),
                MakeStateProjection::Making { making, request } => {
                    let Ok(service) = ready!(making.poll(cx));
                    MakeState::Waiting {
                        service: AxumService::new(service),
                        request: request.take(),
                    }
                }
                MakeStateProjection::Waiting { service, request } => {
                    ready!(service.poll_ready(cx))?;
                    let Some(request) = request.take() else { return Poll::Pending };
                    MakeState::Called { called: service.call(request) }
                }
            };
            state.set(next);
        }
    }
}
