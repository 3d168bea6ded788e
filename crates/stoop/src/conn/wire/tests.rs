//! Whether a peer makes progress, as its kernel counts.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Waker;

use bytes::Bytes;
use stoop_io::{Liveness, LivenessCheck, PeerAddress};

use super::*;

/// A transport that takes everything, and whose kernel holds as much as it is told.
struct HoldingTransport(Arc<AtomicUsize>);

impl Transport for HoldingTransport {
    fn poll_fill(&mut self, _: &mut Context<'_>, _: usize) -> Poll<io::Result<FillResult>> {
        Poll::Pending
    }
    fn received(&self) -> &[u8] {
        &[]
    }
    fn consume(&mut self, _: usize) {}
    fn take(&mut self, _: usize) -> Bytes {
        Bytes::new()
    }
    fn poll_flush(&mut self, _: &mut Context<'_>, out: &mut Output) -> Poll<io::Result<()>> {
        out.clear();
        Poll::Ready(Ok(()))
    }
    fn unsent(&self) -> usize {
        0
    }
    fn unacknowledged(&self) -> usize {
        self.0.load(Relaxed)
    }
    fn poll_shutdown(&mut self, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
    fn liveness(&mut self, _: LivenessCheck) -> Liveness {
        Liveness::Quiet
    }
    fn peer(&self) -> PeerAddress {
        PeerAddress::Memory
    }
}

/// TLS makes 15 bytes 37, and a kernel counts what it keeps them in.
#[test]
fn a_peer_was_taken_for_idle_where_the_kernel_counts_more_than_was_written() {
    let kernel = Arc::new(AtomicUsize::new(0));
    let mut wire = Wire::new(AnyTransport::Custom(Box::new(HoldingTransport(kernel.clone()))));
    wire.out.put(&[0; 15]);
    let cx = &mut Context::from_waker(Waker::noop());
    assert_eq!(wire.flush(cx, 1 << 16), Poll::Ready(true));
    kernel.store(37, Relaxed);
    wire.begin_wait(stoop_io::now());
    assert!(!wire.check_progress());
    kernel.store(30, Relaxed);
    assert!(wire.check_progress());
    assert!(!wire.check_progress());
    kernel.store(0, Relaxed);
    assert!(wire.check_progress());
}

#[test]
fn what_arrived_just_after_the_wait_began_doubled_the_time_of_a_peer_that_takes_nothing() {
    let kernel = Arc::new(AtomicUsize::new(5_000));
    let mut wire = Wire::new(AnyTransport::Custom(Box::new(HoldingTransport(kernel.clone()))));
    wire.out.put(&[0; 15]);
    let (began, allowed) = (stoop_io::now(), Duration::from_secs(30));
    let mut now = began;
    wire.begin_wait(began);
    kernel.store(4_000, Relaxed);
    let mut is_stuck = |now: &mut Instant| {
        *now = wire.send_due(*now, allowed).unwrap();
        wire.is_stuck(*now, allowed)
    };
    while !is_stuck(&mut now) {
        assert!(now - began < 2 * allowed, "it is never found");
    }
    // The look that saw it arrive began the wait.
    assert_eq!(now - began, allowed + allowed / u32::from(LOOKS));
}
