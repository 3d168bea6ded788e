//! §10.5 for legitimate peers: their heavy use never exceeds a budget. The clock stands still, so that
//! budgets do not grow with time.

use std::time::Duration;

use bytes::Bytes;
use http::Method;
use stoop_proto::h2::{Connection, ErrorCode, Event};
use stoop_proto::{BodySize, Limits, Sink};
use stoop_test::frames::{
    data, flag, headers, ping, priority, priority_update, rst_stream, settings, window_update,
};

use super::kit::{GET, ManualMachine, OK, get, ok, post, with};

/// A sink that counts the bytes that are written.
#[derive(Default)]
struct CountingSink(u64);

impl Sink for CountingSink {
    fn put(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }

    fn share(&mut self, bytes: Bytes) {
        self.0 += bytes.len() as u64;
    }
}

/// A hundred thousand requests, a hundred at a time, with a window update and a new priority for each.
#[test]
fn a_hundred_thousand_requests_trip_no_budget() {
    let mut machine = ManualMachine::server();
    let mut next = 1;
    for _ in 0..1_000 {
        let mut wire = Vec::new();
        for stream in (next..).step_by(2).take(100) {
            wire.extend(priority_update(stream, "u=2, i"));
            wire.extend(get(stream));
            wire.extend(window_update(stream, 1_000_000));
        }
        next += 200;
        let events = machine.feed(&wire);
        assert_eq!(events.len(), 100, "{:?}", machine.connection.fault());
        for event in events {
            let Event::Request { key, end: true } = event else { panic!("{event:?}") };
            assert!(!machine.respond(key, BodySize::Exact(0)));
        }
        machine.out.clear();
        assert_eq!(machine.connection.streams(), 0);
    }
    assert!(!machine.connection.is_closed());
}

/// Requests between our client and our server, with content each way, of which the client gives up one in
/// ten.
#[test]
fn our_client_and_our_server_trip_no_budget_of_each_other() {
    let limits = (Limits::client(), Limits::server());
    let mut client = ManualMachine::new(Connection::client(limits.0.clone()), limits.0);
    let mut server = ManualMachine::new(Connection::server(limits.1.clone()), limits.1);
    exchange(&mut client, &mut server);
    for n in 0..5_000 {
        let keys: Vec<_> =
            (0..10).map(|_| client.open(Method::POST, BodySize::Exact(100)).unwrap()).collect();
        let (given_up, others) = keys.split_first().expect("there are ten");
        for &key in others {
            client.connection.data(key, vec![b'x'; 100].into(), true, &mut client.out).unwrap();
        }
        client.connection.reset(*given_up, ErrorCode::CANCEL);
        exchange(&mut client, &mut server);
        assert_eq!(client.connection.streams() + server.connection.streams(), 0, "{n}");
    }
    for machine in [&client, &server] {
        assert!(!machine.connection.is_closed() && machine.connection.unread() == 0);
    }
}

/// Delivers the frames of both peers until neither sends any; the server answers with 100 bytes.
fn exchange(client: &mut ManualMachine, server: &mut ManualMachine) {
    loop {
        for machine in [&mut *client, &mut *server] {
            machine.connection.transmit(machine.now, &mut machine.out);
        }
        let (forth, back) = (std::mem::take(&mut client.out), std::mem::take(&mut server.out));
        if forth.is_empty() && back.is_empty() {
            return;
        }
        for event in server.feed(&forth) {
            if let Event::Data { key, end: true, .. } = event {
                server.connection.consumed(key, 100);
                server.respond(key, BodySize::Unknown);
                assert_eq!(server.send(key, 100), 100);
                server.connection.finish(key, None, &mut server.out).unwrap();
            }
        }
        for event in client.feed(&back) {
            if let Event::Data { span, .. } = event {
                client.connection.consumed_after_end(span.len() as u32);
            }
        }
    }
}

/// A GiB to a client that opens both windows after each 4 KiB.
#[test]
fn a_gibibyte_with_a_window_update_for_each_4_kib_trips_no_budget() {
    const PIECE: usize = 4_096;
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    machine.respond(key, BodySize::Exact(1 << 30));
    let content = Bytes::from_static(&[b'x'; PIECE]);
    let updates = [window_update(0, PIECE as u32), window_update(1, PIECE as u32)].concat();
    let mut out = CountingSink::default();
    for n in 0..(1 << 30) / PIECE {
        let end = n == (1 << 30) / PIECE - 1;
        machine.connection.data(key, content.clone(), end, &mut out).unwrap();
        assert_eq!(machine.feed(&updates), [], "{:?}", machine.connection.fault());
    }
    assert_eq!((out.0, machine.connection.streams()), ((1 << 30) + 9 * (1 << 18), 0));
}

/// A GiB from a client whose server opens windows by halves.
#[test]
fn a_gibibyte_to_a_server_trips_no_budget() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&post(1));
    let frame = data(1, 0, &[b'x'; 16_384]);
    for _ in 0..1 << 16 {
        assert_eq!(machine.feed(&frame).len(), 1, "{:?}", machine.connection.fault());
        machine.connection.consumed(key, 16_384);
        machine.connection.transmit(machine.now, &mut CountingSink::default());
    }
    assert_eq!(machine.connection.unread(), 0);
}

