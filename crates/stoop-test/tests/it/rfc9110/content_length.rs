//! RFC 9110 §8.6 Content-Length: the one that a caller declares, in the machines of both versions.

use http::{Method, StatusCode};
use stoop_proto::h1::Client;
use stoop_proto::h2::Refusal;
use stoop_proto::{BodySize, Misuse, ResponseParts};
use stoop_test::frames::{flag, headers};

use crate::machines::{fields, request, server_after_head};
use crate::rfc9113::kit::{GET, ManualMachine};

/// The length that each version sends in a request, or why it refuses the request.
fn in_request(method: Method, lengths: &[&str], size: BodySize) -> Result<Option<String>, Misuse> {
    let lines: Vec<_> = lengths.iter().map(|length| ("Content-Length", *length)).collect();
    let head = request(method, &lines);
    let mut out = Vec::new();
    let sent = Client::new().send(&head, size, &mut out);
    assert!(sent.is_ok() || out.is_empty(), "nothing was written");
    let old = sent.map(|()| of_text(&out));
    let mut machine = ManualMachine::client();
    let opened = machine.connection.open(&head, "https", size, &mut machine.out);
    let new = match opened {
        Ok(_) => Ok(of_line(&machine.sent().pop().unwrap())),
        Err(Refusal::Misuse(misuse)) => Err(misuse),
        Err(other) => panic!("{other:?}"),
    };
    assert!(new.is_ok() || machine.sent().is_empty(), "nothing was written");
    assert_eq!(old, new, "HTTP/1.1 and HTTP/2");
    old
}

/// The length that each version sends in a 200 to a request of that method, or why it refuses the response.
fn in_response(method: &str, lengths: &[&str], size: BodySize) -> Result<Option<String>, Misuse> {
    in_response_of(200, method, lengths, size)
}

