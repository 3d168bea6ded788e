//! The Date field: formatted once a second and thread.

use std::cell::RefCell;

use crate::imf_date::{Date, format};

thread_local! {
    static NOW: RefCell<(u64, Date)> = const { RefCell::new((u64::MAX, [b' '; 29])) };
}

/// The present time; at most a second late.
#[inline]
pub(crate) fn now() -> Date {
    let second = stoop_io::wall_seconds();
    NOW.with_borrow_mut(|(formatted, date)| {
        if *formatted != second {
            *formatted = second;
            *date = format(second);
        }
        *date
    })
}
