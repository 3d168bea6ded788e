//! §8.5 The CONNECT Method, and RFC 8441.

use http::{Method, StatusCode};
use stoop_proto::h2::{Event, Fault, Refusal};
use stoop_proto::{BodySize, Fields, Misuse, RequestHead, ResponseParts, TargetForm};
use stoop_test::feed::h2::{EndpointSetup, client, server};
use stoop_test::frames::{data, flag, headers, settings, window_update};

use super::kit::{FieldLines, GET, ManualMachine, OK, ok, refuses, resets, with};

const CONNECT: FieldLines<'_> = &[(":method", "CONNECT"), (":authority", "a:443")];
const WEBSOCKET: FieldLines<'_> = &[
    (":method", "CONNECT"),
    (":protocol", "websocket"),
    (":scheme", "https"),
    (":path", "/chat?x"),
    (":authority", "a"),
];

fn connect(fields: FieldLines<'_>) -> Vec<u8> {
    headers(1, flag::END_HEADERS, fields)
}

/// A server that has sent SETTINGS_ENABLE_CONNECT_PROTOCOL.
fn extended() -> EndpointSetup {
    server().never_answering().within(|limits| limits.http2.extended_connect = true)
}

/// "The ":scheme" and ":path" pseudo-header fields MUST be omitted. The ":authority" pseudo-header field
/// contains the host and port to connect to".
#[test]
fn connect_has_an_authority_and_nothing_else() {
    let outcome = server().never_answering().feed(&connect(CONNECT));
    let head = outcome.request(1);
    assert_eq!((head.method(), head.target()), (&Method::CONNECT, "a:443"));
    assert_eq!((head.form(), head.authority()), (TargetForm::Authority, "a:443"));
    for more in
        [&[(":path", "/")][..], &[(":scheme", "https")], &[(":scheme", "https"), (":path", "/")]]
    {
        refuses(&connect(&with(CONNECT, more)), Fault::Connect);
    }
    refuses(&connect(&CONNECT[..1]), Fault::Connect);
    refuses(&connect(&with(&CONNECT[..1], &[("host", "a:443")])), Fault::Connect);
    for authority in ["a", "a:", "a:0", ":443", "u@a:443", "[::1]"] {
        let outcome = server().feed(&connect(&[CONNECT[0], (":authority", authority)]));
        assert_eq!(
            (outcome.events, outcome.sent),
            (vec![], vec!["RST_STREAM 1 PROTOCOL_ERROR".into()])
        );
    }
}

/// "A proxy that supports CONNECT establishes a TCP connection […] Once this connection is successfully
/// established, the proxy sends a HEADERS frame containing a 2xx-series status code to the client". "After
/// the initial HEADERS frame is sent by each peer, all subsequent DATA frames correspond to data sent on
/// the TCP connection."
#[test]
fn a_tunnel_carries_data_both_ways() {
    let mut machine = ManualMachine::server_within(|limits| limits.body_bytes_max = Some(10));
    let key = machine.read_request(&connect(CONNECT));
    let parts = ResponseParts::new(StatusCode::OK);
    let respond = machine.connection.respond(key, &parts, BodySize::Exact(0), &mut machine.out);
    assert_eq!(respond, Err(Misuse::Tunnel));
    let no = ResponseParts::new(StatusCode::NOT_FOUND);
    assert_eq!(machine.connection.open_tunnel(key, &no, &mut machine.out), Err(Misuse::Tunnel));
    assert!(machine.out.is_empty());
    let fields = crate::machines::fields(&[("content-length", "5"), ("x", "y")]);
    let parts = ResponseParts { fields: Some(&fields), ..parts };
    machine.connection.open_tunnel(key, &parts, &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["HEADERS 1 :status=200 x=y"], "RFC 9110 §8.6: without a length");
    for _ in 0..3 {
        let event = Event::Data { key, span: 9..19, end: false };
        assert_eq!(
            machine.feed(&data(1, 0, b"0123456789")),
            [event],
            "it has no limit but the window"
        );
        machine.connection.data(key, "back".into(), false, &mut machine.out).unwrap();
    }
    machine.sent();
    // §8.5: "The TCP connection can be closed by either peer. […] DATA frame with the END_STREAM flag".
    machine.feed(&data(1, flag::END_STREAM, b""));
    assert!(machine.connection.is_sending(key) && !machine.connection.is_receiving(key));
    machine.connection.finish(key, Some(&fields), &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["DATA 1 END_STREAM "], "and without trailers");
    assert!(!machine.connection.is_open(key));
}

