//! One job's request and response: sends the request, receives the content, and sends it again where that breaks off.

use std::time::{Duration, Instant};

use stoop::{Error, ErrorKind, Method, RedirectAction, Request, Response};

use super::{Fetcher, target};
use crate::capture::{Capture, Clock, Collected, Exchange, recorded};
use crate::record::{Outcome, micros};
use crate::robots_known::KnownRobots;

/// A response with its content, and what has failed of that, if something has.
struct Received {
    outcome: Outcome,
    fault: Option<Error>,
}

impl Fetcher {
    /// Sends a request and reads its response, within the deadline from now on. What its content waits for memory is
    /// beside that, and `clock` stands still meanwhile.
    pub(crate) async fn fetch(
        &self,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Outcome {
        match self.send(request, clock).await {
            Ok(outcome) => outcome,
            Err((error, exchanges)) => self.failed(&error).after(exchanges),
        }
    }

    /// The outcome of a response; or why there is none, with the exchanges before.
    async fn send(
        &self,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Result<Outcome, (Error, Vec<Exchange>)> {
        let request = request.map_err(|error| (error, Vec::new()))?;
        let is_head = *request.method() == Method::HEAD;
        let (response, mut exchanges) = match self.has_exchanges() {
            true => recorded(Vec::new(), self.client.send(request)).await,
            false => (self.client.send(request).await, Vec::new()),
        };
        let mut response = match response {
            Ok(response) => response,
            Err(error) => return Err((error, exchanges)),
        };
        loop {
            let received = self.received(&mut response, is_head, clock, exchanges).await;
            let Received { mut outcome, fault } = received;
            let Some(again) = fault.and_then(|fault| self.again(&mut response, &fault)) else {
                return Ok(outcome);
            };
            // What has come of the content is dropped before anything is waited for, with its memory and its file.
            let capture = outcome.capture.take();
            exchanges = capture.map(|capture| capture.exchanges).unwrap_or_default();
            drop(outcome);
            clock.gave_back();
            // In memory of its own: all slots would be larger by it.
            let again = Box::pin(again);
            let next;
            (next, exchanges) = match self.has_exchanges() {
                true => recorded(exchanges, again).await,
                false => (again.await, exchanges),
            };
            response = match next {
                Ok(response) => response,
                Err(error) => return Err((error, exchanges)),
            };
        }
    }

    /// What sends the request of a response again whose content failed so, if it is to be.
    fn again(
        &self,
        response: &mut Response,
        fault: &Error,
    ) -> Option<impl Future<Output = Result<Response, Error>> + use<'_>> {
        // What is too long would be again.
        let may_pass = fault.kind() != ErrorKind::BodyTooLarge;
        may_pass.then(|| self.client.retry(response, fault)).flatten()
    }

    fn has_exchanges(&self) -> bool {
        self.collector.as_ref().is_some_and(|collector| collector.has_exchanges)
    }

    /// Receives the content of a response, and makes an outcome of both.
    async fn received(
        &self,
        response: &mut Response,
        is_head: bool,
        clock: &impl Clock,
        exchanges: Vec<Exchange>,
    ) -> Received {
        let unchanged = self.describer.unchanged(response, is_head);
        let mut details = self.describer.details(response, unchanged);
        // The clock is read only where the time is reported.
        let head = details.is_some().then(Instant::now);
        let (content, mut capture, waited) = self.receive(response, clock, exchanges).await;
        if let (Some(capture), Some(unchanged)) = (&mut capture, &unchanged) {
            capture.not_modified = Some(Box::new(unchanged.response()));
        }
        if let (Some(details), Some(head)) = (&mut details, head) {
            details.phases.t_recv_us = Some(micros(head.elapsed().saturating_sub(waited)));
            details.wire_bytes = response.body_mut().wire_bytes();
        }
        let outcome =
            self.describer.outcome(response, content.as_ref().map(|bytes| *bytes), details);
        let unfollowed = self.robots.as_ref().filter(|_| content.is_ok());
        let unfollowed = unfollowed.and_then(|robots| unfollowed_redirect(response, robots));
        Received { outcome: Outcome { unfollowed, capture, ..outcome }, fault: content.err() }
    }

    /// Receives the content of a response: counts it, or keeps it. Returns how long it waited for memory, too.
    async fn receive(
        &self,
        response: &mut Response,
        clock: &impl Clock,
        exchanges: Vec<Exchange>,
    ) -> (Result<u64, Error>, Option<Box<Capture>>, Duration) {
        if self.skips_content {
            return (Ok(0), None, Duration::ZERO);
        }
        let Some(collector) = &self.collector else {
            let content = response.body_mut();
            let received = content.for_each(|piece| clock.received(piece.len())).await;
            return (received, None, Duration::ZERO);
        };
        let Collected { mut capture, received, fault, waited } =
            collector.collect(response, clock).await;
        capture.exchanges = exchanges;
        let received = match fault {
            None => Ok(received),
            Some(error) => Err(error),
        };
        (received, Some(Box::new(capture)), waited)
    }
}

/// Where a response leads that is a redirect to an origin that was not asked for robots.txt yet.
fn unfollowed_redirect(response: &Response, robots: &KnownRobots) -> Option<Box<str>> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.field("location").filter(|_| is_redirect)?;
    let to = target(response.url()?, location)?;
    let stops = robots.redirect(to.as_str()) == RedirectAction::Stop;
    stops.then(|| String::from(to).into())
}
