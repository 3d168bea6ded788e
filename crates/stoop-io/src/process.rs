//! The state a process was started with: standard streams that were closed, signals that are ignored.
//! A program has to know both before it writes lines or handles a signal.

use std::ffi::c_int;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Whether the signal `number` is ignored, as by `nohup`. A program that handles such a signal all the
/// same ends although it was started so as not to. False for a number that is no signal.
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

/// Whether the standard stream with this descriptor (0, 1 or 2) was closed when the process was
/// started, as by a shell's `>&-`. False for any other.
///
/// Before `main`, Rust's runtime opens `/dev/null` in place of each that is closed, so that no other
/// file gets its number. Afterwards it looks as if `/dev/null` had been asked for, and cannot be told
/// from that by its mode: both are for reading and writing where Python's `DEVNULL`, Node's `ignore`
/// or a service manager opened it. So it is checked before the runtime starts.
pub fn was_closed_at_start(descriptor: u8) -> bool {
    descriptor < 3 && CLOSED.load(Relaxed) & (1 << descriptor) != 0
}

/// A bit for each standard stream.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// The function that the system's loader calls before `main`, and so before Rust's runtime.
// SAFETY: the section is an array of pointers to functions, and this is one: of a function that may
// be called with the arguments of `main` as with none, needs nothing of a runtime, and cannot unwind.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static BEFORE_MAIN: extern "C" fn() = note_closed_streams;

extern "C" fn note_closed_streams() {
    for descriptor in 0..3 {
        // SAFETY: the call asks for the flags of a number, which need not be a descriptor.
        if unsafe { libc::fcntl(descriptor, libc::F_GETFD) } == -1 {
            CLOSED.fetch_or(1 << descriptor, Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// The variable by which this test tells the process it starts which stream is closed.
    const CLOSED_STREAM: &str = "STOOP_TEST_CLOSED_STREAM";

    #[test]
    fn the_runtime_ignores_broken_pipes_and_nothing_else() {
        assert!(is_signal_ignored(libc::SIGPIPE));
        assert!(!is_signal_ignored(libc::SIGSEGV));
        assert!(!is_signal_ignored(0));
    }

    #[test]
    fn a_standard_stream_that_was_closed_at_start_is_reported() {
        let closed = std::env::var(CLOSED_STREAM).ok().and_then(|number| number.parse::<u8>().ok());
        for stream in 0..=255 {
            assert_eq!(was_closed_at_start(stream), closed == Some(stream), "{stream}");
        }
        if closed.is_some() {
            return;
        }
        let name = "process::tests::a_standard_stream_that_was_closed_at_start_is_reported";
        for (stream, closing) in [("0", "<&-"), ("1", ">&-"), ("2", "2>&-")] {
            let mut shell = Command::new("sh");
            shell.args(["-c", &format!("exec \"$0\" --exact {name} {closing}")]);
            shell.arg(std::env::current_exe().unwrap()).env(CLOSED_STREAM, stream);
            let ran = shell.output().unwrap();
            assert!(ran.status.success(), "{closing}: {ran:?}");
            let shown = String::from_utf8_lossy(&ran.stdout);
            assert!(stream == "1" || shown.contains("1 passed"), "{closing}: {shown}");
        }
    }
}
