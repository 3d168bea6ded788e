//! §6.5 SETTINGS, with what RFC 8441 §3 and RFC 9218 §2.1 add.

use std::time::Duration;

use http::Method;
use stoop_proto::BodySize;
use stoop_proto::h2::{Event, Fault, Settings};
use stoop_test::feed::h2::{EndpointEvent, client, server};
use stoop_test::frames::{frame, settings, settings_ack};

use super::kit::{ManualMachine, breaks, get, ignores};

/// The peer's settings, as the machine has them after a SETTINGS frame.
fn settings_after(machine: &mut ManualMachine, values: &[(u16, u32)]) -> Settings {
    assert_eq!(machine.feed(&settings(values)), [Event::Settings]);
    *machine.connection.peer_settings()
}

/// §6.5.1: each parameter has an identifier of 16 bits and a value of 32 bits, byte for byte.
#[test]
fn settings_are_pairs_of_identifier_and_value() {
    let wire = b"\x00\x00\x0c\x04\x00\x00\x00\x00\x00\
                 \x00\x03\x00\x00\x00\x07\x00\x04\x7f\xff\xff\xff";
    let mut machine = ManualMachine::client();
    assert_eq!(machine.feed(wire), [Event::Settings]);
    let settings = machine.connection.peer_settings();
    assert_eq!((settings.streams_max, settings.initial_window_bytes), (7, 0x7fff_ffff));
    assert_eq!(machine.sent(), ["SETTINGS ACK"]);
    assert_eq!(server().feed(wire).events, [EndpointEvent::Settings]);
}

/// §6.5.2: each parameter with its least and largest value, and values beyond.
#[test]
fn each_value_has_its_range() {
    let most = u32::MAX;
    let cases: &[(u16, &[u32], &[u32], Fault)] = &[
        (0x1, &[0, 1, 4_096, most], &[], Fault::Setting),
        (0x3, &[0, 1, 100, most], &[], Fault::Setting),
        (0x4, &[0, 1, 65_535, 0x7fff_ffff], &[0x8000_0000, most], Fault::InitialWindow),
        (0x5, &[16_384, 16_385, 0xff_ffff], &[0, 1, 16_383, 0x100_0000, most], Fault::Setting),
        (0x6, &[0, 1, most], &[], Fault::Setting),
        (0x8, &[0, 1], &[2, most], Fault::Setting),
        // Values beyond those that matter to us.
        (0x0, &[0, most], &[], Fault::Setting),
        (0x7, &[0, most], &[], Fault::Setting),
        (0xa, &[0, most], &[], Fault::Setting),
        (0xffff, &[0, most], &[], Fault::Setting),
    ];
    for &(id, right, wrong, fault) in cases {
        for endpoint in [server(), client()] {
            for &value in right {
                let outcome = endpoint.feed(&settings(&[(id, value)]));
                assert_eq!(outcome.sent, ["SETTINGS ACK"], "{id} {value}");
            }
            for &value in wrong {
                breaks(&endpoint, &settings(&[(id, value)]), fault);
            }
        }
    }
    // §6.5.2: a server's is 0, a client's may be either.
    for (value, fits, fits_server) in [(0, true, true), (1, true, false), (2, false, false)] {
        let wire = settings(&[(0x2, value)]);
        assert_eq!(server().feed(&wire).fault, (!fits).then_some(Fault::Setting));
        assert_eq!(client().feed(&wire).fault, (!fits_server).then_some(Fault::Setting));
    }
}

/// RFC 8441 §3: "a sender MUST NOT send a SETTINGS_ENABLE_CONNECT_PROTOCOL parameter with the value of 0
/// after previously sending a value of 1."
#[test]
fn extended_connect_is_not_taken_back() {
    let wire = [settings(&[(8, 1)]), settings(&[(8, 1)])].concat();
    assert_eq!(client().feed(&wire).fault, None);
    breaks(&client(), &[wire, settings(&[(8, 0)])].concat(), Fault::Setting);
    breaks(&client(), &settings(&[(8, 1), (8, 0)]), Fault::Setting);
}

