//! The signals that end a run: SIGINT (Ctrl-C), SIGHUP (a closed terminal) and SIGTERM.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use stoop_io::is_signal_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// SIGHUP, which comes when a terminal is closed: from its shell, and from the system when that ends.
pub(crate) const HANGUP: u8 = 1;

/// The signals that end a run and leave it time to write its lines. One that was ignored when the process
/// started stays ignored: `nohup` relies on that, and so does a shell that starts a background process.
pub(crate) struct Signals(Vec<(u8, Signal)>);

impl Signals {
    /// Installs handlers for the signals that are not ignored.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new() -> io::Result<Self> {
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
        let kinds = kinds.into_iter().filter(|kind| !is_signal_ignored(kind.as_raw_value()));
        let signals = kinds.map(|kind| {
            let number = u8::try_from(kind.as_raw_value()).map_err(io::Error::other)?;
            Ok((number, signal(kind)?))
        });
        signals.collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next signal, and returns its number. Never returns where all are ignored.
    pub(crate) async fn next(&mut self) -> u8 {
        poll_fn(|cx| {
            for (number, signal) in &mut self.0 {
                if signal.poll_recv(cx).is_ready() {
                    return Poll::Ready(*number);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// The name of a signal that ends a run.
pub(crate) fn name(number: u8) -> &'static str {
    match number {
        HANGUP => "SIGHUP",
        2 => "SIGINT",
        _ => "SIGTERM",
    }
}
