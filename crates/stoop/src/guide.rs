//! The guide: a page for each part of the client, with examples that are tested.
//!
//! It is there for readers, and in no build of a program.
//!
//! | page | what it is for |
//! |---|---|
//! | [`coming_from`] | what reqwest, hyper-util and curl call it, and what it is here |

#[doc = include_str!("../docs/coming_from.md")]
#[cfg(all(feature = "blocking", feature = "cookies", feature = "digest-auth", feature = "tower"))]
pub mod coming_from {}