/// Streams of small messages in a frame each, as of RPC and events: with answers or without, ended or not.
#[test]
fn small_messages_in_frames_of_their_own_trip_no_budget() {
    for len in [1, 5, 20, 100, 255] {
        let message = data(1, 0, &vec![b'x'; len]);
        // Messages of a client, without answers.
        let mut machine = ManualMachine::server();
        let key = machine.read_request(&post(1));
        for n in 0..20_000 {
            assert_eq!(machine.feed(&message).len(), 1, "{n} of {len}");
            machine.connection.consumed(key, len as u32);
        }
        // Messages with answers as small, whose reader opens both windows for each.
        machine.respond(key, BodySize::Unknown);
        let update = |stream| window_update(stream, len as u32);
        for n in 0..20_000 {
            assert_eq!(machine.feed(&message).len(), 1, "{n} of {len}");
            machine.connection.consumed(key, len as u32);
            assert_eq!(machine.send(key, len), len);
            assert_eq!(machine.feed(&[update(0), update(1)].concat()), [], "{n} of {len}");
            machine.out.clear();
        }
        // Messages of a server, to a client that consumes each at once.
        let mut machine = ManualMachine::client();
        let key = machine.get();
        machine.feed(&ok(1));
        for n in 0..20_000 {
            assert_eq!(machine.feed(&message).len(), 1, "{n} of {len}");
            machine.connection.consumed(key, len as u32);
        }
        assert!(!machine.connection.is_closed());
    }
}

/// Messages that are not read for a while fill the window, and are no flood.
#[test]
fn small_messages_to_a_slow_reader_trip_no_budget() {
    let mut machine = ManualMachine::server();
    for stream in (1..30).step_by(2) {
        machine.read_request(&post(stream));
        let message = data(stream, 0, b"twenty bytes of text");
        (0..65_535 / 20).for_each(|_| assert_eq!(machine.feed(&message).len(), 1));
    }
    assert!(!machine.connection.is_closed());
    let keys: Vec<_> = machine.connection.keys().collect();
    keys.into_iter().for_each(|key| machine.connection.consumed(key, 65_520));
    assert_eq!(machine.connection.unread(), 0);
}

/// All uploads are refused early: the content on its way is no fault.
#[test]
fn uploads_that_are_refused_trip_no_budget() {
    let mut machine = ManualMachine::server();
    for stream in (1..20_000).step_by(2) {
        let key = machine.read_request(&post(stream));
        machine.respond(key, BodySize::Exact(0));
        machine.connection.reset(key, ErrorCode::NO_ERROR);
        let late = data(stream, 0, &[b'x'; 16_000]).repeat(4);
        assert_eq!(machine.feed(&[late, data(stream, flag::END_STREAM, b"x")].concat()), []);
        machine.out.clear();
    }
    assert_eq!((machine.connection.fault(), machine.connection.unread()), (None, 0));
}

/// Frames of browsers beside their requests: groups of RFC 7540's priorities, a larger window, a PING now
/// and then, and empty frames.
#[test]
fn the_extra_frames_of_browsers_trip_no_budget() {
    let mut machine = ManualMachine::server();
    machine.feed(&window_update(0, 12_517_377));
    for stream in [3, 5, 7, 9, 11] {
        machine.feed(&priority(stream, 0));
    }
    for stream in (13..40_000).step_by(2) {
        let fields = with(GET, &[("priority", "u=1, i"), ("cookie", "a=b"), ("te", "trailers")]);
        let key = machine.read_request(&headers(stream, flag::END_HEADERS, &fields));
        machine.feed(&[data(stream, 0, b""), data(stream, flag::END_STREAM, b"")].concat());
        machine.feed(&[priority(stream, 3), priority_update(stream, "u=2")].concat());
        machine.respond(key, BodySize::Exact(0));
        machine.feed(&[ping(0, b"12345678"), window_update(stream, 5)].concat());
        machine.feed(&rst_stream(stream, 0));
        machine.out.clear();
    }
    assert_eq!(machine.connection.fault(), None);
}

/// A connection that is kept for a day with a PING a second, and one without requests on which SETTINGS
/// change.
#[test]
fn a_day_of_pings_trips_no_budget() {
    let mut machine = ManualMachine::server();
    for n in 0..24 * 3_600 {
        let wire = if n % 60 == 0 { settings(&[(3, n)]) } else { ping(0, b"12345678") };
        machine.feed(&wire);
        machine.sent();
        machine.advance(Duration::from_secs(1));
    }
    assert!(!machine.connection.is_closed());
}

/// A client reads one response and gives up the next, over and over.
#[test]
fn a_client_that_gives_up_half_of_its_requests_trips_no_budget() {
    let mut machine = ManualMachine::client();
    for n in 0..10_000 {
        let stream = 4 * n + 1;
        let (given_up, read) = (machine.get(), machine.get());
        machine.connection.reset(given_up, ErrorCode::CANCEL);
        let late = [ok(stream), data(stream, 0, &[b'x'; 1_000]), rst_stream(stream, 0)].concat();
        assert_eq!(machine.feed(&late), []);
        let answer = headers(stream + 2, flag::WHOLE, OK);
        assert_eq!(machine.feed(&answer), [Event::Response { key: read, end: true }]);
        machine.out.clear();
    }
    assert_eq!((machine.connection.fault(), machine.connection.unread()), (None, 0));
}

/// A server may refuse every request, for any time.
#[test]
fn a_server_that_refuses_everything_trips_no_budget() {
    let mut machine = ManualMachine::client();
    for stream in (1..20_000).step_by(2) {
        machine.get();
        assert_eq!(machine.feed(&rst_stream(stream, 7)).len(), 1);
        machine.out.clear();
    }
    assert_eq!(machine.connection.fault(), None);
}
