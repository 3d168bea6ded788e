//! The state a process was started with: standard streams that were closed, signals that are ignored,
//! descriptors that were handed over. A program has to know the first two before it writes lines or handles a signal.

use std::ffi::c_int;
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering::Relaxed};

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

/// Takes the descriptor `number`, which the process was started with: a socket of a service manager's, or of the
/// process that this one takes the place of. Programs that are started from here do not inherit it. Each can be taken
/// once.
///
/// # Errors
/// [`io::ErrorKind::NotFound`] for a number that was no descriptor when the process started, was taken before, or
/// is one of a standard stream or not below [`INHERITED_DESCRIPTORS_MAX`].
pub fn take_inherited_descriptor(number: RawFd) -> io::Result<OwnedFd> {
    let index = usize::try_from(number).ok().filter(|number| *number >= 3);
    let word = index.and_then(|index| INHERITED.get(index / 64));
    let not_found = |why: &str| {
        io::Error::new(io::ErrorKind::NotFound, format!("the descriptor {number} {why}"))
    };
    let (Some(index), Some(word)) = (index, word) else {
        return Err(not_found("cannot be taken: only those from 3 to 1023 can"));
    };
    let bit = 1 << (index % 64);
    if word.fetch_and(!bit, Relaxed) & bit == 0 {
        return Err(not_found("was not open when the process started, or was taken already"));
    }
    // SAFETY: the descriptor was open before `main`, when nothing in this process owned one but the standard streams, and
    // its bit, which only one call finds set, is the right to own it.
    let owned = unsafe { OwnedFd::from_raw_fd(number) };
    rustix::io::fcntl_setfd(&owned, rustix::io::FdFlags::CLOEXEC)?;
    Ok(owned)
}

/// Replaces `place` by a copy of `descriptor` under the same number, which is returned: programs that are started from now
/// on inherit it (dup2). What `place` was before is closed. A place that was opened early has a small number, as
/// [`take_inherited_descriptor`] needs it.
///
/// # Errors
/// The system's.
pub fn hand_descriptor(descriptor: impl AsFd, place: &mut OwnedFd) -> io::Result<RawFd> {
    rustix::io::dup2(descriptor, place)?;
    Ok(place.as_raw_fd())
}

/// Descriptors that a process can take have numbers below this one: 1,024, which is also how many descriptors a process may
/// have on most systems unless it asks for more. Each is looked at before `main`.
pub const INHERITED_DESCRIPTORS_MAX: usize = 1_024;

/// A bit for each standard stream.
static CLOSED: AtomicU8 = AtomicU8::new(0);

/// A bit for each further descriptor that the process was started with, and that was not taken.
static INHERITED: [AtomicU64; INHERITED_DESCRIPTORS_MAX / 64] =
    [const { AtomicU64::new(0) }; INHERITED_DESCRIPTORS_MAX / 64];

/// The function that the system's loader calls before `main`, and so before Rust's runtime.
// SAFETY: the section is an array of pointers to functions, and this is one: of a function that may
// be called with the arguments of `main` as with none, needs nothing of a runtime, and cannot unwind.
#[used]
#[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
#[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
static BEFORE_MAIN: extern "C" fn() = note_descriptors;

extern "C" fn note_descriptors() {
    // SAFETY: the call asks for the flags of a number, which need not be a descriptor.
    let is_open = |descriptor| unsafe { libc::fcntl(descriptor, libc::F_GETFD) } != -1;
    for descriptor in (0..3).filter(|descriptor| !is_open(*descriptor)) {
        CLOSED.fetch_or(1 << descriptor, Relaxed);
    }
    for (word, first) in INHERITED.iter().zip((0..).step_by(64)) {
        let open = (0..64).filter(|bit| first + bit >= 3 && is_open(first + bit));
        word.store(open.fold(0, |bits, bit| bits | 1 << bit), Relaxed);
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

    /// The variable by which this test tells the process it starts which descriptor it was handed.
    const HANDED: &str = "STOOP_TEST_HANDED_DESCRIPTOR";

    #[test]
    fn a_descriptor_that_the_process_was_started_with_is_taken_once() {
        let name = "process::tests::a_descriptor_that_the_process_was_started_with_is_taken_once";
        if let Some(number) = std::env::var(HANDED).ok().and_then(|number| number.parse().ok()) {
            let taken = take_inherited_descriptor(number).unwrap();
            assert_eq!(io::read_to_string(std::fs::File::from(taken)).unwrap(), "handed\n");
            assert_eq!(
                take_inherited_descriptor(number).unwrap_err().kind(),
                io::ErrorKind::NotFound
            );
            return;
        }
        for number in [-1, 0, 2, 1_024, RawFd::MAX] {
            let error = take_inherited_descriptor(number).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{number}");
            let said =
                format!("the descriptor {number} cannot be taken: only those from 3 to 1023");
            assert!(error.to_string().starts_with(&said), "{error}");
        }
        for number in ["7", "64", "1023"] {
            let mut shell = Command::new("bash");
            shell.args(["-c", &format!("exec \"$0\" --exact {name} {number}<<< handed")]);
            shell.arg(std::env::current_exe().unwrap()).env(HANDED, number);
            let ran = shell.output().unwrap();
            assert!(ran.status.success(), "{number}: {ran:?}");
            assert!(String::from_utf8_lossy(&ran.stdout).contains("1 passed"), "{ran:?}");
        }
    }

    #[test]
    fn a_descriptor_is_handed_to_a_program_under_the_number_of_its_place() {
        let mut place = OwnedFd::from(std::fs::File::open("/dev/null").unwrap());
        let file = std::fs::File::open("Cargo.toml").unwrap();
        let number = hand_descriptor(&file, &mut place).unwrap();
        let shown = Command::new("sh").args(["-c", &format!("cat <&{number}")]).output().unwrap();
        assert_eq!(shown.stdout, std::fs::read("Cargo.toml").unwrap());
    }

    #[test]
    fn a_descriptor_that_was_opened_here_is_not_given_away() {
        let file = std::fs::File::open("Cargo.toml").unwrap();
        take_inherited_descriptor(file.as_raw_fd()).unwrap_err();
        assert!(file.metadata().is_ok());
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
