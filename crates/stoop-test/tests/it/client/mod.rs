//! The client and scripted servers: in memory where the clock matters, which is then paused, and over
//! loopback where the kernel matters.

mod bounds;
mod cancel;
mod channel;
mod coding;
mod connector;
mod cookies;
mod deadlines;
mod default_limits;
mod early_responses;
mod ergonomics;
mod error_kinds;
mod errors;
mod events;
mod exchange;
mod gateway;
mod hsts;
mod http2;
mod kit;
mod lengths;
mod middleware;
mod names;
mod pieces;
mod pool;
mod proxies;
mod rate;
mod redirects;
mod retries;
mod reuse;
mod runtimes;
mod semantics;
mod timings;
mod tls;
mod tower;
mod upload;
mod urls;
