//! Bulk fetching: a source of jobs in, exactly one record for each job out, always to the end.
//!
//! ```text
//!           lanes (bounded)          one thread each            one buffer (bounded)
//! reader ──┬─► jobs, jobs ──► schedule ──► slots ──┬─► bytes ──► writer
//!          └─► jobs, jobs ──► schedule ──► slots ──┘
//!                                 └── permits ──┘ the concurrency, over all workers
//! ```
//!
//! A [`Fetch`] describes a run. The run reads jobs from a [`JobSource`](source::JobSource) on a thread of its own,
//! hands them to its workers by their hosts (where those are told apart by [address](HostGroup::Address), another thread
//! does), starts each when its host bears it ([`Politeness`]), and fetches it within its deadline; a
//! [`RecordFormat`](format::RecordFormat) turns the [`Record`] of each into bytes, which a last thread writes to the
//! caller's writer. Memory is bounded: nothing is read that cannot be started soon, and nothing is started while
//! the writer is behind. [`guide`] has pages for programs that fetch lists.
//!
//! ```
//! use stoop_fetch::{Fetch, format::JsonLines, source::Lines};
//!
//! # fn main() -> Result<(), stoop_fetch::FetchError> {
//! let urls = Lines::new(&b"http://127.0.0.1:1/\nnot a URL\n"[..]);
//! let fetch = Fetch::new().concurrency(50);
//! let finished = fetch.run(urls, JsonLines::new(), std::io::stdout())?;
//! assert_eq!(finished.figures().total_urls, 2);
//! # Ok(())
//! # }
//! ```
//!
//! Code of the caller's can take the records themselves, at its own pace: blocking, as here, or not
//! ([`Fetch::start_records`]).
//!
//! ```
//! use stoop_fetch::{Extract, Fetch, source::Lines};
//!
//! # fn main() -> Result<(), stoop_fetch::FetchError> {
//! # let page = |_: stoop::Request| {
//! #     stoop::Response::from_text("<title>Fish</title>").with_field("content-type", "text/html").unwrap()
//! # };
//! let urls = Lines::new(&b"http://example.com/\n"[..]);
//! let fetch = Fetch::new().extract([Extract::Title]);
//! # let fetch = fetch.client(move |client| client.handler(page));
//! let mut titles = Vec::new();
//! fetch.run_records(urls, |record| {
//!     let details = record.outcome.details.unwrap_or_default();
//!     titles.extend(details.extracted.and_then(|extracted| extracted.title));
//!     Ok(())
//! })?;
//! assert_eq!(titles, ["Fish"]);
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]
// What ships never prints, exits or reads the environment; crates/clippy.toml lists the ways to.
#![cfg_attr(
    not(test),
    forbid(clippy::disallowed_methods, clippy::print_stderr, clippy::print_stdout)
)]

mod addresses;
mod answered;
mod bandwidth;
mod capture;
mod client_limits;
mod concurrency;
mod digests;
mod distribute;
mod earlier;
mod error;
mod extract;
mod failures;
mod fetch;
mod fetcher;
mod guarded;
mod job;
mod journal;
mod lane;
mod nested_sitemaps;
mod output;
mod permits;
mod politeness;
mod processing;
mod progress;
mod record;
mod records;
mod robots_client;
mod robots_gate;
mod robots_known;
mod run;
mod run_state;
mod save;
mod schedule;
mod settings;
mod sink;
mod slots;
mod stop;
mod template;
mod total_rate;
mod tuner;
mod tuning;
mod tuning_gauge;
mod turns;
mod until;
mod wall_clock;
mod worker;

pub mod format;
pub mod guide;
pub mod kinds;
pub mod mask;
mod means;
pub mod robots;
pub mod source;
pub mod statistics;
pub mod summary;
pub mod target;

/// The client's crate, whose types this one takes and returns: `Method`, `Redirects`, `ClientBuilder`, `ErrorKind` and others.
pub use stoop;

pub use self::capture::{Capture, Exchange, ExchangeResponse, Truncated};
pub use self::concurrency::Concurrency;
pub use self::earlier::{Earlier, EarlierRecords, EarlierResponse};
pub use self::error::FetchError;
pub use self::extract::{ChainHop, Extract, Extracted, TlsDetails};
pub use self::fetch::Fetch;
pub use self::journal::{Checkpoint, OutputFile, ResumableWriter, RunFolder, RunFolderError};
pub use self::nested_sitemaps::NestedSitemaps;
pub use self::politeness::{HostGroup, Politeness};
pub use self::progress::{Bottleneck, Progress};
pub use self::record::{Details, Outcome, Phases, Record};
pub use self::records::{OwnedRecord, Records};
pub use self::run::{Finished, Run};
pub use self::save::{FileNames, SaveFolder};
pub use self::stop::Stop;

/// The README's example is compiled with the documentation's.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
