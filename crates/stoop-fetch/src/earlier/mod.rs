//! What an earlier run learned of its URLs, to fetch again only what has changed.

mod earlier_run;
mod http_head;
mod index;
mod json;
mod records;
#[cfg(feature = "parquet")]
mod table;
#[cfg(test)]
mod tests;
mod warc;

pub use self::earlier_run::Earlier;
pub(crate) use self::index::Known;
pub(crate) use self::records::VALIDATOR_BYTES_MAX;
pub use self::records::{EarlierRecords, EarlierResponse};