/// RFC 9110 §9.3.6: "Any 2xx (Successful) response indicates that the sender […] will switch to tunnel
/// mode", also one whose status allows no content.
#[test]
fn a_204_opens_a_tunnel_as_well() {
    let endpoint = client().with_request(Method::CONNECT, BodySize::Unknown);
    for status in ["200", "204", "205"] {
        let head = headers(1, flag::END_HEADERS, &[(":status", status)]);
        let wire = [head, data(1, 0, b"tunnelled"), data(1, flag::END_STREAM, b"")].concat();
        assert_eq!(endpoint.feed(&wire).content(1), b"tunnelled", "{status}");
    }
}

/// A request of another method opens no tunnel.
#[test]
fn only_connect_opens_a_tunnel() {
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&headers(1, flag::END_HEADERS, GET));
    let parts = ResponseParts::new(StatusCode::OK);
    assert_eq!(machine.connection.open_tunnel(key, &parts, &mut machine.out), Err(Misuse::Tunnel));
    assert!(machine.out.is_empty());
}

/// "Frame types other than DATA or stream management frames (RST_STREAM, WINDOW_UPDATE, and PRIORITY) MUST
/// NOT be sent on a connected stream and MUST be treated as a stream error (Section 5.4.2) if received."
#[test]
fn a_tunnel_carries_no_fields() {
    for flags in [flag::WHOLE, flag::END_HEADERS] {
        let trailers = headers(1, flags, &[("x", "y")]);
        let mut machine = ManualMachine::server();
        let key = machine.read_request(&connect(CONNECT));
        let parts = ResponseParts::new(StatusCode::OK);
        machine.connection.open_tunnel(key, &parts, &mut machine.out).unwrap();
        machine.feed(&window_update(1, 5));
        let reason = stoop_proto::h2::ResetReason::Fault(Fault::TunnelFields);
        assert_eq!(machine.feed(&trailers), [Event::Reset { key, reason, answer: None }]);
        assert_eq!(machine.sent().last().unwrap(), "RST_STREAM 1 PROTOCOL_ERROR");

        let endpoint = client().with_request(Method::CONNECT, BodySize::Unknown);
        resets(&endpoint, &[ok(1), trailers].concat(), 1, Fault::TunnelFields);
    }
    // A refusal is an ordinary response.
    let endpoint = client().with_request(Method::CONNECT, BodySize::Unknown);
    let no = headers(1, flag::END_HEADERS, &[(":status", "407"), ("content-length", "2")]);
    let wire = [no, data(1, 0, b"no"), headers(1, flag::WHOLE, &[("x", "y")])].concat();
    assert!(endpoint.feed(&wire).trailers(1).is_some());
}

/// For a client, the bytes behind a 2xx belong to the tunnel, whatever its Content-Length.
#[test]
fn a_client_gets_a_tunnel() {
    let endpoint = client().with_request(Method::CONNECT, BodySize::Unknown);
    let head = headers(1, flag::END_HEADERS, &with(OK, &[("content-length", "1")]));
    let outcome = endpoint.feed(&[head, data(1, 0, b"hello"), data(1, 1, b"!")].concat());
    assert_eq!((outcome.content(1), outcome.is_ended(1)), (&b"hello!"[..], true));
    let mut machine = ManualMachine::client();
    let mut connect = RequestHead::new(Method::CONNECT, "b:443").unwrap();
    connect.fields_mut().push("host", b"a").unwrap();
    machine.connection.open(&connect, "https", BodySize::Exact(0), &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["HEADERS 1 :method=CONNECT :authority=b:443"]);
}

/// RFC 8441 §3: "Upon receipt of SETTINGS_ENABLE_CONNECT_PROTOCOL with a value of 1, a client MAY use the
/// Extended CONNECT as defined in this document"; a server that has not sent it refuses the request.
#[test]
fn extended_connect_is_said_to_be_there() {
    refuses(&connect(WEBSOCKET), Fault::Connect);
    let mut machine = ManualMachine::new(stoop_proto::h2::Connection::server(limits()), limits());
    assert!(machine.sent()[0].contains(" 8=1"), "its SETTINGS say so");
    let mut head = RequestHead::extended_connect("websocket", "/chat").unwrap();
    head.fields_mut().push("host", b"a").unwrap();
    let mut machine = ManualMachine::client();
    let size = BodySize::Unknown;
    let refused = machine.connection.open(&head, "https", size, &mut machine.out);
    assert_eq!(refused, Err(Refusal::ExtendedConnect));
    assert!(machine.out.is_empty());
    machine.feed(&settings(&[(8, 1)]));
    machine.sent();
    let key = machine.connection.open(&head, "https", size, &mut machine.out).unwrap();
    let sent = ":method=CONNECT :scheme=https :authority=a :path=/chat :protocol=websocket";
    assert_eq!(machine.sent(), [format!("HEADERS 1 {sent}")]);
    assert_eq!(machine.feed(&ok(1)), [Event::Response { key, end: false }]);
    assert_eq!(machine.send(key, 5), 5);
}

