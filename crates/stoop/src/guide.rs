//! The guide: a page for each part of the client, and of the server, with examples that are tested.
//!
//! It is there for readers, and in no build of a program.
//!
//! | page | what it is for |
//! |---|---|
//! | [`requests`] | requests, content, responses, errors |
//! | [`middleware`] | functions of yours around each call, and tower |
//! | [`connections`] | bounds, the queue, stale connections, the end, connections of your own |
//! | [`names`] | resolvers, addresses by hand, which addresses are allowed |
//! | [`policies`] | redirects, retries, cookies, credentials |
//! | [`content`] | codings, charsets, trailers, interim responses, events, upgrades |
//! | [`proxies`] | HTTP, HTTPS and SOCKS proxies, and variables |
//! | [`tls`] | of the client: trust, pins, versions, HSTS; of the server: certificates, names, reloading, certificates of clients |
//! | [`sight`] | limits of one request, timings, observers, tracing, metrics, the line of an error |
//! | [`server_limits`] | bounds of a server, what is answered and counted beyond them, errors of handlers, memory |
//! | [`testing`] | mocks, recordings, the paused clock, handlers in the process |
//! | [`command`] | `stoop get` and `stoop fetch`, for those who use curl, and `stoop serve` |
//! | [`fetching`] | `stoop fetch` for lists of ten thousand to a billion URLs: walk-throughs, and all its options |
//! | [`blocking`] | programs without a runtime |
//! | [`coming_from`] | what reqwest, hyper-util and curl call it, and what it is here |

#[doc = include_str!("../docs/requests.md")]
#[cfg(all(feature = "json", feature = "multipart", feature = "stream"))]
pub mod requests {}

#[doc = include_str!("../docs/middleware.md")]
#[cfg(feature = "tower")]
pub mod middleware {}

#[doc = include_str!("../docs/connections.md")]
pub mod connections {}

#[doc = include_str!("../docs/names.md")]
#[cfg(feature = "dns")]
pub mod names {}

#[doc = include_str!("../docs/policies.md")]
#[cfg(all(feature = "cookies", feature = "digest-auth"))]
pub mod policies {}

#[doc = include_str!("../docs/content.md")]
#[cfg(all(feature = "compression", feature = "charset", feature = "stream"))]
pub mod content {}

#[doc = include_str!("../docs/proxies.md")]
#[cfg(feature = "proxy")]
pub mod proxies {}

#[doc = include_str!("../docs/tls.md")]
#[cfg(feature = "tls")]
pub mod tls {}

#[doc = include_str!("../docs/sight.md")]
#[cfg(all(feature = "tracing", feature = "metrics", feature = "tls"))]
pub mod sight {}

#[doc = include_str!("../docs/server_limits.md")]
pub mod server_limits {}

#[doc = include_str!("../docs/testing.md")]
#[cfg(feature = "testing")]
pub mod testing {}

#[doc = include_str!("../docs/command.md")]
pub mod command {}

#[doc = include_str!("../docs/fetching.md")]
pub mod fetching {}

#[doc = include_str!("../docs/blocking.md")]
#[cfg(feature = "blocking")]
pub mod blocking {}

#[doc = include_str!("../docs/coming_from.md")]
#[cfg(all(feature = "blocking", feature = "cookies", feature = "digest-auth", feature = "tower"))]
pub mod coming_from {}
