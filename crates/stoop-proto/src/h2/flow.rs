//! [`FlowControl`]: the windows of a connection, and the sizes that windows for receiving are meant to have
//! (RFC 9113 §5.2, §6.9).

use std::time::Instant;

use crate::h2::bdp::Bdp;
use crate::h2::window::{self, Exceeded, Overflow, ReceiveWindow, SendWindow};
use crate::limits::Http2Limits;

/// The flow control of a connection. The windows of streams are kept with the streams.
#[derive(Debug)]
pub(super) struct FlowControl {
    send: SendWindow,
    receive: ReceiveWindow,
    /// The intended sizes of the windows for receiving, of a stream and of the connection. They grow where
    /// the connection's bandwidth and delay need it.
    stream_size: u32,
    connection_size: u32,
    /// How much of the connection's is for content that is not read for a while.
    room: u32,
    /// The window for receiving of a new stream, as our SETTINGS say.
    initial_size: u32,
    bdp: Bdp,
}

impl FlowControl {
    pub(super) fn new(limits: &Http2Limits) -> Self {
        let stream_size = limits.stream_window_bytes.clamp(window::INITIAL, window::MAX);
        let connection_size = limits.connection_window_bytes.clamp(window::INITIAL, window::MAX);
        Self {
            send: SendWindow::new(window::INITIAL),
            receive: ReceiveWindow::new(connection_size),
            stream_size,
            connection_size,
            room: 0,
            initial_size: stream_size,
            bdp: Bdp::default(),
        }
    }

    /// SETTINGS_INITIAL_WINDOW_SIZE, as we send it.
    pub(super) fn initial_size(&self) -> u32 {
        self.initial_size
    }

    /// The increment of the connection's window that follows our SETTINGS, which do not change it (§6.9.2).
    pub(super) fn first_increment(&self) -> u32 {
        self.connection_size - window::INITIAL
    }

    /// The window for receiving of a new stream.
    #[inline]
    pub(super) fn stream_window(&self) -> ReceiveWindow {
        ReceiveWindow::new(self.initial_size)
    }

    /// The bytes that may be sent on the connection.
    #[inline]
    pub(super) fn sendable(&self) -> u32 {
        self.send.available()
    }

    /// Counts bytes that are sent, never more than are [`sendable`](Self::sendable).
    #[inline]
    pub(super) fn sent(&mut self, bytes: u32) {
        self.send.take(bytes);
    }

    /// Applies the peer's WINDOW_UPDATE of the connection.
    pub(super) fn grow(&mut self, increment: u32) -> Result<(), Overflow> {
        self.send.grow(increment)
    }

    /// Counts bytes of a DATA frame that the peer sent.
    #[inline]
    pub(super) fn received(&mut self, bytes: u32) -> Result<(), Exceeded> {
        self.receive.receive(bytes)
    }

    /// Counts received bytes that were used up. Returns the increment of the connection's window, if it is
    /// due.
    #[inline]
    pub(super) fn consumed(&mut self, bytes: u32) -> Option<u32> {
        self.receive.consume(bytes);
        self.receive.update_beside(self.connection_size, self.room)
    }

    /// Makes room for content of so many streams that is not read for a while: the connection's window grows by
    /// the window of each, so that they do not hold up the others. Returns the increment, if it is due.
    pub(super) fn make_room(&mut self, streams: u32, limits: &Http2Limits) -> Option<u32> {
        let others = limits.connection_window_bytes.clamp(window::INITIAL, window::MAX);
        let room = self.stream_size.saturating_mul(streams).min(window::MAX - others);
        self.room = self.room.max(room);
        self.connection_size = self.connection_size.max(others + self.room);
        self.receive.update_beside(self.connection_size, self.room)
    }

    /// The increment of a stream's window, if it is due.
    #[inline]
    pub(super) fn stream_update(&self, window: &mut ReceiveWindow) -> Option<u32> {
        window.update(self.stream_size)
    }

    /// The bytes that were received and are not used up.
    pub(super) fn unread(&self) -> u32 {
        self.receive.unread()
    }

    /// Counts content that came. True if a PING is to be sent now, to measure a round trip: only while
    /// windows may grow.
    #[inline]
    pub(super) fn begins_measuring(
        &mut self,
        bytes: u32,
        now: Instant,
        limits: &Http2Limits,
    ) -> bool {
        let may_grow = self.stream_size < limits.stream_window_bytes_max
            || self.connection_size < limits.connection_window_bytes_max;
        may_grow && self.bdp.received(bytes, self.stream_size, now)
    }

