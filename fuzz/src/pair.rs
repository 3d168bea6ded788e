//! Invariant: a client and a server that exchange messages, in whatever order they are called, with
//! whatever they are asked to send, and with every byte handed on in pieces,
//! - do not panic, and never find a violation in each other: what is misused is refused, and what is
//!   written is a message;
//! - read what was sent: heads, content, and the end of it, for each exchange in its turn;
//! - if a call is refused, write nothing.

use std::collections::VecDeque;

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h1::{Client, Event, ResponseContext, Server};
use stoop_proto::{
    BodySize, CloseReason, Fields, Limits, RequestHead, ResponseHead, ResponseParts,
};

/// Each byte is a call, or an argument of one.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let mut pair = MessagePair::default();
    let mut calls = data.iter().copied();
    while let Some(call) = calls.next() {
        let argument = calls.next().unwrap_or_default();
        match call % 12 {
            0 => pair.send(argument),
            1 => pair.client_data(argument),
            2 => pair.client_finish(argument),
            3 | 4 => pair.hand_to_server(argument),
            5 => pair.send_interim(argument),
            6 => pair.respond(argument),
            7 => pair.server_data(argument),
            8 => pair.server_finish(argument),
            9 | 10 => pair.hand_to_client(argument),
            _ => match argument % 8 {
                0 => pair.server.stop_receiving(CloseReason::Draining),
                1 => pair.server.send_continue(&mut pair.back.sent),
                2 => pair.switch(),
                _ => {}
            },
        }
        if pair.is_over {
            return;
        }
    }
}

#[derive(Default)]
struct MessagePair {
    client: Client,
    server: Server,
    forth: PairWire,
    back: PairWire,
    answers: VecDeque<ResponseContext>,
    asked: VecDeque<SentMessage>,
    answered: VecDeque<SentMessage>,
    heard: Option<SentMessage>,
    read: Option<SentMessage>,
    is_over: bool,
}

#[derive(Default)]
struct PairWire {
    sent: Vec<u8>,
    arrived: Vec<u8>,
}

/// A message, as it was sent or read.
#[derive(Debug, Default, PartialEq)]
struct SentMessage {
    line: String,
    fields: Vec<(String, Vec<u8>)>,
    content: Vec<u8>,
    has_content: bool,
    is_complete: bool,
}

fn fields(choice: u8) -> Fields {
    let mut fields = Fields::new();
    let all: [(&str, &[u8]); 8] = [
        ("x-a", b"1"),
        ("Content-Length", b"7"),
        ("transfer-encoding", b"chunked"),
        ("connection", b"close"),
        ("X-B", b" \xff, \t"),
        ("upgrade", b"x"),
        ("expect", b"100-continue"),
        ("te", b"trailers"),
    ];
    for (bit, (name, value)) in all.iter().enumerate() {
        if choice >> bit & 1 == 1 {
            fields.push(name, value).expect("it is a field");
        }
    }
    fields
}

fn end_to_end(fields: &Fields) -> Vec<(String, Vec<u8>)> {
    let ours = ["content-length", "transfer-encoding", "connection", "expect", "host"];
    let kept = fields.iter().filter(|field| !ours.iter().any(|name| field.is(name)));
    kept.map(|field| (field.name().to_owned(), field.value().to_vec())).collect()
}

fn size(choice: u8) -> BodySize {
    match choice % 4 {
        0 => BodySize::Unknown,
        n => BodySize::Exact(u64::from(n - 1) * 3),
    }
}

impl MessagePair {
    fn send(&mut self, choice: u8) {
        let (method, target) = match choice % 7 {
            0 | 1 => (Method::GET, "/a?b"),
            2 => (Method::HEAD, "http://a/"),
            3 | 4 => (Method::POST, "/"),
            5 => (Method::OPTIONS, "*"),
            _ => (Method::CONNECT, "a:1"),
        };
        let mut head = RequestHead::new(method, target).expect("the target fits");
        *head.fields_mut() = fields(choice.rotate_left(3));
        head.fields_mut().push("host", b"a").expect("it is a field");
        let (size, before) = (size(choice >> 3), self.forth.sent.len());
        match self.client.send(&head, size, &mut self.forth.sent) {
            Ok(()) => self.asked.push_back(SentMessage {
                line: format!("{} {}", head.method(), head.target()),
                fields: end_to_end(head.fields()),
                has_content: true,
                ..SentMessage::default()
            }),
            Err(_) => assert_eq!(self.forth.sent.len(), before),
        }
    }

    fn client_data(&mut self, len: u8) {
        let (data, before) = (vec![len; usize::from(len % 8)], self.forth.sent.len());
        match self.client.data(Bytes::from(data.clone()), &mut self.forth.sent) {
            Ok(()) => say(self.asked.back_mut(), &data),
            Err(misuse) => self.refused(misuse, before == self.forth.sent.len()),
        }
    }

    fn client_finish(&mut self, choice: u8) {
        let before = self.forth.sent.len();
        match self.client.finish(Some(&fields(choice)), &mut self.forth.sent) {
            Ok(()) => complete(self.asked.back_mut()),
            Err(misuse) => self.refused(misuse, before == self.forth.sent.len()),
        }
    }

    /// A body that is not as announced breaks the connection; nothing else does.
    fn refused(&mut self, misuse: stoop_proto::Misuse, is_unwritten: bool) {
        assert!(is_unwritten);
        self.is_over = misuse != stoop_proto::Misuse::Order;
    }

    fn send_interim(&mut self, choice: u8) {
        let answer = self.answers.front().copied().unwrap_or_default();
        let before = self.back.sent.len();
        let status = StatusCode::EARLY_HINTS;
        let informed =
            self.server.send_interim(answer, status, &fields(choice), &mut self.back.sent);
        assert!(informed.is_ok() || self.back.sent.len() == before);
    }

