//! The second request for a URL without a scheme: over http, where https is not spoken.

use super::Worker;
use super::following::SlotJob;
use crate::format::RecordFormat;
use crate::job::Extent;
use crate::record::Outcome;
use crate::target::{has_scheme, target};
use crate::turns::InTurn;

impl<F: RecordFormat> Worker<F> {
    /// Fetches the job of slot `index` from `url`, which is over http, after this outcome over https, and returns the outcome
    /// that counts.
    pub(super) async fn over_http(
        &self,
        index: usize,
        in_turn: &mut InTurn<SlotJob<'_, F>>,
        outcome: Outcome,
        url: &str,
    ) -> Outcome {
        if in_turn.turn_after(&outcome, url).await.is_err() {
            return outcome;
        }
        let (request, left) = {
            let slots = self.slots.borrow();
            let slot = slots.slot(index);
            let left = self.run.settings.timeout.saturating_sub(slot.start.elapsed());
            (self.fetcher.request(url, slot.job.options.as_deref()), left)
        };
        if left.is_zero() {
            return outcome;
        }
        let (request, clock) =
            (request.map(|it| it.timeout(left)), SlotJob { worker: self, index });
        let second = in_turn.fetch(&self.fetcher, request, &clock).await;
        if second.is_not_spoken { outcome } else { second }
    }

    /// The URL over http of a job that may be fetched so, after this outcome over https.
    pub(super) fn http_url(&self, index: usize, outcome: &Outcome) -> Option<String> {
        if !self.run.settings.falls_back_to_http || self.robots.is_some() || !outcome.is_not_spoken
        {
            return None;
        }
        let slots = self.slots.borrow();
        let job = &slots.slot(index).job;
        let line = std::str::from_utf8(&job.url).ok().filter(|_| job.extent == Extent::Whole)?;
        let url = target(line).ok().filter(|_| !has_scheme(line))?;
        Some(format!("http{}", url.strip_prefix("https")?))
    }
}
