//! The state that handlers ask for by type: what all workers share, and what each worker has of its own.

use std::any::{Any, TypeId};
use std::sync::Arc;

use crate::route::mode::Mode;

/// A value of the state.
pub(crate) struct Value<M: Mode> {
    pub(crate) id: TypeId,
    /// What errors call it.
    pub(crate) name: &'static str,
    pub(crate) source: Source<M>,
}

/// Where a value comes from.
pub(crate) enum Source<M: Mode> {
    /// All workers have the same.
    Shared(Arc<M::Value>),
    /// Each worker makes its own.
    PerWorker(Arc<M::Factory>),
}

impl<M: Mode> Clone for Value<M> {
    fn clone(&self) -> Self {
        let source = match &self.source {
            Source::Shared(value) => Source::Shared(value.clone()),
            Source::PerWorker(make) => Source::PerWorker(make.clone()),
        };
        Self { id: self.id, name: self.name, source }
    }
}

/// Finds a value of the state by its type.
pub(crate) trait FindState {
    fn find(&self, id: TypeId) -> Option<&dyn Any>;
}

/// The state of one worker. There are few values, so that a search from the front is the fastest.
pub(crate) struct WorkerState<M: Mode>(Vec<(TypeId, Arc<M::Value>)>);

impl<M: Mode> WorkerState<M> {
    /// Makes what each worker has of its own. Called on that worker.
    pub(crate) fn new(values: &[Value<M>]) -> Self {
        let make = |value: &Value<M>| match &value.source {
            Source::Shared(shared) => (value.id, shared.clone()),
            Source::PerWorker(make) => (value.id, make()),
        };
        Self(values.iter().map(make).collect())
    }
}

impl<M: Mode> FindState for WorkerState<M> {
    fn find(&self, id: TypeId) -> Option<&dyn Any> {
        let (_, value) = self.0.iter().find(|(of, _)| *of == id)?;
        Some(M::any(value))
    }
}

/// The types of state that an endpoint asks for.
#[derive(Default)]
pub struct Needs(Vec<(TypeId, &'static str)>);

impl Needs {
    /// Asks for a value of the type `T`.
    pub fn state<T: 'static>(&mut self) {
        self.0.push((TypeId::of::<T>(), std::any::type_name::<T>()));
    }

    /// The name of a type that is asked for and not among `values`.
    pub(crate) fn missing<M: Mode>(&self, values: &[Value<M>]) -> Option<&'static str> {
        let is_missing = |id: &TypeId| values.iter().all(|value| value.id != *id);
        self.0.iter().find_map(|(id, name)| is_missing(id).then_some(*name))
    }
}
