//! What the floor server and the load generator share: bare system calls, and counting.

pub mod arguments;
pub mod count;
pub mod latency;
pub mod response;
pub mod sys;
