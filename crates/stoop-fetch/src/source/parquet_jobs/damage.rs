//! What comes of a file that is damaged: an error, also where the decoder panics.

use std::cell::Cell;
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

thread_local! {
    /// The decoder is at work on this thread.
    static IS_DECODING: Cell<bool> = const { Cell::new(false) };
}

/// Whether the decoder is at work on this thread, so that a panic is one that becomes an error.
pub(super) fn is_decoding() -> bool {
    IS_DECODING.try_with(Cell::get).unwrap_or(false)
}

/// Calls the decoder, whose panics are those of a file that is damaged.
pub(super) fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, Fault> {
    let was_decoding = IS_DECODING.replace(true);
    let read = catch_unwind(AssertUnwindSafe(read));
    IS_DECODING.set(was_decoding);
    match read {
        Ok(result) => result.map_err(Fault::Parquet),
        Err(_) => Err(Fault::Panic),
    }
}

pub(super) fn damaged(place: &dyn Display, why: &dyn Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("{place}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_expected_while_the_decoder_is_at_work_and_no_longer() {
        assert!(!is_decoding());
        let inner = guarded(|| {
            assert!(is_decoding());
            assert!(guarded(|| Ok(is_decoding())).is_ok_and(|it| it));
            assert!(is_decoding());
            std::thread::scope(|scope| {
                assert!(!scope.spawn(is_decoding).join().expect("no panic"), "of another thread");
            });
            Ok(())
        });
        assert!(inner.is_ok() && !is_decoding());
        assert!(matches!(guarded::<()>(|| panic!("on purpose")), Err(Fault::Panic)));
        assert!(!is_decoding());
    }
}
