//! [`Endpoint`]: what answers a request once its route is found.

use stoop::{Answer, Body, Handler, IntoResponse, Request, Response};

use crate::route::mode::Mode;
use crate::route::slot::Match;
use crate::route::states::Needs;

/// What answers a request once its route is found.
pub trait Endpoint<M: Mode> {
    #[doc(hidden)]
    fn call(&self, request: Request, matched: &Matched<'_>) -> Answer<M::Future, Body>;

    /// Tells what state it asks for, so that a router can say at once what is missing.
    #[doc(hidden)]
    fn needs(&self, needs: &mut Needs);
}

/// What an endpoint is told besides the request; opaque to other crates.
#[doc(hidden)]
pub struct Matched<'a>(pub(crate) Match<'a>);

/// A handler as an endpoint.
pub(crate) struct HandlerEndpoint<H>(pub(crate) H);

macro_rules! handler_endpoint {
    ($mode:ident, $($send:ident)?) => {
        impl<H> Endpoint<crate::route::mode::$mode> for HandlerEndpoint<H>
        where
            H: Handler,
            H::Future: $($send +)? 'static,
            H::Body: Send,
        {
            fn call(
                &self,
                request: Request,
                _: &Matched<'_>,
            ) -> Answer<<crate::route::mode::$mode as Mode>::Future, Body> {
                match self.0.call(request) {
                    Answer::Now(response) => Answer::Now(response.boxed()),
                    Answer::Later(future) => Answer::Later(Box::pin(async move {
                        future.await.into_response().boxed()
                    })),
                }
            }

            fn needs(&self, _: &mut Needs) {}
        }
    };
}

handler_endpoint!(Shared, Send);
handler_endpoint!(Local,);

/// An endpoint that answers at once, by a function of the request.
pub(crate) struct Fixed<F>(pub(crate) F);

impl<M: Mode, F: Fn(&Request) -> Response> Endpoint<M> for Fixed<F> {
    fn call(&self, request: Request, _: &Matched<'_>) -> Answer<M::Future, Body> {
        Answer::Now((self.0)(&request))
    }

    fn needs(&self, _: &mut Needs) {}
}
