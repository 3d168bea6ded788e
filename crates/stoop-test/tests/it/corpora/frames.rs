//! http2-frame-test-case: single frames with their meaning, and malformed ones with the error codes that they
//! may have. They are in `http2-frame-test-case.tar.gz` in the folder that `STOOP_TEST_DATA` names.
//!
//! A machine reports what follows from frames, so that payloads are checked here as far as they are reported.
//! Padding and the weights of RFC 7540 are not, and neither are the collection's dummy header blocks.

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use stoop_proto::Limits;
use stoop_proto::h2::{Connection, ErrorCode, Event, Fault, ResetReason, Settings};
use stoop_test::feed::h2::{
    EndpointEvent, EndpointOutcome, EndpointSetup, client, client_after_get, server,
};
use stoop_test::frames::{flag, frame, headers, kind, settings, split};

use super::json::JsonValue;
use super::{entries, skipped, unpacked};

/// How many cases the archive has, so that none is left out unnoticed.
const FRAMES: usize = 12;
const ERRORS: usize = 22;

/// A case of the collection: a frame, and what is said of it.
struct FrameCase {
    name: String,
    wire: Vec<u8>,
    json: JsonValue,
}

fn cases(test: &str) -> Option<Vec<FrameCase>> {
    let folder = unpacked("http2-frame-test-case").map_err(|reason| skipped(test, &reason)).ok()?;
    let folders =
        entries(&folder.join("http2-frame-test-case")).into_iter().filter(|path| path.is_dir());
    let is_case = |path: &PathBuf| path.extension().is_some_and(|name| name == "json");
    let case = |path: PathBuf| {
        let folder = path.parent().and_then(|folder| folder.file_name()).unwrap_or_default();
        let name =
            format!("{}/{}", folder.display(), path.file_stem().unwrap_or_default().display());
        let json = JsonValue::read(&fs::read_to_string(&path).expect("a case can be read"));
        let digits = json.get("wire").expect("a case has bytes").text().as_bytes();
        let digit = |byte: u8| char::from(byte).to_digit(16).expect("hexadecimal") as u8;
        let wire = digits.chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect();
        FrameCase { name, wire, json }
    };
    let paths = folders.flat_map(|folder| entries(&folder)).filter(is_case);
    Some(paths.map(case).collect())
}

/// A server and a client, without any stream, read each well-formed frame.
#[test]
fn the_frames_of_the_collection_are_read() {
    let Some(cases) = cases("the frames of http2-frame-test-case") else { return };
    let mut count = 0;
    for FrameCase { name, wire, json } in &cases {
        let Some(meaning @ JsonValue::Object(_)) = json.get("frame") else { continue };
        count += 1;
        let (header, payload, rest) = split(wire).expect("one frame");
        let number = |name| meaning.get(name).and_then(JsonValue::number).expect("a number");
        let (kind, flags) = (number("type") as u8, number("flags") as u8);
        let stream = number("stream_identifier");
        assert_eq!((payload.len() as u32, header[3]), (number("length"), kind), "{name}");
        assert_eq!(&frame(kind, flags, stream, payload), wire, "{name}");
        assert!(rest.is_empty(), "{name}");
        for (endpoint, is_server) in [(server(), true), (client(), false)] {
            check(name, is_server, &endpoint.feed(wire));
        }
    }
    assert_eq!(count, FRAMES);
}

fn check(name: &str, is_server: bool, outcome: &EndpointOutcome) {
    let fault = match name {
        "continuation/header" | "continuation/normal" => Some(Fault::Continuation),
        // These are on streams that were not opened.
        "data/normal" | "rst_stream/normal" | "window_update/normal" => Some(Fault::StreamIdle),
        // Their payload is a dummy, and no field block.
        "headers/normal" | "headers/priority" if is_server => Some(Fault::Compression),
        "headers/normal" | "headers/priority" => Some(Fault::StreamIdle),
        "push_promise/normal" => Some(Fault::Push),
        "goaway/normal" => {
            assert_eq!(outcome.events, [EndpointEvent::GoAway(ErrorCode::COMPRESSION_ERROR)]);
            None
        }
        "ping/normal" => {
            assert_eq!(outcome.sent, ["PING ACK deadbeef"]);
            None
        }
        "settings/normal" => {
            assert_eq!(outcome.sent, ["SETTINGS ACK"]);
            None
        }
        "priority/normal" => {
            assert_eq!((outcome.events.len(), outcome.sent.len()), (0, 0));
            None
        }
        _ => panic!("{name} is new"),
    };
    assert_eq!(outcome.fault, fault, "{name}: {outcome:?}");
}

