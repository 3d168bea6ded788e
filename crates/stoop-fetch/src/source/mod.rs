//! Sources of jobs: what a run fetches.

mod lines;
mod stoppable;

use std::io;
use std::ops::ControlFlow;

pub use self::lines::Lines;
pub use self::stoppable::StoppableInput;

/// One URL to fetch, as a source reports it. It lives as long as the call that reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Job<'a> {
    /// The URL as it was given; any bytes. What is no URL gets a record of the kind `invalid_url`.
    pub url: &'a [u8],
    /// How much of it was read.
    pub extent: Extent,
}

impl<'a> Job<'a> {
    /// The job of fetching `url` by GET.
    pub fn new(url: &'a [u8]) -> Self {
        Self { url, extent: Extent::Whole }
    }

    /// The same, where `url` is less than all of it: such a job gets a record and no request.
    #[must_use]
    pub fn with_extent(self, extent: Extent) -> Self {
        Self { extent, ..self }
    }
}

/// How much of a URL of the input was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// All of it.
    Whole,
    /// The first bytes of an overlong one.
    Overlong,
    /// The first bytes of one that was being read when the run ended.
    Interrupted,
    /// The first bytes of one within which reading the input failed.
    InputFailed,
}

/// Called with each job. Breaks to be given no more.
pub type Take<'a> = dyn FnMut(Job<'_>) -> ControlFlow<()> + 'a;

/// A source of jobs, which a run reads on a thread of its own.
///
/// A run reads no more than it can start soon, so that a source may be of any length.
pub trait JobSource: Send {
    /// Reads some jobs, waiting for them if there are none, and calls `take` with each. Returns whether there
    /// may be more; false too once `take` broke.
    ///
    /// # Errors
    /// The input cannot be read. The jobs reported so far are fetched all the same.
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool>;

    /// Reports what was read and has not been reported, as a last line without its end. Called once, after the
    /// last [`read`](Self::read); `extent` says what that was: `Whole` at the end of the input,
    /// `Interrupted` where the run ended first, `InputFailed` after an error.
    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let _ = (extent, take);
    }

    /// How many bytes of the input were read, for those who show progress; 0 where that has no meaning.
    fn position(&self) -> u64 {
        0
    }
}
