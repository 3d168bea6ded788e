//! §5 Field Syntax: names, colons, values, folds.

use http::Method;
use stoop_proto::Violation;
use stoop_test::feed::{SentRequest, accepted, refused};

/// §5: field-line = field-name ":" OWS field-value OWS
#[test]
fn a_field_value_is_what_stands_between_the_whitespace() {
    let head = accepted(
        b"GET / HTTP/1.1\r\nHost:a\r\nA:\r\nB: \t \r\nC:  c  c\t\r\nD:d:d\r\nc: second\r\n\r\n",
    )
    .head;
    let fields = head.fields();
    assert_eq!(fields.first("a"), Some(&b""[..]));
    assert_eq!(fields.first("b"), Some(&b""[..]));
    assert_eq!(fields.all("c").collect::<Vec<_>>(), [&b"c  c"[..], b"second"]);
    assert_eq!(fields.first("d"), Some(&b"d:d"[..]));
    let names: Vec<_> = fields.iter().map(|field| field.name().to_owned()).collect();
    assert_eq!(names, ["Host", "A", "B", "C", "D", "c"], "in order, in the case they came in");
}

/// §5: field-name = token
#[test]
fn a_field_name_is_a_token() {
    accepted(b"GET / HTTP/1.1\r\nHost: a\r\n!#$%&'*+-.^_`|~09azAZ: x\r\n\r\n");
    for name in ["", "a(", "a@b", "a/b", "a[]", "\"a\"", "a\0", "a\x7f", "{a}", "a=b", "a;", "a,b"]
    {
        let wire = format!("GET / HTTP/1.1\r\nHost: a\r\n{name}: x\r\n\r\n");
        refused(wire.as_bytes(), Violation::FieldName, 400);
    }
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nno colon\r\n\r\n", Violation::SpaceBeforeColon, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nnocolon\r\n\r\n", Violation::FieldName, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\n:\r\n\r\n", Violation::FieldName, 400);
}

/// §5.1: "A server MUST reject, with a response status code of 400 (Bad Request), any received
/// request message that contains whitespace between a header field name and colon."
#[test]
fn whitespace_between_name_and_colon_is_answered_400() {
    for name in ["Host ", "Host\t", "Content-Length ", "Transfer-Encoding \t", "X "] {
        let wire = format!("GET / HTTP/1.1\r\n{name}: 0\r\n\r\n");
        refused(wire.as_bytes(), Violation::SpaceBeforeColon, 400);
    }
}

/// §5.1: a proxy removes it "before forwarding the message downstream", so a client may meet it.
#[test]
fn whitespace_before_the_colon_of_a_response_is_removed_but_not_where_it_frames() {
    let get = SentRequest::new(Method::GET);
    let head = get.accepts(b"HTTP/1.1 200 OK\r\nServer \t: old\r\nContent-Length: 0\r\n\r\n").head;
    assert_eq!(head.unwrap().fields().first("server"), Some(&b"old"[..]));
    get.refuses(b"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", Violation::SpaceBeforeColon);
    get.refuses(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding\t: chunked\r\n\r\n0\r\n\r\n",
        Violation::SpaceBeforeColon,
    );
}

/// RFC 9110 §5.5: "field values containing CR, LF, or NUL characters are invalid and dangerous"
#[test]
fn a_control_character_in_a_value_is_refused() {
    for byte in (0..0x20).chain([0x7f]).filter(|byte| !matches!(byte, b'\t' | b'\r' | b'\n')) {
        let wire = [b"GET / HTTP/1.1\r\nHost: a\r\nX: y", &[byte][..], b"z\r\n\r\n"].concat();
        refused(&wire, Violation::FieldValue, 400);
        let wire = [b"GET / HTTP/1.1\r\nHost: a\r\nX: ", &[byte][..], b"\r\n\r\n"].concat();
        refused(&wire, Violation::FieldValue, 400);
        let wire = [b"HTTP/1.1 200 OK\r\nX: y", &[byte][..], b"z\r\n\r\n"].concat();
        SentRequest::new(Method::GET).refuses(&wire, Violation::FieldValue);
    }
}

/// RFC 9110 §5.5: "A recipient SHOULD treat other allowed octets in field content (i.e., obs-text)
/// as opaque data."
#[test]
fn obs_text_is_kept() {
    for byte in 0x80..=0xff {
        let wire = [b"GET / HTTP/1.1\r\nHost: a\r\nX: ", &[byte][..], b"\r\n\r\n"].concat();
        assert_eq!(accepted(&wire).head.fields().first("x"), Some(&[byte][..]));
    }
}

/// §5.2: "A server that receives an obs-fold in a request message … MUST either reject the message by
/// sending a 400 (Bad Request) … or replace"
#[test]
fn a_folded_line_in_a_request_is_answered_400() {
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n z\r\n\r\n", Violation::ObsFold, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n\tz\r\n\r\n", Violation::ObsFold, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX:\r\n y\r\n\r\n", Violation::ObsFold, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nX: y\r\n \r\n\r\n", Violation::ObsFold, 400);
    refused(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        Violation::ObsFold,
        400,
    );
}

/// §5.2: "A user agent … MUST replace each received obs-fold with one or more SP octets"
#[test]
fn a_folded_line_in_a_response_is_joined_by_spaces() {
    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.1 200 OK\r\nA: x\r\n\ty\r\n  z\r\nB:\r\n b\r\nC: c\n d\nContent-Length: 2\r\n\r\nhi",
    );
    let head = read.head.unwrap();
    assert_eq!(head.fields().first("a"), Some(&b"x  \ty    z"[..]));
    assert_eq!(head.fields().first("b"), Some(&b"b"[..]));
    assert_eq!(head.fields().first("c"), Some(&b"c  d"[..]));
    assert_eq!(read.body, b"hi");
}

/// §5.2: recipients read a fold in a framing field in more than one way.
#[test]
fn a_fold_in_a_framing_field_of_a_response_is_an_error() {
    let get = SentRequest::new(Method::GET);
    for wire in [
        &b"HTTP/1.1 200 OK\r\nContent-Length:\r\n 5\r\n\r\nhello"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n 6\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding:\n chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip,\r\n chunked\r\n\r\n0\r\n\r\n",
    ] {
        get.refuses(wire, Violation::ObsFold);
    }
}
