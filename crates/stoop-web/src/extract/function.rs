//! Functions of arguments as endpoints.

use std::future::Future;
use std::marker::PhantomData;
use std::sync::Arc;

use bytes::Bytes;
use stoop::handler::{Async, Itself, Plain};
use stoop::{Answer, Body, BoxError, Handler, IntoResponse, Request, Response};

use crate::accept::prefers_json;
use crate::extract::argument::{FromContent, FromHead, Head, Immediate};
use crate::extract::rejection::Rejection;
use crate::route::endpoint::{Endpoint, HandlerEndpoint, Matched};
use crate::route::mode::{Local, Mode, Shared};
use crate::route::states::Needs;

/// What answers the requests of a route: a function of [arguments](FromHead), async or not, or any
/// [`Handler`] of `stoop`, which has no arguments but the request. `Kind` tells them apart and is always inferred.
///
/// A function has at most ten arguments. All but the last implement [`FromHead`], and the last that or
/// [`FromContent`]. It returns what [`IntoResponse`] is implemented for. That of a [`Router`](crate::Router) is
/// `Send + Sync`, and so are its arguments and its future `Send`; that of a [`LocalRouter`](crate::LocalRouter) need
/// not be.
///
/// A function that is not async, and whose arguments need no content, is answered at once: no future is kept, and
/// nothing is allocated for it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not answer the requests of a route",
    label = "not an endpoint",
    note = "an endpoint is a function, async or not, of up to ten arguments that implement `FromHead`, of which the \
            last may implement `FromContent` instead; it returns what implements `IntoResponse`",
    note = "in a `Router` it is `Send + Sync`, and its arguments and its future are `Send`; a `LocalRouter` needs \
            none of that"
)]
pub trait IntoEndpoint<M: Mode, Kind> {
    #[doc(hidden)]
    fn into_endpoint(self) -> Arc<M::Endpoint>;
}

impl<H> IntoEndpoint<Shared, Itself> for H
where
    H: Handler + Send + Sync,
    H::Future: Send,
    H::Body: Send,
{
    fn into_endpoint(self) -> Arc<<Shared as Mode>::Endpoint> {
        Arc::new(HandlerEndpoint(self))
    }
}

impl<H> IntoEndpoint<Local, Itself> for H
where
    H: Handler,
    H::Body: Send,
{
    fn into_endpoint(self) -> Arc<<Local as Mode>::Endpoint> {
        Arc::new(HandlerEndpoint(self))
    }
}

/// What a handler returns: a response whose content can be sent between threads.
pub trait Returned {
    #[doc(hidden)]
    fn into_boxed(self) -> Response;
}

impl<R> Returned for R
where
    R: IntoResponse<Body: http_body::Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static>,
{
    #[inline]
    fn into_boxed(self) -> Response {
        self.into_response().boxed()
    }
}

/// A function with the types of its arguments: `Kind` is [`Plain`] or [`Async`], `H` a tuple of what is made of the
/// head, `L` the last argument, by `V`.
pub(super) struct Function<F, Kind, H, L, V>(F, PhantomData<Signature<Kind, H, L, V>>);

impl<F, Kind, H, L, V> Function<F, Kind, H, L, V> {
    pub(super) fn new(function: F) -> Self {
        Self(function, PhantomData)
    }
}

/// The types of a [`Function`], none of which it has.
type Signature<Kind, H, L, V> = fn() -> (Kind, H, L, V);

/// A function that takes the arguments of a tuple, and a last one.
pub(super) trait Call<H, L> {
    type Output;
    fn call(&self, heads: H, last: L) -> Self::Output;
}

/// The arguments that are made of the head.
pub(super) trait Heads: Sized {
    /// Makes all of them, or tells all that is wrong.
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection>;
    fn needs(needs: &mut Needs);
}

/// No arguments at all, not even a last one.
pub(super) struct NoArguments;

/// The last argument of a function that has none.
pub(super) struct Nothing;

impl Heads for NoArguments {
    #[inline]
    fn from_head(_: &Head<'_>) -> Result<Self, Rejection> {
        Ok(Self)
    }

    fn needs(_: &mut Needs) {}
}

impl FromHead for Nothing {
    #[inline]
    fn from_head(_: &Head<'_>) -> Result<Self, Rejection> {
        Ok(Self)
    }
}

/// What came of all arguments without waiting.
enum Arguments<H, L> {
    Done(H, L),
    Answered(Response),
    Reading(Result<H, Rejection>, Request),
}

