//! Runs planned exchanges between the HTTP/1 machines of a client and a server, which are connected by
//! pipes that deliver a random number of bytes at a time.

use bytes::Bytes;
use http::StatusCode;
use stoop_proto::h1::{Client, Event, ResponseContext, Server};
use stoop_proto::{
    BodySize, CloseReason, Fields, Limits, RequestHead, ResponseHead, ResponseParts,
};

use crate::random::Random;

/// A body that is to be sent: its pieces, whether their length is announced, and its trailers.
#[derive(Clone, Debug, Default)]
pub struct PlannedBody {
    /// The content.
    pub pieces: Vec<Vec<u8>>,
    /// Whether the length is announced in the head.
    pub is_announced: bool,
    /// A trailer section.
    pub trailers: Option<Fields>,
}

impl PlannedBody {
    /// The size that the machine is given.
    pub fn size(&self) -> BodySize {
        match self.is_announced {
            true => BodySize::Exact(self.pieces.iter().map(|piece| piece.len() as u64).sum()),
            false => BodySize::Unknown,
        }
    }
}

/// A request that is to be sent, and the response to it.
#[derive(Clone, Debug)]
pub struct PlannedExchange {
    /// The request's head.
    pub request: RequestHead,
    /// The request's content.
    pub request_body: PlannedBody,
    /// Interim responses before the final one.
    pub interim: Vec<StatusCode>,
    /// The status.
    pub status: StatusCode,
    /// The response's fields.
    pub fields: Fields,
    /// The response's content.
    pub response_body: PlannedBody,
    /// Whether the server closes the connection after the response.
    pub close: bool,
}

/// What the peers received of an exchange: the server the request, the client the responses.
#[derive(Clone, Debug, Default)]
pub struct ReceivedExchange {
    /// The request's head, at the server.
    pub request: Option<RequestHead>,
    /// Its content.
    pub request_body: Vec<u8>,
    /// Its trailer section.
    pub request_trailers: Option<Fields>,
    /// Interim responses, at the client.
    pub interim: Vec<StatusCode>,
    /// The response's head.
    pub response: Option<ResponseHead>,
    /// Its content.
    pub response_body: Vec<u8>,
    /// Its trailer section.
    pub response_trailers: Option<Fields>,
}

/// The two machines of one connection, and the bytes on their way between them.
#[derive(Debug, Default)]
pub struct Pair {
    /// The client.
    pub client: Client,
    /// The server.
    pub server: Server,
    to_server: Pipe,
    to_client: Pipe,
}

/// One direction: bytes that were sent, and those that arrived and were not consumed.
#[derive(Debug, Default)]
struct Pipe {
    sent: Vec<u8>,
    arrived: Vec<u8>,
}

impl Pipe {
    /// Delivers some bytes, at least one if there are any. Returns whether it did.
    fn deliver(&mut self, random: &mut Random) -> bool {
        let n = (1 + random.scaled(14)).min(self.sent.len());
        self.arrived.extend(self.sent.drain(..n));
        n > 0
    }
}

/// How much of its message a peer has sent: the piece that comes next.
#[derive(Debug, Default)]
struct PairProgress {
    next: usize,
    is_begun: bool,
    is_finished: bool,
}

impl Pair {
    /// Whether the connection carries another exchange.
    pub fn is_open(&self) -> bool {
        self.client.is_reusable() && self.server.is_receiving()
    }

    /// Runs one exchange to its end, in an order of steps that `random` decides.
    ///
    /// # Panics
    /// If a machine reports an error, or no step makes progress any more.
    pub fn run(&mut self, exchange: &PlannedExchange, random: &mut Random) -> ReceivedExchange {
        let mut seen = ReceivedExchange::default();
        let (mut request_progress, mut response_progress) =
            (PairProgress::default(), PairProgress::default());
        let mut answer = None;
        let (mut is_read, mut idle) = (false, 0);
        while !(request_progress.is_finished
            && self.is_request_read()
            && response_progress.is_finished
            && is_read)
        {
            let mut moved = false;
            if random.one_in(2) {
                moved |= self.send_request(exchange, &mut request_progress);
            }
            if random.one_in(2) {
                moved |= self.to_server.deliver(random);
                self.read_request(&mut seen, &mut answer);
            }
            if let Some(answer) = answer
                && random.one_in(2)
            {
                moved |= self.send_response(exchange, answer, &mut response_progress);
            }
            if random.one_in(2) {
                moved |= self.to_client.deliver(random);
                is_read |= self.read_response(&mut seen, response_progress.is_finished);
            }
            idle = if moved { 0 } else { idle + 1 };
            assert!(idle < 1_000, "nothing moves: {self:?}");
        }
        seen
    }

