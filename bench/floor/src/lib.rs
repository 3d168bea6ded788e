//! What the floor server and the load generator share: bare system calls, and counting.

pub mod count;
pub mod sys;
