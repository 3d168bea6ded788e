//! The guide: pages for those who write services, with examples that are tested.
//!
//! It is there for readers, and in no build of a program. The guides of the server and of services are `stoop::guide` and
//! `stoop_web::guide`.
//!
//! | page | what it is for |
//! |---|---|
//! | [`router`] | WebSockets in a router of `stoop-web`, over HTTP/1.1 and HTTP/2 |

#[doc = include_str!("../docs/router.md")]
pub mod router {}
