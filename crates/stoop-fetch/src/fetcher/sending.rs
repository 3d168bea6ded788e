//! One job's request and response: sends the request, receives the content, and sends it again where that breaks off, for
//! the rest where that can be had.

use std::time::{Duration, Instant};

use bytes::Bytes;
use stoop::{Error, ErrorKind, Method, Request, Response, StatusCode};

use super::Fetcher;
use super::answers::watched;
use crate::bandwidth::ContentReader;
use crate::capture::{Capture, Clock, Collected, Exchange, Part, may_go_on, recorded};
use crate::record::{Outcome, micros};

/// What answers a request for the rest of content, and has not that: another part, or that there is none.
const NOT_WHOLE: [StatusCode; 2] = [StatusCode::PARTIAL_CONTENT, StatusCode::RANGE_NOT_SATISFIABLE];

/// A response whose content is the next that is received, and goes on with a part that has come before, if there is one.
struct Next {
    response: Response,
    exchanges: Vec<Exchange>,
    part: Option<Box<Part>>,
    /// Whether the rest is asked for where it breaks off. A server that has refused that would again.
    may_go_on: bool,
}

impl Next {
    /// The first response of a job, of which no exchanges are kept.
    fn first(response: Response, may_go_on: bool) -> Self {
        Self { response, exchanges: Vec::new(), part: None, may_go_on }
    }
}

/// A response with its content, and what has failed of that, if something has.
struct Received {
    outcome: Outcome,
    fault: Option<Error>,
    /// What has come, if the rest can be asked for.
    part: Option<Box<Part>>,
}

/// A response whose content has failed.
struct Broken {
    response: Response,
    outcome: Outcome,
    fault: Error,
    part: Option<Box<Part>>,
    may_go_on: bool,
}

/// The content of a response: how long it was, or what failed.
struct Content {
    received: Result<u64, Error>,
    capture: Option<Box<Capture>>,
    /// How long it waited for memory, and to be written.
    waited: Duration,
    part: Option<Box<Part>>,
}

impl Fetcher {
    /// Sends a request and reads its response, within the deadline from now on. What its content waits for memory is
    /// beside that, and `clock` stands still meanwhile.
    pub(crate) async fn fetch(
        &self,
        request: Result<Request, Error>,
        clock: &impl Clock,
    ) -> Outcome {
        let request = match request {
            Ok(request) => request,
            Err(error) => return self.failed(&error),
        };
        let is_head = *request.method() == Method::HEAD;
        let may_go_on = may_go_on(&request);
        // Each future is awaited where it is made, and each response is put where it stays: they are long.
        let mut next = if self.has_exchanges() {
            let content = content_of(&request).await;
            let sending = self.client.send(request);
            match recorded(Vec::new(), content, sending).await {
                (Ok(response), exchanges) => Next { response, exchanges, part: None, may_go_on },
                (Err(error), exchanges) => {
                    let has_answer = exchanges.iter().any(|exchange| exchange.response.is_some());
                    return self.unanswered(&error, has_answer).after(exchanges);
                }
            }
        } else if self.falls_back_to_http {
            // In memory of its own: all slots would be larger by it.
            match Box::pin(watched(self.client.send(request))).await {
                (Ok(response), _) => Next::first(response, may_go_on),
                (Err(error), has_answer) => return self.unanswered(&error, has_answer),
            }
        } else {
            match self.client.send(request).await {
                Ok(response) => Next::first(response, may_go_on),
                Err(error) => return self.failed(&error),
            }
        };
        loop {
            let Received { outcome, fault, part } = self.received(&mut next, is_head, clock).await;
            let Some(fault) = fault else { return outcome };
            let Next { response, may_go_on, .. } = next;
            let broken = Broken { response, outcome, fault, part, may_go_on };
            // In memory of its own: all slots would be larger by it.
            next = match Box::pin(self.again(broken, clock)).await {
                Ok(next) => next,
                Err(outcome) => return outcome,
            };
        }
    }

    /// The outcome of a request that failed without a last response. Where it `has_answer`, another response came before.
    fn unanswered(&self, error: &Error, has_answer: bool) -> Outcome {
        if has_answer { self.failed_again(error) } else { self.failed(error) }
    }

    /// Sends the request of a response again whose content failed, and asks for the rest where that can be had and it may.
    ///
    /// # Errors
    /// The outcome: that of the response where it is not sent again, and otherwise why there is none to that.
    async fn again(&self, broken: Broken, clock: &impl Clock) -> Result<Next, Outcome> {
        let Broken { mut response, mut outcome, fault, part, may_go_on } = broken;
        let rest = part.as_ref().filter(|_| may_go_on).map(|part| part.rest());
        // What is too long would be again.
        let may_pass = fault.kind() != ErrorKind::BodyTooLarge;
        let retry = |response| self.client.retry_with(response, &fault, rest.unwrap_or_default());
        let Some(again) = may_pass.then(|| retry(&mut response)).flatten() else {
            return Err(self.given_up(outcome, part, clock).await);
        };
        // What has come of the content is dropped before anything is waited for, with its memory and its file, unless the
        // rest is asked for: then it is in its file, which may be all there is in the end.
        let part = part.filter(|_| may_go_on);
        let capture = outcome.capture.take_if(|_| part.is_none());
        let exchanges = capture.map(|capture| capture.exchanges).unwrap_or_default();
        clock.gave_back();
        let (next, exchanges) = match self.has_exchanges() {
            true => {
                let first = exchanges.first();
                let content = first.map(|first| first.request_content.clone());
                recorded(exchanges, content.unwrap_or_default(), again).await
            }
            false => (again.await, exchanges),
        };
        match (next, part) {
            (Err(error), _) => Err(self.failed_again(&error).after(exchanges)),
            (Ok(response), None) => Ok(Next { response, exchanges, part: None, may_go_on }),
            // What needs exchanges has content in memory, and no part of it in a file.
            (Ok(response), Some(part)) => {
                self.with_rest(response, outcome, &fault, part, clock).await
            }
        }
    }

