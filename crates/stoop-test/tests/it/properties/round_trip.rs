//! A machine reads the message that the other one sent: for random messages, cut at random, and with the
//! two machines driven in random order.

use http::{Method, StatusCode, Version};
use stoop_proto::{Fields, RequestHead};
use stoop_test::pair::{Pair, PlannedBody, PlannedExchange};
use stoop_test::random::Random;

use super::rounds;

#[test]
fn messages_are_read_as_they_were_sent() {
    rounds(500, |random| {
        let mut pair = Pair::default();
        for _ in 0..1 + random.below(4) {
            let exchange = exchange(random);
            let received = pair.run(&exchange, random);
            check_request(&exchange, &received);
            check_response(&exchange, &received);
            let asked = |end: &Fields| end.lists("connection", "close");
            if exchange.close || asked(exchange.request.fields()) {
                assert!(!pair.is_open(), "one of them said close");
            }
            if !pair.is_open() {
                pair = Pair::default();
            }
        }
    });
}

fn check_request(exchange: &PlannedExchange, received: &stoop_test::pair::ReceivedExchange) {
    let read = received.request.as_ref().unwrap();
    assert_eq!(read.method(), exchange.request.method());
    assert_eq!(read.target(), exchange.request.target());
    assert_eq!(read.form(), exchange.request.form());
    assert_eq!(read.version(), Version::HTTP_11);
    assert_eq!(callers_fields(read.fields()), callers_fields(exchange.request.fields()));
    assert!(received.request_body == exchange.request_body.pieces.concat());
    let chunked = !exchange.request_body.is_announced;
    let sent = exchange.request_body.trailers.as_ref().filter(|sent| chunked && !sent.is_empty());
    assert_eq!(received.request_trailers.as_ref(), sent);
}

fn check_response(exchange: &PlannedExchange, received: &stoop_test::pair::ReceivedExchange) {
    let read = received.response.as_ref().unwrap();
    assert_eq!(read.status(), exchange.status);
    assert_eq!(callers_fields(read.fields()), callers_fields(&exchange.fields));
    assert_eq!(received.interim, exchange.interim);
    let has_content = exchange.request.method() != Method::HEAD
        && !matches!(exchange.status.as_u16(), 204 | 205 | 304);
    let body = &exchange.response_body;
    let content = if has_content { body.pieces.concat() } else { Vec::new() };
    assert!(received.response_body == content);
    let chunked = has_content && !body.is_announced;
    let sent = body.trailers.as_ref().filter(|sent| chunked && !sent.is_empty());
    assert_eq!(received.response_trailers.as_ref(), sent);
}

/// The fields that the machine does not set itself.
fn callers_fields(fields: &Fields) -> Vec<(String, Vec<u8>)> {
    let ours = ["content-length", "transfer-encoding", "connection", "keep-alive"];
    let theirs = fields.iter().filter(|field| !ours.iter().any(|name| field.is(name)));
    theirs.map(|field| (field.name().to_owned(), field.value().to_vec())).collect()
}

const TCHARS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_!#$%&'*+.^`|~";

pub(super) fn exchange(random: &mut Random) -> PlannedExchange {
    let methods =
        [Method::GET, Method::HEAD, Method::POST, Method::PUT, Method::DELETE, Method::OPTIONS];
    let method = random.pick(&methods).clone();
    let target = match random.below(4) {
        0 if method == Method::OPTIONS => "*".to_owned(),
        1 => format!("http://{}.example:{}/", random.text(3, b"abc"), random.below(65_536)),
        _ => {
            let len = 1 + random.below(60);
            format!("/{}", random.text(len, b"abcXYZ019/?&=%.-_~!$'()*+,;:@|{}[]\"<>\\^`"))
        }
    };
    let mut request = RequestHead::new(method, &target).unwrap();
    add_fields(request.fields_mut(), random);
    request.fields_mut().push("Host", b"a.example").unwrap();
    if random.one_in(12) {
        request.fields_mut().push("Connection", b"close").unwrap();
    }
    if random.one_in(20) {
        request.fields_mut().push("TE", b"trailers").unwrap();
    }
    let statuses = [200, 200, 200, 201, 204, 205, 206, 304, 404, 500, 599];
    let mut fields = Fields::new();
    add_fields(&mut fields, random);
    let interim = (0..random.below(3) * random.below(2)).map(|_| StatusCode::EARLY_HINTS).collect();
    PlannedExchange {
        request,
        request_body: body(random),
        interim,
        status: StatusCode::from_u16(*random.pick(&statuses)).unwrap(),
        fields,
        response_body: body(random),
        close: random.one_in(8),
    }
}

/// Adds up to a dozen fields, seldom a hundred, with values of all bytes that a value may have.
fn add_fields(fields: &mut Fields, random: &mut Random) {
    let count = if random.one_in(30) { 100 } else { random.below(12) };
    for _ in 0..count {
        let len = 1 + random.below(20);
        let name = format!("x{}", random.text(len, TCHARS));
        let longest = if random.one_in(20) { 300 } else { 30 };
        let len = random.below(longest);
        let value: Vec<u8> = random
            .bytes(len)
            .into_iter()
            .map(|byte| if byte < b' ' || byte == 0x7f { b'\t' } else { byte })
            .collect();
        fields.push(&name, &value).unwrap();
    }
}

fn body(random: &mut Random) -> PlannedBody {
    let len = match random.below(6) {
        0 | 1 => 0,
        2 => random.below(20),
        3 | 4 => random.below(2_000),
        _ => random.below(100_000),
    };
    let mut pieces: Vec<Vec<u8>> =
        random.cuts(len).into_iter().map(|len| random.bytes(len)).collect();
    if random.one_in(5) {
        pieces.insert(0, Vec::new());
    }
    let mut trailers = Fields::new();
    if random.one_in(3) {
        add_fields(&mut trailers, random);
    }
    let trailers = random.one_in(2).then_some(trailers);
    PlannedBody { pieces, is_announced: random.one_in(2), trailers }
}
