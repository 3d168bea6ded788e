//! Static files: a directory as an endpoint, with ranges, conditions, codings that are there already, and listings.
//!
//! A path is looked up in what this worker remembers (`cache`, `store`, `sweeper`), and else below the directory (`path`,
//! `load`); a list is made once for all who ask for it meanwhile (`listing`, `making`). What is there is a file with the fields
//! of its responses (`representation`); which response a request gets of it is decided in the order of RFC 9110 §13.2.2
//! (`respond`, with `condition`, `ranges`, `coding`). Nothing is encoded here: that is [`Compress`](crate::Compress)'s.

mod byteranges;
mod cache;
mod cache_limits;
mod coding;
mod condition;
mod endpoint;
mod found;
mod listing;
mod load;
mod making;
mod options;
mod path;
mod ranges;
mod representation;
mod respond;
mod service;
mod store;
mod sweeper;
mod types;

pub use cache_limits::FileCache;
pub use coding::FileCoding;
pub use endpoint::{FilesHandler, FilesKind};
pub use options::Files;
