//! What the process was started with: signals that are ignored. For programs, which have to know
//! before they take one over.

use std::ffi::c_int;

/// Whether the signal `number` is ignored, as `nohup` has it for those it starts. A program that
/// handles it all the same ends when it was told not to. False of a number that is no signal.
///
/// ```
/// assert!(!stoop_io::is_signal_ignored(15));
/// assert!(!stoop_io::is_signal_ignored(100_000));
/// ```
pub fn is_signal_ignored(number: c_int) -> bool {
    // SAFETY: all zeros is a value of this plain C structure.
    let mut action = unsafe { std::mem::zeroed::<libc::sigaction>() };
    // SAFETY: nothing is set, and `action` is valid and exclusively borrowed for the call to write to.
    let asked = unsafe { libc::sigaction(number, std::ptr::null(), &raw mut action) };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_ignores_broken_pipes_and_nothing_else() {
        assert!(is_signal_ignored(libc::SIGPIPE));
        assert!(!is_signal_ignored(libc::SIGSEGV));
        assert!(!is_signal_ignored(0));
    }
}
