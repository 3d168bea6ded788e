//! §6 Message Body: Transfer-Encoding, Content-Length, and which of them applies.

use http::Method;
use stoop_proto::Violation;
use stoop_test::feed::{ResponseEnd, SentRequest, accepted, refused};

/// A POST with these field lines, and a body that is valid as five bytes of content and as chunks.
fn post(lines: &str) -> Vec<u8> {
    format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n0\r\n\r\n").into_bytes()
}

/// §6.1: "A server that receives a request message with a transfer coding it does not understand
/// SHOULD respond with 501 (Not Implemented)."
#[test]
fn a_transfer_coding_that_is_not_understood_is_answered_501() {
    for codings in [
        "gzip",
        "gzip, chunked",
        "identity",
        "xchunked",
        "chunkedx",
        "chunke",
        "deflate;q=1, chunked",
        "identity, chunked",
        "x\r\nTransfer-Encoding: chunked",
        "chunked-",
        "'chunked'",
    ] {
        refused(&post(&format!("Transfer-Encoding: {codings}")), Violation::CodingUnknown, 501);
    }
}

/// §6.3: "If … the chunked transfer coding is not the final encoding, … the server MUST respond with
/// the 400 (Bad Request) status code and then close the connection."
#[test]
fn chunked_not_last_is_answered_400() {
    for codings in ["chunked, gzip", "chunked, identity", "chunked\r\nTransfer-Encoding: gzip"] {
        refused(&post(&format!("Transfer-Encoding: {codings}")), Violation::ChunkedNotLast, 400);
    }
}

/// §6.1: "A sender MUST NOT apply the chunked transfer coding more than once to a message body"
#[test]
fn chunked_twice_is_answered_400() {
    for codings in [
        "chunked, chunked",
        "chunked,chunked",
        "Chunked\r\ntransfer-encoding: chunked",
        "gzip, chunked, chunked",
        "chunked;q=1",
        "chunked; x=\"y\"",
    ] {
        refused(&post(&format!("Transfer-Encoding: {codings}")), Violation::ChunkedRepeated, 400);
    }
}

/// RFC 9110 §10.1.4: transfer-coding = token *( OWS ";" OWS transfer-parameter )
#[test]
fn a_malformed_list_of_codings_is_answered_400() {
    for codings in [
        "",
        " ",
        ",",
        ",chunked",
        "chunked,",
        "chunked, ,chunked",
        "\"chunked\"",
        "chun ked",
        "(chunked)",
        "chunked chunked",
        ";",
        ";chunked",
        "chunked\r\nTransfer-Encoding:",
    ] {
        refused(&post(&format!("Transfer-Encoding: {codings}")), Violation::CodingInvalid, 400);
    }
}

/// RFC 9112 §7: "All transfer-coding names are case-insensitive"
#[test]
fn chunked_is_not_case_sensitive_and_may_have_whitespace_around() {
    for codings in ["chunked", "CHUNKED", "cHuNkEd", " \tchunked \t"] {
        let request = accepted(&post(&format!("Transfer-Encoding:{codings}")));
        assert_eq!(request.body, b"");
    }
}

/// §6.1: "A server or client that receives an HTTP/1.0 message containing a Transfer-Encoding header
/// field MUST treat the message as if the framing is faulty"
#[test]
fn transfer_encoding_in_http_1_0_is_faulty_framing() {
    for connection in ["", "Connection: keep-alive\r\n"] {
        let wire =
            format!("POST / HTTP/1.0\r\n{connection}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
        refused(wire.as_bytes(), Violation::CodingInOldVersion, 400);
    }
    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n\
          2\r\nhi\r\n0\r\n\r\n",
    );
    assert_eq!((&read.body[..], read.is_reusable), (&b"hi"[..], false));
}

/// §6.3: "a message received with both a Transfer-Encoding and a Content-Length header field" might
/// be smuggling; "the server MAY reject the message".
#[test]
fn a_request_with_both_length_and_coding_is_answered_400() {
    for lines in [
        "Content-Length: 5\r\nTransfer-Encoding: chunked",
        "Transfer-Encoding: chunked\r\nContent-Length: 5",
        "Content-Length: 0\r\nTransfer-Encoding: chunked",
        "Content-Length: 5\r\nTransfer-Encoding: gzip",
        "Transfer-Encoding: chunked\r\nX: y\r\ncontent-length: 5",
    ] {
        refused(&post(lines), Violation::LengthAndCoding, 400);
    }
}

