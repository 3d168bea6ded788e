//! §5.4 Error Handling: every fault of a peer, what follows from it, and one way to cause it.

use std::fmt::Write as _;

use http::Method;
use stoop_proto::BodySize;
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault};
use stoop_test::feed::h2::{EndpointSetup, client, client_after_get, server};
use stoop_test::frames::{
    PREFACE, block, continuation, data, flag, frame, go_away, headers, kind, ping, priority,
    priority_update, rst_stream, settings, window_update,
};
use stoop_test::golden::golden;

use super::kit::{GET, ManualMachine, OK, POST, get, ok, post, post_of, with};

/// Each fault, as a text that is checked in.
#[test]
fn every_fault_is_in_the_golden_file() {
    let mut table = String::new();
    for fault in Fault::all() {
        let scope = if fault.ends_connection() { "connection" } else { "stream" };
        writeln!(table, "{fault:?}\n    {scope} {}\n    {fault}", fault.code()).unwrap();
    }
    golden("h2/faults.txt", &table);
}

/// §7: each error code, as a text that is checked in.
#[test]
fn every_error_code_is_in_the_golden_file() {
    let mut table = String::new();
    for code in 0..15 {
        let code = ErrorCode(code);
        writeln!(table, "{:#04x} {code} {:?}", code.0, code.name()).unwrap();
    }
    golden("h2/codes.txt", &table);
}

/// A way to cause a fault: an endpoint, and the bytes to feed it.
fn cause(fault: Fault) -> (EndpointSetup, Vec<u8>) {
    let request = |more| headers(1, flag::WHOLE, &with(GET, more));
    let bare = |fields| headers(1, flag::WHOLE, fields);
    let one = || server().never_answering().within(|limits| limits.http2.streams_max = 1);
    let largest = (1 << 31) - 1;
    match fault {
        Fault::Preface => (server().from_first_byte(), b"GET / HTTP/1.1\r\n\r\n".to_vec()),
        Fault::NoSettings => (client().from_first_byte(), ping(0, b"12345678")),
        Fault::FrameTooLarge => (server(), vec![0, 0x40, 1, 0, 0, 0, 0, 0, 1]),
        Fault::FrameSize => (server(), frame(kind::PING, 0, 0, b"")),
        Fault::OnConnection => (server(), data(0, 0, b"")),
        Fault::OnStream => (server(), frame(kind::PING, 0, 1, &[0; 8])),
        Fault::Padding => (server(), [post(1), data(1, flag::PADDED, &[1])].concat()),
        Fault::Interleaved => (server(), [frame(kind::HEADERS, 0, 1, b""), get(3)].concat()),
        Fault::Continuation => (server(), continuation(1, 0, b"")),
        Fault::Compression => (server(), frame(kind::HEADERS, flag::WHOLE, 1, b"\x80")),
        Fault::StreamIdle => (server(), data(1, 0, b"")),
        Fault::StreamId => (server(), get(2)),
        Fault::StreamEnded => (server(), [get(1), get(1)].concat()),
        Fault::Push => (client_after_get(), frame(kind::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2])),
        Fault::Setting => (server(), settings(&[(5, 0)])),
        Fault::InitialWindow => (server(), settings(&[(4, u32::MAX)])),
        Fault::WindowExceeded => (
            server().never_answering().not_consuming().within(|limits| {
                limits.http2.connection_window_bytes = 65_535;
                limits.http2.stream_window_bytes = 100_000;
            }),
            [post(1), data(1, 0, &[0; 16_384]).repeat(4)].concat(),
        ),
        Fault::LateContent => {
            (server(), [post(1), window_update(1, 0), data(1, 0, &[0; 16_384]).repeat(4)].concat())
        }
        Fault::WindowOverflow => (server(), window_update(0, largest)),
        Fault::WindowUnchanged => (server(), window_update(0, 0)),
        Fault::GoAway => (client(), [go_away(1, 0, ""), go_away(3, 0, "")].concat()),
        Fault::PriorityUpdate => (server(), priority_update(0, "")),
        Fault::BlockTooLarge => (
            server(),
            [frame(kind::HEADERS, 0, 1, b""), continuation(1, 0, b"").repeat(9)].concat(),
        ),
        Fault::TooManySettings => (server(), settings(&[(3, 1); 33])),
        Fault::TooManyResets => {
            let endpoint = server().within(|limits| limits.http2.resets.burst = 1);
            (endpoint, [post(1), rst_stream(1, 8), post(3), rst_stream(3, 8)].concat())
        }
        Fault::TooMuchOverhead => {
            let endpoint = server().within(|limits| limits.http2.overhead_frames.burst = 1);
            (endpoint, priority(1, 3).repeat(2))
        }
        Fault::FieldName => (server(), request(&[("X", "y")])),
        Fault::FieldValue => (server(), request(&[("x", "y\n")])),
        Fault::ConnectionField => (server(), request(&[("connection", "close")])),
        Fault::PseudoUnknown => (server(), request(&[(":x", "y")])),
        Fault::PseudoLate => (server(), request(&[("x", "y"), (":path", "/")])),
        Fault::PseudoRepeated => (server(), request(&[(":path", "/")])),
        Fault::PseudoMissing => (server(), bare(&[])),
        Fault::Method => (server(), bare(&[(":method", "G T")])),
        Fault::Scheme => (server(), bare(&[(":scheme", "")])),
        Fault::Path => (server(), bare(&[(":path", "")])),
        Fault::Authority => (server(), bare(&[(":authority", "")])),
        Fault::Connect => (server(), bare(&[(":method", "CONNECT"), (":path", "/")])),
        Fault::TunnelFields => {
            let endpoint = client().with_request(Method::CONNECT, BodySize::Unknown);
            (endpoint, [ok(1), bare(&[("x", "y")])].concat())
        }
        Fault::Status => (client_after_get(), bare(&[(":status", "20")])),
        Fault::Length => (server(), [post_of(1, "5"), data(1, 1, b"")].concat()),
        Fault::InterimEnds => (client_after_get(), bare(&[(":status", "100")])),
        Fault::TooManyInterim => {
            let endpoint = client_after_get().within(|limits| limits.interim_max = 0);
            (endpoint, headers(1, flag::END_HEADERS, &[(":status", "100")]))
        }
        Fault::HeadMissing => (client_after_get(), data(1, 0, b"")),
        Fault::TrailersOpen => (client_after_get(), [ok(1), headers(1, 4, &[("x", "y")])].concat()),
        Fault::HeadTooLarge => {
            let endpoint = client_after_get().within(|limits| limits.head_bytes_max = 41);
            (endpoint, headers(1, flag::WHOLE, OK))
        }
        Fault::BodyTooLarge => {
            let endpoint = client_after_get().within(|limits| limits.body_bytes_max = Some(1));
            (endpoint, [ok(1), data(1, 0, b"ab")].concat())
        }
        Fault::TooManyStreams => (one(), [get(1), get(3)].concat()),
        Fault::AfterEnd => (server().never_answering(), [get(1), data(1, 0, b"")].concat()),
        Fault::StreamWindowExceeded => (
            server().never_answering().not_consuming(),
            [post(1), data(1, 0, &[0; 16_384]).repeat(4)].concat(),
        ),
        Fault::StreamWindowOverflow => (client_after_get(), window_update(1, largest)),
        Fault::StreamWindowUnchanged => (client_after_get(), window_update(1, 0)),
        Fault::PrioritySize => (client_after_get(), frame(kind::PRIORITY, 0, 1, b"")),
        Fault::PrioritySelf => (client_after_get(), priority(1, 1)),
        // These are caused by frames that do not come: see `cause_by_silence`.
        Fault::SettingsIgnored | Fault::PingIgnored | Fault::CutShort => (server(), Vec::new()),
        other => panic!("{other:?} has no cause here"),
    }
}

