//! The guide: pages for programs that fetch lists of URLs, with examples that are tested.
//!
//! It is there for readers, and in no build of a program. The client itself has a guide of its own, `stoop::guide`.
//!
//! | page | what it is for |
//! |---|---|
//! | [`lists`] | a list in, records out: sources, records, progress, errors |
//! | [`politeness`] | how much one host and the whole run are asked for: limits, retries, robots.txt, concurrency |
//! | [`content`] | content in files, archives and tables, or given to a function; bounds of memory |
//! | [`runs`] | runs that go on after a kill; failed URLs again; what has changed since; several machines |

#[doc = include_str!("../docs/lists.md")]
pub mod lists {}

#[doc = include_str!("../docs/politeness.md")]
pub mod politeness {}

#[doc = include_str!("../docs/content.md")]
#[cfg(all(feature = "parquet", feature = "tar", feature = "warc"))]
pub mod content {}

#[doc = include_str!("../docs/runs.md")]
#[cfg(feature = "warc")]
pub mod runs {}