/// §6.3: "the Transfer-Encoding overrides the Content-Length"; §6.1: "MUST close the connection".
#[test]
fn in_a_response_the_coding_overrides_the_length_and_the_connection_is_not_used_again() {
    for (lines, reusable) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked", false),
        ("Transfer-Encoding: chunked\r\nContent-Length: 0", false),
        ("Transfer-Encoding: chunked", true),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\n2\r\nhi\r\n0\r\n\r\n");
        let read = SentRequest::new(Method::GET).accepts(wire.as_bytes());
        assert_eq!((&read.body[..], read.is_reusable), (&b"hi"[..], reusable), "{lines}");
    }
}

/// RFC 9110 §8.6: Content-Length = 1*DIGIT
#[test]
fn a_content_length_that_is_not_a_number_is_answered_400() {
    for length in [
        "",
        " ",
        "+5",
        "-1",
        "-0",
        "0x5",
        "0X5",
        "5.0",
        "5e1",
        "1_0",
        "1 0",
        "1\t0",
        "5;",
        "\"5\"",
        "five",
        "५",
        "NaN",
        "5h",
        "h5",
        "0b1",
        "5,",
        ",5",
        ",",
        "5,,5",
        "18446744073709551616",
        "99999999999999999999999999",
        "340282366920938463463374607431768211456",
    ] {
        let wire = format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\nhello");
        refused(wire.as_bytes(), Violation::LengthInvalid, 400);
        let wire = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\nhello");
        SentRequest::new(Method::GET).refuses(wire.as_bytes(), Violation::LengthInvalid);
    }
    let wire = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \x0b5\r\n\r\nhello";
    refused(wire, Violation::FieldValue, 400);
}

/// RFC 9110 §8.6: any number of digits is allowed.
#[test]
fn a_content_length_may_have_leading_zeros_and_be_large() {
    let wire =
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0000000000000000000000005\r\n\r\nhello";
    assert_eq!(accepted(wire).body, b"hello");
    let read = SentRequest::new(Method::GET)
        .reads(b"HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nhello");
    assert_eq!((&read.body[..], read.ended), (&b"hello"[..], ResponseEnd::Open));
}

/// §6.3: "If a message is received … with multiple Content-Length header fields having differing
/// field-values …, then the message framing is invalid and the recipient MUST treat it as an
/// unrecoverable error."
#[test]
fn differing_lengths_are_an_unrecoverable_error() {
    for lines in [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: 5, 6",
        "Content-Length: 5,0",
        "Content-Length: 0\r\nX: y\r\ncontent-length: 5",
        "Content-Length: 5, 5, 6",
    ] {
        let wire = format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\nhello");
        refused(wire.as_bytes(), Violation::LengthRepeated, 400);
        let wire = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\nhello");
        SentRequest::new(Method::GET).refuses(wire.as_bytes(), Violation::LengthRepeated);
    }
}

/// RFC 9110 §8.6: a list of equal numbers: "either reject the message as invalid or replace"
#[test]
fn equal_lengths_are_refused_by_a_server_and_taken_as_one_by_a_client() {
    for lines in
        ["Content-Length: 5\r\nContent-Length: 5", "Content-Length: 5, 5", "Content-Length: 5,05"]
    {
        let wire = format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\nhello");
        refused(wire.as_bytes(), Violation::LengthRepeated, 400);
        let wire = format!("HTTP/1.1 200 OK\r\n{lines}\r\n\r\nhello");
        let read = SentRequest::new(Method::GET).accepts(wire.as_bytes());
        assert_eq!((&read.body[..], read.is_reusable), (&b"hello"[..], true));
    }
}

