//! The cases of google/robotstxt's `robots_test.cc`, by the names of its tests, in our own form.
//!
//! It takes whole URLs, of which it compares the path with its query; here are those. Where it decides against
//! RFC 9309, which it says is left to its callers, that is noted and the RFC counts.

mod files;

mod rules;
