//! An endpoint with the middleware around it, as it is called.

use std::sync::Arc;

use crate::route::mode::Mode;
use crate::route::spans::Spans;
use crate::route::states::FindState;

/// The paths that an endpoint is for.
#[derive(Clone)]
pub(crate) struct Shape {
    /// The pattern, with those of the routers it is nested in; empty for a fallback.
    pub(crate) pattern: Arc<str>,
    /// Of a fallback, the prefix of the paths that it is for; empty for a pattern.
    #[cfg_attr(not(feature = "files"), expect(dead_code, reason = "files alone ask for it"))]
    pub(crate) prefix: Arc<str>,
    /// The names of its parameters.
    pub(crate) names: Arc<[Box<str>]>,
}

/// An endpoint, and what is around it.
pub(crate) struct Slot<M: Mode> {
    pub(crate) shape: Shape,
    pub(crate) endpoint: Arc<M::Endpoint>,
    pub(crate) chain: Vec<Arc<M::Middleware>>,
    /// Bytes of content that an extractor may read.
    pub(crate) body_bytes_max: u64,
}

/// What an endpoint is told besides the request.
#[derive(Clone, Copy)]
pub(crate) struct Match<'a> {
    pub(crate) shape: &'a Shape,
    pub(crate) spans: &'a Spans,
    pub(crate) state: &'a dyn FindState,
    pub(crate) body_bytes_max: u64,
}

impl<M: Mode> Slot<M> {
    /// What the endpoint is told of a match.
    #[inline]
    pub(crate) fn matched<'a>(&'a self, spans: &'a Spans, state: &'a dyn FindState) -> Match<'a> {
        Match { shape: &self.shape, spans, state, body_bytes_max: self.body_bytes_max }
    }
}