/// A way to cause a fault by frames that do not come.
fn cause_by_silence(fault: Fault) -> ManualMachine {
    let limits = stoop_proto::Limits::server();
    let mut machine = ManualMachine::new(Connection::server(limits.clone()), limits.clone());
    machine.sent();
    match fault {
        Fault::SettingsIgnored => machine.advance(limits.http2.settings_timeout),
        Fault::PingIgnored => {
            machine.feed(&[PREFACE, &settings(&[]), &stoop_test::frames::settings_ack()].concat());
            machine.connection.ping(machine.now);
            machine.advance(limits.http2.ping_timeout);
        }
        Fault::CutShort => {
            let begun = frame(kind::HEADERS, 0, 1, &block(POST));
            assert_eq!(
                machine.feed(&[PREFACE, &settings(&[]), &begun].concat()),
                [Event::Settings]
            );
            machine.connection.receive_end();
        }
        other => panic!("{other:?} has no cause here"),
    }
    machine
}

/// Each fault is caused once: it is reported with its code, and ends its stream or the connection.
#[test]
fn every_fault_has_a_cause() {
    for fault in Fault::all() {
        let (endpoint, wire) = cause(fault);
        if wire.is_empty() {
            let machine = cause_by_silence(fault);
            assert_eq!((machine.connection.fault(), fault.ends_connection()), (Some(fault), true));
            continue;
        }
        let outcome =
            if wire.len() < 10_000 { endpoint.feed(&wire) } else { endpoint.feed_whole(&wire) };
        let code = fault.code();
        if fault.ends_connection() {
            assert_eq!(outcome.fault, Some(fault), "{outcome:?}");
            let ends = format!(" {code}: {}", fault.explain());
            assert!(outcome.last_sent().ends_with(&ends), "{fault:?}: {outcome:?}");
        } else {
            assert!(!outcome.is_closed, "{fault:?}: {outcome:?}");
            let line = format!(" {code}");
            let says = |sent: &String| sent.starts_with("RST_STREAM ") && sent.ends_with(&line);
            assert!(outcome.sent.iter().any(says), "{fault:?}: {outcome:?}");
        }
    }
}
