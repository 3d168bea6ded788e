//! Invariant: a client and a server of HTTP/2 that exchange messages, in whatever order they are
//! called, with whatever they are asked to send, and with every byte handed on in pieces,
//! - do not panic, and never find a fault in each other: what is misused is refused, and what is
//!   written is a message;
//! - read what was sent: heads, content, trailers, and the end of each message, once;
//! - if a call is refused, write nothing;
//! - have nothing left of it when all is sent, read and used up, in the windows least of all.

use std::time::{Duration, Instant};

use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, Refusal, StreamKey};
use stoop_proto::{BodySize, CloseReason, Fields, Limits, Misuse, RequestHead, ResponseParts};

use super::h2_message::{SentMessages, SentStreamMessage, end_to_end};
use super::h2_side::{PeerSide, PeerStream};
use super::h2_wire::settings;

/// More calls are only more of the same.
const CALLS_MAX: usize = 300;

/// Each byte is a call, or an argument of one.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let mut pair = ConnectionPair::new();
    for call in data.chunks(2).take(CALLS_MAX) {
        let [call, argument] = [call[0], call.get(1).copied().unwrap_or_default()];
        pair.call(call, argument);
    }
    pair.settle();
}

struct ConnectionPair {
    client: PeerSide,
    server: PeerSide,
    all: SentMessages,
    start: Instant,
    now: Instant,
}

/// Tight where honest peers have to heed them, and wide where they need not.
fn limits(mut limits: Limits, streams: u32) -> Limits {
    limits.interim_max = usize::MAX;
    let http2 = &mut limits.http2;
    http2.streams_max = streams;
    (http2.connection_window_bytes, http2.stream_window_bytes) = (65_535, 65_535);
    (http2.resets.burst, http2.overhead_frames.burst) = (10_000, 100_000);
    limits
}

fn fields(choice: u8) -> Fields {
    let mut fields = Fields::new();
    let all: [(&str, &[u8]); 6] = [
        ("x-a", b"1"),
        ("X-Long", &[b'y'; 2_000]),
        ("connection", b"close"),
        ("priority", b"u=1, i"),
        ("x-b", b"\xff,\t"),
        // Its crumbs are put together behind the other fields.
        ("cookie", b"a=b; c=d"),
    ];
    for (bit, (name, value)) in all.iter().enumerate() {
        if choice >> bit & 1 == 1 {
            fields.push(name, value).expect("it is a field");
        }
    }
    fields
}

/// Fields that may be trailers.
fn trailers(choice: u8) -> Fields {
    let mut fields = fields(choice);
    fields.remove("cookie");
    fields
}

fn size(choice: u8) -> BodySize {
    match choice % 4 {
        0 => BodySize::Unknown,
        n => BodySize::Exact([0, 5, 70_000][usize::from(n) - 1]),
    }
}

impl ConnectionPair {
    fn new() -> Self {
        let (ours, theirs) = (limits(Limits::client(), 6), limits(Limits::server(), 4));
        let now = Instant::now();
        Self {
            client: PeerSide::new(Connection::client(ours.clone()), ours, 0),
            server: PeerSide::new(Connection::server(theirs.clone()), theirs, 1),
            all: Vec::new(),
            start: now,
            now,
        }
    }

    fn call(&mut self, call: u8, argument: u8) {
        let all = &mut self.all;
        match call % 16 {
            0 | 1 => self.open(argument),
            2 => self.client.data(argument, all),
            3 => self.server.data(argument, all),
            4 => self.client.finish(argument, &trailers(argument), all),
            5 => self.server.finish(argument, &trailers(argument), all),
            6 => self.send_interim(argument),
            7 => {
                if let Some(key) = self.server.choose(argument) {
                    self.respond(key, argument);
                }
            }
            8..=11 => {
                let bytes = usize::from(argument).pow(2) / 4 + 1;
                self.hand_on(call & 2 == 0, bytes);
            }
            12 => self.side(argument).use_up(argument >> 1),
            13 => self.side(argument).give_up(argument >> 1),
            14 if argument & 1 == 0 => self.client.take_turn(argument, all),
            14 => self.server.take_turn(argument, all),
            _ => self.odd_call(argument),
        }
    }

    fn side(&mut self, argument: u8) -> &mut PeerSide {
        if argument & 1 == 0 { &mut self.client } else { &mut self.server }
    }

    fn odd_call(&mut self, argument: u8) {
        let now = self.now;
        match argument % 8 {
            0 => self.server.machine.drain(now, CloseReason::Draining),
            1 if argument > 200 => self.client.machine.drain(now, CloseReason::Draining),
            2 | 3 => {
                let side = self.side(argument);
                side.machine.ping(now);
            }
            // Servers that end wait for a second; no step may last ten.
            4 if now < self.start + Duration::from_secs(9) => {
                self.now += Duration::from_millis(300);
                self.client.machine.handle_timeout(self.now);
                self.server.machine.handle_timeout(self.now);
            }
            5 | 6 => {
                // What streams may send changes while they do.
                let side = self.side(argument);
                side.flush(now);
                side.sent.extend(settings(&[(4, u32::from(argument) << 7), (1, 100)]));
            }
            _ => {
                let side = self.side(argument >> 3);
                side.machine.shrink();
            }
        }
    }

