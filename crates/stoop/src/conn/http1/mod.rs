//! A client's HTTP/1 connection, and how it is lent to one exchange after the other.

use std::sync::Arc;
use std::time::Instant;

use stoop_io::{AnyTransport, Liveness, Look, Peer, Timer, Transport, now};
use stoop_proto::h1;
use tokio::runtime::{Handle, Id};

use crate::conn::home::{Home, Permit};
use crate::conn::wire::Wire;

mod content;
pub(crate) mod exchange;
mod upload;

/// A connection that speaks HTTP/1.
pub(crate) struct Http1 {
    wire: Wire,
    machine: h1::Client,
    timer: Timer,
    /// It can only be closed, whatever the machine thinks.
    is_broken: bool,
    /// The runtime that the transport is registered with.
    runtime: Id,
    pub(crate) idle_since: Instant,
}

impl Http1 {
    /// A connection that was just made, on the runtime this is called on.
    pub(crate) fn new(io: AnyTransport) -> Box<Self> {
        Box::new(Self {
            wire: Wire::new(io).steady(),
            machine: h1::Client::new(),
            timer: Timer::coarse(),
            is_broken: false,
            runtime: Handle::current().id(),
            idle_since: now(),
        })
    }

    /// Who is at the other end.
    pub(crate) fn peer(&self) -> Peer {
        self.wire.io.peer()
    }

    /// Whether another exchange may follow: nothing half said, nothing unasked.
    pub(crate) fn is_viable(&self) -> bool {
        !self.is_broken
            && self.machine.is_reusable()
            && self.wire.out.is_empty()
            && self.wire.io.received().is_empty()
    }

    /// Whether bytes came before anything was asked. Those that are still on their way nobody can
    /// tell from an answer.
    pub(crate) fn has_spoken(&mut self) -> bool {
        self.wire.io.liveness(Look::Cached) == Liveness::Readable
            && self.wire.io.liveness(Look::Kernel) == Liveness::Readable
    }

    /// Whether the transport is open and silent. What the event loop has noticed costs nothing to
    /// ask, but lags behind both ways: what it does not know of, or says is there, the kernel is
    /// asked about.
    pub(crate) fn is_quiet(&mut self, look: Look) -> bool {
        match look {
            Look::Cached if self.wire.io.liveness(Look::Cached) == Liveness::Quiet => true,
            Look::Cached | Look::Kernel => self.wire.io.liveness(Look::Kernel) == Liveness::Quiet,
        }
    }
}

/// A connection on loan: dropped, it goes home or is closed. Nothing is awaited.
pub(crate) struct Lease {
    connection: Option<Box<Http1>>,
    home: Option<Arc<dyn Home>>,
    key: usize,
}

impl Lease {
    pub(crate) fn new(connection: Box<Http1>, home: Arc<dyn Home>, key: usize) -> Self {
        Self::of(connection, Some(home), key)
    }

    pub(in crate::conn) fn of(
        connection: Box<Http1>,
        home: Option<Arc<dyn Home>>,
        key: usize,
    ) -> Self {
        Self { connection: Some(connection), home, key }
    }

    /// Closes the connection, and keeps the right to one.
    pub(crate) fn close(mut self) -> Option<Permit> {
        self.connection = None;
        let home = self.home.take()?;
        home.remade(self.key);
        Some(Permit::new(home, self.key))
    }

    /// The connection.
    pub(crate) fn connection(&mut self) -> Option<&mut Http1> {
        self.connection.as_deref_mut()
    }

    /// Moves the connection to the runtime we are on: the one it is registered with may not be
    /// running any more. False if it cannot be; it is closed then.
    pub(crate) fn come_here(&mut self) -> bool {
        let here = Handle::current().id();
        let Some(mut connection) = self.connection.take() else { return false };
        if connection.runtime != here {
            let Http1 { wire, machine, .. } = *connection;
            let Ok(io) = wire.io.rehome() else { return false };
            connection = Http1::new(io);
            (connection.machine, connection.wire.out) = (machine, wire.out);
        }
        self.connection = Some(connection);
        true
    }

    /// Sends the connection home, or closes it.
    fn release(&mut self) {
        let Some(home) = self.home.take() else { return };
        match self.connection.take() {
            Some(connection) if connection.is_viable() => home.give_back(self.key, connection),
            connection => {
                drop(connection);
                home.gone(self.key);
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.release();
    }
}
