//! Tells what happens to a request, wherever it is to be told.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use super::event::ClientEvent;
#[cfg(feature = "metrics")]
use super::metrics;
#[cfg(feature = "tracing")]
use super::trace;
use crate::error::Error;
use crate::request::Request;
#[cfg(feature = "tracing")]
use crate::trace_context::TraceContext;

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

/// Where it is told what happens to one request: nowhere, for most. Cheap to clone and to move.
#[derive(Clone)]
pub(crate) struct RequestObserver(Option<Arc<RequestListeners>>);

struct RequestListeners {
    observers: Option<Arc<[Observer]>>,
    id: u64,
    /// The request is one for a tunnel, on behalf of that one.
    #[cfg(feature = "proxy")]
    tunnelled: Option<RequestObserver>,
    #[cfg(feature = "tracing")]
    span: tracing::Span,
    /// The place in its trace that each attempt is sent with.
    #[cfg(feature = "tracing")]
    context: Option<TraceContext>,
    /// The method by which it is counted, if it is.
    #[cfg(feature = "metrics")]
    counted: Option<http::Method>,
}

impl RequestObserver {
    /// Tells nothing, for what is done without a request.
    pub(crate) const SILENT: Self = Self(None);

    /// Begins to tell of a request.
    pub(crate) fn new(observers: &Observers, request: &Request) -> Self {
        let is_heard = observers.all.is_some();
        #[cfg(feature = "metrics")]
        let is_heard = is_heard || observers.are_counted;
        #[cfg(feature = "tracing")]
        let span = trace::span(request);
        #[cfg(feature = "tracing")]
        let is_heard = is_heard || !span.is_disabled();
        #[cfg(not(any(feature = "tracing", feature = "metrics")))]
        let _ = request;
        if !is_heard {
            return Self(None);
        }
        Self(Some(Arc::new(RequestListeners {
            id: match &observers.all {
                Some(_) => observers.next.fetch_add(1, Ordering::Relaxed),
                None => 0,
            },
            observers: observers.all.clone(),
            #[cfg(feature = "proxy")]
            tunnelled: None,
            #[cfg(feature = "tracing")]
            context: trace::context(&span, request),
            #[cfg(feature = "tracing")]
            span,
            #[cfg(feature = "metrics")]
            counted: observers.are_counted.then(|| request.method().clone()),
        })))
    }

    /// Tells what happens.
    #[inline]
    pub(crate) fn tell(&self, event: &ClientEvent<'_>) {
        if let Some(listeners) = &self.0 {
            listeners.tell(event);
        }
    }

    /// Tells of the request for a tunnel that this request goes through.
    #[cfg(feature = "proxy")]
    pub(crate) fn for_tunnel(&self) -> Self {
        Self(self.0.as_ref().map(|_| {
            Arc::new(RequestListeners {
                observers: None,
                id: 0,
                tunnelled: Some(self.clone()),
                #[cfg(feature = "tracing")]
                span: tracing::Span::none(),
                #[cfg(feature = "tracing")]
                context: None,
                #[cfg(feature = "metrics")]
                counted: None,
            })
        }))
    }

    /// Whether what happens is told at all.
    pub(crate) fn is_heard(&self) -> bool {
        self.0.is_some()
    }

    /// Tells of an error that ends the request, and returns it.
    pub(crate) fn failed(&self, error: Error) -> Error {
        self.tell(&ClientEvent::Failed { error: &error });
        error
    }

    /// Sends the place in its trace with the request.
    #[cfg(feature = "tracing")]
    pub(crate) fn propagate(&self, request: &mut Request) {
        let handed_on;
        let context = match &self.0 {
            Some(listeners) => listeners.context.as_ref(),
            None => {
                handed_on = TraceContext::of_request(request);
                handed_on.as_ref()
            }
        };
        if let Some(context) = context {
            context.send_with(request);
        }
    }

    /// Polls what is done for the request, in its span if there is one.
    #[inline]
    pub(crate) fn poll_in_span<T>(&self, poll: impl FnOnce() -> Poll<T>) -> Poll<T> {
        #[cfg(feature = "tracing")]
        if let Some(listeners) = &self.0 {
            return listeners.span.in_scope(poll);
        }
        poll()
    }
}

impl RequestListeners {
    fn tell(&self, event: &ClientEvent<'_>) {
        #[cfg(feature = "proxy")]
        if let Some(tunnelled) = &self.tunnelled {
            return tell_of_tunnel(tunnelled, event);
        }
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
}

/// Tells the observer of a request what happens to the request for its tunnel: what that comes to in the end is told as
/// what the connection comes to.
#[cfg(feature = "proxy")]
fn tell_of_tunnel(tunnelled: &RequestObserver, event: &ClientEvent<'_>) {
    match *event {
        ClientEvent::Resolved { host, addresses } => {
            tunnelled.tell(&ClientEvent::Resolved { host, addresses });
        }
        ClientEvent::Sending { head, remote, is_http2, .. } => {
            tunnelled.tell(&ClientEvent::TunnelRequested { head, remote, is_http2 });
        }
        ClientEvent::Responded { head, .. } => {
            tunnelled.tell(&ClientEvent::TunnelAnswered { head });
        }
        _ => {}
    }
}
