//! Broken frames: a machine that is fed any of them does not panic, reads to the end or stops, and has the
//! same outcome however the bytes are cut.

use http::Method;
use stoop_proto::{BodySize, Limits};
use stoop_test::feed::h2::{EndpointSetup, client, client_after_get, server};
use stoop_test::frames::{
    PREFACE, continuation, data, flag, frame, go_away, headers, kind, ping, priority,
    priority_update, rst_stream, settings, settings_ack, split, window_update,
};
use stoop_test::random::Random;

use super::rounds;

const GET: &[(&str, &str)] =
    &[(":method", "GET"), (":scheme", "https"), (":path", "/"), (":authority", "a")];
const POST: &[(&str, &str)] =
    &[(":method", "POST"), (":scheme", "http"), (":path", "/x?y"), (":authority", "a:1")];
const OK: &[(&str, &str)] = &[(":status", "200"), ("content-type", "text/plain")];

/// Frames of all kinds, as peers send them.
fn session(is_server: bool, random: &mut Random) -> Vec<Vec<u8>> {
    let table = b"\x82\x87\x84\x41\x01a\x40\x01x\x01y";
    let mut frames = Vec::new();
    let mut next = 1;
    for _ in 0..1 + random.below(12) {
        let stream = if is_server { next } else { 1 + 2 * random.below(3) as u32 };
        let head = if is_server { *random.pick(&[GET, POST]) } else { OK };
        let mut more = match random.below(12) {
            0 => vec![headers(stream, flag::WHOLE, head)],
            1 | 2 => vec![
                headers(stream, flag::END_HEADERS, head),
                data(stream, 0, b"hello, world"),
                data(stream, flag::END_STREAM, b""),
            ],
            3 => vec![
                headers(stream, flag::END_HEADERS, head),
                data(stream, flag::PADDED, b"\x03hello\0\0\0"),
                headers(stream, flag::WHOLE, &[("x-sum", "5")]),
            ],
            4 if is_server => vec![
                frame(kind::HEADERS, flag::WHOLE, stream, table),
                frame(kind::HEADERS, flag::WHOLE, stream + 2, b"\x82\x87\x84\xbf\xbe"),
            ],
            4 => vec![headers(stream, flag::END_HEADERS, &[(":status", "103"), ("link", "<a>")])],
            5 => vec![
                frame(kind::HEADERS, flag::PRIORITY, stream, &[0, 0, 0, 0, 7, 0x82]),
                continuation(stream, 0, b"\x87\x84"),
                continuation(stream, flag::END_HEADERS, b"\x41\x01a"),
            ],
            6 => vec![settings(&[(3, 10), (4, 1_000), (1, 100), (5, 20_000)])],
            7 => vec![window_update(0, 1_000), window_update(stream, 1_000)],
            8 => vec![ping(0, b"12345678"), settings_ack(), ping(flag::ACK, b"measure\0")],
            9 => vec![priority(stream, 0), priority_update(stream, "u=1, i")],
            10 => vec![headers(stream, flag::END_HEADERS, head), rst_stream(stream, 8)],
            _ => vec![go_away(1, 0, "why not"), frame(0xee, 0, stream, b"unknown")],
        };
        frames.append(&mut more);
        next = stream + 4;
    }
    frames
}

/// Breaks frames: their order, their headers, their bytes.
fn broken(mut frames: Vec<Vec<u8>>, random: &mut Random) -> Vec<u8> {
    for _ in 0..random.below(3) {
        let (at, other) = (random.below(frames.len()), random.below(frames.len()));
        match random.below(5) {
            0 => frames.swap(at, other),
            1 => frames.insert(at, frames[other].clone()),
            2 if frames.len() > 1 => drop(frames.remove(at)),
            3 => frames[at][4] ^= 1 << random.below(8),
            _ => frames[at][8] = random.below(12) as u8,
        }
    }
    let mut wire = frames.concat();
    for _ in 0..random.below(3) {
        let at = random.below(wire.len());
        match random.below(4) {
            0 => wire[at] ^= 1 << random.below(8),
            1 => wire[at] = *random.pick(&[0, 1, 0x3f, 0x7f, 0x80, 0xff]),
            2 => wire.truncate(at + 1),
            _ => {
                let junk = random.scaled(6);
                wire.splice(at..at, random.bytes(junk));
            }
        }
    }
    wire
}

