//! Exchanges whose owners have left: how long they go on, and when they are given up.

use std::time::{Duration, Instant};

use stoop_proto::CloseReason;
use stoop_proto::h2::{ErrorCode, StreamKey};

use super::ClientDriver;
use crate::client::http2::shared_exchange::Abandoned;
use crate::limits::after;

/// How long unwanted content is read, so that the stream need not be reset.
const DRAIN: Duration = Duration::from_secs(1);

/// Time between two looks at the abandoned exchanges.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// When the driver looks at the abandoned exchanges next, if there are any.
#[derive(Default)]
pub(super) struct AbandonedCheck(Option<Instant>);

impl AbandonedCheck {
    /// There is an abandoned exchange: the driver looks at it within the interval.
    pub(super) fn schedule(&mut self, now: Instant) {
        self.0.get_or_insert(now + CHECK_INTERVAL);
    }

    pub(super) fn due(&self) -> Option<Instant> {
        self.0
    }

    /// The driver looks now. Another look is scheduled for the exchanges that it leaves.
    fn begin(&mut self) {
        self.0 = None;
    }
}

impl ClientDriver {
    /// The owner of an exchange has left it. For a limited time, a request whose response was read to its
    /// end is sent on, and so is what was written to a tunnel; and a response with little content left is
    /// read to its end, because servers count streams that are reset. Every other stream is reset.
    pub(super) fn abandoned(&mut self, key: StreamKey, how: Abandoned) {
        let (now, time) = (self.now, &self.role.limits.time);
        let send_idle = time.send_idle;
        let little = self.role.limits.drain_bytes_max;
        let is_little = self.machine.remaining(key).is_none_or(|rest| rest <= little);
        let Some(exchange) = self.exchanges.get(key) else { return };
        let for_long = after(now, send_idle.unwrap_or(Duration::MAX));
        let abandoned_until = match how {
            Abandoned::Late => None,
            Abandoned::Dropped if exchange.abandoned_until.is_some() => return,
            Abandoned::Dropped if exchange.is_tunnel && exchange.upload.is_some() => Some(for_long),
            Abandoned::Dropped if exchange.is_complete => exchange.until.or(Some(for_long)),
            Abandoned::Dropped if exchange.has_head && exchange.upload.is_none() && is_little => {
                Some(now + DRAIN)
            }
            Abandoned::Dropped => None,
        };
        exchange.abandoned_until = abandoned_until;
        if abandoned_until.is_some() {
            self.role.abandoned.schedule(now);
            return self.remove_exchange(key);
        }
        self.abort(key, ErrorCode::CANCEL);
        if how == Abandoned::Late {
            // A server that does not answer a PING gets no further request.
            if self.machine.is_pinging() {
                self.retire(CloseReason::RequestTimeout);
            }
            self.ask();
        }
    }

    /// Ends exchanges whose owners have left, and that took too long since.
    pub(super) fn end_abandoned(&mut self) {
        self.role.abandoned.begin();
        let mut late = Vec::new();
        for exchange in self.exchanges.iter() {
            if let Some(until) = exchange.abandoned_until {
                self.role.abandoned.schedule(self.now);
                late.extend((until <= self.now).then_some(exchange.key));
            }
        }
        for key in late {
            if !self.gets_more_time(key) {
                self.abort(key, ErrorCode::CANCEL);
            }
        }
    }

    /// Whether an abandoned exchange goes on because its upload is not idle. One that waits for the caller
    /// to make more of the content does not: the caller may have forgotten it.
    fn gets_more_time(&mut self, key: StreamKey) -> bool {
        let Some(exchange) = self.exchanges.get(key) else { return false };
        let has_piece = exchange.upload.as_ref().is_some_and(|upload| upload.outflow.has_piece());
        if !has_piece || exchange.until.is_some() {
            return false;
        }
        let Some(moved_at) = self.upload_moved_at(key) else { return false };
        let until = after(moved_at, self.role.limits.time.send_idle.unwrap_or(Duration::MAX));
        if let Some(exchange) = self.exchanges.get(key) {
            exchange.abandoned_until = Some(until);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_is_scheduled_is_not_put_off() {
        let now = Instant::now();
        let mut check = AbandonedCheck::default();
        assert_eq!(check.due(), None);
        check.schedule(now);
        check.schedule(now + CHECK_INTERVAL / 2);
        assert_eq!(check.due(), Some(now + CHECK_INTERVAL));
        check.begin();
        assert_eq!(check.due(), None);
    }
}
