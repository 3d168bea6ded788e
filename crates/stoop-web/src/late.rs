//! What is dropped because a limit of the router's for its time has passed, told apart from what is dropped because
//! its client has left.

use std::cell::Cell;

thread_local! {
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
}

/// Drops what took too long. Meanwhile [`is_late`] is true on this thread.
pub(crate) fn drop_late<T>(late: T) {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_LATE.set(self.0);
        }
    }
    // A destructor may panic.
    let _restore = Restore(IS_LATE.replace(true));
    drop(late);
}

/// Whether what is being dropped on this thread took too long.
pub(crate) fn is_late() -> bool {
    IS_LATE.get()
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    struct OnDrop<F: FnMut()>(F);

    impl<F: FnMut()> Drop for OnDrop<F> {
        fn drop(&mut self) {
            (self.0)();
        }
    }

    #[test]
    fn only_what_is_dropped_late_is_late() {
        let mut seen = Vec::new();
        drop(OnDrop(|| seen.push(is_late())));
        drop_late(OnDrop(|| seen.push(is_late())));
        let panicking = OnDrop(|| panic!("on purpose"));
        assert!(catch_unwind(AssertUnwindSafe(|| drop_late(panicking))).is_err());
        drop(OnDrop(|| seen.push(is_late())));
        assert_eq!(seen, [false, true, false]);
    }
}
