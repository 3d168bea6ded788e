//! The code that the floors and the load generators share: bare system calls, frames, and counting.

pub mod arguments;
pub mod count;
pub mod frames;
pub mod latency;
pub mod response;
pub mod sys;
