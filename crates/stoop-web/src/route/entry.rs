//! What a router's table points to: the endpoints of a pattern, each with what is around it.

use std::sync::Arc;

use stoop::{Answer, Body, Method, Request};

use crate::route::endpoint::{Endpoint, Matched};
use crate::route::middleware::Rest;
use crate::route::mode::Mode;
use crate::route::slot::Slot;
use crate::route::spans::Spans;
use crate::route::states::WorkerState;

/// The endpoints of a pattern.
pub(crate) struct Entry<M: Mode> {
    pub(crate) methods: Vec<(Method, Arc<Slot<M>>)>,
    /// The one of these for GET, which is asked for most.
    pub(crate) get: Option<Arc<Slot<M>>>,
    /// What answers methods that are not listed: an endpoint for any of them, or else OPTIONS and 405.
    pub(crate) others: Arc<Slot<M>>,
}

impl<M: Mode> Entry<M> {
    /// Answers a request that this entry is for.
    pub(crate) fn call(
        &self,
        request: Request,
        spans: &Spans,
        state: &Arc<WorkerState<M>>,
    ) -> Answer<M::Future, Body> {
        let slot = self.slot(request.method());
        if slot.chain.is_empty() {
            return slot.endpoint.call(request, &Matched(slot.matched(spans, &**state)));
        }
        Rest::new(slot, state, spans).answer(request)
    }

    /// What answers that method.
    #[inline]
    pub(crate) fn slot(&self, method: &Method) -> &Arc<Slot<M>> {
        match &self.get {
            Some(slot) if *method == Method::GET => slot,
            _ => self.other_slot(method),
        }
    }

    /// What answers any method.
    #[inline(never)]
    fn other_slot(&self, method: &Method) -> &Arc<Slot<M>> {
        let listed = self.methods.iter().find(|(of, _)| of == method);
        listed.map_or(&self.others, |(_, slot)| slot)
    }
}
