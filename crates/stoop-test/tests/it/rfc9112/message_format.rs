//! §2 Message: its format, its parsing, its version.

use http::{Method, Version};
use stoop_proto::{Limits, Violation};
use stoop_test::feed::{SentRequest, accepted, refused, serve};

/// §2.1
#[test]
fn a_message_is_a_start_line_fields_an_empty_line_and_an_optional_body() {
    let request = accepted(b"POST /p HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(request.head.method(), Method::POST);
    assert_eq!(request.head.target(), "/p");
    assert_eq!(request.head.fields().first("host"), Some(&b"a"[..]));
    assert_eq!(request.body, b"hello");

    let read = SentRequest::new(Method::GET)
        .accepts(b"HTTP/1.1 200 OK\r\nServer: b\r\nContent-Length: 5\r\n\r\nhello");
    assert_eq!(read.status(), 200);
    assert_eq!(read.body, b"hello");
}

/// §2.2: parsed as octets, "in an encoding that is a superset of US-ASCII".
#[test]
fn a_recipient_must_parse_a_message_as_a_sequence_of_octets() {
    let request = accepted(b"GET / HTTP/1.1\r\nHost: a\r\nX: caf\xc3\xa9 \xff\xfe\x80\r\n\r\n");
    assert_eq!(request.head.fields().first("x"), Some(&b"caf\xc3\xa9 \xff\xfe\x80"[..]));
    refused(b"GET / HTTP/1.1\r\nHost: a\r\n\xc3\xa9: x\r\n\r\n", Violation::FieldName, 400);
    refused(b"GET /\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n", Violation::Target, 400);
    refused(b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
    refused(b"G\xc3\x8bT / HTTP/1.1\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
}

/// §2.2: "MAY recognize a single LF as a line terminator"; our server does not.
#[test]
fn a_server_refuses_a_bare_lf_wherever_a_line_ends() {
    for wire in [
        &b"GET / HTTP/1.1\nHost: a\r\n\r\n"[..],
        b"GET / HTTP/1.1\r\nHost: a\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\n\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX:\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: \n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nX: y\nZ: z\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\n\n",
        b"GET / HTTP/1.1\n\n",
        b"\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
        b"\r\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        refused(wire, Violation::BareLf, 400);
    }
}

/// §2.2
#[test]
fn a_client_recognizes_a_single_lf_as_a_line_terminator() {
    let read = SentRequest::new(Method::GET)
        .accepts(b"HTTP/1.1 200 OK\nServer: old\r\nEmpty:\nContent-Length: 2\n\nhi");
    assert_eq!(read.body, b"hi");
    let head = read.head.unwrap();
    assert_eq!(head.reason(), b"OK");
    assert_eq!(head.fields().first("server"), Some(&b"old"[..]));
    assert_eq!(head.fields().first("empty"), Some(&b""[..]));
}

/// §2.2: a sender "MUST NOT generate a bare CR", a recipient "MUST consider that element to be
/// invalid or replace each bare CR with SP".
#[test]
fn a_bare_cr_is_invalid_in_any_element() {
    refused(b"GET /\r HTTP/1.1\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
    refused(b"GET / HTTP/1.1\rHost: a\r\n\r\n", Violation::RequestLine, 400);
    refused(b"GET / HTTP/1.1\r\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: y\rz\r\n\r\n", Violation::FieldValue, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\r\n\r\n", Violation::FieldValue, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX\r: y\r\n\r\n", Violation::FieldName, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\n\rX: y\r\n\r\n", Violation::FieldName, 400);
    let get = SentRequest::new(Method::GET);
    get.refuses(b"HTTP/1.1 200 O\rK\r\n\r\n", Violation::StatusLine);
    get.refuses(b"HTTP/1.1 200 OK\r\nX: y\rz\r\n\r\n", Violation::FieldValue);
}

/// §2.2
#[test]
fn a_server_should_ignore_at_least_one_empty_line_before_the_request_line() {
    assert_eq!(accepted(b"\r\nGET /1 HTTP/1.1\r\nHost: a\r\n\r\n").head.target(), "/1");
    assert_eq!(accepted(b"\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n").head.target(), "/2");
    refused(b"\r\n\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
    refused(b"\rGET / HTTP/1.1\r\nHost: a\r\n\r\n", Violation::RequestLine, 400);
    // It may come before each request, since some clients send one after a body.
    let served = serve(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx\r\n\r\n\
          GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n\r\n",
        &Limits::server(),
        false,
    );
    assert_eq!((served.requests.len(), served.violation), (2, None));
}

/// §2.2 asks this of servers only; for clients it is as harmless.
#[test]
fn a_client_ignores_two_empty_lines_before_the_status_line() {
    let get = SentRequest::new(Method::GET);
    assert_eq!(get.accepts(b"\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n").status(), 204);
    assert_eq!(get.accepts(b"\n\nHTTP/1.1 204 No Content\n\n").status(), 204);
    get.refuses(b"\r\n\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n", Violation::StatusLine);
    get.refuses(b"\n\n\nHTTP/1.1 204 No Content\n\n", Violation::StatusLine);
}

/// §2.2: "either reject the message as invalid or consume each whitespace-preceded line".
#[test]
fn whitespace_between_the_start_line_and_the_first_field_is_refused() {
    refused(b"GET / HTTP/1.1\r\n Host: a\r\n\r\n", Violation::ObsFold, 400);
    refused(b"GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", Violation::ObsFold, 400);
    refused(b"GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n", Violation::ObsFold, 400);
    SentRequest::new(Method::GET)
        .refuses(b"HTTP/1.1 200 OK\r\n Content-Length: 5\r\n\r\nhello", Violation::ObsFold);
}

/// §2.2: "SHOULD respond with a 400 (Bad Request) response and close the connection".
#[test]
fn a_message_that_does_not_match_the_grammar_is_answered_400_and_closed() {
    let hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\x51\x52\x53\x54";
    refused(hello, Violation::RequestLine, 400);
    refused(b"SSH-2.0-OpenSSH_9.6\r\n", Violation::RequestLine, 400);
    refused(b"EHLO example.com\r\n", Violation::RequestLine, 400);
    refused(b"{\"jsonrpc\": \"2.0\"}\n", Violation::RequestLine, 400);
    refused(b"\0\0\0\0", Violation::RequestLine, 400);
    refused(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Violation::Version, 505);
}

/// §2.3: HTTP-name = %s"HTTP", one digit, a dot, one digit.
#[test]
fn the_version_is_case_sensitive_and_has_two_digits() {
    for version in [
        "http/1.1",
        "Http/1.1",
        "HTTP/1",
        "HTTP/1.",
        "HTTP/11",
        "HTTP/1.10",
        "HTTP/1.1x",
        "HTTP/1,1",
        "HTTP/01.1",
        "HTTP/1.01",
        "HTTP/+1.1",
        "HTTP/1.1 ",
        "HTTP /1.1",
        "HTTP/ 1.1",
        "HTTP/x.y",
        "HTTP/1.x",
        "HTP/1.1",
        "HTTPS/1.1",
        "HTTP",
        "1.1",
        "HTTP/0.9",
        "HTTP/2",
        "HTTP/2.0.1",
        "\tHTTP/1.1",
        "HTTP/1.1\t",
    ] {
        let wire = format!("GET / {version}\r\nHost: a\r\n\r\n");
        match version {
            // The part up to the version is valid, and bytes behind an unknown version are not read.
            "HTTP/2.0.1" => refused(wire.as_bytes(), Violation::Version, 505),
            _ => refused(wire.as_bytes(), Violation::RequestLine, 400),
        }
    }
}

/// §2.3, RFC 9110 §2.5: "should process the message as if it was in the highest minor version".
#[test]
fn a_higher_minor_version_is_read_as_1_1() {
    for minor in 2..10 {
        let wire = format!("GET /{minor} HTTP/1.{minor}\r\nHost: a\r\nX: y\r\n\r\n");
        let request = accepted(wire.as_bytes());
        assert_eq!(request.head.version(), Version::HTTP_11);
        assert_eq!(request.head.target(), format!("/{minor}"));
        assert_eq!(request.head.fields().first("x"), Some(&b"y"[..]));
        refused(format!("GET / HTTP/1.{minor}\r\n\r\n").as_bytes(), Violation::HostMissing, 400);

        let wire = format!("HTTP/1.{minor} 200 OK\r\nContent-Length: 0\r\n\r\n");
        let read = SentRequest::new(Method::GET).accepts(wire.as_bytes());
        assert!(read.is_reusable);
        assert_eq!(read.head.unwrap().version(), Version::HTTP_11);
    }
}

/// RFC 9110 §15.6.6
#[test]
fn another_major_version_is_answered_505() {
    for version in ["HTTP/2.0", "HTTP/3.0", "HTTP/9.9"] {
        let wire = format!("GET / {version}\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::Version, 505);
        let wire = format!("{version} 200 OK\r\n\r\n");
        SentRequest::new(Method::GET).refuses(wire.as_bytes(), Violation::Version);
    }
}

/// Appendix C.1: HTTP/0.9 had no version, no fields, and is not supported.
#[test]
fn a_request_line_without_version_is_refused() {
    refused(b"GET /\r\n", Violation::RequestLine, 400);
    refused(b"GET /\r\n\r\n", Violation::RequestLine, 400);
    refused(b"GET / \r\n\r\n", Violation::RequestLine, 400);
    refused(b"GET\r\n\r\n", Violation::RequestLine, 400);
    SentRequest::new(Method::GET).refuses(b"<html>hello</html>", Violation::StatusLine);
}

/// §2.3: an HTTP/1.0 request has no Host, and is not persistent.
#[test]
fn http_1_0_is_read_as_such() {
    let request = accepted(b"GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(request.head.version(), Version::HTTP_10);
    let served = serve(b"GET /old HTTP/1.0\r\n\r\n", &Limits::server(), false);
    assert!(!served.is_open);
    assert!(served.answer.starts_with(b"HTTP/1.1 200 OK\r\n"), "our version, not the client's");
}
