//! Every decision of the machines, compared with texts that are checked in: a changed line is a changed
//! behaviour.

use std::fmt::Write as _;

use http::Method;
use stoop_proto::h1::{Event, Half, Input, Server};
use stoop_proto::hpack::DecodeError;
use stoop_proto::{FIELDS_CEILING, Limits, RequestHead, ResponseHead, Violation};
use stoop_test::feed::SentRequest;
use stoop_test::golden::golden;

/// One direction of a connection: RFC 9112 §9.
#[test]
fn every_state_and_input_of_a_half_is_in_the_golden_file() {
    let mut table = String::new();
    for state in Half::ALL {
        for input in Input::ALL {
            let next = state.next(input);
            let next = next.map_or("illegal".to_owned(), |next| format!("{next:?}"));
            writeln!(table, "{state:?} + {input:?} -> {next}").unwrap();
        }
    }
    golden("h1/half.txt", &table);
}

/// Each violation, with its status, its text and its section.
#[test]
fn every_violation_is_in_the_golden_file() {
    let mut table = String::new();
    for violation in Violation::ALL {
        let answer = violation.answer().map_or("-".to_owned(), |status| status.to_string());
        writeln!(table, "{violation:?}\n    {answer}\n    {violation}").unwrap();
    }
    golden("violations.txt", &table);
}

/// Each decode error of HPACK, with its text and its section.
#[test]
fn every_decode_error_is_in_the_golden_file() {
    let mut table = String::new();
    for error in DecodeError::ALL {
        writeln!(table, "{error:?}\n    {error}").unwrap();
    }
    golden("hpack/errors.txt", &table);
}

/// The defaults, by role.
#[test]
fn every_default_limit_is_in_the_golden_file() {
    let table = format!(
        "server {:#?}\n\nclient {:#?}\n\nFIELDS_CEILING {FIELDS_CEILING}\n",
        Limits::server(),
        Limits::client()
    );
    golden("limits.txt", &table);
}

const LENGTHS: [&str; 6] = [
    "",
    "Content-Length: 0",
    "Content-Length: 5",
    "Content-Length: 5, 5",
    "Content-Length: 5, 6",
    "Content-Length: -5",
];

const CODINGS: [&str; 7] = [
    "",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: gzip",
    "Transfer-Encoding: gzip, chunked",
    "Transfer-Encoding: chunked, gzip",
    "Transfer-Encoding: chunked, chunked",
    "Transfer-Encoding:",
];

/// Adds a row to the table: the Content-Length lines, the Transfer-Encoding lines, the decision.
fn row(table: &mut String, length: &str, coding: &str, decision: &str) {
    let or_none = |field: &str| if field.is_empty() { "-".to_owned() } else { field.to_owned() };
    let (length, coding) = (or_none(length), or_none(coding));
    writeln!(table, "  {length:<21} {coding:<36} {decision}").unwrap();
}

fn lines(length: &str, coding: &str) -> String {
    [length, coding]
        .iter()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\r\n"))
        .collect()
}

/// RFC 9112 §6.3, at the server.
#[test]
fn the_framing_of_every_request_is_in_the_golden_file() {
    let mut table = String::new();
    for version in ["HTTP/1.1", "HTTP/1.0"] {
        for method in ["GET /", "POST /", "CONNECT a:1"] {
            writeln!(table, "{method} {version}").unwrap();
            for (length, coding) in LENGTHS.iter().flat_map(|l| CODINGS.map(|c| (*l, c))) {
                let head =
                    format!("{method} {version}\r\nHost: a\r\n{}\r\n", lines(length, coding));
                row(&mut table, length, coding, &framing_of_request(head.as_bytes()));
            }
        }
    }
    golden("h1/framing_of_requests.txt", &table);
}

fn framing_of_request(head: &[u8]) -> String {
    let mut server = Server::new();
    let limits = Limits::server();
    let event = server.receive(head, &mut RequestHead::default(), &limits).event;
    let body = match (event, server.body_remaining()) {
        (Event::Violation(violation), _) => {
            return format!("{violation:?}, {}", violation.answer().unwrap().as_u16());
        }
        (Event::Head { end: true }, Some(0)) => "no body".to_owned(),
        (Event::Head { end: false }, Some(length)) => format!("{length} bytes"),
        (Event::Head { end: false }, None) => "chunked".to_owned(),
        other => panic!("{other:?}"),
    };
    let next = if server.is_receiving() { "goes on" } else { "then closes" };
    format!("{body}, {next}")
}

/// RFC 9112 §6.3, at the client.
#[test]
fn the_framing_of_every_response_is_in_the_golden_file() {
    let mut table = String::new();
    for version in ["HTTP/1.1", "HTTP/1.0"] {
        for (method, status) in [
            (Method::GET, "200 OK"),
            (Method::GET, "204 No Content"),
            (Method::GET, "304 Not Modified"),
            (Method::HEAD, "200 OK"),
            (Method::CONNECT, "200 OK"),
            (Method::CONNECT, "407 Proxy Authentication Required"),
        ] {
            let keep_alive = if version == "HTTP/1.0" { "Connection: keep-alive\r\n" } else { "" };
            let kept = if keep_alive.is_empty() { "" } else { ", kept alive" };
            writeln!(table, "{version} {status} to {method}{kept}").unwrap();
            for (length, coding) in LENGTHS.iter().flat_map(|l| CODINGS.map(|c| (*l, c))) {
                let lines = lines(length, coding);
                let head = format!("{version} {status}\r\n{keep_alive}{lines}\r\n");
                row(&mut table, length, coding, &framing_of_response(&method, head.as_bytes()));
            }
        }
    }
    golden("h1/framing_of_responses.txt", &table);
}

fn framing_of_response(method: &Method, head: &[u8]) -> String {
    let mut client = SentRequest::new(method.clone()).client();
    let limits = Limits::client();
    let mut response = ResponseHead::default();
    let event = client.receive(head, &mut response, &limits).event;
    let remaining = client.body_remaining();
    // An empty chunked body ends here, and a body that ends with the connection does not.
    let next = client.receive(b"0\r\n\r\n", &mut response, &limits).event;
    let body = match (event, remaining, next) {
        (Event::Violation(violation), ..) => return format!("{violation:?}"),
        (Event::Head { end: true }, ..) => {
            client = SentRequest::new(method.clone()).client();
            client.receive(head, &mut response, &limits);
            "no body".to_owned()
        }
        (_, Some(0), Event::Tunnel) => return "tunnel".to_owned(),
        (_, Some(length), _) => {
            client.receive(b"hello", &mut response, &limits);
            client.receive(b"", &mut response, &limits);
            format!("{length} bytes")
        }
        (_, None, Event::End { .. }) => "chunked".to_owned(),
        (_, None, Event::Data(_)) => "until close".to_owned(),
        other => panic!("{other:?}"),
    };
    let next = if client.is_reusable() { "reusable" } else { "not reusable" };
    format!("{body}, {next}")
}
