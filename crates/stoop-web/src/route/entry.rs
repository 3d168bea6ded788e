//! What a router's table points to: the endpoints of a pattern, each with what is around it.

use std::sync::Arc;

use stoop::{Answer, Body, Method, Request};

use crate::route::endpoint::{Endpoint, Matched};
use crate::route::middleware::Next;
use crate::route::mode::Mode;
use crate::route::slot::Slot;
use crate::route::spans::Spans;
use crate::route::states::WorkerState;

/// The endpoints of a pattern.
pub(crate) struct Entry<M: Mode> {
    pub(crate) methods: Vec<(Method, Arc<Slot<M>>)>,
    /// What answers methods that are not listed: an endpoint for any of them, or else OPTIONS and 405.
    pub(crate) others: Arc<Slot<M>>,
}

impl<M: Mode> Entry<M> {
    /// Answers a request that this entry is for.
    #[inline]
    pub(crate) fn call(
        &self,
        request: Request,
        spans: &Spans,
        state: &Arc<WorkerState<M>>,
    ) -> Answer<M::Future, Body> {
        let method = request.method();
        let listed = self.methods.iter().find(|(of, _)| of == method);
        let slot = listed.map_or(&self.others, |(_, slot)| slot);
        if slot.chain.is_empty() {
            return slot.endpoint.call(request, &Matched(slot.matched(spans, &**state)));
        }
        Next::new(slot, state, spans).answer(request)
    }
}
