//! The guide: a page for each part of the client, with examples that are tested.
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

#[doc = include_str!("../docs/coming_from.md")]
#[cfg(all(feature = "blocking", feature = "cookies", feature = "digest-auth", feature = "tower"))]
pub mod coming_from {}
