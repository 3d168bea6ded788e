//! Whether a request is sent again: after a GOAWAY or a refusal, and on a connection that was stale.

use std::time::Duration;

use stoop_io::now;

use super::run::RequestRun;
use crate::body::Body;
use crate::client::outgoing::Outgoing;
use crate::error::{Error, ErrorKind, Phase};

/// How long a refused request waits before it is sent again, and at most.
const PAUSE: Duration = Duration::from_millis(5);
const PAUSE_MAX: Duration = Duration::from_millis(320);

/// How often a request is sent to a server that each time turns the whole connection away: it says that it is asked too
/// much, or does nothing of any request.
const TURNED_AWAY_MAX: u32 = 3;

/// How often a request was sent again, and why.
#[derive(Default)]
pub(super) struct Tries {
    pub(super) stale: u32,
    pub(super) refused: u32,
    /// Attempts at which the server turned the whole connection away.
    turned_away: u32,
    /// The server wants HTTP/1.1 for this one.
    pub(super) http1: bool,
}

pub(super) struct Failed {
    pub(super) error: Error,
    pub(super) received: bool,
    /// The request's content, if nothing of the request was sent.
    pub(super) unsent: Option<Body>,
}

impl RequestRun<'_> {
    /// Whether a request that failed is sent again. All that decides it is here.
    pub(super) fn may_repeat(
        &self,
        outgoing: &Outgoing,
        failed: &Failed,
        reused: bool,
        tries: &mut Tries,
    ) -> bool {
        let (error, limits) = (&failed.error, &self.shared.limits);
        if failed.unsent.is_none() && !outgoing.is_replayable() {
            return false;
        }
        let is_gone = match error.kind() {
            ErrorKind::ClosedEarly | ErrorKind::Reset => true,
            ErrorKind::ReadTimeout => error.phase() == Phase::Wait && !error.is_unanswered(),
            _ => false,
        };
        // RFC 9113 §8.7: whatever it is, if the server did nothing of it. Its stream was above the last
        // that a GOAWAY named, or was reset by REFUSED_STREAM.
        let was_sent = is_gone && failed.unsent.is_none();
        if error.is_refused() && !was_sent {
            tries.refused += 1;
            tries.turned_away += u32::from(error.is_turned_away());
            return tries.refused <= limits.refusals_max && tries.turned_away < TURNED_AWAY_MAX;
        }
        // RFC 9110 §9.2.2, RFC 9112 §9.3.1: only on a connection that may have been closed before we wrote,
        // or whose server is gone without a word; only unanswered; and only what is idempotent, or did not
        // reach the server.
        let is_safe = outgoing.method().is_idempotent() || error.is_refused();
        let is_stale = is_gone && reused && !failed.received && is_safe;
        tries.stale += u32::from(is_stale);
        is_stale && tries.stale <= limits.retries_max
    }

    /// Waits before a refused request is sent for the n-th time. False if the deadline comes before
    /// that: that it was refused says more than that it took too long.
    pub(super) async fn pause(&self, n: u32) -> bool {
        let until = now() + (PAUSE * 2u32.saturating_pow(n.saturating_sub(1))).min(PAUSE_MAX);
        let is_in_time = self.due.before_head().is_none_or(|by| until < by);
        if is_in_time {
            tokio::time::sleep_until(until.into()).await;
        }
        is_in_time
    }
}
