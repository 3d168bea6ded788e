//! A route as it is called: an endpoint, the middleware around it, and what both are told of the match.

pub(crate) mod cover;
pub(crate) mod endpoint;
pub(crate) mod entry;
pub(crate) mod middleware;
pub(crate) mod mode;
pub(crate) mod slot;
pub(crate) mod spans;
pub(crate) mod states;
