//! The client against peers that say what they are told to: over memory where the clock matters
//! (it is paused, nothing sleeps), over loopback where the kernel does.

mod bounds;
mod cancel;
mod channel;
mod deadlines;
mod default_limits;
mod early_responses;
mod error_kinds;
mod errors;
mod exchange;
mod gateway;
mod http2;
mod kit;
mod lengths;
mod pieces;
mod pool;
mod rate;
mod redirects;
mod reuse;
mod runtimes;
mod semantics;
mod timings;
mod tls;
mod upload;
mod urls;