/// RFC 9218 §2.1: "The value MUST be 0 or 1", and "A sender MUST NOT change the
/// SETTINGS_NO_RFC7540_PRIORITIES parameter value after the first SETTINGS frame […] Detection of a
/// change by a receiver MUST be treated as a connection error of type PROTOCOL_ERROR."
#[test]
fn no_rfc7540_priorities_is_not_changed() {
    let first = |value| [&preface()[..], &settings(&[(9, value)])].concat();
    let endpoint = server().from_first_byte();
    for value in [0, 1] {
        let again = [first(value), settings(&[(9, value), (3, 1)])].concat();
        assert_eq!(endpoint.feed(&again).fault, None);
        breaks(&endpoint, &[first(value), settings(&[(9, 1 - value)])].concat(), Fault::Setting);
    }
    breaks(&endpoint, &first(2), Fault::Setting);
    breaks(&server(), &settings(&[(9, 1)]), Fault::Setting);
    ignores(&server(), &frame(0xfe, 0, 0, b""));
}

fn preface() -> Vec<u8> {
    stoop_test::frames::PREFACE.to_vec()
}

/// §6.5.3: "The values in the SETTINGS frame MUST be processed in the order they appear, with no other
/// frame processing between values."
#[test]
fn the_last_of_equal_parameters_counts() {
    let mut machine = ManualMachine::client();
    assert_eq!(
        settings_after(&mut machine, &[(3, 7), (4, 1), (3, 9), (0x77, 5), (4, 2)]).streams_max,
        9
    );
    assert_eq!(machine.connection.peer_settings().initial_window_bytes, 2);
    // A parameter that is not in the frame stays as it was.
    assert_eq!(settings_after(&mut machine, &[(5, 20_000)]).streams_max, 9);
    breaks(&client(), &settings(&[(4, 0x8000_0000), (4, 1)]), Fault::InitialWindow);
}

/// §6.5.3: "the recipient MUST immediately emit a SETTINGS frame with the ACK flag set."
#[test]
fn each_settings_frame_is_acknowledged() {
    let wire = [settings(&[(3, 1)]), get(1), settings(&[]), settings(&[(3, 2)])].concat();
    let sent = server().feed(&wire).sent;
    let answer = "HEADERS 1 END_STREAM :status=200 content-length=0";
    assert_eq!(sent, ["SETTINGS ACK", answer, "SETTINGS ACK", "SETTINGS ACK"]);
    ignores(&server(), &settings_ack());
    assert!(ManualMachine::server().sent().is_empty(), "an acknowledgement is not answered");
}

/// §6.5.3: "If the sender of a SETTINGS frame does not receive an acknowledgment within a reasonable
/// amount of time, it MAY issue a connection error (Section 5.4.1) of type SETTINGS_TIMEOUT."
#[test]
fn our_settings_are_acknowledged_in_time() {
    let limits = stoop_proto::Limits::server();
    let wait = limits.http2.settings_timeout;
    let waiting = || {
        let mut machine =
            ManualMachine::new(stoop_proto::h2::Connection::server(limits.clone()), limits.clone());
        assert_eq!(machine.connection.next_timeout(), None, "SETTINGS have not been sent");
        machine.sent();
        machine
    };
    let mut machine = waiting();
    assert_eq!(machine.connection.next_timeout(), Some(machine.now + wait));
    machine.advance(wait - Duration::from_millis(1));
    assert!(!machine.connection.is_closed());
    machine.advance(Duration::from_millis(1));
    assert_eq!(machine.connection.fault(), Some(Fault::SettingsIgnored));
    assert_eq!(
        machine.sent(),
        ["GOAWAY 0 SETTINGS_TIMEOUT: SETTINGS were not acknowledged in time"]
    );
    assert_eq!(machine.connection.next_timeout(), None);

    let mut machine = waiting();
    machine.feed(&[&preface()[..], &settings(&[]), &settings_ack()].concat());
    assert_eq!(machine.connection.next_timeout(), None);
    machine.advance(2 * wait);
    assert!(!machine.connection.is_closed());
}

