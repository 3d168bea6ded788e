//! Cases of a connection over HTTP/2. Both of its ends are counted: what one writes, the other reads.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Method, StatusCode};
use stoop_proto::h2::{Connection, Event, StreamKey};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseHead, ResponseParts};

use crate::messages::DATE;

const HELLO: &[u8] = b"Hello, world!";

/// The content of a large message, in bytes: that of four DATA frames.
pub(crate) const LARGE_BYTES: usize = 4 * 16 * 1024;

/// Repeats `at_once` requests `count` times, each answered with [`HELLO`].
pub(crate) fn exchange(count: usize, at_once: usize) {
    run(count, at_once, Method::GET, Bytes::new(), Bytes::from_static(HELLO));
}

/// Repeats a request with large content `count` times; the response has none.
pub(crate) fn upload(count: usize) {
    run(count, 1, Method::POST, Bytes::from(vec![b'x'; LARGE_BYTES]), Bytes::new());
}

/// Repeats a request `count` times whose response has large content.
pub(crate) fn download(count: usize) {
    run(count, 1, Method::GET, Bytes::new(), Bytes::from(vec![b'x'; LARGE_BYTES]));
}

/// The bytes of one small exchange, in both directions, when the tables know its fields.
pub(crate) fn exchange_bytes() -> usize {
    let mut ends = Ends::new(Bytes::from_static(HELLO));
    let request = request(Method::GET);
    ends.exchange(&request, 1, &Bytes::new());
    ends.exchange(&request, 1, &Bytes::new())
}

fn run(count: usize, at_once: usize, method: Method, content: Bytes, response: Bytes) {
    let (mut ends, request) = (Ends::new(response), request(method));
    for _ in 0..count {
        black_box(ends.exchange(&request, at_once, &content));
    }
}

fn request(method: Method) -> RequestHead {
    let mut head = RequestHead::new(method, "/v2/orders/17").expect("a target");
    for (name, value) in
        [("host", "api.example.com"), ("user-agent", "orders/1.4"), ("accept", "*/*")]
    {
        head.fields_mut().push(name, value.as_bytes()).expect("a field");
    }
    head
}

/// Both ends of a connection.
struct Ends {
    client: ConnectionEnd,
    server: ConnectionEnd,
    /// What each request is answered with.
    response: Bytes,
    now: Instant,
    request_head: RequestHead,
    response_head: ResponseHead,
}

/// One end, with what it has written and the content that its streams have yet to send.
struct ConnectionEnd {
    connection: Connection,
    out: Vec<u8>,
    /// By the stream's key.
    content: Vec<Bytes>,
}

impl Ends {
    fn new(response: Bytes) -> Self {
        Self {
            client: ConnectionEnd::new(Connection::client(Limits::client())),
            server: ConnectionEnd::new(Connection::server(Limits::server())),
            response,
            now: Instant::now(),
            request_head: RequestHead::default(),
            response_head: ResponseHead::default(),
        }
    }

    /// Sends `at_once` requests and waits for their responses; returns the number of bytes written.
    fn exchange(&mut self, request: &RequestHead, at_once: usize, content: &Bytes) -> usize {
        // Time passes between the exchanges, as it does on a network: budgets are refilled by it.
        self.now += Duration::from_millis(1);
        for _ in 0..at_once {
            let client = &mut self.client;
            let size = BodySize::Exact(content.len() as u64);
            let opened = client.connection.open(request, "https", size, &mut client.out);
            client.begin_content(opened.expect("there is room for the stream"), content);
        }
        let (mut responses, mut bytes) = (0, 0);
        while responses < at_once {
            let before = bytes;
            self.client.write(self.now);
            bytes += self.client.out.len();
            self.serve();
            self.server.write(self.now);
            bytes += self.server.out.len();
            responses += self.read_responses();
            assert!(bytes > before, "both ends wait for each other");
        }
        bytes
    }

    /// The server reads what the client has written, and answers each request that has ended.
    fn serve(&mut self) {
        let (end, wire) = (&mut self.server, &mut self.client.out);
        let mut at = 0;
        loop {
            let received = end.connection.receive(self.now, black_box(&wire[at..]), true);
            at += received.consumed;
            let ended = match received.event {
                Event::NeedMore => break,
                Event::Request { key, end: ended } => {
                    end.connection.take_request(&mut self.request_head);
                    black_box(&self.request_head);
                    ended.then_some(key)
                }
                Event::Data { key, span, end: ended } => {
                    end.use_up(key, span.len() as u32);
                    ended.then_some(key)
                }
                Event::Settings => None,
                event => panic!("{event:?}"),
            };
            if let Some(key) = ended {
                end.respond(key, &self.response);
            }
        }
        wire.clear();
    }

    /// The client reads what the server has written; returns how many responses have ended.
    fn read_responses(&mut self) -> usize {
        let (end, wire) = (&mut self.client, &mut self.server.out);
        let (mut at, mut responses) = (0, 0);
        loop {
            let received = end.connection.receive(self.now, black_box(&wire[at..]), false);
            at += received.consumed;
            match received.event {
                Event::NeedMore => break,
                Event::Response { end: ended, .. } => {
                    end.connection.take_response(&mut self.response_head);
                    black_box(&self.response_head);
                    responses += usize::from(ended);
                }
                Event::Data { key, span, end: ended } => {
                    end.use_up(key, span.len() as u32);
                    responses += usize::from(ended);
                }
                Event::Settings => {}
                event => panic!("{event:?}"),
            }
        }
        wire.clear();
        responses
    }
}

impl ConnectionEnd {
    fn new(connection: Connection) -> Self {
        Self { connection, out: Vec::new(), content: Vec::new() }
    }

    /// Content was used up: the peer may send as much again.
    fn use_up(&mut self, key: StreamKey, bytes: u32) {
        match self.connection.is_open(key) {
            true => self.connection.consumed(key, bytes),
            false => self.connection.consumed_after_end(bytes),
        }
    }

    fn respond(&mut self, key: StreamKey, content: &Bytes) {
        let parts = ResponseParts {
            content_type: Some("text/plain"),
            date: Some(DATE),
            ..ResponseParts::new(StatusCode::OK)
        };
        let size = BodySize::Exact(content.len() as u64);
        self.connection.respond(key, &parts, size, &mut self.out).expect("a request is due");
        self.begin_content(key, content);
    }

    fn begin_content(&mut self, key: StreamKey, content: &Bytes) {
        if !content.is_empty() {
            if self.content.len() <= key.index() {
                self.content.resize(key.index() + 1, Bytes::new());
            }
            self.content[key.index()] = content.clone();
            self.connection.want_to_send(key, true);
        }
    }

    /// Writes the connection's frames, and as much content as the windows allow.
    fn write(&mut self, now: Instant) {
        while let Some((key, sendable)) = self.connection.next_to_send() {
            let content = &mut self.content[key.index()];
            let piece = content.split_to(sendable.min(content.len()));
            let is_last = content.is_empty();
            self.connection.data(key, piece, is_last, &mut self.out).expect("it fits");
        }
        self.connection.transmit(now, &mut self.out);
    }
}
