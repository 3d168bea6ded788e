//! The failures of a command, and their exit codes.

use std::io;

/// Why a command failed, or ended early. Each variant has its own exit code.
#[derive(Debug)]
pub(crate) enum CommandFailure {
    /// The command line or a variable is invalid, and nothing was done: 2.
    Usage(String),
    /// Input could not be read, or output not written: 3.
    Io(String),
    /// The reader of standard output closed it, as `head` does: 0, and no message.
    OutputClosed,
    /// A request failed, with an exit code of curl's, and its message was printed.
    Exit(u8),
    /// SIGHUP (129), SIGINT (130) or SIGTERM (143) ended the run, after its lines were written.
    Signal(u8),
}

impl CommandFailure {
    /// The failure for an I/O error. `context` is the beginning of its message, such as `cannot read FILE`.
    pub(crate) fn io(context: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::OutputClosed
        } else {
            Self::Io(format!("{context}: {error}"))
        }
    }

    /// The exit code, as `--help` documents it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::OutputClosed => 0,
            Self::Usage(_) => 2,
            Self::Io(_) => 3,
            Self::Exit(code) => *code,
            Self::Signal(number) => 128 + number,
        }
    }
}
