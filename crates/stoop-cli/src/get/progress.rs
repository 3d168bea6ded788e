//! The progress on the terminal: a line with how much has passed, how fast, and how long the rest takes.

use std::io::{IsTerminal, stderr};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::terminal;

/// Whether it can be shown: standard error is a terminal on which a line can be redrawn.
pub(super) fn is_possible() -> bool {
    stderr().is_terminal() && !terminal::is_dumb(|name| std::env::var_os(name))
}

/// A line for so many bytes, if it is known how many. It is drawn when its position is set.
pub(super) fn line(total: Option<u64>) -> ProgressBar {
    let target = ProgressDrawTarget::stderr_with_hz(10);
    let bar = ProgressBar::with_draw_target(total, target);
    let template = match total {
        Some(_) => "{bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
        None => "{bytes}, {bytes_per_sec}, {elapsed}",
    };
    bar.set_style(ProgressStyle::with_template(template).expect("a good template"));
    bar
}