/// §6.3, 1.: "Any response to a HEAD request and any response with a 1xx …, 204 …, or 304 … status
/// code is always terminated by the first empty line after the header fields"
#[test]
fn some_responses_have_no_body_whatever_their_fields_say() {
    for framing in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
        for (method, status, kept) in [
            (Method::HEAD, "200 OK", true),
            (Method::HEAD, "404 Not Found", true),
            (Method::GET, "304 Not Modified", true),
            // A 204 must not announce content, but some servers send it.
            (Method::GET, "204 No Content", framing.is_empty()),
        ] {
            let wire = format!("HTTP/1.1 {status}\r\n{framing}\r\n");
            let read = SentRequest::new(method).accepts(wire.as_bytes());
            assert_eq!((&read.body[..], read.is_reusable), (&b""[..], kept), "{status} {framing}");
        }
        let wire =
            format!("HTTP/1.1 103 Early Hints\r\n{framing}\r\nHTTP/1.1 204 No Content\r\n\r\n");
        assert_eq!(SentRequest::new(Method::GET).accepts(wire.as_bytes()).interim.len(), 1);
    }
}

/// §6.3, 2.: "Any 2xx (Successful) response to a CONNECT request implies that the connection will
/// become a tunnel"; its Content-Length or Transfer-Encoding is ignored.
#[test]
fn a_2xx_to_connect_is_a_tunnel() {
    for framing in ["", "Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
        let wire = format!("HTTP/1.1 200 Connected\r\n{framing}\r\n\x16\x03\x01");
        let read = SentRequest::new(Method::CONNECT).reads(wire.as_bytes());
        assert_eq!((read.ended, read.is_reusable), (ResponseEnd::Tunnel, false));
        assert_eq!(read.rest, b"\x16\x03\x01", "the tunnel's bytes are not touched");
    }
    let read = SentRequest::new(Method::CONNECT)
        .accepts(b"HTTP/1.1 407 No\r\nContent-Length: 2\r\n\r\nno");
    assert_eq!((&read.body[..], read.is_reusable), (&b"no"[..], true));
}

/// §6.3, 4.: in a response, a coding that is not understood: no length can be told from it.
#[test]
fn a_response_with_another_coding_than_chunked_is_an_error() {
    let get = SentRequest::new(Method::GET);
    for (codings, violation) in [
        ("gzip, chunked", Violation::CodingUnknown),
        ("gzip", Violation::CodingUnknown),
        ("chunked, gzip", Violation::ChunkedNotLast),
        ("chunked, chunked", Violation::ChunkedRepeated),
        ("", Violation::CodingInvalid),
    ] {
        let wire = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {codings}\r\n\r\n0\r\n\r\n");
        get.refuses(wire.as_bytes(), violation);
    }
}

/// §6.3, 6.: "its decimal value defines the expected message body length in octets"
#[test]
fn a_length_is_the_length_of_the_body() {
    for method in ["GET", "HEAD", "POST", "DELETE", "OPTIONS", "X"] {
        let wire = format!("{method} / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!(accepted(wire.as_bytes()).body, b"hello");
        let wire = format!("{method} / HTTP/1.0\r\nContent-Length: 5\r\n\r\nhello");
        assert_eq!(accepted(wire.as_bytes()).body, b"hello");
    }
    accepted(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
    // RFC 9110 §9.3.6: content of a CONNECT has no meaning, but its length counts.
    assert_eq!(
        accepted(b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello").body,
        b"hello"
    );
}

/// §6.3, 7.: "If this is a request message and none of the above are true, then the message body
/// length is zero"
#[test]
fn a_request_without_either_has_no_body() {
    assert_eq!(accepted(b"POST / HTTP/1.1\r\nHost: a\r\n\r\n").body, b"");
    assert_eq!(accepted(b"POST / HTTP/1.0\r\n\r\n").body, b"", "not up to the close");
}

/// §6.3, 8.: "Otherwise, this is a response message without a declared message body length, so the
/// message body length is determined by the number of octets received prior to the server closing"
#[test]
fn a_response_without_either_ends_with_the_connection() {
    for head in [
        "HTTP/1.1 200 OK\r\n\r\n",
        "HTTP/1.0 200 OK\r\nServer: old\r\n\r\n",
        "HTTP/1.0 500\n\n",
        "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\n\r\n",
    ] {
        let read =
            SentRequest::new(Method::GET).reads_to_end(format!("{head}all\r\nof\nit").as_bytes());
        assert_eq!(
            (&read.body[..], read.ended),
            (&b"all\r\nof\nit"[..], ResponseEnd::WithConnection)
        );
        assert!(!read.is_reusable);
        let read = SentRequest::new(Method::GET).reads_to_end(head.as_bytes());
        assert_eq!((&read.body[..], read.ended), (&b""[..], ResponseEnd::WithConnection));
    }
}
