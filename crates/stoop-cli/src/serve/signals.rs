//! The signals of a server, as what they ask for.

use std::future::poll_fn;
use std::io;
use std::task::Poll;

use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a signal asks for.
#[derive(Clone, Copy)]
pub(super) enum Order {
    Reload,
    /// The access log is opened anew.
    Reopen,
    HandOver,
    End,
}

/// The signals of a server. Unlike a run that ends by itself, a server under `nohup` obeys SIGHUP: it reads its files again.
pub(super) struct Signals(Vec<(Order, Signal)>);

impl Signals {
    /// Installs the handlers.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn new() -> io::Result<Self> {
        // Of several that have come the first of these is obeyed first: who sends SIGUSR2 and then SIGTERM wants the service
        // to go on, in another process.
        let orders = [
            (Order::HandOver, SignalKind::user_defined2()),
            (Order::End, SignalKind::terminate()),
            (Order::End, SignalKind::interrupt()),
            (Order::Reload, SignalKind::hangup()),
            (Order::Reopen, SignalKind::user_defined1()),
        ];
        let signals = orders.into_iter().map(|(order, kind)| Ok((order, signal(kind)?)));
        signals.collect::<io::Result<_>>().map(Self)
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Order {
        poll_fn(|cx| {
            let mut signals = self.0.iter_mut();
            let come = signals
                .find_map(|(order, signal)| signal.poll_recv(cx).is_ready().then_some(*order));
            come.map_or(Poll::Pending, Poll::Ready)
        })
        .await
    }
}
