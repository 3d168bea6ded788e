//! From a job to its outcome: what is no request, what robots.txt does not allow, and the rest, which is fetched.

use stoop::{Error, Phase, Request};

use super::Worker;
use crate::format::RecordFormat;
use crate::job::Extent;
use crate::record::Outcome;
use crate::robots_gate::{Permission, RobotsGate};
use crate::schedule::Started;
use crate::target::target;

impl<F: RecordFormat> Worker<F> {
    /// Fetches the job of slot `index`, if it has a request that is allowed.
    pub(super) async fn fetch(&self, index: usize) -> Outcome {
        let request = {
            let slots = self.slots.borrow();
            self.request_of(&slots.slot(index).job)
        };
        let request = match request {
            Ok(request) => request,
            Err(outcome) => return outcome,
        };
        if let (Some(robots), Ok(request)) = (&self.robots, &request)
            && let Some(refused) = self.ask_robots(robots, index, request.url()).await
        {
            return refused;
        }
        self.fetcher.fetch(request).await
    }

    /// The request of a job, or the outcome of one that has none.
    fn request_of(&self, job: &Started) -> Result<Result<Request, Error>, Outcome> {
        let invalid = |kind, text: &str| Outcome::local_error(kind, Phase::Request, text);
        let options = job.options.as_deref();
        if let Some(fault) = options.and_then(|options| options.fault.as_deref()) {
            return Err(invalid("invalid_job", fault));
        }
        if job.is_suspended {
            let text =
                "its host did not answer so many times in turn that it is left alone for a while";
            return Err(Outcome::local_error("host_suspended", Phase::Queue, text));
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
        let (crawl_delay, refused) = match robots.ask(&self.fetcher, url?).await {
            Permission::Granted { crawl_delay } => (crawl_delay, None),
            Permission::Denied { crawl_delay, outcome } => (crawl_delay, Some(outcome)),
            Permission::Unknown(outcome) => return Some(outcome),
        };
        let mut slots = self.slots.borrow_mut();
        let slot = slots.slot(index);
        if let Some(host) = slot.job.host {
            self.schedule.borrow_mut().learned(host, crawl_delay);
            self.wake_for_turns();
        }
        slots.restart(index);
        refused
    }
}