    fn respond(&mut self, choice: u8) {
        let answer = self.answers.front().copied().unwrap_or_default();
        let statuses = [200, 200, 204, 205, 304, 404, 426, 500];
        let status = statuses[usize::from(choice % 8)];
        let status = StatusCode::from_u16(status).expect("it is a status");
        let fields = fields((choice >> 2) & 0x2f);
        let parts = ResponseParts {
            fields: Some(&fields),
            close: (choice & 0x80 != 0).then_some(CloseReason::CallerCloses),
            ..ResponseParts::new(status)
        };
        let before = self.back.sent.len();
        match self.server.respond(answer, &parts, size(choice >> 3), &mut self.back.sent) {
            Ok(()) => {
                self.answers.pop_front();
                self.answered.push_back(SentMessage {
                    line: status.as_str().to_owned(),
                    fields: end_to_end(&fields),
                    has_content: self.server.sends_content(),
                    ..SentMessage::default()
                });
            }
            Err(_) => assert_eq!(self.back.sent.len(), before),
        }
    }

    fn server_data(&mut self, len: u8) {
        let (data, before) = (vec![len; usize::from(len % 8)], self.back.sent.len());
        match self.server.data(Bytes::from(data.clone()), &mut self.back.sent) {
            Ok(()) => say(self.answered.back_mut(), &data),
            Err(misuse) => self.refused(misuse, before == self.back.sent.len()),
        }
    }

    fn server_finish(&mut self, choice: u8) {
        let before = self.back.sent.len();
        match self.server.finish(Some(&fields(choice)), &mut self.back.sent) {
            Ok(()) => complete(self.answered.back_mut()),
            Err(misuse) => self.refused(misuse, before == self.back.sent.len()),
        }
    }

    fn switch(&mut self) {
        let answer = self.answers.front().copied().unwrap_or_default();
        let upgrade = fields(0x20);
        let before = self.back.sent.len();
        for status in [StatusCode::SWITCHING_PROTOCOLS, StatusCode::OK] {
            let parts = ResponseParts { fields: Some(&upgrade), ..ResponseParts::new(status) };
            if self.server.switch(answer, &parts, &mut self.back.sent).is_ok() {
                self.is_over = true;
                return;
            }
            assert_eq!(self.back.sent.len(), before);
        }
    }

    fn hand_to_server(&mut self, count: u8) {
        let wire = &mut self.forth;
        let n = usize::from(count).min(wire.sent.len());
        wire.arrived.extend(wire.sent.drain(..n));
        let mut head = RequestHead::default();
        loop {
            let received = self.server.receive(&wire.arrived, &mut head, &Limits::server());
            match received.event {
                Event::NeedMore | Event::Paused => {
                    wire.arrived.drain(..received.consumed);
                    return;
                }
                Event::Head { end } => {
                    self.answers.push_back(self.server.answer());
                    self.heard = Some(SentMessage {
                        line: format!("{} {}", head.method(), head.target()),
                        fields: end_to_end(head.fields()),
                        has_content: true,
                        is_complete: end,
                        ..SentMessage::default()
                    });
                    if end {
                        heard(&mut self.heard, &mut self.asked);
                    }
                }
                Event::Data(span) => say(self.heard.as_mut(), &wire.arrived[span]),
                Event::End { .. } => {
                    complete(self.heard.as_mut());
                    heard(&mut self.heard, &mut self.asked);
                }
                event => panic!("the server got {event:?}"),
            }
            wire.arrived.drain(..received.consumed);
        }
    }

    fn hand_to_client(&mut self, count: u8) {
        let wire = &mut self.back;
        let n = usize::from(count).min(wire.sent.len());
        wire.arrived.extend(wire.sent.drain(..n));
        let mut head = ResponseHead::default();
        // Nothing keeps the server from sending as many interim responses as it is asked to.
        let mut limits = Limits::client();
        (limits.interim_max, limits.head_bytes_max) = (usize::MAX, usize::MAX);
        while self.client.is_receiving() {
            let received = self.client.receive(&wire.arrived, &mut head, &limits);
            match received.event {
                Event::NeedMore => {
                    wire.arrived.drain(..received.consumed);
                    return;
                }
                Event::Interim => {}
                Event::Head { end } => {
                    self.read = Some(SentMessage {
                        line: head.status().as_str().to_owned(),
                        fields: end_to_end(head.fields()),
                        has_content: true,
                        is_complete: end,
                        ..SentMessage::default()
                    });
                    if end {
                        heard(&mut self.read, &mut self.answered);
                    }
                }
                Event::Data(span) => say(self.read.as_mut(), &wire.arrived[span]),
                Event::End { .. } => {
                    complete(self.read.as_mut());
                    heard(&mut self.read, &mut self.answered);
                }
                event => panic!("the client got {event:?}"),
            }
            wire.arrived.drain(..received.consumed);
        }
    }
}

/// Notes content. What was read to its end already had none left to send.
fn say(said: Option<&mut SentMessage>, data: &[u8]) {
    if let Some(said) = said.filter(|said| said.has_content) {
        said.content.extend_from_slice(data);
    }
}

fn complete(said: Option<&mut SentMessage>) {
    if let Some(said) = said {
        said.is_complete = true;
    }
}

/// What was read to its end is what was sent. A message whose length was announced is read to its
/// end before its sender says that it has ended.
fn heard(read: &mut Option<SentMessage>, said: &mut VecDeque<SentMessage>) {
    let mut read = read.take().expect("it was read");
    let Some(mut said) = said.pop_front() else { panic!("{read:?} was never said") };
    (read.has_content, said.has_content) = (true, true);
    said.is_complete = true;
    assert_eq!(read, said);
}
