//! The pool of runs: buffers that a thread uses again for what it sends.

use std::cell::RefCell;

/// Bytes of capacity that a run starts with.
const RUN_BYTES: usize = 4 * 1024;

/// Bytes that a run may have before the next one is begun: what was sent of a run is freed only with
/// the whole of it.
pub(super) const RUN_BYTES_MAX: usize = 16 * 1024;

/// Runs that a thread keeps for later; others go back to the allocator.
const RUNS_KEPT_MAX: usize = 64;

thread_local! {
    static RUNS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// An empty run: one of the pool, or a new one.
pub(super) fn take_run() -> Vec<u8> {
    RUNS.with_borrow_mut(Vec::pop).unwrap_or_else(|| Vec::with_capacity(RUN_BYTES))
}

/// Gives a run back, unless it is much larger than most or the pool is full.
pub(super) fn return_run(mut run: Vec<u8>) {
    if run.capacity() > 2 * RUN_BYTES_MAX {
        return;
    }
    run.clear();
    let _ = RUNS.try_with(|runs| {
        let mut runs = runs.borrow_mut();
        if runs.len() < RUNS_KEPT_MAX {
            runs.push(run);
        }
    });
}