    /// The response to a request for the rest of content that broke off with this outcome, of which `part` has come, and
    /// what it goes on with. Where it has another part, the request is sent once more for all of the content.
    ///
    /// # Errors
    /// As [`again`](Self::again).
    async fn with_rest(
        &self,
        response: Response,
        outcome: Outcome,
        fault: &Error,
        part: Box<Part>,
        clock: &impl Clock,
    ) -> Result<Next, Outcome> {
        let (mut response, exchanges) = (response, Vec::new());
        if part.goes_on_in(&mut response, self.content_max) {
            let response = part.whole(response);
            return Ok(Next { response, exchanges, part: Some(part), may_go_on: true });
        }
        let attempts = response.attempts();
        let is_refused = NOT_WHOLE.contains(&response.status());
        if is_refused {
            let Some(again) = self.client.retry(&mut response, fault) else {
                let mut outcome = self.given_up(outcome, Some(part), clock).await;
                if let Some(details) = &mut outcome.details {
                    details.attempts = Some(attempts);
                }
                return Err(outcome);
            };
            drop((part, outcome));
            clock.gave_back();
            response = again.await.map_err(|error| self.failed_again(&error))?;
        }
        Ok(Next { response, exchanges, part: None, may_go_on: !is_refused })
    }

    /// The outcome of a response whose content failed, of which this part has come, if no more of it is asked for.
    async fn given_up(
        &self,
        mut outcome: Outcome,
        part: Option<Box<Part>>,
        clock: &impl Clock,
    ) -> Outcome {
        if let (Some(part), Some(collector)) = (part, &self.collector)
            && let Some(capture) = &mut outcome.capture
        {
            collector.give_up(*part, capture, clock).await;
        }
        outcome
    }

    /// The outcome of a request that was sent again, after a response: its protocol is spoken.
    fn failed_again(&self, error: &Error) -> Outcome {
        Outcome { is_not_spoken: false, ..self.failed(error) }
    }

    fn has_exchanges(&self) -> bool {
        self.collector.as_ref().is_some_and(|collector| collector.has_exchanges)
    }

    /// Receives the content of a response, and makes an outcome of both.
    async fn received(&self, next: &mut Next, is_head: bool, clock: &impl Clock) -> Received {
        let Next { response, exchanges, part, .. } = next;
        let unchanged = self.describer.unchanged(response, is_head);
        let mut details = self.describer.details(response, unchanged);
        // The clock is read only where the time is reported.
        let head = details.is_some().then(Instant::now);
        let content = self.receive(response, part.take(), clock).await;
        let Content { received, mut capture, waited, part } = content;
        if let Some(capture) = &mut capture {
            capture.exchanges = std::mem::take(exchanges);
            if let Some(unchanged) = &unchanged {
                capture.not_modified = Some(Box::new(unchanged.response()));
            }
        }
        if let (Some(details), Some(head)) = (&mut details, head) {
            details.phases.t_recv_us = Some(micros(head.elapsed().saturating_sub(waited)));
            details.wire_bytes = response.body_mut().wire_bytes();
        }
        let mut outcome =
            self.describer.outcome(response, received.as_ref().map(|bytes| *bytes), details);
        outcome.capture = capture;
        if let (Some(bandwidth), Ok(_)) = (&self.bandwidth, &received) {
            bandwidth.drain(response.body_mut());
        }
        Received { outcome, fault: received.err(), part }
    }

    /// Receives the content of a response: counts it, or keeps it, behind the part that has come of it.
    async fn receive(
        &self,
        response: &mut Response,
        part: Option<Box<Part>>,
        clock: &impl Clock,
    ) -> Content {
        let counted =
            |received| Content { received, capture: None, waited: Duration::ZERO, part: None };
        let bandwidth = self.bandwidth.as_deref();
        if self.skips_content {
            return counted(Ok(0));
        }
        let reader = ContentReader::new(bandwidth);
        let Some(collector) = &self.collector else {
            let (content, look) = (response.body_mut(), |bytes| clock.received(bytes));
            return counted(match bandwidth {
                None => content.for_each(|piece| look(piece.len())).await,
                Some(_) => Box::pin(reader.count(content, clock.due(), look)).await,
            });
        };
        let Collected { capture, received, fault, waited, part } =
            collector.collect(response, reader, part, clock).await;
        let received = match fault {
            None => Ok(received),
            Some(error) => Err(error),
        };
        Content { received, capture: Some(Box::new(capture)), waited, part }
    }
}

/// The content of a request, which is in memory.
async fn content_of(request: &Request) -> Bytes {
    match request.body().try_clone() {
        // In memory of its own: all slots would be larger by it.
        Some(body) if !body.is_empty() => {
            Box::pin(body.bytes(usize::MAX)).await.unwrap_or_default()
        }
        _ => Bytes::new(),
    }
}