#[inline]
fn arguments<H: Heads, L: FromContent<V>, V>(
    request: Request,
    matched: &Matched<'_>,
) -> Arguments<H, L> {
    let heads = H::from_head(&Head { request: &request, matched: matched.0 });
    match heads {
        Ok(heads) => match L::immediately(request, matched) {
            Immediate::Done(last) => Arguments::Done(heads, last),
            Immediate::Failed(rejection, request) => {
                Arguments::Answered(rejection.answer(&request))
            }
            Immediate::Reading(request) => Arguments::Reading(Ok(heads), request),
        },
        Err(rejection) => rejected(rejection, request, matched),
    }
}

#[cold]
fn rejected<H, L: FromContent<V>, V>(
    rejection: Rejection,
    request: Request,
    matched: &Matched<'_>,
) -> Arguments<H, L> {
    let as_json = prefers_json(request.fields());
    if rejection.is_final() {
        return Arguments::Answered(rejection.write(as_json));
    }
    match L::immediately(request, matched) {
        Immediate::Failed(last, _) => Arguments::Answered(rejection.and(last).write(as_json)),
        Immediate::Reading(request) if L::IS_TRIED_ALWAYS => {
            Arguments::Reading(Err(rejection), request)
        }
        Immediate::Done(_) | Immediate::Reading(_) => Arguments::Answered(rejection.write(as_json)),
    }
}

/// Both kinds of arguments, or the answer that tells what is wrong with either.
async fn read<H, L: FromContent<V>, V>(
    heads: Result<H, Rejection>,
    request: Request,
    body_bytes_max: u64,
) -> Result<(H, L), Response> {
    let as_json = prefers_json(request.fields());
    let last = L::from_content(request, body_bytes_max).await;
    let rejection = match (heads, last) {
        (Ok(heads), Ok(last)) => return Ok((heads, last)),
        (Err(rejection), Ok(_)) | (Ok(_), Err(rejection)) => rejection,
        (Err(first), Err(second)) => first.and(second),
    };
    Err(rejection.write(as_json))
}

macro_rules! endpoints {
    ($mode:ident, $($send:ident + $sync:ident)?) => {
        impl<F, R, H, L, V> Endpoint<$mode> for Function<F, Plain<R>, H, L, V>
        where
            F: Call<H, L, Output = R> + Clone $(+ $send + $sync)? + 'static,
            R: Returned,
            H: Heads $(+ $send)? + 'static,
            L: FromContent<V> $(+ $send)? + 'static,
            V: 'static,
        {
            #[inline]
            fn call(
                &self,
                request: Request,
                matched: &Matched<'_>,
            ) -> Answer<<$mode as Mode>::Future, Body> {
                let max = matched.0.body_bytes_max;
                match arguments::<H, L, V>(request, matched) {
                    Arguments::Done(heads, last) => {
                        Answer::Now(self.0.call(heads, last).into_boxed())
                    }
                    Arguments::Answered(response) => Answer::Now(response),
                    Arguments::Reading(heads, request) => {
                        let function = self.0.clone();
                        Answer::Later(Box::pin(async move {
                            match read::<H, L, V>(heads, request, max).await {
                                Ok((heads, last)) => {
                                    function.call(heads, last).into_boxed()
                                }
                                Err(response) => response,
                            }
                        }))
                    }
                }
            }

            fn needs(&self, needs: &mut Needs) {
                H::needs(needs);
                L::needs(needs);
            }
        }

        impl<F, W, R, H, L, V> Endpoint<$mode> for Function<F, Async<W>, H, L, V>
        where
            F: Call<H, L, Output = W> + Clone $(+ $send + $sync)? + 'static,
            W: Future<Output = R> $(+ $send)? + 'static,
            R: Returned,
            H: Heads $(+ $send)? + 'static,
            L: FromContent<V> $(+ $send)? + 'static,
            V: 'static,
        {
            fn call(
                &self,
                request: Request,
                matched: &Matched<'_>,
            ) -> Answer<<$mode as Mode>::Future, Body> {
                let max = matched.0.body_bytes_max;
                match arguments::<H, L, V>(request, matched) {
                    Arguments::Done(heads, last) => {
                        let future = self.0.call(heads, last);
                        Answer::Later(Box::pin(async move {
                            future.await.into_boxed()
                        }))
                    }
                    Arguments::Answered(response) => Answer::Now(response),
                    Arguments::Reading(heads, request) => {
                        let function = self.0.clone();
                        Answer::Later(Box::pin(async move {
                            match read::<H, L, V>(heads, request, max).await {
                                Ok((heads, last)) => {
                                    function.call(heads, last).await.into_boxed()
                                }
                                Err(response) => response,
                            }
                        }))
                    }
                }
            }

            fn needs(&self, needs: &mut Needs) {
                H::needs(needs);
                L::needs(needs);
            }
        }
    };
}

endpoints!(Shared, Send + Sync);
endpoints!(Local,);