    /// Whether the PING that measures is unanswered.
    pub(super) fn is_measuring(&self) -> bool {
        self.bdp.is_measuring()
    }

    /// Ends the measurement, as its PING was answered: windows that limited the peer grow.
    pub(super) fn measured(&mut self, now: Instant, limits: &Http2Limits) {
        if self.bdp.answered(now, self.stream_size) {
            self.stream_size = doubled(self.stream_size, limits.stream_window_bytes_max);
            let least = self.stream_size.min(limits.connection_window_bytes_max);
            let connection_size = self.connection_size.max(least);
            self.connection_size = doubled(connection_size, limits.connection_window_bytes_max);
        }
    }
}

/// Twice the size, but no more than `max` if it is not more already.
fn doubled(size: u32, max: u32) -> u32 {
    size.max(size.saturating_mul(2).min(max)).min(window::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::limits::Limits;

    fn limits() -> Http2Limits {
        let mut limits = Limits::server().http2;
        (limits.stream_window_bytes, limits.connection_window_bytes) = (65_535, 100_000);
        (limits.stream_window_bytes_max, limits.connection_window_bytes_max) = (200_000, 300_000);
        limits
    }

    #[test]
    fn sizes_below_those_of_the_protocol_are_raised_to_them() {
        let mut limits = limits();
        (limits.stream_window_bytes, limits.connection_window_bytes) = (1, u32::MAX);
        let flow = FlowControl::new(&limits);
        assert_eq!((flow.initial_size(), flow.first_increment()), (65_535, window::MAX - 65_535));
    }

    #[test]
    fn both_directions_are_counted_apart() {
        let mut flow = FlowControl::new(&limits());
        assert_eq!((flow.sendable(), flow.first_increment()), (65_535, 34_465));
        flow.sent(65_535);
        assert_eq!(flow.sendable(), 0);
        flow.grow(10).unwrap();
        assert_eq!((flow.sendable(), flow.grow(window::MAX)), (10, Err(Overflow)));
        flow.received(100_000).unwrap();
        assert_eq!(flow.received(1), Err(Exceeded));
        assert_eq!((flow.consumed(49_999), flow.unread()), (None, 50_001));
        assert_eq!(flow.consumed(1), Some(50_000));
    }

    /// However many streams are full and not read, another can be received.
    #[test]
    fn the_connections_window_has_room_beside_streams_that_are_not_read() {
        let limits = limits();
        let mut flow = FlowControl::new(&limits);
        let (mut left, mut unread) = (100_000, 0);
        for streams in 1..=20 {
            left += flow.make_room(streams, &limits).unwrap_or(0);
            for _ in 0..100 {
                let filled = left.min(streams * 65_535 - unread);
                flow.received(filled).unwrap();
                (left, unread) = (left - filled, unread + filled);
                // What another stream receives is used up at once, and it goes on.
                let piece = left.min(10_000);
                flow.received(piece).unwrap();
                left = left - piece + flow.consumed(piece).unwrap_or(0);
                assert!(left > 0, "{streams} streams hold the window");
            }
            assert_eq!(unread, streams * 65_535);
        }
        assert_eq!(flow.connection_size, 100_000 + 20 * 65_535);
        assert_eq!((flow.make_room(1, &limits), flow.unread()), (None, 20 * 65_535));
    }

    #[test]
    fn windows_that_limit_the_peer_grow_to_their_largest_sizes_and_are_then_not_measured() {
        let limits = limits();
        let (mut flow, mut now) = (FlowControl::new(&limits), Instant::now());
        let mut sizes = Vec::new();
        while flow.begins_measuring(u32::MAX, now, &limits) {
            assert!(flow.is_measuring() && !flow.begins_measuring(u32::MAX, now, &limits));
            now += Duration::from_secs(1);
            flow.measured(now, &limits);
            now += Duration::from_secs(1);
            sizes.push((flow.stream_size, flow.connection_size));
        }
        assert_eq!(sizes, [(131_070, 262_140), (200_000, 300_000)]);
        let mut window = flow.stream_window();
        assert_eq!(flow.stream_update(&mut window), Some(200_000 - 65_535));
        assert_eq!(flow.initial_size(), 65_535, "as our SETTINGS said");
    }
}
