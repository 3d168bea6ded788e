//! Panics of the decoder of tables, which become the error of a damaged file: nothing else is told of them.

use std::panic;
use std::sync::Once;

use stoop_fetch::source::ParquetJobs;

/// Has such panics told no more from now on. All others are told as before.
pub(super) fn silence() {
    static IS_SILENT: Once = Once::new();
    IS_SILENT.call_once(|| {
        let told = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !ParquetJobs::is_panic_expected() {
                told(panic);
            }
        }));
    });
}
