//! §8.1 HTTP Message Framing, and how a client reads responses.

use http::{Method, StatusCode};
use stoop_proto::h2::{Event, Fault, ResetReason};
use stoop_proto::{BodySize, Fields, Limits, ResponseParts};
use stoop_test::feed::h2::{EndpointEvent, EndpointSetup, client, client_after_get, server};
use stoop_test::frames::{data, flag, headers};

use super::kit::{GET, ManualMachine, OK, POST, get, ok, post, post_of, refuses, resets, with};

const TRAILERS: &[(&str, &str)] = &[("x-sum", "5"), ("x-sum", "6"), ("server-timing", "a;dur=1")];

/// "An HTTP message […] consists of: one HEADERS frame […], zero or more DATA frames containing the
/// message content, and optionally, one HEADERS frame […] containing the trailer section"
#[test]
fn a_message_is_a_head_content_and_trailers() {
    let trailers = headers(1, flag::WHOLE, TRAILERS);
    for content in [&[][..], &[&b"hello"[..]], &[b"he", b"", b"l", b"lo"]] {
        let content: Vec<u8> = content.iter().flat_map(|piece| data(1, 0, piece)).collect();
        let outcome = server().feed(&[&post(1)[..], &content, &trailers].concat());
        let fields = outcome.trailers(1).unwrap();
        assert_eq!(fields.all("x-sum").collect::<Vec<_>>(), [b"5", b"6"]);
        assert_eq!((fields.len(), outcome.request(1).fields().len()), (3, 1), "not merged");
        assert_eq!(outcome.content(1).len(), if content.is_empty() { 0 } else { 5 });
        let outcome = client_after_get().feed(&[&ok(1)[..], &content, &trailers].concat());
        assert_eq!(outcome.trailers(1), Some(fields));
    }
}

/// "A HEADERS frame with the END_STREAM flag set that carries an informational status code is malformed."
/// "Trailers […] A HEADERS frame (and associated CONTINUATION frames) can only appear at the start or end
/// of a stream. An endpoint that receives a HEADERS frame without the END_STREAM flag set after receiving
/// the HEADERS frame that opens a request or after receiving a final (non-informational) status code MUST
/// treat the corresponding request or response as malformed".
#[test]
fn trailers_end_the_stream() {
    let open = headers(1, flag::END_HEADERS, TRAILERS);
    for endpoint in [server(), server().never_answering()] {
        resets(&endpoint, &[post(1), open.clone()].concat(), 1, Fault::TrailersOpen);
        let wire = [post(1), data(1, 0, b"x"), open.clone()].concat();
        resets(&endpoint, &wire, 1, Fault::TrailersOpen);
    }
    resets(&client_after_get(), &[ok(1), open].concat(), 1, Fault::TrailersOpen);
}

/// RFC 9110 §6.5.1: fields that may not be trailers are dropped, as over HTTP/1.
#[test]
fn fields_that_may_not_be_trailers_are_dropped() {
    for name in
        ["content-length", "host", "authorization", "cookie", "content-type", "te", "trailer"]
    {
        let trailers = headers(1, flag::WHOLE, &[(name, "5"), ("x-kept", "y")]);
        let wire = [post(1), data(1, 0, b"hi"), trailers.clone()].concat();
        let outcome = server().feed(&wire);
        match name {
            "te" => assert_eq!(outcome.reset(1), Some(ResetReason::Fault(Fault::ConnectionField))),
            _ => assert_eq!(outcome.trailers(1).unwrap().len(), 1, "{name}"),
        }
    }
    // We do not send them either.
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    machine.respond(key, BodySize::Unknown);
    machine.sent();
    let fields = crate::machines::fields(&[("Content-Length", "7"), ("X-Sum", "5"), ("TE", "x")]);
    machine.connection.finish(key, Some(&fields), &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["HEADERS 1 END_STREAM x-sum=5"]);
}

