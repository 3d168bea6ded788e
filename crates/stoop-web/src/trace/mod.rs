//! Spans of requests for `tracing`, and their place in a distributed trace: the feature `tracing`.
//!
//! `layer` is the middleware, `span` what a span tells, `scope` what runs inside of one.

mod layer;
mod scope;
mod span;

pub use layer::TraceRequests;
