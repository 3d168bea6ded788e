//! §10.5 Denial-of-Service Considerations: frames without need that a peer may send, counted to the frame,
//! and the memory and the frames that they cost us. The clock stands still but where a test moves it.

use std::time::Duration;

use http::StatusCode;
use stoop_proto::h2::{ErrorCode, Event, Fault};
use stoop_proto::{BodySize, ResponseParts};
use stoop_test::frames::{
    continuation, data, flag, frame, go_away, headers, kind, nth_stream, ping, priority,
    priority_update, rst_stream, settings, settings_ack, window_update,
};

use super::kit::{GET, ManualMachine, get, post, with};

/// More memory than a connection may hold: its tables, a head and its streams take less.
const HEAP_MAX: usize = 100 * 1024;

/// The frames of each call of a flood, by the call's number.
type FloodFrames<'a> = &'a dyn Fn(u32) -> Vec<u8>;

/// Feeds the frames of up to `max` calls, with a peer that reads. Returns how many calls there were, and
/// the fault that ended the connection.
#[track_caller]
fn flood(machine: &mut ManualMachine, max: u32, frames: FloodFrames<'_>) -> (u32, Option<Fault>) {
    for n in 0..max {
        machine.feed(&frames(n));
        assert!(machine.connection.heap_bytes() < HEAP_MAX, "{}", machine.connection.heap_bytes());
        let sent = machine.sent();
        assert!(sent.len() <= 5, "{sent:?}");
        if machine.connection.is_closed() {
            let last = sent.last().expect("it says why");
            assert!(last.contains(" ENHANCE_YOUR_CALM: "), "{last}");
            return (n + 1, machine.connection.fault());
        }
    }
    (max, None)
}

