//! How far a connection's output has got, as its tunnels are told of it.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};

use crate::conn::wire::Wire;

/// Shared by the driver, which knows the wire, and its tunnels. Each number stands for itself, so that no order is needed.
#[derive(Default)]
pub(crate) struct WireProgress {
    has_tunnels: AtomicBool,
    /// A tunnel waits, and the driver tells how far the output has got when it has run next.
    is_watched: AtomicBool,
    /// [`Wire::position`], when the content of an exchange was last polled.
    position: AtomicI64,
    /// [`Wire::has_arrived`], when it was last told.
    arrived: AtomicI64,
}

impl WireProgress {
    /// There is a tunnel, which needs to be told the position.
    pub(crate) fn add_tunnel(&self) {
        self.has_tunnels.store(true, Relaxed);
    }

    /// Before the content of an exchange is polled: what was sent of it is in the output.
    #[inline]
    pub(super) fn note_position(&self, wire: &Wire) {
        if self.has_tunnels.load(Relaxed) {
            self.position.store(wire.position(), Relaxed);
        }
    }

    /// When the driver has run.
    #[inline]
    pub(super) fn note_arrived(&self, wire: &Wire) {
        if self.is_watched.load(Relaxed) {
            self.is_watched.store(false, Relaxed);
            self.arrived.store(wire.has_arrived(), Relaxed);
        }
    }

    /// The position in the output, for a tunnel whose content is polled.
    pub(crate) fn position(&self) -> i64 {
        self.position.load(Relaxed)
    }

    /// What had arrived when that was last told. It is told again when the driver runs next.
    pub(super) fn watch(&self) -> i64 {
        self.is_watched.store(true, Relaxed);
        self.arrived.load(Relaxed)
    }
}