/// §8.1.1: "A request or response that includes message content can include a content-length header field.
/// A request or response is also malformed if the value of a content-length header field does not equal the
/// sum of the DATA frame payload lengths that form the content".
#[test]
fn content_is_as_long_as_content_length_says() {
    let end = flag::END_STREAM;
    for (length, pieces) in [("0", vec![0]), ("5", vec![5]), ("5", vec![2, 0, 3, 0])] {
        let count = pieces.len();
        let content: Vec<u8> = pieces
            .iter()
            .enumerate()
            .flat_map(|(at, &len)| data(1, u8::from(at + 1 == count), &vec![b'x'; len]))
            .collect();
        let outcome = server().feed(&[post_of(1, length), content].concat());
        assert_eq!(outcome.content(1).len().to_string(), length);
        assert!(outcome.is_ended(1));
    }
    for (length, content) in [
        ("5", data(1, end, b"hell")),
        ("5", data(1, 0, b"hello!")),
        ("5", data(1, end, b"hello!")),
        ("5", [data(1, 0, b"hello"), data(1, end, b"!")].concat()),
        ("5", [data(1, 0, b"hell"), headers(1, flag::WHOLE, TRAILERS)].concat()),
        ("0", data(1, 0, b"x")),
        ("1", data(1, end, b"")),
        ("18446744073709551615", data(1, end, b"x")),
    ] {
        let wire = [post_of(1, length), content.clone()].concat();
        let outcome = resets(&server(), &wire, 1, Fault::Length);
        assert!(!outcome.is_ended(1), "its end is not believed");
        let head = headers(1, flag::END_HEADERS, &with(OK, &[("content-length", length)]));
        resets(&client_after_get(), &[head, content].concat(), 1, Fault::Length);
    }
    let fields = with(POST, &[("content-length", "5")]);
    refuses(&headers(1, flag::WHOLE, &fields), Fault::Length);
    let none = with(POST, &[("content-length", "0")]);
    assert!(server().feed(&headers(1, flag::WHOLE, &none)).is_ended(1));
    resets(
        &client_after_get(),
        &headers(1, flag::WHOLE, &with(OK, &[("content-length", "5")])),
        1,
        Fault::Length,
    );
}

/// RFC 9110 §8.6: a length that is not a number is refused, and so are several, but for equal ones by a
/// client.
#[test]
fn a_content_length_is_a_number() {
    for value in ["", "-5", "+5", "5 5", "5,5", "5, 5", "0x5", "5.0", "a", "18446744073709551616"] {
        refuses(&post_of(1, value), Fault::Length);
        let head = headers(1, flag::END_HEADERS, &with(OK, &[("content-length", value)]));
        resets(&client_after_get(), &head, 1, Fault::Length);
    }
    let twice = |a, b| [("content-length", a), ("content-length", b)];
    refuses(&headers(1, 4, &with(POST, &twice("5", "5"))), Fault::Length);
    refuses(&headers(1, 4, &with(POST, &twice("5", "6"))), Fault::Length);
    resets(&client_after_get(), &headers(1, 4, &with(OK, &twice("5", "6"))), 1, Fault::Length);
    let wire = [headers(1, 4, &with(OK, &twice("5", "5"))), data(1, 1, b"hello")].concat();
    let outcome = client_after_get().feed(&wire);
    assert_eq!((outcome.content(1), outcome.response(1).fields().len()), (&b"hello"[..], 1));
}

/// §8.1.1: "unless the message is defined as having no content. For example, 204 or 304 responses contain no
/// content, nor does the response to a HEAD request".
#[test]
fn some_responses_have_no_content_whatever_they_say() {
    let head = client().with_request(Method::HEAD, BodySize::Exact(0));
    let with_length = |status| vec![(":status", status), ("content-length", "5")];
    for (endpoint, status) in
        [(&head, "200"), (&client_after_get(), "204"), (&client_after_get(), "304"), (&head, "304")]
    {
        let outcome = endpoint.feed(&headers(1, flag::WHOLE, &with_length(status)));
        assert_eq!(outcome.response(1).fields().first("content-length"), Some(&b"5"[..]));
        assert!(outcome.is_ended(1) && outcome.reset(1).is_none());
        let open = headers(1, flag::END_HEADERS, &with_length(status));
        assert!(endpoint.feed(&[open.clone(), data(1, 1, b"")].concat()).is_ended(1));
        resets(endpoint, &[open, data(1, 1, b"hello")].concat(), 1, Fault::Length);
    }
}