fn in_response_of(
    status: u16,
    method: &str,
    lengths: &[&str],
    size: BodySize,
) -> Result<Option<String>, Misuse> {
    let lines: Vec<_> = lengths.iter().map(|length| ("content-length", *length)).collect();
    let fields = fields(&lines);
    let status = StatusCode::from_u16(status).unwrap();
    let parts = ResponseParts { fields: Some(&fields), ..ResponseParts::new(status) };
    let mut out = Vec::new();
    let (mut server, answer) =
        server_after_head(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
    let sent = server.respond(answer, &parts, size, &mut out);
    assert!(sent.is_ok() || out.is_empty(), "nothing was written");
    let old = sent.map(|()| of_text(&out));
    let mut machine = ManualMachine::server();
    let lines = [&[(":method", method)], &GET[1..]].concat();
    let key = machine.read_request(&headers(1, flag::WHOLE, &lines));
    let sent = machine.connection.respond(key, &parts, size, &mut machine.out);
    let new = sent.map(|_| of_line(&machine.sent().pop().unwrap()));
    assert!(new.is_ok() || machine.sent().is_empty(), "nothing was written");
    assert_eq!(old, new, "HTTP/1.1 and HTTP/2, {status} {method} {lengths:?} {size:?}");
    old
}

fn of_text(out: &[u8]) -> Option<String> {
    let text = String::from_utf8(out.to_vec()).unwrap();
    let mut values = text.lines().filter_map(|line| line.strip_prefix("content-length: "));
    let length = values.next().map(str::to_owned);
    assert_eq!(values.next(), None, "{text}");
    assert!(length.is_none() || !text.contains("transfer-encoding"), "{text}");
    length
}

fn of_line(line: &str) -> Option<String> {
    let mut values = line.split(' ').filter_map(|field| field.strip_prefix("content-length="));
    let length = values.next().map(str::to_owned);
    assert_eq!(values.next(), None, "{line}");
    length
}

/// Field values that are no Content-Length.
pub(crate) const MALFORMED: [&str; 7] =
    ["-1", "+1", "1a", "", "1, 1", "99999999999999999999", "0x1"];

/// "A user agent SHOULD send Content-Length in a request when the method defines a meaning for enclosed
/// content and it is not sending Transfer-Encoding."
#[test]
fn a_declared_length_is_sent_for_content_of_unknown_size() {
    let is = |length: &str| Ok(Some(length.to_owned()));
    assert_eq!(in_request(Method::POST, &["7"], BodySize::Unknown), is("7"));
    assert_eq!(in_request(Method::GET, &["7", "7"], BodySize::Unknown), is("7"));
    assert_eq!(in_request(Method::POST, &["0"], BodySize::Unknown), is("0"));
    assert_eq!(in_request(Method::POST, &["007"], BodySize::Exact(7)), is("7"));
    assert_eq!(in_request(Method::POST, &[], BodySize::Unknown), Ok(None));
    for method in ["GET", "HEAD"] {
        assert_eq!(in_response(method, &["7"], BodySize::Unknown), is("7"));
        assert_eq!(in_response(method, &["7"], BodySize::Exact(7)), is("7"));
        assert_eq!(in_response(method, &[], BodySize::Unknown), Ok(None));
    }
}

/// "a sender MUST NOT forward a message with a Content-Length header field value that is known to be
/// incorrect"
#[test]
fn an_invalid_or_contradicting_length_is_a_misuse() {
    let wrong = Err(Misuse::ContentLength);
    let sizes = [BodySize::Unknown, BodySize::Exact(1), BodySize::Exact(0)];
    for size in sizes {
        for value in MALFORMED {
            assert_eq!(in_request(Method::POST, &[value], size), wrong);
            assert_eq!(in_response("GET", &[value], size), wrong);
        }
        assert_eq!(in_request(Method::POST, &["1", "2"], size), wrong);
        assert_eq!(in_response("GET", &["1", "2"], size), wrong);
    }
    assert_eq!(in_request(Method::POST, &["2"], BodySize::Exact(1)), wrong);
    assert_eq!(in_request(Method::GET, &["2"], BodySize::Exact(0)), wrong);
    assert_eq!(in_response("GET", &["2"], BodySize::Exact(1)), wrong);
}

/// "a server MAY send a Content-Length header field in a response to a HEAD request": but no invalid one.
#[test]
fn an_answer_to_head_never_says_an_invalid_length() {
    for value in MALFORMED {
        assert_eq!(in_response("HEAD", &[value], BodySize::Unknown), Ok(None), "{value:?}");
    }
    assert_eq!(in_response("HEAD", &["1", "2"], BodySize::Unknown), Ok(None));
    let sent = in_response("HEAD", &["1234"], BodySize::Exact(0));
    assert_eq!(sent, Ok(Some("1234".to_owned())));
}

/// "a server MUST NOT send Content-Length in such a response unless its field value equals the decimal
/// number of octets that would have been sent in the content of a response if the same request had
/// used the GET method": an unknown length is not sent, and one that the caller declares is.
#[test]
fn an_answer_without_content_says_the_length_that_a_get_would_have_got() {
    let is = |length: &str| Ok(Some(length.to_owned()));
    assert_eq!(in_response("HEAD", &[], BodySize::Exact(5)), is("5"));
    assert_eq!(in_response("HEAD", &["1234"], BodySize::Exact(5)), is("1234"));
    assert_eq!(in_response("HEAD", &["0"], BodySize::Exact(0)), is("0"));
    assert_eq!(in_response("HEAD", &[], BodySize::Exact(0)), Ok(None));
    for method in ["GET", "HEAD"] {
        for size in [BodySize::Exact(5), BodySize::Exact(0), BodySize::Unknown] {
            assert_eq!(in_response_of(304, method, &[], size), Ok(None));
            assert_eq!(in_response_of(304, method, &["1234"], size), is("1234"));
            assert_eq!(in_response_of(204, method, &["1234"], size), Ok(None));
            assert_eq!(in_response_of(205, method, &["1234"], size), is("0"));
        }
    }
}
