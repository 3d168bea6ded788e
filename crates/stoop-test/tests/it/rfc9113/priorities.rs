//! RFC 9218: the `priority` field, PRIORITY_UPDATE, and the order in which streams send.

use stoop_proto::BodySize;
use stoop_proto::h2::{Fault, Priority, StreamKey};
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{
    flag, frame, headers, kind, priority_update, rst_stream, settings, window_update,
};

use super::kit::{FieldLines, GET, ManualMachine, breaks, get, ignores, with};

/// §4: "The Priority HTTP header field […] is a Dictionary" of RFC 9651, and so is the payload of
/// PRIORITY_UPDATE.
#[test]
fn a_priority_is_a_dictionary() {
    for (text, urgency, incremental) in [
        ("", 3, false),
        ("u=0", 0, false),
        ("u=7", 7, false),
        ("i", 3, true),
        ("u=5, i", 5, true),
        ("i,u=5", 5, true),
        ("  u=1 ,\t i  ", 1, true),
        ("i=?0", 3, false),
        ("i=?1;a;b=2, u=2;c=\"d\"", 2, true),
        ("i;a=1", 3, true),
        ("u=01", 1, false),
        // Unknown parameters of any type are ignored.
        ("a, b=c, *d=1.5, e-f_g.h*=:aGk=:, u=1", 1, false),
        ("a=(\"u=0\" 1;x (2));y, u=1", 3, false),
        ("a=(\"u=0\" 1;x  t/y:z);y, u=1", 1, false),
        ("a=\"x, u=0, y\", u=1", 1, false),
        ("a=\"\\\"\\\\\", u=1", 1, false),
        ("a=@1659578233, b=%\"f%c3%bc\", u=1", 1, false),
        ("a=(), u=1", 1, false),
        // The last of equal parameters counts.
        ("u=1, u=4", 4, false),
        ("i, i=?0", 3, false),
    ] {
        let expected = Priority { urgency, incremental };
        assert_eq!(Priority::parse(text.as_bytes()), expected, "{text:?}");
    }
}

/// §4: "When receiving an HTTP request that does not carry these priority parameters, a server SHOULD act
/// as if their default values were specified": values out of range or of another type are ignored, and so
/// is what is no dictionary (RFC 9651 §4.2), as a whole.
#[test]
fn an_invalid_priority_stands_for_the_default() {
    let default = Priority { urgency: 3, incremental: false };
    for text in
        ["u=8", "u=-1", "u=1.0", "u=\"1\"", "u", "u=x", "u=?1", "u=(1)", "u=999999999999999"]
    {
        assert_eq!(Priority::parse(text.as_bytes()), default, "{text:?}");
        let and_i = format!("{text}, i");
        assert!(Priority::parse(and_i.as_bytes()).incremental, "{and_i:?}");
    }
    for text in ["i=1", "i=true", "i=\"\"", "i=?0"] {
        let and_u = format!("u=1, {text}");
        assert_eq!(Priority::parse(and_u.as_bytes()), Priority { urgency: 1, ..default });
    }
    assert_eq!(Priority::parse(b"u=1, u=x"), default, "the last of equals counts");
    for text in [
        "u=1,",
        "u=1,,i",
        ",u=1",
        "U=1",
        "u=1, I",
        "u=1 i",
        "u =1",
        "u= 1",
        "u=",
        "=1",
        "u=1, 9=2",
        "u=1;",
        "u=1; ;a",
        "u=1;A",
        "u=1, i=?2",
        "u=1, i=?",
        "u=1, a=\"",
        "u=1, a=\"\\n\"",
        "u=1\0",
        "u=1, a=(",
        "u=1, a=(1",
        "u=1, a=(1,2)",
        "u=1, a=:!:",
        "u=1, a=:aa",
        "u=1, a=1.",
        "u=1, a=-",
        "u=1, a=1.2345",
        "u=1, a=1234567890123456",
        "u=1, a=@1.5",
        "u=1, a=%\"\u{e4}\"",
        "u=1, a=%\"%C3\"",
        "u=1, a=\u{e4}",
        "u=1, \u{e4}=1",
        "u=1, a=(1)(2)",
        "u=1\n",
        "\tu=1",
    ] {
        assert_eq!(Priority::parse(text.as_bytes()), default, "{text:?}");
    }
}

/// A GET with further fields.
fn get_with(stream: u32, more: FieldLines<'_>) -> Vec<u8> {
    headers(stream, flag::WHOLE, &with(GET, more))
}

