//! The code that the floors and the load generators share: bare system calls, frames, counting, and the bystander
//! beside loads that are no ordinary clients.

pub mod arguments;
pub mod bystander;
pub mod count;
pub mod frames;
pub mod latency;
pub mod response;
pub mod sys;
