//! From a job to its outcome: what is no request, what robots.txt does not allow, and the rest, which is fetched.

use stoop::{Error, Phase, Request};

use super::Worker;
use super::following::SlotJob;
use crate::format::RecordFormat;
use crate::job::Extent;
use crate::record::Outcome;
use crate::robots_gate::{Permission, RobotsGate, denied};
use crate::schedule::Started;
use crate::summary::ResultCode;
use crate::target::target;
use crate::turns::InTurn;

impl<F: RecordFormat> Worker<F> {
    /// Fetches the job of slot `index`, if it has a request that is allowed.
    pub(super) async fn fetch(&self, index: usize) -> Outcome {
        let request = match self.request_of_slot(index) {
            Ok(request) => request,
            Err(outcome) => {
                self.no_request(index);
                return outcome;
            }
        };
        let has_request = request.is_ok();
        let clock = SlotJob { worker: self, index };
        let mut in_turn = InTurn::new(SlotJob { worker: self, index });
        let outcome = match (&self.robots, &request) {
            (Some(robots), Ok(first)) => {
                if let Some(refused) = self.ask_robots(robots, index, first.url()).await {
                    return refused;
                }
                in_turn.fetch(&self.fetcher, request, &clock).await
            }
            _ => {
                let outcome = in_turn.fetch(&self.fetcher, request, &clock).await;
                match self.http_url(index, &outcome) {
                    None => outcome,
                    // In memory of its own: all slots would be larger by it.
                    Some(url) => Box::pin(self.over_http(index, &mut in_turn, outcome, &url)).await,
                }
            }
        };
        in_turn.end(&outcome);
        if !has_request || is_no_job(&outcome) {
            self.no_request(index);
        }
        outcome
    }

    fn request_of_slot(&self, index: usize) -> Result<Result<Request, Error>, Outcome> {
        self.request_of(&self.slots.borrow().slot(index).job)
    }

    /// The request of a job, or the outcome of one that has none.
    fn request_of(&self, job: &Started) -> Result<Result<Request, Error>, Outcome> {
        let invalid = |kind, text: &str| Outcome::local_error(kind, Phase::Request, text);
        let options = job.options.as_deref();
        if let Some(fault) = options.and_then(|options| options.fault.as_deref()) {
            return Err(invalid(crate::kinds::INVALID_JOB, fault));
        }
        if let Some(why) = job.suspension {
            return Err(Outcome::not_tried(why.text()));
        }
        let url = match job.extent {
            Extent::Whole => std::str::from_utf8(&job.url).map_err(|_| "not text in UTF-8"),
            Extent::Overlong => Err("longer than 64 KiB: these are the first"),
            Extent::InputFailed => Err("the input failed within this line: this is its beginning"),
            // Half a URL can be another one.
            Extent::Interrupted => return Err(Outcome::cancelled(Phase::Queue)),
        };
        let url = url.and_then(target).map_err(|text| invalid("invalid_url", text))?;
        Ok(self.fetcher.request(&url, options))
    }

    /// Asks whether robots.txt allows the job of slot `index`, whose clock starts once that is known. Returns the
    /// outcome of one that is not allowed.
    async fn ask_robots(
        &self,
        robots: &RobotsGate,
        index: usize,
        url: Option<&str>,
    ) -> Option<Outcome> {
        let (crawl_delay, refused) = match robots.ask(url?, false).await {
            Permission::Granted { crawl_delay } => (crawl_delay, None),
            Permission::Denied { crawl_delay, why } => (crawl_delay, Some(denied(&why))),
            Permission::Unknown(outcome) => {
                self.not_sent();
                return Some(outcome);
            }
            Permission::Unasked => {
                self.slots.borrow_mut().restart(index);
                return None;
            }
        };
        if refused.is_some() {
            self.not_sent();
        }
        let mut slots = self.slots.borrow_mut();
        if let Some(host) = slots.slot(index).job.host {
            self.schedule.borrow_mut().learned(host, crawl_delay, refused.is_none());
            self.wake_for_turns();
        }
        slots.restart(index);
        refused
    }

    /// The job of slot `index` has no request, though it was begun as one if a host counts it.
    fn no_request(&self, index: usize) {
        if self.slots.borrow().slot(index).job.host.is_some() {
            self.not_sent();
        }
    }

    /// A job has no request, though it was begun as one.
    pub(super) fn not_sent(&self) {
        if let Some(rate) = &self.rate {
            rate.not_sent();
        }
    }
}

/// Whether this came of a job whose fields do not fit its content, or each other: it is found before a request is sent, unless
/// a redirect was followed.
fn is_no_job(outcome: &Outcome) -> bool {
    outcome.code == ResultCode::Error(crate::kinds::INVALID_JOB) && outcome.blamed.is_none()
}
