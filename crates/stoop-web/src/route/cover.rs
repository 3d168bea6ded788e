//! What middleware adds to every answer of the rest of the chain, also to those that are given in its place: where it panics, or
//! takes longer than a limit allows.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use stoop::{Answer, Body, DroppedHandler, Fields, HandlerPanic, Response};

use crate::late::{add_late_fields, is_late};
use crate::route::mode::Mode;

/// What is added to an answer.
pub trait Cover: Send + Unpin + 'static {
    /// Adds it.
    fn add(&self, response: &mut Response);
}

/// Has `cover` add to the answer, and to what is answered instead: by the router's time limit, and by the server.
pub(crate) fn cover<M: Mode>(
    cover: impl Cover,
    answer: impl FnOnce() -> Answer<M::Future, Body>,
) -> Answer<M::Future, Body> {
    match catch_unwind(AssertUnwindSafe(answer)) {
        Ok(Answer::Now(mut response)) => {
            cover.add(&mut response);
            Answer::Now(response)
        }
        Ok(Answer::Later(future)) => Answer::Later(M::covered(future, cover)),
        Err(payload) => resume(payload, &cover),
    }
}

/// A future whose answer is added to.
pub(super) struct Covered<F, C: Cover> {
    /// None once it has ended.
    future: Option<F>,
    /// None once it has added.
    cover: Option<C>,
}

impl<F, C: Cover> Covered<F, C> {
    pub(super) fn new(future: F, cover: C) -> Self {
        Self { future: Some(future), cover: Some(cover) }
    }
}

impl<F: Future<Output = Response> + Unpin, C: Cover> Future for Covered<F, C> {
    type Output = Response;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Response> {
        let Self { future, cover } = self.get_mut();
        let Some(running) = future else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| Pin::new(running).poll(cx)));
        if let Ok(Poll::Pending) = polled {
            return Poll::Pending;
        }
        *future = None;
        match (polled, cover.take()) {
            (Ok(Poll::Ready(mut response)), Some(cover)) => {
                cover.add(&mut response);
                Poll::Ready(response)
            }
            (Ok(polled), _) => polled,
            (Err(payload), Some(cover)) => resume(payload, &cover),
            (Err(payload), None) => std::panic::resume_unwind(payload),
        }
    }
}

impl<F, C: Cover> Drop for Covered<F, C> {
    fn drop(&mut self) {
        let Some(cover) = self.cover.take() else { return };
        // What is within adds first, as it does to an answer.
        self.future = None;
        if is_late() {
            add_late_fields(|fields| add(&cover, fields));
        } else {
            DroppedHandler::add_fields(|fields| add(&cover, fields));
        }
    }
}

/// Panics on, with what the answer to it is to have.
#[cold]
fn resume(payload: Box<dyn Any + Send>, cover: &impl Cover) -> ! {
    let mut panic = HandlerPanic::caught(payload);
    add(cover, panic.fields_mut());
    panic.resume()
}

/// Adds to the fields of an answer that is not made yet, which may have what other middleware has added.
fn add(cover: &impl Cover, fields: &mut Fields) {
    let mut response = Response::new(Body::empty());
    std::mem::swap(response.fields_mut(), fields);
    cover.add(&mut response);
    std::mem::swap(response.fields_mut(), fields);
}