    fn open(&mut self, choice: u8) {
        let (method, target) = match choice % 8 {
            0 | 1 => (Method::GET, "/a?b"),
            2 => (Method::HEAD, "http://a/"),
            3 | 4 => (Method::POST, "/"),
            5 => (Method::OPTIONS, "*"),
            6 => (Method::CONNECT, "a:1"),
            _ => (Method::PUT, "/"),
        };
        let is_connect = method == Method::CONNECT;
        let mut head = RequestHead::new(method, target).expect("the target fits");
        *head.fields_mut() = fields(choice >> 3);
        let number = self.all.len();
        head.fields_mut().push("host", b"a").expect("it is a field");
        head.fields_mut().push("x-n", number.to_string().as_bytes()).expect("it is a field");
        let size = if is_connect { BodySize::Unknown } else { size(choice >> 4) };
        let (room, before) = (self.client.machine.room(), self.client.sent.len());
        match self.client.machine.open(&head, "https", size, &mut self.client.sent) {
            Ok(key) => {
                assert!(room > 0);
                let is_sending = self.client.machine.is_sending(key);
                assert_eq!(is_sending, size != BodySize::Exact(0));
                let stream = PeerStream::new(number, is_connect, size, is_sending);
                self.client.streams.insert(key, stream);
                let line = format!("{} {}", head.method(), head.path());
                let (fields, is_complete) = (end_to_end(head.fields()), !is_sending);
                let sent =
                    SentStreamMessage { line, fields, is_complete, ..SentStreamMessage::default() };
                self.all.push([sent, SentStreamMessage::default()]);
            }
            Err(refusal) => {
                let is_theirs = matches!(refusal, Refusal::ExtendedConnect | Refusal::TooLarge(_));
                assert!(room == 0 || is_theirs, "{refusal:?}");
                assert_eq!(self.client.sent.len(), before);
            }
        }
    }

    fn send_interim(&mut self, choice: u8) {
        let Some(key) = self.server.choose(choice) else { return };
        let before = self.server.sent.len();
        let (status, fields) = (StatusCode::EARLY_HINTS, fields(choice));
        let informed =
            self.server.machine.send_interim(key, status, &fields, &mut self.server.sent);
        assert_eq!(informed.is_ok(), !self.server.streams[&key].has_begun);
        assert!(informed.is_ok() || self.server.sent.len() == before);
    }

    fn respond(&mut self, key: StreamKey, choice: u8) {
        let status = [200, 204, 304, 404, 200, 500, 201, 431][usize::from(choice >> 2 & 7)];
        let status = StatusCode::from_u16(status).expect("it is a status");
        let (fields, size) = (fields(choice.rotate_left(4)), size(choice >> 5));
        let parts = ResponseParts { fields: Some(&fields), ..ResponseParts::new(status) };
        let out = &mut self.server.sent;
        let before = out.len();
        let stream = self.server.streams.get_mut(&key).expect("it is open");
        let responded = match self.server.machine.respond(key, &parts, size, out) {
            Err(Misuse::Tunnel) => {
                assert_eq!(out.len(), before);
                self.server.machine.open_tunnel(key, &parts, out).map(|()| true)
            }
            responded => responded,
        };
        match responded {
            Ok(follows) => {
                assert!(!stream.has_begun);
                stream.has_begun = true;
                stream.is_tunnel = stream.is_tunnel && status.is_success();
                let left = if stream.is_tunnel { BodySize::Unknown } else { size };
                stream.announce(left);
                let sent = &mut self.all[stream.number][1];
                (sent.line, sent.fields) = (status.as_str().to_owned(), end_to_end(&fields));
                if !follows {
                    (stream.is_finished, sent.is_complete) = (true, true);
                    self.server.ended(key);
                }
            }
            Err(_) => {
                assert!(stream.has_begun && self.server.sent.len() == before);
            }
        }
    }

    fn hand_on(&mut self, to_server: bool, bytes: usize) -> bool {
        let (from, to) = match to_server {
            true => (&mut self.client, &mut self.server),
            false => (&mut self.server, &mut self.client),
        };
        from.flush(self.now);
        let bytes = bytes.min(from.sent.len());
        to.receive(self.now, from.sent.drain(..bytes), &mut self.all);
        bytes > 0
    }

    /// All is sent, handed on and used up.
    fn settle(&mut self) {
        /// As a choice: 404 without content.
        const NOT_FOUND: u8 = 0b0010_1100;
        for side in [&mut self.client, &mut self.server] {
            side.flush(self.now);
            side.sent.extend(settings(&[(4, side.limits.http2.stream_window_bytes)]));
        }
        loop {
            let waiting = self.server.streams.iter().filter(|(_, stream)| !stream.has_begun);
            for key in waiting.map(|(key, _)| *key).collect::<Vec<_>>() {
                self.respond(key, NOT_FOUND);
            }
            let mut moved =
                self.client.send_all(&mut self.all) | self.server.send_all(&mut self.all);
            moved |= self.hand_on(true, usize::MAX) | self.hand_on(false, usize::MAX);
            while !self.client.unread.is_empty() || !self.server.unread.is_empty() {
                self.client.use_up(0);
                self.server.use_up(0);
            }
            if !moved {
                break;
            }
        }
        self.client.check_the_end();
        self.server.check_the_end();
    }
}