/// The same frames on an open stream, where they have an effect: the payload is read as the collection says.
#[test]
fn the_payloads_of_the_collections_frames_are_read() {
    let Some(cases) = cases("what the frames of http2-frame-test-case carry") else { return };
    let response = headers(1, flag::END_HEADERS, &[(":status", "200")]);
    let mut count = 0;
    for FrameCase { name, wire, json } in &cases {
        let Some(carried) = json.get("frame").and_then(|frame| frame.get("frame_payload")) else {
            continue;
        };
        let number = |name| carried.get(name).and_then(JsonValue::number).expect("a number");
        let (header, payload, _) = split(wire).expect("one frame");
        let stream = u32::from(header[3] != kind::GOAWAY);
        let outcome = || {
            let moved = frame(header[3], header[4], stream, payload);
            client_after_get().feed(&[&response[..], &moved].concat())
        };
        match &name[..] {
            "data/normal" => {
                let data = carried.get("data").expect("it has some").text();
                assert_eq!(outcome().content(1), data.as_bytes());
            }
            "rst_stream/normal" => {
                let code = ErrorCode(number("error_code"));
                assert_eq!(outcome().reset(1), Some(ResetReason::Peer(code)));
            }
            "goaway/normal" => {
                let code = ErrorCode(number("error_code"));
                assert_eq!(outcome().events.last(), Some(&EndpointEvent::GoAway(code)));
            }
            "settings/normal" => {
                let settings = peer_settings_after(wire);
                let pairs = carried.get("settings").expect("it has some").items().iter();
                let values: Vec<_> =
                    pairs.map(|pair| pair.items()[1].number().expect("a number")).collect();
                assert_eq!(values, [settings.header_table_bytes, settings.streams_max]);
            }
            "window_update/normal" => {
                let grown = window_after(&frame(header[3], header[4], 0, payload));
                assert_eq!(grown, window_after(b"") + number("window_size_increment"));
            }
            _ => continue,
        }
        count += 1;
    }
    assert_eq!(count, 5);
}

/// A client that has read these first SETTINGS of its server.
fn client_after(settings: &[u8]) -> Connection {
    let limits = Limits::client();
    let mut client = Connection::client(limits.clone());
    let event = client.receive(Instant::now(), settings, true).event;
    assert_eq!(event, Event::Settings);
    client
}

fn peer_settings_after(wire: &[u8]) -> Settings {
    *client_after(wire).peer_settings()
}

/// How much content a client may send after these frames.
fn window_after(wire: &[u8]) -> u32 {
    let mut client = client_after(&settings(&[]));
    let event = client.receive(Instant::now(), wire, true).event;
    assert_eq!(event, Event::NeedMore);
    client.window()
}

/// Each malformed frame ends the connection with a code that the collection gives for it.
#[test]
fn the_errors_of_the_collection_are_found() {
    let Some(cases) = cases("the errors of http2-frame-test-case") else { return };
    let mut count = 0;
    for FrameCase { name, wire, json } in &cases {
        let codes = json.get("error").map(JsonValue::items).unwrap_or_default();
        if codes.is_empty() {
            continue;
        }
        count += 1;
        let ends: [EndpointSetup; 2] = [server(), client()];
        for endpoint in ends {
            let outcome = endpoint.feed(wire);
            let fault = outcome.fault.unwrap_or_else(|| panic!("{name}: {outcome:?}"));
            let fits = codes.iter().any(|code| code.number() == Some(fault.code().0));
            assert!(fits, "{name}: {fault:?} is {}", fault.code());
        }
    }
    assert_eq!(count, ERRORS);
}
