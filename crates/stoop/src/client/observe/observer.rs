//! Tells what happens to a request, wherever it is to be told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::event::ClientEvent;
#[cfg(feature = "metrics")]
use super::metrics;
#[cfg(feature = "tracing")]
use super::trace;
use crate::error::Error;
use crate::request::Request;

/// A function that is told of requests.
pub(crate) type Observer = Box<dyn Fn(u64, &ClientEvent<'_>) + Send + Sync>;

/// The functions that a client tells of its requests, and the number of the next one.
#[derive(Default)]
pub(crate) struct Observers {
    all: Option<Arc<[Observer]>>,
    next: AtomicU64,
    /// Whether requests are counted by the `metrics` façade.
    #[cfg(feature = "metrics")]
    are_counted: bool,
}

impl Observers {
    pub(crate) fn new(all: Vec<Observer>) -> Self {
        let all = (!all.is_empty()).then(|| all.into());
        Self { all, ..Self::default() }
    }

    #[cfg(feature = "metrics")]
    pub(crate) fn counted(self, are_counted: bool) -> Self {
        Self { are_counted, ..self }
    }
}

/// What is told of one request.
pub(crate) struct RequestObserver {
    observers: Option<Arc<[Observer]>>,
    id: u64,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
    /// The method by which it is counted, if it is.
    #[cfg(feature = "metrics")]
    counted: Option<http::Method>,
}

impl RequestObserver {
    /// Begins to tell of a request.
    pub(crate) fn new(observers: &Observers, request: &Request) -> Self {
        #[cfg(not(any(feature = "tracing", feature = "metrics")))]
        let _ = request;
        Self {
            id: match &observers.all {
                Some(_) => observers.next.fetch_add(1, Ordering::Relaxed),
                None => 0,
            },
            observers: observers.all.clone(),
            #[cfg(feature = "tracing")]
            span: trace::span(request),
            #[cfg(feature = "metrics")]
            counted: observers.are_counted.then(|| request.method().clone()),
        }
    }

    /// The same for another attempt.
    pub(crate) fn again(&self) -> Self {
        Self {
            observers: self.observers.clone(),
            id: self.id,
            #[cfg(feature = "tracing")]
            span: self.span.clone(),
            #[cfg(feature = "metrics")]
            counted: self.counted.clone(),
        }
    }

    /// Tells what happens.
    #[inline]
    pub(crate) fn tell(&self, event: &ClientEvent<'_>) {
        if let Some(observers) = &self.observers {
            observers.iter().for_each(|observer| observer(self.id, event));
        }
        #[cfg(feature = "tracing")]
        trace::tell(&self.span, event);
        #[cfg(feature = "metrics")]
        if let Some(method) = &self.counted {
            metrics::tell(method, event);
        }
    }

    /// Whether what happens is told at all.
    pub(crate) fn is_heard(&self) -> bool {
        #[cfg(feature = "tracing")]
        if !self.span.is_disabled() {
            return true;
        }
        #[cfg(feature = "metrics")]
        if self.counted.is_some() {
            return true;
        }
        self.observers.is_some()
    }

    /// Tells of an error that ends the request, and returns it.
    pub(crate) fn failed(&self, error: Error) -> Error {
        self.tell(&ClientEvent::Failed { error: &error });
        error
    }

    /// Sends the place in its trace with the request, and returns the span that it is sent in, if there is one.
    #[cfg(feature = "tracing")]
    pub(crate) fn propagate(&self, request: &mut Request) -> Option<tracing::Span> {
        if self.span.is_disabled() {
            return None;
        }
        trace::propagate(&self.span, request);
        Some(self.span.clone())
    }
}