    /// Whether the server has read everything that was sent to it.
    fn is_request_read(&self) -> bool {
        self.to_server.sent.is_empty()
            && self.to_server.arrived.is_empty()
            && !self.server.in_body()
    }

    /// Sends the next part of the request. Returns false if it is sent.
    fn send_request(&mut self, exchange: &PlannedExchange, progress: &mut PairProgress) -> bool {
        let (body, out) = (&exchange.request_body, &mut self.to_server.sent);
        if progress.is_finished {
            return false;
        } else if !progress.is_begun {
            self.client.send(&exchange.request, body.size(), out).expect("a request is due");
            progress.is_begun = true;
        } else if let Some(piece) = body.pieces.get(progress.next) {
            let piece = Bytes::copy_from_slice(piece);
            self.client.data(piece, out).expect("it is as long as announced");
            progress.next += 1;
        } else {
            self.client.finish(body.trailers.as_ref(), out).expect("it is as long as announced");
            progress.is_finished = true;
        }
        true
    }

    /// Sends the next part of the response. Returns false if it is sent.
    fn send_response(
        &mut self,
        exchange: &PlannedExchange,
        answer: ResponseContext,
        progress: &mut PairProgress,
    ) -> bool {
        let (body, out) = (&exchange.response_body, &mut self.to_client.sent);
        if progress.is_finished {
            return false;
        } else if let (false, Some(&status)) =
            (progress.is_begun, exchange.interim.get(progress.next))
        {
            let informed = self.server.send_interim(answer, status, &Fields::new(), out);
            informed.expect("the status is an interim one");
            progress.next += 1;
        } else if !progress.is_begun {
            let parts = ResponseParts {
                fields: Some(&exchange.fields),
                close: exchange.close.then_some(CloseReason::CallerCloses),
                ..ResponseParts::new(exchange.status)
            };
            self.server.respond(answer, &parts, body.size(), out).expect("a response is due");
            *progress = PairProgress { is_begun: true, ..PairProgress::default() };
        } else if let Some(piece) = body.pieces.get(progress.next) {
            let piece = Bytes::copy_from_slice(piece);
            self.server.data(piece, out).expect("it is as long as announced");
            progress.next += 1;
        } else {
            self.server.finish(body.trailers.as_ref(), out).expect("it is as long as announced");
            progress.is_finished = true;
        }
        true
    }

    /// Reads what arrived at the server.
    fn read_request(&mut self, seen: &mut ReceivedExchange, answer: &mut Option<ResponseContext>) {
        let mut head = RequestHead::default();
        loop {
            let arrived = &mut self.to_server.arrived;
            let received = self.server.receive(arrived, &mut head, &Limits::server());
            match received.event {
                Event::NeedMore | Event::Paused => {
                    arrived.drain(..received.consumed);
                    return;
                }
                Event::Head { .. } => {
                    *answer = Some(self.server.answer());
                    seen.request = Some(head.clone());
                }
                Event::Data(span) => seen.request_body.extend_from_slice(&arrived[span]),
                Event::End { .. } => {
                    seen.request_trailers = self.server.take_trailers().map(|section| *section);
                }
                event => panic!("the server got {event:?}"),
            }
            arrived.drain(..received.consumed);
        }
    }

    /// Reads what arrived at the client. Returns whether the response is complete.
    fn read_response(&mut self, seen: &mut ReceivedExchange, is_sent: bool) -> bool {
        let mut head = ResponseHead::default();
        loop {
            if !self.client.is_receiving() {
                return seen.response.is_some();
            }
            let arrived = &mut self.to_client.arrived;
            let received = self.client.receive(arrived, &mut head, &Limits::client());
            match received.event {
                Event::NeedMore => {
                    arrived.drain(..received.consumed);
                    let ends = is_sent && self.server.is_sent() && self.to_client.sent.is_empty();
                    if ends && seen.response.is_some() {
                        let event = self.client.receive_end(&self.to_client.arrived);
                        assert_eq!(event, Event::End { trailers: false });
                        return true;
                    }
                    return false;
                }
                Event::Interim => seen.interim.push(head.status()),
                Event::Head { .. } => seen.response = Some(head.clone()),
                Event::Data(span) => seen.response_body.extend_from_slice(&arrived[span]),
                Event::End { .. } => {
                    seen.response_trailers = self.client.take_trailers().map(|section| *section);
                }
                event => panic!("the client got {event:?}"),
            }
            arrived.drain(..received.consumed);
        }
    }
}