/// "For a response only, a server MAY send any number of interim responses before the HEADERS frame
/// containing a final response." `Limits::interim_max`, at N and N + 1.
#[test]
fn interim_responses_come_first() {
    let hints = headers(1, flag::END_HEADERS, &[(":status", "103"), ("link", "</a>")]);
    let outcome = client_after_get().feed(&[hints.clone(), headers(1, flag::WHOLE, OK)].concat());
    match &outcome.events[..] {
        [EndpointEvent::Interim { head, .. }, EndpointEvent::Response { end: true, .. }] => {
            assert_eq!((head.status().as_u16(), head.fields().len()), (103, 1));
        }
        other => panic!("{other:?}"),
    }
    let max = Limits::client().interim_max;
    let most = [hints.repeat(max), headers(1, flag::WHOLE, OK)].concat();
    assert_eq!(client_after_get().feed(&most).events.len(), max + 1);
    resets(&client_after_get(), &hints.repeat(max + 1), 1, Fault::TooManyInterim);
    // They also have the limit of one head together.
    let many = client_after_get().within(|limits| limits.interim_max = usize::MAX);
    let fit = Limits::client().head_bytes_max / (":status".len() + 3 + 32 + "link".len() + 4 + 32);
    assert_eq!(many.feed_whole(&hints.repeat(fit)).events.len(), fit);
    resets(&many, &hints.repeat(fit + 1), 1, Fault::HeadTooLarge);
    let any = many.within(|limits| limits.head_bytes_max = usize::MAX);
    assert_eq!(any.feed_whole(&hints.repeat(70_000)).events.len(), 70_000);

    let ends = headers(1, flag::WHOLE, &[(":status", "100")]);
    resets(&client_after_get(), &ends, 1, Fault::InterimEnds);
    resets(&client_after_get(), &[hints, data(1, 0, b"x")].concat(), 1, Fault::HeadMissing);
    resets(&client_after_get(), &data(1, 0, b"x"), 1, Fault::HeadMissing);
    // Behind the final response, it is read as a trailer section.
    let late = [ok(1), headers(1, flag::WHOLE, &[(":status", "103")])].concat();
    resets(&client_after_get(), &late, 1, Fault::PseudoUnknown);
}

/// §8.6: "HTTP/2 removes support for the 101 (Switching Protocols) informational status code".
#[test]
fn a_101_is_malformed() {
    resets(
        &client_after_get(),
        &headers(1, flag::END_HEADERS, &[(":status", "101")]),
        1,
        Fault::Status,
    );
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    let (status, fields) = (StatusCode::SWITCHING_PROTOCOLS, Fields::new());
    let sent = machine.connection.send_interim(key, status, &fields, &mut machine.out);
    assert_eq!(sent, Err(stoop_proto::Misuse::Status));
    let parts = ResponseParts::new(status);
    let respond = machine.connection.respond(key, &parts, BodySize::Exact(0), &mut machine.out);
    assert_eq!(respond, Err(stoop_proto::Misuse::Status));
    assert!(machine.out.is_empty());
}

/// RFC 9110 §8.6: the Content-Length that we send is true, whatever the response's fields say.
#[test]
fn a_response_says_no_length_but_its_own() {
    let sent = |method: &str, status: u16, size: BodySize| {
        let mut machine = ManualMachine::server();
        let lines = [&[(":method", method)][..], &GET[1..]].concat();
        let key = machine.read_request(&headers(1, flag::WHOLE, &lines));
        let mut fields = crate::machines::fields(&[("x", "y")]);
        // With content, another length than its own is a misuse.
        if method == "HEAD" || matches!(status, 204 | 304) {
            fields.push("Content-Length", b"7").unwrap();
        }
        let status = StatusCode::from_u16(status).unwrap();
        let parts = ResponseParts { fields: Some(&fields), ..ResponseParts::new(status) };
        let (connection, out) = (&mut machine.connection, &mut machine.out);
        match status.is_informational() {
            true => connection.send_interim(key, status, &fields, out).unwrap(),
            false => drop(connection.respond(key, &parts, size, out).unwrap()),
        }
        let line = machine.sent().pop().unwrap();
        let length = line.split_once("content-length=").map(|(_, rest)| rest.to_owned());
        length.map(|rest| rest.split(' ').next().unwrap_or_default().to_owned())
    };
    let is = |length: &str| Some(length.to_owned());
    assert_eq!(sent("GET", 200, BodySize::Exact(5)), is("5"));
    assert_eq!(sent("GET", 200, BodySize::Exact(0)), is("0"));
    assert_eq!(sent("GET", 200, BodySize::Unknown), None);
    assert_eq!(sent("GET", 103, BodySize::Unknown), None);
    assert_eq!(sent("GET", 204, BodySize::Exact(0)), None);
    assert_eq!(sent("GET", 204, BodySize::Unknown), None);
    // Without content to contradict it, the length is that of the response to a GET, and the caller may
    // declare it, as over HTTP/1.
    for size in [BodySize::Exact(0), BodySize::Exact(5), BodySize::Unknown] {
        assert_eq!(sent("HEAD", 200, size), is("7"));
        assert_eq!(sent("GET", 304, size), is("7"));
    }
    assert_eq!(sent("HEAD", 204, BodySize::Exact(0)), None);
}

