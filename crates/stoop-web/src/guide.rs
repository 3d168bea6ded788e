//! The guide: pages for those who write services, with examples that are tested.
//!
//! It is there for readers, and in no build of a program. The client has a guide of its own, `stoop::guide`.
//!
//! | page | what it is for |
//! |---|---|
//! | [`first_service`] | from an empty folder to a JSON API with a test, limits and TLS |
//! | [`load_balancer`] | the PROXY protocol, Forwarded and its older fields, readiness |
//! | [`metrics`] | counters and histograms for Prometheus and the façade `metrics`, the status page |
//! | [`upgrade`] | a new process that takes over the sockets of the old one |
//! | `stoop_websocket::guide::router` | WebSockets in a router, over HTTP/1.1 and HTTP/2 |
//! | `stoop::guide::tls` | certificates of a server, several names, reloading, certificates of clients |
//! | `stoop::guide::server_limits` | every limit of the server ([`ServerLimits`](stoop::ServerLimits)) with its default, and the memory that they bound |
//! | an axum application on stoop | the documentation of the crate `stoop-axum` |

#[doc = include_str!("../docs/first_service.md")]
#[cfg(all(feature = "compression", feature = "json", feature = "tls"))]
pub mod first_service {}

#[doc = include_str!("../docs/load_balancer.md")]
#[cfg(feature = "tls")]
pub mod load_balancer {}

#[doc = include_str!("../docs/metrics.md")]
#[cfg(feature = "metrics")]
pub mod metrics {}

#[doc = include_str!("../docs/upgrade.md")]
#[cfg(feature = "tls")]
pub mod upgrade {}
