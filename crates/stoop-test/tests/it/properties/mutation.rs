//! Broken messages: a machine that is fed a changed message does not panic, has the same outcome however the
//! bytes are cut, and refuses it for the same reason and with the same answer.

use http::Method;
use stoop_proto::Limits;
use stoop_test::feed::{ResponseEnd, SentRequest, read_once, serve_once};
use stoop_test::random::Random;

use super::rounds;

const REQUESTS: &[&[u8]] = &[
    b"GET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET /a?b=c HTTP/1.1\r\nHost: example.com:80\r\nAccept: */*\r\nX: y\r\nConnection: keep-alive\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    b"POST /p HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a=\"b\"\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n",
    b"GET http://b:81/ HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET / HTTP/1.0\r\n\r\n",
    b"CONNECT b:443 HTTP/1.1\r\nHost: b\r\n\r\nOPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n",
    b"GET / HTTP/1.3\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade, close\r\n\r\n",
    b"\r\nHEAD / HTTP/1.1\r\nhost: [::1]:80\r\nX-A: \xff\xfe\r\nCookie: a=b; c=d\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
];

const RESPONSES: &[&[u8]] = &[
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5 ;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n",
    b"HTTP/1.0 404 Not Found\r\nServer: old\r\n\r\nuntil the end",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n",
    b"HTTP/1.1 200\nX: a\n\tb\nContent-Length: 2\n\nhi",
    b"HTTP/1.2 304 Not Modified\r\nContent-Length: 5, 5\r\nConnection: close\r\n\r\n",
    b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\nbytes",
    b"\r\nHTTP/1.1 301 Moved\r\nLocation : /x\r\nContent-Length: 0\r\nSet-Cookie: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
];

/// Bytes that change a message's meaning when they are inserted.
const TOKENS: &[&[u8]] = &[
    b"\r\n",
    b"\n",
    b"\r",
    b"\r\n\r\n",
    b"\n\n",
    b" ",
    b"\t",
    b":",
    b",",
    b";",
    b"\0",
    b"\x0b",
    b"\x7f",
    b"\x80",
    b"0",
    b"00000000000000000",
    b"-",
    b"+",
    b"0x",
    b"ffffffffffffffff",
    b"18446744073709551616",
    b"chunked",
    b"Content-Length: 5\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"Transfer-Encoding: gzip\r\n",
    b"Host: b\r\n",
    b"Connection: close\r\n",
    b"Expect: x\r\n",
    b"HTTP/1.1",
    b"HTTP/2.0",
    b"HTTP/1.9",
    b"HTTP/1.0",
    b"\r\n ",
    b"0\r\n",
    b"Upgrade: y\r\n",
    b"GET / HTTP/1.1\r\n",
    b"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
];

fn mutate(message: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = message.to_vec();
    for _ in 0..1 + random.below(3) {
        let at = random.below(bytes.len() + 1);
        let until = (at + random.scaled(6)).min(bytes.len());
        match random.below(7) {
            0 => {
                bytes.splice(at..at, random.pick(TOKENS).iter().copied());
            }
            1 => {
                bytes.splice(at..until, random.pick(TOKENS).iter().copied());
            }
            2 => {
                bytes.drain(at..until);
            }
            3 => {
                let copy = bytes[at..until].to_vec();
                bytes.splice(at..at, copy);
            }
            4 => bytes.truncate(at.max(1)),
            5 => {
                let junk = random.bytes(until - at);
                bytes.splice(at..until, junk);
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
    bytes
}

/// This many bytes behind a message, none of them a line end, make an incomplete head too large, so that
/// every message has an outcome.
const SETTLED: usize = 1_100;

fn limits(random: &mut Random, mut limits: Limits) -> Limits {
    limits.head_bytes_max = SETTLED - 100;
    limits.trailers_bytes_max = SETTLED - 100;
    // Tight limits, so that mutations reach them.
    if random.one_in(2) {
        limits.request_line_bytes_max = 20 + random.below(60);
        limits.head_bytes_max = 40 + random.below(200);
        limits.fields_max = random.below(8);
        limits.chunk_line_bytes_max = 1 + random.below(10);
        limits.chunk_extensions_bytes_max = random.below(10) as u64;
        limits.trailers_bytes_max = 2 + random.below(20);
        limits.body_bytes_max = random.one_in(2).then(|| random.below(12) as u64);
        limits.interim_max = random.below(3);
    }
    limits
}

fn cut<'a>(wire: &'a [u8], random: &mut Random) -> Vec<&'a [u8]> {
    let mut rest = wire;
    let pieces = random.cuts(wire.len());
    pieces
        .into_iter()
        .map(|len| {
            let (piece, after) = rest.split_at(len);
            rest = after;
            piece
        })
        .collect()
}

#[test]
fn a_server_reads_every_request_in_one_way() {
    rounds(15_000, |random| {
        let message = *random.pick(REQUESTS);
        let mut wire = mutate(message, random);
        wire.resize(wire.len() + SETTLED, b'x');
        let limits = limits(random, Limits::server());
        let whole = serve_once(&[&wire], &limits, false);
        for pieces in [cut(&wire, random), wire.chunks(1).collect()] {
            assert_eq!(serve_once(&pieces, &limits, false), whole, "{}", wire.escape_ascii());
        }
        let closes = whole.answer.windows(17).any(|bytes| bytes == b"connection: close");
        assert!(!whole.is_open || !closes, "it says close and reads on");
        if let Some(violation) = whole.violation {
            assert!(violation.answer().is_some() && closes && !whole.is_open);
        }
    });
}

#[test]
fn a_client_reads_every_response_in_one_way() {
    rounds(15_000, |random| {
        let message = *random.pick(RESPONSES);
        let mut wire = mutate(message, random);
        wire.resize(wire.len() + SETTLED, b'x');
        let methods = [Method::GET, Method::GET, Method::HEAD, Method::CONNECT, Method::POST];
        let mut asked = SentRequest::new(random.pick(&methods).clone());
        if random.one_in(3) {
            asked = asked.with_field("upgrade", "x");
        }
        let limits = limits(random, Limits::client());
        let end = random.one_in(2);
        let whole = read_once(asked.client(), &[&wire], &limits, end);
        for pieces in [cut(&wire, random), wire.chunks(1).collect()] {
            let other = read_once(asked.client(), &pieces, &limits, end);
            assert_eq!(other, whole, "{}", wire.escape_ascii());
        }
        if whole.ended != ResponseEnd::Complete {
            assert!(!whole.is_reusable, "{whole:?}");
        }
    });
}