/// A server with responses that never end, on streams 1, 3, … of these priorities.
fn serving(priorities: &[&str]) -> (ManualMachine, Vec<StreamKey>) {
    let mut machine = ManualMachine::server();
    machine.feed(&[settings(&[(4, 1 << 30)]), window_update(0, 1 << 30)].concat());
    let keys = priorities.iter().zip((1..).step_by(2)).map(|(text, stream)| {
        let key = match *text {
            "-" => machine.read_request(&get(stream)),
            text => machine.read_request(&get_with(stream, &[("priority", text)])),
        };
        machine.respond(key, BodySize::Unknown);
        machine.connection.want_to_send(key, true);
        key
    });
    let keys = keys.collect();
    machine.sent();
    (machine, keys)
}

/// The streams of the next `count` turns, each of which sends a piece.
fn turns(machine: &mut ManualMachine, count: usize) -> Vec<u32> {
    let turn = |_| {
        let (key, room) = machine.connection.next_to_send().expect("a stream wants to send");
        assert!(room > 0);
        machine.send(key, room.min(1_000));
        machine.connection.stream_id(key).expect("it is open")
    };
    (0..count).map(turn).collect()
}

/// §10: "It is RECOMMENDED that, when possible, servers respect the urgency parameter, sending
/// higher-urgency responses before lower-urgency responses."
#[test]
fn more_urgent_responses_go_first() {
    let (mut machine, keys) = serving(&["u=5", "u=1", "u=3"]);
    assert_eq!(turns(&mut machine, 5), [3; 5]);
    machine.connection.want_to_send(keys[1], false);
    assert_eq!(turns(&mut machine, 2), [5, 5]);
    machine.connection.reset(keys[2], stoop_proto::h2::ErrorCode::CANCEL);
    assert_eq!(turns(&mut machine, 2), [1, 1]);
    machine.connection.want_to_send(keys[1], true);
    assert_eq!(turns(&mut machine, 2), [3, 3]);
}

/// §10: "For non-incremental responses of equal urgency […] the server could serve those by their stream
/// identifier"; "If multiple incremental resources have the same urgency, […] share the bandwidth".
#[test]
fn incremental_responses_share_and_others_go_one_by_one() {
    let (mut machine, keys) = serving(&["u=2", "u=2", "u=2"]);
    assert_eq!(turns(&mut machine, 4), [1; 4]);
    machine.connection.finish(keys[0], None, &mut machine.out).unwrap();
    assert_eq!(turns(&mut machine, 4), [3; 4]);
    let (mut machine, _) = serving(&["u=2, i", "u=2, i", "u=2, i"]);
    assert_eq!(turns(&mut machine, 6), [1, 3, 5, 1, 3, 5]);
    // Our default shares between clients that send no priority.
    let (mut machine, _) = serving(&["-", "-", "-"]);
    assert_eq!(turns(&mut machine, 6), [1, 3, 5, 1, 3, 5]);
}

/// §10: "servers […] avoid starvation": streams of any urgency go on.
#[test]
fn no_stream_starves() {
    let all = ["u=0", "u=1, i", "u=2", "u=3, i", "-", "u=4", "u=5", "u=6, i", "u=7"];
    let (mut machine, _) = serving(&all);
    let mut counts = [0; 9];
    for stream in turns(&mut machine, 3_000) {
        counts[(stream / 2) as usize] += 1;
    }
    assert!(counts.iter().all(|&count| count >= 40), "{counts:?}");
    assert!(counts[0] >= 1_500, "{counts:?}");
}

/// A stream without a head, a window or content has no turn, and holds up no other.
#[test]
fn only_a_stream_that_can_send_has_a_turn() {
    let (mut machine, keys) = serving(&["u=0", "u=3"]);
    let third = machine.read_request(&get_with(5, &[("priority", "u=0")]));
    machine.connection.want_to_send(third, true);
    machine.connection.want_to_send(keys[0], false);
    assert_eq!(turns(&mut machine, 2), [3, 3], "its response has not begun");
    machine.respond(third, BodySize::Unknown);
    assert_eq!(turns(&mut machine, 1), [5]);
    machine.feed(&settings(&[(4, 0)]));
    assert!(machine.connection.next_to_send().is_none());
    machine.feed(&settings(&[(4, 3_000)]));
    // Of the window's three pieces, stream 5 has sent one, and stream 3 two.
    assert_eq!(turns(&mut machine, 2), [5, 5]);
    assert_eq!(turns(&mut machine, 1), [3]);
    assert!(machine.connection.next_to_send().is_none());
}

