//! A function that waits in a pool, and its caller.

use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use super::error::BlockingError;

/// A function whose caller waits for its result.
pub(super) trait Job: Send {
    /// Whether its caller is gone.
    fn is_left(&self) -> bool;

    /// Tells its caller that there is no room for it.
    fn refuse(self: Box<Self>);

    /// Runs it, and returns what tells its caller the result.
    fn run(self: Box<Self>) -> Report;
}

/// What tells the caller of a function its result.
pub(super) type Report = Box<dyn FnOnce() + Send>;

/// A function, and how its caller is told of the result.
pub(super) struct Call<F, T> {
    pub(super) function: F,
    pub(super) caller: oneshot::Sender<Result<T, BlockingError>>,
}

impl<F, T> Job for Call<F, T>
where
    F: FnOnce() -> T + Send,
    T: Send + 'static,
{
    fn is_left(&self) -> bool {
        self.caller.is_closed()
    }

    fn refuse(self: Box<Self>) {
        let _ = self.caller.send(Err(BlockingError::Full));
    }

    fn run(self: Box<Self>) -> Report {
        let Self { function, caller } = *self;
        if caller.is_closed() {
            return Box::new(|| {});
        }
        // The panic's message has been shown by the program's panic hook.
        let result = catch_unwind(AssertUnwindSafe(function)).map_err(|_| BlockingError::Panicked);
        Box::new(move || drop(caller.send(result)))
    }
}
