//! Why a run failed as a whole. What becomes of single jobs is in their records.

use std::error::Error as StdError;
use std::fmt::{self, Display, Formatter};
use std::io;

use stoop::Error;

/// Why a run could not begin, or ended without all its jobs.
///
/// # Errors of the system
///
/// Where the system has refused something, the [`io::Error`] is the system's, with its
/// [`raw_os_error`](io::Error::raw_os_error), or says which file it is of and has the system's as its source:
///
/// ```
/// use std::{error::Error, io};
///
/// # fn is_disk_full(error: &stoop_fetch::FetchError) -> bool {
/// let sources = std::iter::successors(error.source(), |error| (*error).source());
/// let of_system = sources.filter_map(|error| error.downcast_ref::<io::Error>());
/// of_system.filter_map(io::Error::raw_os_error).any(|code| code == 28)
/// # }
/// ```
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

/// An I/O error with what it is of, in a text that tells all of it; `cause` is its source.
pub(crate) fn in_context(text: String, cause: &io::Error) -> io::Error {
    io::Error::new(cause.kind(), InContext { text, cause: copy(cause) })
}

/// The same error once more: the system's as such, another by its text and the system's error behind it.
pub(crate) fn copy(error: &io::Error) -> io::Error {
    if let Some(code) = error.raw_os_error() {
        return io::Error::from_raw_os_error(code);
    }
    let text = error.to_string();
    let cause = error.get_ref().and_then(|error| error.source());
    match cause.and_then(|cause| cause.downcast_ref()) {
        Some(cause) => io::Error::new(error.kind(), InContext { text, cause: copy(cause) }),
        None => io::Error::new(error.kind(), text),
    }
}

#[derive(Debug)]
struct InContext {
    text: String,
    cause: io::Error,
}

impl Display for InContext {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl StdError for InContext {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        Some(&self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of the system's errors among an error and its sources.
    fn codes(error: &io::Error) -> Vec<i32> {
        let first: &(dyn StdError + 'static) = error;
        let all = std::iter::successors(Some(first), |error| (*error).source());
        let all = all.filter_map(|error| error.downcast_ref::<io::Error>());
        all.filter_map(io::Error::raw_os_error).collect()
    }

    /// Only its text and kind were left.
    #[test]
    fn an_error_of_the_system_stays_one() {
        let full = io::Error::from_raw_os_error(28);
        let of_file = in_context(format!("a: {full}"), &full);
        for error in [copy(&full), copy(&of_file), copy(&copy(&of_file))] {
            assert_eq!((error.kind(), codes(&error)), (full.kind(), vec![28]), "{error:?}");
        }
        assert_eq!(copy(&of_file).to_string(), format!("a: {full}"));
        let other = copy(&io::Error::other("the writer panicked"));
        assert_eq!((other.to_string().as_str(), codes(&other)), ("the writer panicked", vec![]));
    }
}