/// §6.9.2: "When the value of SETTINGS_INITIAL_WINDOW_SIZE changes, a receiver MUST adjust the size of
/// all stream flow-control windows that it maintains by the difference between the new value and the old
/// value."
#[test]
fn a_new_initial_window_shifts_all_windows() {
    let mut machine = ManualMachine::server();
    let (first, second) = (machine.read_request(&get(1)), machine.read_request(&get(3)));
    machine.respond(first, BodySize::Unknown);
    machine.respond(second, BodySize::Unknown);
    assert_eq!(machine.send(first, 40_000), 40_000);
    machine.feed(&settings(&[(4, 50_000)]));
    assert_eq!(machine.send(first, 40_000), 10_000);
    machine.feed(&settings(&[(4, 60_000)]));
    assert_eq!(machine.send(first, 40_000), 10_000);
    // "it can become negative", and then has to become positive again.
    machine.feed(&settings(&[(4, 20_000)]));
    assert_eq!(
        (machine.connection.sendable(first), machine.connection.sendable(second)),
        (0, 5_535)
    );
    machine.feed(&stoop_test::frames::window_update(0, 1_000_000));
    machine.feed(&stoop_test::frames::window_update(1, 40_000));
    assert_eq!(machine.connection.sendable(first), 0);
    machine.feed(&stoop_test::frames::window_update(1, 1));
    assert_eq!(machine.connection.sendable(first), 1);
    // A stream that is opened later begins with the new size.
    let third = machine.read_request(&get(5));
    machine.respond(third, BodySize::Unknown);
    assert_eq!(machine.send(third, 100_000), 20_000);
}

/// §6.9.2: "An endpoint MUST treat a change to SETTINGS_INITIAL_WINDOW_SIZE that causes any flow-control
/// window to exceed the maximum size as a connection error (Section 5.4.1) of type FLOW_CONTROL_ERROR."
#[test]
fn no_window_may_become_too_large_by_settings() {
    use stoop_test::frames::window_update;
    let endpoint = server().never_answering();
    for (grown, size, fault) in [
        (1, 0x7fff_ffff, Some(Fault::InitialWindow)),
        (1, 0x7fff_fffe, None),
        (0x7fff_ffff - 65_535, 65_536, Some(Fault::InitialWindow)),
        (0x7fff_ffff - 65_535, 65_535, None),
        (0x7fff_ffff - 65_535, 0, None),
    ] {
        let wire = [get(1), window_update(1, grown), settings(&[(4, size)])].concat();
        assert_eq!(endpoint.feed(&wire).fault, fault, "{grown} {size}");
    }
    // The connection's window is not changed: "WINDOW_UPDATE frames" alone change it.
    let wire = [window_update(0, 0x7fff_ffff - 65_535), settings(&[(4, 0x7fff_ffff)])].concat();
    assert_eq!(endpoint.feed(&wire).fault, None);
}

/// RFC 7541 §4.2: "the smallest maximum table size that occurs in that interval MUST be signaled in a
/// dynamic table size update", be it between two SETTINGS or within one.
#[test]
fn a_table_that_was_small_for_a_moment_is_emptied() {
    for changes in
        [settings(&[(1, 0), (1, 4_096)]), [settings(&[(1, 0)]), settings(&[(1, 4_096)])].concat()]
    {
        let mut machine = ManualMachine::client();
        let mut head = super::kit::request(Method::GET);
        head.fields_mut().push("x-repeated", b"value").unwrap();
        let written = |machine: &mut ManualMachine| {
            let size = BodySize::Exact(0);
            machine.connection.open(&head, "https", size, &mut machine.out).unwrap();
            std::mem::take(&mut machine.out)
        };
        let (first, second) = (written(&mut machine), written(&mut machine));
        assert!(second.len() < first.len(), "its lines are in the table");
        machine.feed(&changes);
        machine.connection.transmit(machine.now, &mut machine.out);
        machine.out.clear();
        let third = written(&mut machine);
        assert_eq!(third[9..13], [0x20, 0x3f, 0xe1, 0x1f], "to 0, and to 4,096");
        assert_eq!(third.len(), first.len() + 4);
    }
}

/// §10.5: "An endpoint that doesn't monitor use of these features exposes itself to a risk of denial of
/// service." The number of parameters in one frame is limited, at N and at N + 1.
#[test]
fn one_frame_has_a_bounded_number_of_settings() {
    for (count, fault) in [(32, None), (33, Some(Fault::TooManySettings)), (2_730, None)] {
        let fault = fault.or((count > 33).then_some(Fault::TooManySettings));
        let wire = settings(&vec![(0x3, 5); count]);
        assert_eq!(server().feed_whole(&wire).fault, fault, "{count}");
    }
}