/// CVE-2023-44487, CVE-2025-8671, RUSTSEC-2024-0003: streams that the peer resets, or makes us reset, in
/// all ways. `Http2Limits::resets`, at N and N + 1.
#[test]
fn resets_are_counted_whichever_peer_sends_them() {
    let ways: [(&str, FloodFrames<'_>); 11] = [
        ("rapid reset", &|n| [post(nth_stream(n)), rst_stream(nth_stream(n), 8)].concat()),
        ("WINDOW_UPDATE by 0", &|n| {
            [post(nth_stream(n)), window_update(nth_stream(n), 0)].concat()
        }),
        ("window overflow", &|n| {
            [post(nth_stream(n)), window_update(nth_stream(n), (1 << 31) - 1)].concat()
        }),
        ("PRIORITY of 4", &|n| {
            [post(nth_stream(n)), frame(kind::PRIORITY, 0, nth_stream(n), &[0; 4])].concat()
        }),
        ("PRIORITY on itself", &|n| {
            [post(nth_stream(n)), priority(nth_stream(n), nth_stream(n))].concat()
        }),
        ("DATA after END_STREAM", &|n| [get(nth_stream(n)), data(nth_stream(n), 0, b"x")].concat()),
        ("HEADERS after END_STREAM", &|n| {
            [get(nth_stream(n)), headers(nth_stream(n), flag::WHOLE, &[])].concat()
        }),
        ("malformed", &|n| headers(nth_stream(n), flag::WHOLE, &GET[..2])),
        ("malformed trailers", &|n| {
            [post(nth_stream(n)), headers(nth_stream(n), flag::WHOLE, &[("X", "")])].concat()
        }),
        ("too long", &|n| {
            let more = with(GET, &[("content-length", "1")]);
            let wire = [headers(nth_stream(n), 4, &more), data(nth_stream(n), 0, b"xy")];
            wire.concat()
        }),
        ("never opened", &|n| {
            // The first call opens a stream above all others.
            let last = if n == 0 { get(100_001) } else { Vec::new() };
            [last, data(nth_stream(n), 0, b"x")].concat()
        }),
    ];
    for (name, frames) in ways {
        let mut machine = ManualMachine::server();
        let burst = machine.limits.http2.resets.burst;
        let ended = flood(&mut machine, 1_000, frames);
        assert_eq!(ended, (burst + 1, Some(Fault::TooManyResets)), "{name}");

        // At a slow rate, it may go on for ever.
        let mut machine = ManualMachine::server();
        for n in 0..2_000 {
            machine.feed(&frames(n));
            machine.sent();
            machine.advance(Duration::from_millis(50));
            assert!(!machine.connection.is_closed(), "{name}: {n}");
        }
    }
    // Streams that are refused, while as many as allowed are open.
    let mut machine = ManualMachine::server_within(|limits| limits.http2.streams_max = 1);
    machine.feed(&get(1));
    let ended = flood(&mut machine, 1_000, &|n| get(nth_stream(n) + 2));
    assert_eq!(ended, (201, Some(Fault::TooManyResets)));
}

/// How many resets a connection allows, with `paid` complete exchanges for each reset; at most 5,000.
fn resets_allowed(paid: u32, is_answered: bool, ends: impl Fn(u32) -> Vec<u8>) -> u32 {
    let mut machine = ManualMachine::server();
    for n in 0..5_000 {
        let first = 2 * n * (paid + 1) + 1;
        for exchange in 0..paid {
            let key = machine.read_request(&get(first + 2 * exchange));
            machine.respond(key, BodySize::Exact(0));
        }
        let id = first + 2 * paid;
        let key = machine.read_request(&post(id));
        if is_answered {
            let parts = ResponseParts::new(StatusCode::OK);
            let limits = BodySize::Unknown;
            machine.connection.respond(key, &parts, limits, &mut machine.out).unwrap();
        }
        machine.feed(&ends(id));
        machine.out.clear();
        if machine.connection.is_closed() {
            assert_eq!(machine.connection.fault(), Some(Fault::TooManyResets));
            return n;
        }
    }
    assert!(machine.connection.heap_bytes() < HEAP_MAX);
    5_000
}

/// A complete exchange earns back a part of a reset. One cheap exchange for each reset is not enough:
/// neither for resets of the peer, nor for those that it makes us send.
#[test]
fn a_reset_is_not_paid_for_by_one_cheap_exchange() {
    let rapid = |id| rst_stream(id, 8);
    let made = |id| window_update(id, 0);
    // Each takes one and earns back an eighth, if the handler had not answered.
    assert_eq!(resets_allowed(1, false, rapid), 228);
    assert_eq!(resets_allowed(1, false, made), 228);
    assert_eq!(resets_allowed(7, false, rapid), 1_593);
    assert_eq!(resets_allowed(8, false, rapid), 5_000);
    // A quarter, if it had.
    assert_eq!(resets_allowed(1, true, rapid), 266);
    assert_eq!(resets_allowed(1, true, made), 266);
    assert_eq!(resets_allowed(4, true, rapid), 5_000);
}

/// Frames of every type that ask for work and bring nothing. A peer that reads may send 10,000 of them:
/// `Http2Limits::overhead_frames`, at N and N + 1.
#[test]
fn frames_that_bring_nothing_are_counted() {
    let nothing: &[u8] = &[];
    let begun = &post(1);
    let reset = &[post(1), window_update(1, 0)].concat();
    let ended = &[get(1), rst_stream(1, 8)].concat();
    let ways: [(&str, &[u8], Vec<u8>); 20] = [
        ("SETTINGS", nothing, settings(&[])),
        ("SETTINGS that change all windows", begun, settings(&[(4, 1), (4, 2)])),
        ("SETTINGS that change the table", nothing, settings(&[(1, 0), (1, 4_096)])),
        ("SETTINGS ACK", nothing, settings_ack()),
        ("PING", nothing, ping(0, b"12345678")),
        ("PING ACK", nothing, ping(flag::ACK, b"12345678")),
        ("PING ACK to what was not asked", nothing, ping(flag::ACK, b"measure\0")),
        ("PING ACK, the same", nothing, ping(flag::ACK, b"drained\0")),
        ("PRIORITY", nothing, priority(1, 0)),
        ("PRIORITY_UPDATE", nothing, priority_update(1, "u=1")),
        ("PRIORITY_UPDATE of the open", begun, priority_update(1, "u=1")),
        ("WINDOW_UPDATE", nothing, window_update(0, 1)),
        ("WINDOW_UPDATE of a stream", begun, window_update(1, 1)),
        ("WINDOW_UPDATE, late", ended, window_update(1, 1)),
        ("RST_STREAM, late", ended, rst_stream(1, 8)),
        ("DATA, empty", begun, data(1, 0, b"")),
        ("DATA, padding only", begun, data(1, flag::PADDED, &[3, 0, 0, 0])),
        ("DATA, late", reset, data(1, 0, b"x")),
        ("HEADERS, late", reset, headers(1, flag::WHOLE, &[])),
        ("unknown", nothing, frame(0xbe, 0, 5, b"whatever")),
    ];
    for (name, before, wire) in ways {
        let mut machine = ManualMachine::server();
        machine.feed(before);
        machine.sent();
        let (count, fault) = flood(&mut machine, 20_000, &|_| wire.clone());
        assert_eq!(fault, Some(Fault::TooMuchOverhead), "{name}");
        // Skipped content opens the connection's window again; the flood may have begun with the frames
        // before it.
        assert!((9_990..=10_001).contains(&count), "{name}: {count}");

        let mut machine = ManualMachine::server();
        machine.feed(before);
        for n in 0..15_000 {
            machine.feed(&wire);
            machine.sent();
            machine.advance(Duration::from_millis(4));
            assert!(!machine.connection.is_closed(), "{name}: {n}");
        }
    }
    // The first GOAWAY is not counted, since it brings something new.
    let mut machine = ManualMachine::client();
    let ended = flood(&mut machine, 20_000, &|_| go_away(0, 0, "bye"));
    assert_eq!(ended, (10_002, Some(Fault::TooMuchOverhead)));
}

/// CVE-2019-9512, CVE-2019-9515: a peer that sends frames and does not read the answers. At
/// `Http2Limits::control_frames_max` waiting answers no more is read, so that the peer's socket holds it up.
#[test]
fn nothing_is_read_while_too_many_answers_wait() {
    for (wire, answers) in [
        (ping(0, b"12345678"), 1),
        (settings(&[(3, 1)]), 1),
        ([post(1), window_update(1, 0)].concat(), 1),
    ] {
        let mut machine = ManualMachine::server_within(|limits| {
            limits.http2.resets.burst = u32::MAX;
            limits.http2.abandoned_requests.burst = u32::MAX;
        });
        let (mut paused, mut fed) = (false, 0);
        for n in 0..5_000 {
            let wire = if wire[3] == 1 {
                [post(nth_stream(n)), window_update(nth_stream(n), 0)].concat()
            } else {
                wire.clone()
            };
            paused = machine.feed(&wire).last() == Some(&Event::Paused);
            if paused {
                break;
            }
            fed += answers;
        }
        let max = machine.limits.http2.control_frames_max;
        assert!(paused && (max - 1..=max).contains(&fed), "{fed}");
        let heap = machine.connection.heap_bytes();
        assert!(heap < 64 * 1024, "{heap}");
        assert_eq!(machine.feed(&get(99_999)).last(), Some(&Event::Paused), "whatever comes");
        assert_eq!(machine.connection.heap_bytes(), heap);
        // When the peer reads, reading goes on.
        assert_eq!(machine.sent().len(), max as usize);
        assert!(machine.feed(b"").len() <= 2 && !machine.connection.is_closed());
    }
}

/// A caller may not want a request now: the request stays unread, and other frames are read.
#[test]
fn a_request_waits_until_it_is_wanted() {
    let mut machine = ManualMachine::server();
    let wire = [ping(0, b"12345678"), get(1), ping(0, b"87654321")].concat();
    let first = machine.connection.receive(machine.now, &wire, false);
    assert_eq!((first.event, first.consumed), (Event::Paused, 17));
    let again = machine.connection.receive(machine.now, &wire[17..], false);
    assert_eq!((again.event, again.consumed), (Event::Paused, 0));
    let wanted = machine.connection.receive(machine.now, &wire[17..], true);
    assert!(matches!(wanted.event, Event::Request { .. }));
    assert_eq!(machine.sent(), ["PING ACK 12345678"]);
    // Trailers open no stream, and are read.
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    let trailers = headers(1, flag::WHOLE, &[("x", "y")]);
    let ended = machine.connection.receive(machine.now, &trailers, false);
    assert_eq!(ended.event, Event::Trailers { key });
}

/// The "continuation flood" of 2024: a field block that does not end is bounded in frames and in bytes, and
/// no more than it is held in memory.
#[test]
fn a_field_block_does_not_go_on_for_ever() {
    for (size, most) in [(0, 8), (1, 8), (100, 8), (4_096, 64), (16_384, 17)] {
        let mut machine = ManualMachine::server();
        machine.feed(&frame(kind::HEADERS, 0, 1, b""));
        let piece = continuation(1, 0, &vec![0x82; size]);
        let mut count = 0;
        while !machine.connection.is_closed() {
            assert!(machine.connection.is_within_head());
            machine.feed(&piece);
            count += 1;
            assert!(
                machine.connection.heap_bytes() < 2 * 4 * machine.limits.head_bytes_max + HEAP_MAX
            );
        }
        assert_eq!(machine.connection.fault(), Some(Fault::BlockTooLarge));
        assert!(count <= most + 8, "{size}: {count}");
        assert!(machine.connection.heap_bytes() < HEAP_MAX, "it is gone");
    }
}

/// CVE-2016-6581, the HPACK bomb: the size of a head is counted while it is decoded, and no more than the
/// limit is held.
#[test]
fn a_small_block_does_not_become_a_large_head() {
    // A field of 4,000 bytes is inserted into the table, and repeated by its index, in a byte each time.
    let mut insert = b"\x82\x87\x84\x01\x01a\x40\x01x".to_vec();
    insert.extend([127, 0xa1, 0x1e]);
    insert.extend([b'y'; 4_000]);
    let bomb = |stream, count| {
        let block = [&b"\x82\x87\x84\x01\x01a"[..], &vec![0xbe; count]].concat();
        frame(kind::HEADERS, flag::WHOLE, stream, &block)
    };
    let mut machine = ManualMachine::server();
    machine.read_request(&frame(kind::HEADERS, flag::WHOLE, 1, &insert));
    let within = machine.read_request(&bomb(3, 15));
    assert!(machine.connection.is_open(within));
    machine.sent();
    for stream in (5..45).step_by(2) {
        assert_eq!(machine.feed(&bomb(stream, 60)), []);
        let answer = format!("HEADERS {stream} END_STREAM :status=431 content-length=0");
        assert_eq!(machine.sent(), [answer]);
        assert!(machine.connection.heap_bytes() < 2 * machine.limits.head_bytes_max + HEAP_MAX);
    }
    assert_eq!(machine.feed(&bomb(101, 16_000)), [Event::Closed]);
    assert_eq!(machine.connection.fault(), Some(Fault::BlockTooLarge));
    // Short lines of a byte each are counted too, at 32 bytes each.
    let mut machine = ManualMachine::server();
    let lines = frame(kind::HEADERS, flag::WHOLE, 1, &[0x90; 16_384]);
    assert_eq!(machine.feed(&lines), [Event::Closed]);
    assert_eq!(machine.connection.fault(), Some(Fault::BlockTooLarge));
}

/// Content in frames of one byte, whose number flow control bounds: none of it is held, and opening the
/// windows again takes two frames for each half of a window.
#[test]
fn content_in_small_pieces_costs_what_it_brings() {
    for (piece, len) in [(data(1, 0, b"x"), 1), (data(1, flag::PADDED, &[254; 256]), 256)] {
        let mut machine = ManualMachine::server();
        let key = machine.read_request(&post(1));
        let before = machine.connection.heap_bytes();
        let mut sent = 0;
        for n in 1..=200_000 / len {
            let events = machine.feed(&piece);
            assert_eq!(events.len(), 1, "{n}");
            machine.connection.consumed(key, 1);
            sent += machine.sent().len();
        }
        assert!(sent <= 200_000 / 32_767 + 1, "{sent}");
        assert!(machine.connection.heap_bytes() <= before + 1_024);
        assert!(!machine.connection.is_closed());
    }
    // If it is not consumed, it ends with the window.
    let mut machine = ManualMachine::server();
    machine.read_request(&post(1));
    let one = data(1, 0, b"x");
    (0..65_535).for_each(|_| assert_eq!(machine.feed(&one).len(), 1));
    assert!(matches!(machine.feed(&one)[..], [Event::Reset { .. }]));
    assert_eq!(machine.sent(), ["RST_STREAM 1 FLOW_CONTROL_ERROR"]);
}

/// CVE-2019-9511, CVE-2019-9517: a peer that opens its windows by a few bytes makes us send little at a
/// time, and its budget pays for that. The machine holds none of the content that is to be sent.
#[test]
fn a_window_opened_by_crumbs_is_paid_for() {
    for crumb in [1, 10, 255] {
        let mut machine = ManualMachine::server();
        machine.feed(&settings(&[(4, 0)]));
        let key = machine.read_request(&get(1));
        machine.respond(key, BodySize::Unknown);
        machine.connection.want_to_send(key, true);
        machine.sent();
        let mut sent = 0;
        while !machine.connection.is_closed() {
            assert_eq!(machine.connection.next_to_send(), None);
            machine.feed(&window_update(1, crumb));
            if let Some((key, room)) = machine.connection.next_to_send() {
                assert_eq!(room, (crumb as usize).min(room));
                sent += machine.send(key, room);
            }
            assert!(sent <= 10_001 * crumb as usize);
            machine.sent();
        }
        assert_eq!(machine.connection.fault(), Some(Fault::TooMuchOverhead), "{crumb}");
    }
    // As many streams as are allowed, none of which can send.
    let mut machine = ManualMachine::server();
    machine.feed(&settings(&[(4, 0)]));
    for stream in (1..200).step_by(2) {
        let key = machine.read_request(&get(stream));
        machine.respond(key, BodySize::Unknown);
        machine.connection.want_to_send(key, true);
    }
    assert_eq!(machine.connection.next_to_send(), None);
    assert!(machine.connection.heap_bytes() < HEAP_MAX);
    let keys: Vec<_> = machine.connection.keys().collect();
    keys.into_iter().for_each(|key| machine.connection.reset(key, ErrorCode::CANCEL));
    assert_eq!(machine.connection.streams(), 0);
}

/// Floods of a server at a client.
#[test]
fn a_client_is_not_flooded_either() {
    let mut machine = ManualMachine::client();
    machine.get();
    let (count, fault) = flood(&mut machine, 20_000, &|_| settings(&[(3, 5)]));
    assert_eq!((count, fault), (10_001, Some(Fault::TooMuchOverhead)));
    // The server can reset no more streams than the client has opened.
    let mut machine = ManualMachine::client();
    for n in 0..2_000 {
        machine.get();
        assert_eq!(machine.feed(&rst_stream(nth_stream(n), 7)).len(), 1);
        machine.out.clear();
    }
    assert!(!machine.connection.is_closed());
}

/// A request that is refused early keeps no memory, however many there are.
#[test]
fn a_refused_stream_keeps_no_memory() {
    let mut machine = ManualMachine::server_within(|limits| {
        limits.http2.resets.burst = u32::MAX;
        limits.head_bytes_max = 5_000;
    });
    let large = "x".repeat(10_000);
    for n in 0..5_000 {
        machine.feed(&headers(nth_stream(n), flag::END_HEADERS, &with(GET, &[("x", &large)])));
        assert_eq!(machine.sent().len(), 2);
        assert!(machine.connection.heap_bytes() < HEAP_MAX);
    }
    assert_eq!(machine.connection.streams(), 0);
    // The encoder's table is bounded, however many different fields are sent.
    let mut machine = ManualMachine::server();
    for n in 0..3_000 {
        let key = machine.read_request(&get(nth_stream(n)));
        let text = format!("text/{n}");
        let parts =
            ResponseParts { content_type: Some(&text), ..ResponseParts::new(StatusCode::OK) };
        machine.connection.respond(key, &parts, BodySize::Exact(0), &mut machine.out).unwrap();
        machine.out.clear();
    }
    assert!(machine.connection.heap_bytes() < HEAP_MAX);
}