/// Sets tight limits, so that small sessions reach them.
fn tight(limits: &mut Limits, random: &mut Random) {
    limits.head_bytes_max = 100 + random.below(200);
    limits.fields_max = random.below(6);
    limits.trailers_bytes_max = random.below(100);
    limits.body_bytes_max = random.one_in(2).then(|| random.below(20) as u64);
    limits.interim_max = random.below(2);
    limits.http2.streams_max = random.below(4) as u32;
    limits.http2.resets.burst = random.below(4) as u32;
    limits.http2.overhead_frames.burst = random.below(12) as u32;
    limits.http2.extended_connect = random.one_in(2);
}

/// A server or a client, as it is before it is fed.
fn endpoint(is_server: bool, random: &mut Random) -> EndpointSetup {
    let mut endpoint = match (is_server, random.below(3)) {
        (true, 0) => server(),
        (true, 1) => server().never_answering(),
        (true, _) => server().answering_early().not_consuming(),
        (false, 0) => client_after_get(),
        (false, 1) => client_after_get().with_request(Method::HEAD, BodySize::Exact(0)),
        (false, _) => client()
            .with_request(Method::POST, BodySize::Unknown)
            .with_request(Method::CONNECT, BodySize::Unknown)
            .with_request(Method::GET, BodySize::Exact(0)),
    };
    if random.one_in(2) {
        endpoint = endpoint.within(|limits| tight(limits, random));
    }
    if !is_server {
        endpoint = endpoint.within(|limits| limits.http2.streams_max = 3);
    }
    endpoint
}

/// Feeds the bytes whole and in random pieces, and asserts that the outcome is the same.
fn check(endpoint: &EndpointSetup, wire: &[u8], random: &mut Random) {
    let whole = endpoint.feed_once(&[wire]);
    let mut rest = wire;
    let pieces = random.cuts(wire.len()).into_iter().map(|len| {
        let (piece, after) = rest.split_at(len);
        rest = after;
        piece
    });
    let pieces: Vec<_> = pieces.collect();
    assert_eq!(endpoint.feed_once(&pieces), whole, "{}", wire.escape_ascii());
    let is_whole = split(&whole.rest).is_none();
    assert!(is_whole, "a frame that is here is read: {}", wire.escape_ascii());
}

#[test]
fn broken_sessions_come_to_the_same_however_they_are_cut() {
    rounds(6_000, |random| {
        let is_server = random.one_in(2);
        let endpoint = endpoint(is_server, random).from_first_byte();
        let session = session(is_server, random);
        let preface = if is_server { PREFACE } else { b"" };
        let wire = [preface, &settings(&[]), &settings_ack(), &broken(session, random)].concat();
        check(&endpoint, &wire, random);
    });
}

/// Frames of any type and flags, with any payload.
#[test]
fn any_frames_come_to_the_same_however_they_are_cut() {
    rounds(3_000, |random| {
        let is_server = random.one_in(2);
        let endpoint = endpoint(is_server, random).from_first_byte();
        let mut wire = if is_server { PREFACE.to_vec() } else { Vec::new() };
        wire.extend(settings(&[]));
        for _ in 0..1 + random.below(8) {
            let len = *random.pick(&[0, 1, 4, 5, 6, 8, 9, 20]);
            let (kind, flags) = (random.below(18) as u8, random.below(64) as u8);
            let stream = *random.pick(&[0, 0, 1, 1, 1, 2, 3, 5]);
            wire.extend(frame(kind, flags, stream, &random.bytes(len)));
        }
        check(&endpoint, &wire, random);
    });
}

/// Any bytes at all.
#[test]
fn any_bytes_come_to_the_same_however_they_are_cut() {
    rounds(1_000, |random| {
        let is_server = random.one_in(2);
        let endpoint = endpoint(is_server, random).from_first_byte();
        let mut wire = if is_server && random.one_in(4) { PREFACE.to_vec() } else { Vec::new() };
        let len = random.below(200);
        wire.extend(random.bytes(len));
        check(&endpoint, &wire, random);
    });
}
