//! RFC 9110 §6.4.1, §9.3.2 HEAD, §15.3.5 204, §15.3.6 205, §15.4.5 304: as they are sent.

use http::StatusCode;
use stoop_proto::{BodySize, ResponseParts};

use crate::machines::{fields, ok, respond_with, server_after_head};

const HEAD: &str = "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n";
const GET: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";

/// §9.3.2: "the server MUST NOT send content in the response"
#[test]
fn a_response_to_head_has_the_fields_of_get_and_no_content() {
    let (mut server, answer) = server_after_head(HEAD);
    let said = respond_with(&mut server, answer, &ok(), BodySize::Exact(2), b"hi");
    assert_eq!(said, "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n");
    let (mut server, answer) = server_after_head(HEAD);
    let said = respond_with(&mut server, answer, &ok(), BodySize::Unknown, b"hi");
    assert_eq!(said, "HTTP/1.1 200 OK\r\n\r\n");
    assert!(server.is_receiving(), "and the connection lives on");
}

/// RFC 9110 §8.6: "a server MAY send a Content-Length header field in a response to a HEAD request"
#[test]
fn a_response_to_head_may_declare_the_length_it_would_have() {
    let declared = fields(&[("content-length", "1234"), ("x", "y")]);
    let (mut server, answer) = server_after_head(HEAD);
    let parts = ResponseParts { fields: Some(&declared), ..ok() };
    let said = respond_with(&mut server, answer, &parts, BodySize::Exact(0), b"");
    assert_eq!(said, "HTTP/1.1 200 OK\r\nx: y\r\ncontent-length: 1234\r\n\r\n");

    for no_number in ["-1", "12a", "99999999999999999999", "", "1, 2"] {
        let declared = fields(&[("content-length", no_number)]);
        let (mut server, answer) = server_after_head(HEAD);
        let parts = ResponseParts { fields: Some(&declared), ..ok() };
        let said = respond_with(&mut server, answer, &parts, BodySize::Exact(7), b"1234567");
        assert_eq!(said, "HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\n");
    }
}

/// §8.6: "A server MUST NOT send a Content-Length header field in any response with a status code of
/// 1xx (Informational) or 204 (No Content)."
#[test]
fn a_204_has_no_length_and_no_content() {
    for size in [BodySize::Exact(2), BodySize::Unknown] {
        let declared = fields(&[("Content-Length", "5"), ("Transfer-Encoding", "chunked")]);
        let (mut server, answer) = server_after_head(GET);
        let status = StatusCode::NO_CONTENT;
        let parts = ResponseParts { fields: Some(&declared), ..ResponseParts::new(status) };
        let said = respond_with(&mut server, answer, &parts, size, b"hi");
        assert_eq!(said, "HTTP/1.1 204 No Content\r\n\r\n");
        assert!(server.is_receiving());
    }
}

/// §15.3.6: "a server MUST NOT generate content in a 205 response"
#[test]
fn a_205_says_that_it_has_no_content() {
    for size in [BodySize::Exact(2), BodySize::Unknown] {
        let (mut server, answer) = server_after_head(GET);
        let parts = ResponseParts::new(StatusCode::RESET_CONTENT);
        let said = respond_with(&mut server, answer, &parts, size, b"hi");
        assert_eq!(said, "HTTP/1.1 205 Reset Content\r\ncontent-length: 0\r\n\r\n");
    }
}

/// §15.4.5: "A 304 response is terminated by the end of the header section"
#[test]
fn a_304_has_no_content_and_only_a_length_that_was_declared() {
    let (mut server, answer) = server_after_head(GET);
    let parts = ResponseParts::new(StatusCode::NOT_MODIFIED);
    let said = respond_with(&mut server, answer, &parts, BodySize::Exact(2), b"hi");
    assert_eq!(said, "HTTP/1.1 304 Not Modified\r\n\r\n");
    let declared = fields(&[("content-length", "99")]);
    let (mut server, answer) = server_after_head(GET);
    let parts = ResponseParts { fields: Some(&declared), ..parts };
    let said = respond_with(&mut server, answer, &parts, BodySize::Unknown, b"hi");
    assert_eq!(said, "HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n");
}
