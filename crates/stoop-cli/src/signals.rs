//! The signals that end a run: Ctrl-C, a terminal that is closed, and being asked to.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use stoop_io::is_signal_ignored;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a closed terminal sends: its shell too, and the system once more when that ends.
pub(crate) const HANGUP: u8 = 1;

/// Those that end a run and leave it time for its lines. One that was ignored when the process
/// started stays so: `nohup` means it, and so does a shell that starts something in the background.
pub(crate) struct Signals(Vec<(u8, Signal)>);

impl Signals {
    /// Takes them over.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new() -> io::Result<Self> {
        let kinds = [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()];
        let heeded = kinds.into_iter().filter(|kind| !is_signal_ignored(kind.as_raw_value()));
        let taken = heeded.map(|kind| {
            let number = u8::try_from(kind.as_raw_value()).map_err(io::Error::other)?;
            Ok((number, signal(kind)?))
        });
        taken.collect::<io::Result<_>>().map(Self)
    }

    /// The number of the next one; waits for ever where all are ignored.
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
