//! Flow-control windows: RFC 9113 §5.2, §6.9.
//!
//! A window is a count of bytes of DATA frames, padding included. It never exceeds 2^31−1, and a
//! sender's can fall below zero when the peer lowers SETTINGS_INITIAL_WINDOW_SIZE (§6.9.2).

/// The initial size of every window until SETTINGS say otherwise, and always of the connection's.
pub(super) const INITIAL: u32 = 65_535;

/// The largest window: §6.9.1.
pub(super) const MAX: u32 = (1 << 31) - 1;

/// A window went beyond 2^31−1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Overflow;

/// The peer sent more than it was allowed to.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Exceeded;

/// The window for sending: how many bytes we may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SendWindow(i32);

impl SendWindow {
    pub(super) const fn new(bytes: u32) -> Self {
        Self(if bytes > MAX { MAX as i32 } else { bytes as i32 })
    }

    #[inline]
    pub(super) fn available(self) -> u32 {
        self.0.max(0) as u32
    }

    /// Takes bytes that are sent, never more than are available.
    #[inline]
    pub(super) fn take(&mut self, bytes: u32) {
        debug_assert!(bytes <= self.available());
        self.0 = self.0.saturating_sub_unsigned(bytes);
    }

    /// Applies a WINDOW_UPDATE.
    pub(super) fn grow(&mut self, increment: u32) -> Result<(), Overflow> {
        self.shift(i64::from(increment))
    }

    /// Applies a change of the peer's SETTINGS_INITIAL_WINDOW_SIZE.
    pub(super) fn shift(&mut self, by: i64) -> Result<(), Overflow> {
        let sum = i64::from(self.0) + by;
        if sum > i64::from(MAX) {
            return Err(Overflow);
        }
        // The peer's sizes have 31 bits: the window cannot fall below the least i32.
        self.0 = i32::try_from(sum).unwrap_or(i32::MIN);
        Ok(())
    }
}

/// The window for receiving: how many bytes the peer may send, and how many it sent that were used up and
/// not yet allowed again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    /// Below zero only if we lowered our SETTINGS_INITIAL_WINDOW_SIZE, which we do not.
    left: u32,
    /// Bytes used up and not yet allowed again.
    owed: u32,
    /// The bytes that the peer may send while none are used up.
    size: u32,
}

impl ReceiveWindow {
    pub(super) const fn new(size: u32) -> Self {
        Self { left: size, owed: 0, size }
    }

    /// Counts bytes that the peer sent.
    #[inline]
    pub(super) fn receive(&mut self, bytes: u32) -> Result<(), Exceeded> {
        self.left = self.left.checked_sub(bytes).ok_or(Exceeded)?;
        Ok(())
    }

    /// Counts received bytes that were used up.
    #[inline]
    pub(super) fn consume(&mut self, bytes: u32) {
        self.owed = self.owed.saturating_add(bytes).min(self.size - self.left);
    }

    /// The increment of a WINDOW_UPDATE, once half of the window is owed, or the window is to grow by
    /// that much. `size` is its new size; windows do not shrink.
    #[inline]
    pub(super) fn update(&mut self, size: u32) -> Option<u32> {
        self.update_beside(size, 0)
    }

    /// The same where so much of the window may be used up late: half of the rest is enough.
    #[inline]
    pub(super) fn update_beside(&mut self, size: u32, late: u32) -> Option<u32> {
        let growth = size.min(MAX).saturating_sub(self.size);
        let due = self.owed + growth;
        if due == 0 || due < (self.size + growth).saturating_sub(late) / 2 {
            return None;
        }
        self.size += growth;
        self.left += due;
        self.owed = 0;
        Some(due)
    }

    /// The bytes that the peer may still send.
    pub(super) fn left(&self) -> u32 {
        self.left
    }

    /// The bytes that were received and are not used up.
    pub(super) fn unread(&self) -> u32 {
        self.size - self.left - self.owed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_send_window_may_fall_below_zero_and_come_back() {
        let mut window = SendWindow::new(INITIAL);
        window.take(60_000);
        window.shift(16_384 - i64::from(INITIAL)).unwrap();
        assert_eq!((window, window.available()), (SendWindow(-43_616), 0));
        window.grow(43_617).unwrap();
        assert_eq!(window.available(), 1);
    }

    #[test]
    fn a_send_window_is_at_most_31_bits() {
        let mut window = SendWindow::new(1);
        assert_eq!(window.grow(MAX), Err(Overflow));
        assert_eq!(window.available(), 1);
        window.grow(MAX - 1).unwrap();
        assert_eq!(window.shift(1), Err(Overflow));
        assert_eq!(window.available(), MAX);
    }

    #[test]
    fn used_up_bytes_are_allowed_again_by_halves_of_the_window() {
        let mut window = ReceiveWindow::new(100);
        window.receive(60).unwrap();
        window.consume(49);
        assert_eq!((window.update(100), window.unread()), (None, 11));
        window.consume(1);
        assert_eq!(window.update(100), Some(50));
        assert_eq!(window.unread(), 10);
        window.receive(90).unwrap();
        assert_eq!(window.receive(1), Err(Exceeded));
    }

    #[test]
    fn a_window_grows_with_the_update_that_says_so() {
        let mut window = ReceiveWindow::new(100);
        assert_eq!(window.update(100), None);
        assert_eq!(window.update(400), Some(300));
        window.receive(400).unwrap();
        window.consume(1_000);
        assert_eq!((window.unread(), window.update(50)), (0, Some(400)));
    }
}
