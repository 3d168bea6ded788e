//! What comes of a file that is damaged: an error, also where the decoder panics.

use std::fmt::{self, Display, Formatter};
use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};

use parquet::errors::ParquetError;

/// Why a part cannot be read.
pub(super) enum Fault {
    Parquet(ParquetError),
    /// The decoder has come to what it takes to be impossible.
    Panic,
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parquet(error) => write!(f, "{error}"),
            Self::Panic => f.write_str("its bytes are damaged"),
        }
    }
}

/// Calls the decoder, whose panics are those of a file that is damaged.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Fault> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(result) => result.map_err(Fault::Parquet),
        Err(_) => Err(Fault::Panic),
    }
}

pub(super) fn damaged(place: &dyn Display, why: &dyn Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{place}: {why}"))
}
