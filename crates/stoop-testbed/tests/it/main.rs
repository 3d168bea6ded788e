//! The testbed as its users see it, over real sockets. The clients here are raw on purpose: what a
//! server sends is compared byte by byte.

mod dns; // the name server: right, wrong, slow and silent answers
mod figures; // the cost of a URL; run by hand
mod hosts; // many URLs on each host: shares, robots.txt and Retry-After
mod http2; // faults over HTTP/2 alone: frame by frame, and the result of a client
mod internet; // the synthetic internet, fetched
mod isolation; // nothing listens beyond loopback
mod origins; // each behaviour, seen by a raw client
mod plan; // the distribution, its determinism and its golden file
mod program; // the testbed as a command line runs it

mod fetch; // a small, strict client that follows redirects and has a deadline
mod raw; // one connection, literal bytes
mod resolve; // one name, asked for over UDP or TCP