fn limits() -> stoop_proto::Limits {
    let mut limits = stoop_proto::Limits::server();
    limits.http2.extended_connect = true;
    limits
}

/// RFC 8441 §4: "A new pseudo-header field :protocol MAY be included on request HEADERS […] On requests
/// that contain the :protocol pseudo-header field, the :scheme and :path pseudo-header fields of the target
/// URI MUST also be included."
#[test]
fn extended_connect_has_a_protocol_and_a_path() {
    let outcome = extended().feed(&connect(WEBSOCKET));
    let head = outcome.request(1);
    assert_eq!((head.protocol(), head.target()), (Some("websocket"), "/chat?x"));
    assert_eq!((head.authority(), head.form()), ("a", TargetForm::Origin));
    for missing in 2..5 {
        let mut fields = WEBSOCKET.to_vec();
        fields.remove(missing);
        resets(&extended(), &connect(&fields), 1, Fault::PseudoMissing);
    }
    for (at, line, fault) in [
        (0, (":method", "GET"), Fault::Connect),
        (1, (":protocol", ""), Fault::Connect),
        (1, (":protocol", "web socket"), Fault::Connect),
        (3, (":path", "chat"), Fault::Path),
        (3, (":path", "*"), Fault::Path),
    ] {
        let mut fields = WEBSOCKET.to_vec();
        fields[at] = line;
        resets(&extended(), &connect(&fields), 1, fault);
    }
    let twice = with(WEBSOCKET, &[(":protocol", "x")]);
    resets(&extended(), &connect(&twice), 1, Fault::PseudoRepeated);
    // A plain CONNECT stays as it was.
    assert_eq!(extended().feed(&connect(CONNECT)).request(1).protocol(), None);
}

/// RFC 8441 §5: it is accepted by a 2xx, and is then a tunnel.
#[test]
fn extended_connect_is_a_tunnel() {
    let mut machine = ManualMachine::server_within(|limits| limits.http2.extended_connect = true);
    let key = machine.read_request(&connect(WEBSOCKET));
    let (parts, out) = (ResponseParts::new(StatusCode::OK), &mut machine.out);
    assert_eq!(
        machine.connection.respond(key, &parts, BodySize::Unknown, out),
        Err(Misuse::Tunnel)
    );
    machine.connection.open_tunnel(key, &parts, out).unwrap();
    assert!(machine.connection.is_receiving(key) && machine.connection.is_sending(key));
    assert_eq!(machine.connection.open_tunnel(key, &parts, &mut machine.out), Err(Misuse::Order));
    let sent = machine.connection.send_interim(
        key,
        StatusCode::PROCESSING,
        &Fields::new(),
        &mut machine.out,
    );
    assert_eq!(sent, Err(Misuse::Order));
}

/// The head of an extended CONNECT has a protocol and a path, and cannot be sent over HTTP/1.
#[test]
fn the_head_of_an_extended_connect_cannot_be_sent_over_http_1() {
    for (protocol, target, misuse) in [
        ("", "/", Misuse::Target),
        ("web socket", "/", Misuse::Target),
        ("websocket", "", Misuse::Target),
        ("websocket", "*", Misuse::Target),
        ("websocket", "a:1", Misuse::Target),
        ("websocket", "/a b", Misuse::Target),
    ] {
        assert_eq!(RequestHead::extended_connect(protocol, target), Err(misuse));
    }
    let mut head = RequestHead::extended_connect("websocket", "/").unwrap();
    assert_eq!((head.method(), head.protocol()), (&Method::CONNECT, Some("websocket")));
    head.fields_mut().push("host", b"a").unwrap();
    let mut out = Vec::new();
    let sent = stoop_proto::h1::Client::new().send(&head, BodySize::Unknown, &mut out);
    assert_eq!((sent, out.len()), (Err(Misuse::ExtendedConnect), 0));
}
