//! A client and a server over a wire that hands on as many bytes at a time as it likes.

use bytes::Bytes;
use http::StatusCode;
use stoop_proto::h1::{Answer, Client, Event, Server};
use stoop_proto::{
    BodySize, CloseReason, Fields, Limits, RequestHead, ResponseHead, ResponseParts,
};

use crate::random::Random;

/// A body as its sender means it: pieces, whether their length is announced, and what follows them.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The content.
    pub pieces: Vec<Vec<u8>>,
    /// Whether the length is said in advance.
    pub is_announced: bool,
    /// A trailer section.
    pub trailers: Option<Fields>,
}

impl Body {
    /// What the machine is told of its size.
    pub fn size(&self) -> BodySize {
        match self.is_announced {
            true => BodySize::Exact(self.pieces.iter().map(|piece| piece.len() as u64).sum()),
            false => BodySize::Unknown,
        }
    }
}

/// A request and its response.
#[derive(Clone, Debug)]
pub struct Exchange {
    /// The request's head.
    pub request: RequestHead,
    /// The request's content.
    pub request_body: Body,
    /// Interim responses before the final one.
    pub interim: Vec<StatusCode>,
    /// The status.
    pub status: StatusCode,
    /// The response's fields.
    pub fields: Fields,
    /// The response's content.
    pub response_body: Body,
    /// Whether the server ends the connection with it.
    pub close: bool,
}

/// What the other end read of an exchange.
#[derive(Clone, Debug, Default)]
pub struct Seen {
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

/// The two machines of one connection, and what is under way between them.
#[derive(Debug, Default)]
pub struct Pair {
    /// The client.
    pub client: Client,
    /// The server.
    pub server: Server,
    to_server: Wire,
    to_client: Wire,
}

/// One direction: bytes sent, and those of them that arrived and were not consumed.
#[derive(Debug, Default)]
struct Wire {
    sent: Vec<u8>,
    arrived: Vec<u8>,
}

impl Wire {
    /// Hands on some bytes, at least one if there are any.
    fn deliver(&mut self, random: &mut Random) -> bool {
        let n = (1 + random.scaled(14)).min(self.sent.len());
        self.arrived.extend(self.sent.drain(..n));
        n > 0
    }
}

/// One end's part of an exchange: which of its pieces comes next.
#[derive(Debug, Default)]
struct Part {
    next: usize,
    is_begun: bool,
    is_finished: bool,
}

impl Pair {
    /// Whether the connection carries another exchange.
    pub fn is_open(&self) -> bool {
        self.client.is_reusable() && self.server.is_receiving()
    }

    /// Runs one exchange to its end, in an order of events that `random` decides.
    ///
    /// # Panics
    /// If a machine complains, or nothing moves any more.
    pub fn run(&mut self, exchange: &Exchange, random: &mut Random) -> Seen {
        let mut seen = Seen::default();
        let (mut asking, mut answering) = (Part::default(), Part::default());
        let mut answer = None;
        let (mut is_read, mut idle) = (false, 0);
        while !(asking.is_finished && self.is_heard() && answering.is_finished && is_read) {
            let mut moved = false;
            if random.one_in(2) {
                moved |= self.ask(exchange, &mut asking);
            }
            if random.one_in(2) {
                moved |= self.to_server.deliver(random);
                self.read_request(&mut seen, &mut answer);
            }
            if let Some(answer) = answer
                && random.one_in(2)
            {
                moved |= self.answer(exchange, answer, &mut answering);
            }
            if random.one_in(2) {
                moved |= self.to_client.deliver(random);
                is_read |= self.read_response(&mut seen, answering.is_finished);
            }
            idle = if moved { 0 } else { idle + 1 };
            assert!(idle < 1_000, "nothing moves: {self:?}");
        }
        seen
    }

    /// Whether the server has read everything that was sent to it.
    fn is_heard(&self) -> bool {
        self.to_server.sent.is_empty()
            && self.to_server.arrived.is_empty()
            && !self.server.in_body()
    }

    fn ask(&mut self, exchange: &Exchange, part: &mut Part) -> bool {
        let (body, out) = (&exchange.request_body, &mut self.to_server.sent);
        if part.is_finished {
            return false;
        } else if !part.is_begun {
            self.client.send(&exchange.request, body.size(), out).expect("a request is due");
            part.is_begun = true;
        } else if let Some(piece) = body.pieces.get(part.next) {
            let piece = Bytes::copy_from_slice(piece);
            self.client.data(piece, out).expect("it is as long as announced");
            part.next += 1;
        } else {
            self.client.finish(body.trailers.as_ref(), out).expect("it is as long as announced");
            part.is_finished = true;
        }
        true
    }

    fn answer(&mut self, exchange: &Exchange, answer: Answer, part: &mut Part) -> bool {
        let (body, out) = (&exchange.response_body, &mut self.to_client.sent);
        if part.is_finished {
            return false;
        } else if let (false, Some(&status)) = (part.is_begun, exchange.interim.get(part.next)) {
            let informed = self.server.inform(answer, status, &Fields::new(), out);
            informed.expect("the status is an interim one");
            part.next += 1;
        } else if !part.is_begun {
            let parts = ResponseParts {
                fields: Some(&exchange.fields),
                close: exchange.close.then_some(CloseReason::CallerCloses),
                ..ResponseParts::new(exchange.status)
            };
            self.server.respond(answer, &parts, body.size(), out).expect("a response is due");
            *part = Part { is_begun: true, ..Part::default() };
        } else if let Some(piece) = body.pieces.get(part.next) {
            let piece = Bytes::copy_from_slice(piece);
            self.server.data(piece, out).expect("it is as long as announced");
            part.next += 1;
        } else {
            self.server.finish(body.trailers.as_ref(), out).expect("it is as long as announced");
            part.is_finished = true;
        }
        true
    }

    fn read_request(&mut self, seen: &mut Seen, answer: &mut Option<Answer>) {
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

    /// Whether the response is complete.
    fn read_response(&mut self, seen: &mut Seen, is_sent: bool) -> bool {
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
