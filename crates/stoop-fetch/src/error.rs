//! Why a run failed as a whole. What becomes of single jobs is in their records.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};
use std::io;

use stoop::Error;

/// Why a run could not begin, or ended without all its jobs.
#[derive(Debug)]
#[non_exhaustive]
pub enum FetchError {
    /// No client can be made of the settings.
    Client(Error),
    /// A thread or its event loop could not be started.
    Start(io::Error),
    /// The input could not be read to its end. What was read until then has its records.
    Read(io::Error),
    /// Records could not be written; those that were are whole.
    Write(io::Error),
    /// Content could not be saved. The record of its job says so too, and the run ended there.
    Save(io::Error),
    /// What takes the records, of [`Fetch::run_records`](crate::Fetch::run_records), failed, and the run ended there.
    Record(io::Error),
    /// The filter of records panicked. The run went on, and the records were written.
    Filter(io::Error),
}

impl Display for FetchError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(error) => write!(f, "cannot make a client of these settings: {error}"),
            Self::Start(error) => write!(f, "cannot start: {error}"),
            Self::Read(error) => write!(f, "cannot read the jobs: {error}"),
            Self::Write(error) => {
                write!(f, "cannot write records: {error}; the run ended there, without all of them")
            }
            Self::Record(error) => write!(f, "{error}; the run ended there, without all records"),
            Self::Save(error) => write!(f, "{error}; the run ended there"),
            Self::Filter(error) => error.fmt(f),
        }
    }
}

impl StdError for FetchError {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match self {
            Self::Client(error) => Some(error),
            Self::Start(error)
            | Self::Read(error)
            | Self::Write(error)
            | Self::Save(error)
            | Self::Record(error)
            | Self::Filter(error) => Some(error),
        }
    }
}