/// §10.5.1: a head that is too large is answered 431, content that is too large 413, as over HTTP/1. The
/// stream is then reset, since the rest of the request is not read.
#[test]
fn a_request_that_is_too_large_is_answered() {
    let list = |endpoint: &EndpointSetup, flags, len: usize| {
        let value = "x".repeat(len);
        endpoint.feed_whole(&[headers(1, flags, &with(GET, &[("x", &value)])), get(3)].concat())
    };
    // :method GET 32+10, :scheme https 32+12, :path / 32+6, :authority a 32+11, x 32+1.
    let of_others = 5 * 32 + 10 + 12 + 6 + 11 + 1;
    let endpoint = server().within(|limits| limits.head_bytes_max = 1_000);
    assert_eq!(list(&endpoint, flag::WHOLE, 1_000 - of_others).events.len(), 2);
    for (flags, rest) in [(flag::WHOLE, None), (flag::END_HEADERS, Some("RST_STREAM 1 NO_ERROR"))] {
        let outcome = list(&endpoint, flags, 1_001 - of_others);
        assert_eq!(outcome.events.len(), 1);
        assert_eq!(outcome.sent[0], "HEADERS 1 END_STREAM :status=431 content-length=0");
        assert_eq!(outcome.sent.get(1).map(String::as_str).filter(|_| rest.is_some()), rest);
    }
    let most = 4 * 1_000 - of_others;
    assert!(
        list(&endpoint, flag::WHOLE, most)
            .has_sent("HEADERS 1 END_STREAM :status=431 content-length=0")
    );
    assert_eq!(list(&endpoint, flag::WHOLE, most + 1).fault, Some(Fault::BlockTooLarge));

    let small = server().within(|limits| limits.body_bytes_max = Some(5));
    assert!(small.feed(&[post_of(1, "5"), data(1, 1, b"hello")].concat()).is_ended(1));
    assert!(small.feed(&[post(1), data(1, 1, b"hello")].concat()).is_ended(1));
    let answered = ["HEADERS 1 END_STREAM :status=413 content-length=0", "RST_STREAM 1 NO_ERROR"];
    assert_eq!(small.feed(&[post_of(1, "6"), data(1, 1, b"hello!")].concat()).sent, answered);
    let outcome = small.feed(&[post(1), data(1, 0, b"hello"), data(1, 0, b"!")].concat());
    assert_eq!(outcome.sent, answered);
    assert_eq!(outcome.reset(1), Some(ResetReason::Fault(Fault::BodyTooLarge)));
    // A response that has begun cannot become another one. The event says which it was.
    for (has_begun, answer) in [(false, Some(StatusCode::PAYLOAD_TOO_LARGE)), (true, None)] {
        let mut machine = ManualMachine::server_within(|limits| limits.body_bytes_max = Some(5));
        let key = machine.read_request(&post(1));
        if has_begun {
            machine.respond(key, BodySize::Unknown);
        }
        let reason = ResetReason::Fault(Fault::BodyTooLarge);
        let events = machine.feed(&data(1, 0, b"hello!"));
        assert_eq!(events, [Event::Reset { key, reason, answer }]);
        let last = if has_begun { "RST_STREAM 1 CANCEL" } else { "RST_STREAM 1 NO_ERROR" };
        assert_eq!(machine.sent()[1..], [last]);
    }
    let few = client_after_get().within(|limits| limits.body_bytes_max = Some(5));
    resets(&few, &[ok(1), data(1, 0, b"hello!")].concat(), 1, Fault::BodyTooLarge);
    let small = client_after_get().within(|limits| limits.head_bytes_max = 100);
    let large = headers(1, flag::WHOLE, &with(OK, &[("x", &"y".repeat(100))]));
    resets(&small, &large, 1, Fault::HeadTooLarge);
    let small = server().within(|limits| limits.trailers_bytes_max = 100);
    let large = headers(1, flag::WHOLE, &[("x", &"y".repeat(68))]);
    resets(&small, &[post(1), large].concat(), 1, Fault::HeadTooLarge);
}
