//! What is dropped because a limit of the router's for its time has passed, told apart from what is dropped because
//! its client has left.

use std::cell::{Cell, RefCell};

use stoop::Fields;

thread_local! {
    static IS_LATE: Cell<bool> = const { Cell::new(false) };
    /// What was added to the answer in its place.
    static ADDED: RefCell<Fields> = const { RefCell::new(Fields::new()) };
}

/// Drops what took too long. Meanwhile [`is_late`] is true on this thread. Returns the fields that were
/// [added](add_late_fields) to the answer in its place.
pub(crate) fn drop_late<T>(late: T) -> Fields {
    struct Restore(bool, Fields);
    impl Drop for Restore {
        fn drop(&mut self) {
            IS_LATE.set(self.0);
            ADDED.set(std::mem::take(&mut self.1));
        }
    }
    // A destructor may panic.
    let _restore = Restore(IS_LATE.replace(true), ADDED.take());
    drop(late);
    ADDED.take()
}

/// Has `change` add fields to the answer in place of what is being dropped because it took too long.
pub(crate) fn add_late_fields(change: impl FnOnce(&mut Fields)) {
    let mut added = ADDED.take();
    change(&mut added);
    ADDED.set(added);
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