/// §7.1: "A PRIORITY_UPDATE frame […] communicates a complete set of all priority parameters".
#[test]
fn a_priority_may_change() {
    let (mut machine, _) = serving(&["u=2, i", "u=2, i"]);
    assert_eq!(turns(&mut machine, 3), [1, 3, 1]);
    assert_eq!(machine.feed(&priority_update(3, "u=1")), []);
    assert_eq!(turns(&mut machine, 3), [3, 3, 3]);
    // "… and omitted parameters are those by default": i is.
    machine.feed(&[priority_update(1, "u=0"), priority_update(3, "u=0")].concat());
    assert_eq!(turns(&mut machine, 3), [1, 1, 1]);
    machine.feed(&priority_update(1, ""));
    assert_eq!(turns(&mut machine, 2), [3, 3]);
    assert_eq!(machine.feed(&priority_update(3, "this is none,")), []);
    // The frame, byte for byte.
    let wire = b"\x00\x00\x07\x10\x00\x00\x00\x00\x00\x00\x00\x00\x01u=0";
    assert_eq!(machine.feed(wire), []);
    assert_eq!(turns(&mut machine, 2), [1, 1]);
}

/// §7: "Servers SHOULD buffer the most recently received PRIORITY_UPDATE frame and apply it once the
/// referenced stream is opened." It counts for more than the request's field.
#[test]
fn a_priority_may_come_before_its_stream() {
    let mut machine = ManualMachine::server();
    machine.feed(&[priority_update(3, "u=7"), priority_update(5, "u=6")].concat());
    machine.feed(&[priority_update(3, "u=1"), priority_update(3, "u=0, i")].concat());
    for stream in [1, 3, 5] {
        let key = machine.read_request(&get_with(stream, &[("priority", "u=2")]));
        machine.respond(key, BodySize::Unknown);
        machine.connection.want_to_send(key, true);
    }
    assert_eq!(turns(&mut machine, 3), [3, 3, 3]);
    machine.feed(&rst_stream(3, 8));
    assert_eq!(turns(&mut machine, 3), [1, 1, 1]);
    // Several lines of the field count as one.
    let two = [("priority", "u=0"), ("priority", "i")];
    let mut machine = ManualMachine::server();
    for stream in [1, 3] {
        let key = machine.read_request(&get_with(stream, &two));
        machine.respond(key, BodySize::Unknown);
        machine.connection.want_to_send(key, true);
    }
    assert_eq!(turns(&mut machine, 4), [1, 3, 1, 3]);
}

/// §7: "The number of streams that have been prioritized but remain in the "idle" state plus the number of
/// active streams
/// […] MUST NOT exceed the value of the SETTINGS_MAX_CONCURRENT_STREAMS parameter. Servers that receive such a
/// PRIORITY_UPDATE MUST respond with a connection error of type PROTOCOL_ERROR." At N and at N + 1.
#[test]
fn the_number_of_streams_with_an_early_priority_is_bounded() {
    let endpoint = server().never_answering().within(|limits| limits.http2.streams_max = 3);
    let updates = |streams: &[u32]| -> Vec<u8> {
        streams.iter().flat_map(|&stream| priority_update(stream, "u=1")).collect()
    };
    ignores(&endpoint, &updates(&[1, 3, 5]));
    breaks(&endpoint, &updates(&[1, 3, 5, 7]), Fault::PriorityUpdate);
    ignores(&endpoint, &updates(&[1, 3, 5, 3, 5, 1]));
    let active = [get(1), get(3)].concat();
    assert_eq!(endpoint.feed(&[active.clone(), updates(&[5, 1, 3])].concat()).fault, None);
    breaks(&endpoint, &[active, updates(&[5, 7])].concat(), Fault::PriorityUpdate);
    // Streams that were passed over do not count any more.
    let passed = [updates(&[1, 3, 5]), get(7), updates(&[9, 11])].concat();
    assert_eq!(endpoint.feed(&passed).fault, None);
    let ended = [get(1), rst_stream(1, 8), updates(&[1, 1, 3, 5, 7])].concat();
    assert_eq!(endpoint.feed(&ended).fault, None, "one that has ended is nothing to tell of");
}

/// §7.1: "If a PRIORITY_UPDATE frame is received with a Prioritized Stream ID of 0x00, the recipient MUST
/// respond with a connection error of type PROTOCOL_ERROR"; "If a client receives a PRIORITY_UPDATE frame,
/// it MUST respond with a connection error of type PROTOCOL_ERROR."
#[test]
fn a_priority_update_names_a_request_stream() {
    for stream in [0, 2, 100, 0x8000_0000] {
        breaks(&server(), &priority_update(stream, "u=1"), Fault::PriorityUpdate);
    }
    breaks(&client_after_get(), &priority_update(1, "u=1"), Fault::PriorityUpdate);
    breaks(&server(), &frame(kind::PRIORITY_UPDATE, 0, 1, &[0; 4]), Fault::OnStream);
    breaks(&server(), &frame(kind::PRIORITY_UPDATE, 0, 0, &[0; 3]), Fault::FrameSize);
    ignores(&server(), &priority_update(0x8000_0001, "u=1"));
}
