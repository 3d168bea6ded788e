//! Why a command did not end well, as the exit code says it.

use std::io;

/// What ended a command. Each has an exit code of its own.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for makes no sense, and nothing was done: 2.
    Usage(String),
    /// Input could not be read, or output not written: 3.
    Io(String),
    /// Whoever reads our output left. That is their right, so it is quiet, and 0.
    ReaderGone,
    /// SIGHUP (129), SIGINT (130) or SIGTERM (143) ended the run, and what had to be written was.
    Signal(u8),
}

impl Failure {
    /// The failure that `error` is, while `doing` something.
    pub(crate) fn io(doing: &str, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::ReaderGone
        } else {
            Self::Io(format!("{doing}: {error}"))
        }
    }

    /// The exit code, as `--help` documents it.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::ReaderGone => 0,
            Self::Usage(_) => 2,
            Self::Io(_) => 3,
            Self::Signal(number) => 128 + number,
        }
    }
}
