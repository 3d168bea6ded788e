//! [`Mode`]: whether endpoints, middleware and futures can be sent between threads. One implementation serves both.

use std::any::Any;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
#[cfg(feature = "tracing")]
use std::task::{Context, Poll};
use std::time::Duration;

use stoop::{Answer, Body, Request, Response};

use crate::late::drop_late;
use crate::route::cover::{Cover, Covered};
use crate::route::endpoint::Endpoint;
use crate::route::middleware::{Middleware, Next};

/// What middleware does before the rest of the chain: it gives the request for it, or the response instead.
pub(crate) type Before = Pin<Box<dyn Future<Output = Result<Request, Response>> + Send>>;

/// Whether what a router calls can be sent between threads: [`Shared`] or [`Local`]. No other type
/// implements it.
pub trait Mode: Sized + sealed::Sealed + 'static {
    /// The future of a response.
    type Future: Future<Output = Response> + Unpin + 'static;
    #[doc(hidden)]
    type Endpoint: Endpoint<Self> + ?Sized + 'static;
    #[doc(hidden)]
    type Middleware: Middleware<Self> + ?Sized + 'static;
    #[doc(hidden)]
    type Value: ?Sized + 'static;
    #[doc(hidden)]
    type Factory: Fn() -> Arc<Self::Value> + ?Sized + 'static;

    #[doc(hidden)]
    fn endpoint<E: Endpoint<Self> + Send + Sync + 'static>(endpoint: E) -> Arc<Self::Endpoint>;
    #[doc(hidden)]
    fn middleware<W>(middleware: W) -> Arc<Self::Middleware>
    where
        W: Middleware<Self> + Send + Sync + 'static;
    #[doc(hidden)]
    fn any(value: &Self::Value) -> &dyn Any;
    #[doc(hidden)]
    fn then<W>(
        future: Self::Future,
        work: impl FnOnce(Response) -> W + Send + 'static,
    ) -> Self::Future
    where
        W: Future<Output = Response> + Send + 'static;
    #[doc(hidden)]
    fn later(answer: Answer<Self::Future, Body>) -> Self::Future;
    #[doc(hidden)]
    fn after(first: Before, next: Next<Self>) -> Self::Future;
    #[doc(hidden)]
    fn within(future: Self::Future, limit: Duration, late: fn() -> Response) -> Self::Future;
    #[doc(hidden)]
    fn covered(future: Self::Future, cover: impl Cover) -> Self::Future;
    #[cfg(feature = "tracing")]
    #[doc(hidden)]
    fn around(
        future: Self::Future,
        enter: impl Fn(&mut dyn FnMut()) + Send + Unpin + 'static,
    ) -> Self::Future;
}

/// The mode of a [`Router`](crate::Router) whose handlers and futures are `Send`: it runs under each of the
/// [`Server`](stoop::Server)'s ways to run.
pub enum Shared {}

/// The mode of a [`LocalRouter`](crate::LocalRouter), whose handlers and futures need not be `Send`: it runs under
/// [`Server::run_with`](stoop::Server::run_with) and
/// [`run_blocking_with`](stoop::Server::run_blocking_with), made on each worker, and
/// [`Server::run_local`](stoop::Server::run_local).
pub enum Local {}

mod sealed {
    pub trait Sealed {}
}

macro_rules! mode {
    ($mode:ident, $($send:ident $(+ $sync:ident)?)?) => {
        impl sealed::Sealed for $mode {}

        impl Mode for $mode {
            type Future = Pin<Box<dyn Future<Output = Response> $(+ $send)?>>;
            type Endpoint = dyn Endpoint<Self> $(+ $send $(+ $sync)?)?;
            type Middleware = dyn Middleware<Self> $(+ $send $(+ $sync)?)?;
            type Value = dyn Any $(+ $send $(+ $sync)?)?;
            type Factory = dyn Fn() -> Arc<Self::Value> $(+ $send $(+ $sync)?)?;

            fn endpoint<E>(endpoint: E) -> Arc<Self::Endpoint>
            where
                E: Endpoint<Self> + Send + Sync + 'static,
            {
                Arc::new(endpoint)
            }

            fn middleware<W>(middleware: W) -> Arc<Self::Middleware>
            where
                W: Middleware<Self> + Send + Sync + 'static,
            {
                Arc::new(middleware)
            }

            fn any(value: &Self::Value) -> &dyn Any {
                value
            }

            fn then<W>(
                future: Self::Future,
                work: impl FnOnce(Response) -> W + Send + 'static,
            ) -> Self::Future
            where
                W: Future<Output = Response> + Send + 'static,
            {
                Box::pin(async move { work(future.await).await })
            }

            fn later(answer: Answer<Self::Future, Body>) -> Self::Future {
                match answer {
                    Answer::Now(response) => Box::pin(std::future::ready(response)),
                    Answer::Later(future) => future,
                }
            }

            fn after(first: Before, next: Next<Self>) -> Self::Future {
                Box::pin(async move {
                    match first.await {
                        Ok(request) => next.run(request).await,
                        Err(response) => response,
                    }
                })
            }

            fn within(
                future: Self::Future,
                limit: Duration,
                late: fn() -> Response,
            ) -> Self::Future {
                Box::pin(async move {
                    let mut future = future;
                    match tokio::time::timeout(limit, &mut future).await {
                        Ok(response) => response,
                        Err(_) => {
                            let added = drop_late(future);
                            let mut response = late();
                            for field in added.iter() {
                                // It is a field of a response already.
                                let _ = response.fields_mut().push(field.name(), field.value());
                            }
                            response
                        }
                    }
                })
            }

            fn covered(future: Self::Future, cover: impl Cover) -> Self::Future {
                Box::pin(Covered::new(future, cover))
            }

            #[cfg(feature = "tracing")]
            fn around(
                future: Self::Future,
                enter: impl Fn(&mut dyn FnMut()) + Send + Unpin + 'static,
            ) -> Self::Future {
                Box::pin(Around { future: Some(future), enter })
            }
        }
    };
}

/// A future whose polls, and whose drop, `enter` is around.
#[cfg(feature = "tracing")]
struct Around<F, E: Fn(&mut dyn FnMut())> {
    /// None only while it is dropped.
    future: Option<F>,
    enter: E,
}

#[cfg(feature = "tracing")]
impl<F, E> Future for Around<F, E>
where
    F: Future + Unpin,
    E: Fn(&mut dyn FnMut()) + Unpin,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let Self { future, enter } = self.get_mut();
        let mut polled = Poll::Pending;
        if let Some(future) = future {
            enter(&mut || polled = Pin::new(&mut *future).poll(cx));
        }
        polled
    }
}

#[cfg(feature = "tracing")]
impl<F, E: Fn(&mut dyn FnMut())> Drop for Around<F, E> {
    fn drop(&mut self) {
        let Self { future, enter } = self;
        enter(&mut || drop(future.take()));
    }
}

mode!(Shared, Send + Sync);
mode!(Local,);

/// What becomes of an answer, now or later.
pub(crate) fn map<M: Mode>(
    answer: Answer<M::Future, Body>,
    change: impl FnOnce(Response) -> Response + Send + 'static,
) -> Answer<M::Future, Body> {
    match answer {
        Answer::Now(response) => Answer::Now(change(response)),
        Answer::Later(future) => {
            Answer::Later(M::then(future, |response| std::future::ready(change(response))))
        }
    }
}
