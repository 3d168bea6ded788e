//! [`Middleware`]: functions around endpoints, and [`Next`], the rest of the chain that they call.

use std::future::Future;
use std::sync::Arc;

use stoop::{Answer, Body, IntoResponse, Request, Response};

use crate::route::endpoint::{Endpoint, Matched};
use crate::route::mode::{Local, Mode, Shared};
use crate::route::slot::Slot;
use crate::route::spans::Spans;
use crate::route::states::WorkerState;

/// What runs around endpoints: `async fn(Request, Next) -> impl IntoResponse`, or a type with this trait.
///
/// A function costs an allocation for its future, on each request that it is around. A type that implements the
/// trait can do without: what it answers at once, or hands on unchanged, stays [`Answer::Now`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::{Client, Request, Response};
/// use stoop_web::{Next, Router, get};
///
/// async fn stamp(request: Request, next: Next) -> Result<Response, stoop::Error> {
///     Ok(next.run(request).await.with_field("x-served-by", "falcon")?)
/// }
///
/// let app = Router::new().route("/", get(|| "hi")).layer(stamp).build()?;
/// let client = Client::builder().handler(app).build()?;
/// assert_eq!(client.get("http://a.test/").await?.field("x-served-by"), Some(&b"falcon"[..]));
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no middleware",
    note = "middleware is an `async fn(Request, Next) -> impl IntoResponse`, the same as a closure, or a type \
            that implements `stoop_web::Middleware`; that of a `Router` must be `Send + Sync`, and so its future"
)]
pub trait Middleware<M: Mode> {
    /// Answers the request, by [`Next::answer`] or by itself.
    fn handle(&self, request: Request, next: Next<M>) -> Answer<M::Future, Body>;

    /// The same with what is only lent for the call: for middleware that keeps nothing of the rest of the chain.
    #[doc(hidden)]
    fn handle_lent(&self, request: Request, rest: Rest<'_, M>) -> Answer<M::Future, Body> {
        self.handle(request, rest.to_next())
    }

    /// Whether it is run around an answer too that middleware of this crate gives in place of the rest of the chain: what
    /// tells of each exchange is, and what changes nothing but fields of responses may be.
    #[doc(hidden)]
    fn sees_refusals(&self) -> bool {
        false
    }
}

/// The rest of the chain, lent for a call. [`Next`] owns it, which takes four atomic operations and a copy of all places of
/// parameters.
#[doc(hidden)]
pub struct Rest<'a, M: Mode> {
    slot: &'a Arc<Slot<M>>,
    state: &'a Arc<WorkerState<M>>,
    spans: &'a Spans,
    index: usize,
    refusal: Option<fn() -> Response>,
}

impl<'a, M: Mode> Rest<'a, M> {
    /// The whole chain.
    #[inline]
    pub(crate) fn new(
        slot: &'a Arc<Slot<M>>,
        state: &'a Arc<WorkerState<M>>,
        spans: &'a Spans,
    ) -> Self {
        Self { slot, state, spans, index: 0, refusal: None }
    }

    /// As [`Next::answer`].
    pub(crate) fn answer(mut self, request: Request) -> Answer<M::Future, Body> {
        while let Some(middleware) = self.slot.chain.get(self.index) {
            self.index += 1;
            if self.refusal.is_none() || middleware.sees_refusals() {
                return middleware.handle_lent(request, self);
            }
        }
        if let Some(refusal) = self.refusal {
            return Answer::Now(refusal());
        }
        let matched = Matched(self.slot.matched(self.spans, &**self.state));
        self.slot.endpoint.call(request, &matched)
    }

    /// As [`Next::pattern`].
    pub(crate) fn pattern(&self) -> &'a str {
        &self.slot.shape.pattern
    }

    fn to_next(&self) -> Next<M> {
        Next {
            slot: self.slot.clone(),
            state: self.state.clone(),
            spans: *self.spans,
            index: self.index,
            refusal: self.refusal,
        }
    }
}

/// The rest of the chain behind middleware: more of it, and the endpoint.
pub struct Next<M: Mode = Shared> {
    slot: Arc<Slot<M>>,
    state: Arc<WorkerState<M>>,
    spans: Spans,
    index: usize,
    /// What is answered in place of the endpoint, and of all that does not see refusals.
    refusal: Option<fn() -> Response>,
}

impl<M: Mode> Next<M> {
    /// The same, lent.
    pub(crate) fn rest(&self) -> Rest<'_, M> {
        let Self { slot, state, spans, index, refusal } = self;
        Rest { slot, state, spans, index: *index, refusal: *refusal }
    }

    /// The response of the rest of the chain. The request's path must be the one that came: the parameters of the
    /// route are parts of it. To change the path, wrap the router's handler.
    pub async fn run(self, request: Request) -> Response {
        match self.answer(request) {
            Answer::Now(response) => response,
            Answer::Later(future) => future.await,
        }
    }

    /// The answer of the rest of the chain, which is there at once if nothing in it waits.
    pub fn answer(self, request: Request) -> Answer<M::Future, Body> {
        self.rest().answer(request)
    }

    /// Answers by `refusal` in place of the rest of the chain, of which only what sees refusals is run: logs and counters.
    pub(crate) fn refuse(
        mut self,
        request: Request,
        refusal: fn() -> Response,
    ) -> Answer<M::Future, Body> {
        self.refusal = Some(refusal);
        self.answer(request)
    }

    /// The pattern of the route, such as `/users/{id}`; empty where no route was found.
    pub fn pattern(&self) -> &str {
        &self.slot.shape.pattern
    }
}

impl<F, W, R> Middleware<Shared> for F
where
    F: Fn(Request, Next<Shared>) -> W,
    W: Future<Output = R> + Send + 'static,
    R: IntoResponse<Body = Body>,
{
    fn handle(
        &self,
        request: Request,
        next: Next<Shared>,
    ) -> Answer<<Shared as Mode>::Future, Body> {
        let future = self(request, next);
        Answer::Later(Box::pin(async move { future.await.into_response() }))
    }
}

impl<F, W, R> Middleware<Local> for F
where
    F: Fn(Request, Next<Local>) -> W,
    W: Future<Output = R> + 'static,
    R: IntoResponse<Body = Body>,
{
    fn handle(&self, request: Request, next: Next<Local>) -> Answer<<Local as Mode>::Future, Body> {
        let future = self(request, next);
        Answer::Later(Box::pin(async move { future.await.into_response() }))
    }
}

/// What can be a layer of a router of that mode: [`Middleware`], which a [`Router`](crate::Router) needs to be
/// `Send + Sync`.
pub trait IntoLayer<M: Mode> {
    #[doc(hidden)]
    fn into_layer(self) -> Arc<M::Middleware>;
}

impl<W: Middleware<Shared> + Send + Sync + 'static> IntoLayer<Shared> for W {
    fn into_layer(self) -> Arc<<Shared as Mode>::Middleware> {
        Arc::new(self)
    }
}

impl<W: Middleware<Local> + 'static> IntoLayer<Local> for W {
    fn into_layer(self) -> Arc<<Local as Mode>::Middleware> {
        Arc::new(self)
    }
}
