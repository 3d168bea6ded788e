//! §8.2 HTTP Fields.

use http::{Method, StatusCode};
use stoop_proto::h2::Fault;
use stoop_proto::{BodySize, ResponseParts};
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{block, data, flag, frame, headers, kind, literal};

use super::kit::{GET, ManualMachine, OK, get, post, refuses, request, resets, with};

/// Asserts that a field is refused in requests, responses and trailers.
#[track_caller]
fn refuses_field(name: &[u8], value: &[u8], fault: Fault) {
    let with_line = |fields: &[(&str, &str)]| {
        let mut block = block(fields);
        literal(name, value, &mut block);
        frame(kind::HEADERS, flag::WHOLE, 1, &block)
    };
    refuses(&with_line(GET), fault);
    resets(&client_after_get(), &with_line(OK), 1, fault);
    resets(&server(), &[post(1), data(1, 0, b"x"), with_line(&[])].concat(), 1, fault);
    resets(&client_after_get(), &[headers(1, 4, OK), with_line(&[])].concat(), 1, fault);
}

/// §8.2.1: "A field name MUST NOT contain characters in the ranges 0x00-0x20, 0x41-0x5a, or 0x7f-0xff (all
/// ranges inclusive). This specifically excludes all non-visible ASCII characters, ASCII SP (0x20), and
/// uppercase characters". "With the exception of pseudo-header fields, which have a name that starts with a
/// single colon, field names MUST NOT include a colon".
#[test]
fn a_field_name_is_a_token_in_lower_case() {
    for byte in 0..=255u8 {
        let fits = byte.is_ascii_lowercase()
            || byte.is_ascii_digit()
            || b"!#$%&'*+-.^_`|~".contains(&byte);
        let name = [b'x', byte, b'y'];
        match fits {
            true => {
                let text = String::from_utf8(name.to_vec()).unwrap();
                let outcome = server().feed_whole(&headers(1, 5, &with(GET, &[(&text, "v")])));
                assert!(outcome.request(1).fields().contains(&text), "{byte:#x}");
            }
            false => refuses_field(&name, b"v", Fault::FieldName),
        }
    }
    for name in [&b""[..], b"X", b"Host", b"x:y", b"x:", b" x", b"x ", b"x\r\ny", b"\xc3\xa4"] {
        refuses_field(name, b"v", Fault::FieldName);
    }
}

/// §8.2.1: "A field value MUST NOT contain the zero value (ASCII NUL, 0x00), line feed (ASCII LF, 0x0a), or
/// carriage return (ASCII CR, 0x0d) at any position." We refuse every control character, as over HTTP/1.
#[test]
fn a_field_value_has_no_control_characters() {
    for byte in 0..=255u8 {
        let value = [b'a', byte, b'b'];
        if byte == b'\t' || (byte >= b' ' && byte != 0x7f) {
            let mut block = block(GET);
            literal(b"x", &value, &mut block);
            let outcome = server().feed_whole(&frame(kind::HEADERS, flag::WHOLE, 1, &block));
            assert_eq!(outcome.request(1).fields().first("x"), Some(&value[..]));
        } else {
            refuses_field(b"x", &value, Fault::FieldValue);
        }
    }
    refuses_field(b"x", b"a\r\nx-injected: b", Fault::FieldValue);
}

/// §8.2.1: "A field value MUST NOT start or end with an ASCII whitespace character (ASCII SP or HTAB, 0x20 or
/// 0x09)."
#[test]
fn a_field_value_has_no_whitespace_around_it() {
    for value in [&b" a"[..], b"a ", b"\ta", b"a\t", b" ", b"\t"] {
        refuses_field(b"x", value, Fault::FieldValue);
        refuses_field(b"x-long-enough-to-be-of-no-table", value, Fault::FieldValue);
    }
    let outcome = server().feed(&headers(1, 5, &with(GET, &[("x", ""), ("y", "a b\tc")])));
    assert_eq!(outcome.request(1).fields().first("x"), Some(&b""[..]));
}

/// §8.2.1: lines that the table has are examined once, and are invalid each time.
#[test]
fn an_invalid_line_stays_invalid_in_the_table() {
    for (line, fault) in [
        (&b"\x40\x01X\x01v"[..], Fault::FieldName),
        (b"\x40\x01x\x02v\n", Fault::FieldValue),
        (b"\x40\x07upgrade\x01v", Fault::ConnectionField),
        (b"\x40\x02:x\x01v", Fault::PseudoUnknown),
    ] {
        let of = |stream, line: &[u8]| {
            let block = [b"\x82\x87\x84\x41\x01a", line].concat();
            frame(kind::HEADERS, flag::WHOLE, stream, &block)
        };
        // `:authority: a` was inserted into the table before, and is inserted again.
        let wire = [of(1, line), of(3, b"\xbf"), get(5)].concat();
        let outcome = server().feed(&wire);
        let code = fault.code();
        let reset = |stream| format!("RST_STREAM {stream} {code}");
        assert_eq!(outcome.sent[..2], [reset(1), reset(3)], "{fault:?}");
    }
}

/// §8.2.2: "An endpoint MUST NOT generate an HTTP/2 message containing connection-specific header fields.
/// This includes the Connection header field and those listed as having connection-specific semantics in
/// Section 7.6.1 of [HTTP] (that is, Proxy-Connection, Keep-Alive, Transfer-Encoding, and Upgrade). Any
/// message containing connection-specific header fields MUST be treated as malformed".
#[test]
fn connection_specific_fields_are_malformed() {
    for name in ["connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade"] {
        for value in ["", "x", "close", "chunked"] {
            refuses_field(name.as_bytes(), value.as_bytes(), Fault::ConnectionField);
        }
    }
}

/// §8.2.2: "The only exception to this is the TE header field, which MAY be present in an HTTP/2 request;
/// when it is, it MUST NOT contain any value other than "trailers"."
#[test]
fn te_says_trailers_or_nothing() {
    for value in ["trailers", "Trailers"] {
        let outcome = server().feed(&headers(1, 5, &with(GET, &[("te", value)])));
        assert!(outcome.request(1).fields().contains("te"));
    }
    for value in ["", "gzip", "trailers, gzip", "chunked", "trailers;q=0.5"] {
        refuses_field(b"te", value.as_bytes(), Fault::ConnectionField);
    }
}

/// §8.2: our machine leaves the caller's connection-specific fields out, and writes names in lower case.
#[test]
fn our_fields_are_in_lower_case_and_not_connection_specific() {
    let lines = [
        ("Connection", "close, x"),
        ("KEEP-ALIVE", "5"),
        ("Proxy-Connection", "x"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "y"),
        ("X-Kept", "Z"),
    ];
    let mut head = crate::machines::request(Method::GET, &lines);
    head.fields_mut().push("TE", b"Trailers").unwrap();
    let mut machine = ManualMachine::client();
    machine.connection.open(&head, "https", BodySize::Exact(0), &mut machine.out).unwrap();
    let pseudo = ":method=GET :scheme=https :authority=a :path=/";
    assert_eq!(machine.sent(), [format!("HEADERS 1 END_STREAM {pseudo} x-kept=Z te=trailers")]);
    head.fields_mut().set("te", b"gzip").unwrap();
    machine.connection.open(&head, "https", BodySize::Exact(0), &mut machine.out).unwrap();
    assert_eq!(machine.sent(), [format!("HEADERS 3 END_STREAM {pseudo} x-kept=Z")]);

    let fields = crate::machines::fields(&lines);
    let parts = ResponseParts { fields: Some(&fields), ..ResponseParts::new(StatusCode::OK) };
    let mut machine = ManualMachine::server();
    let key = machine.read_request(&get(1));
    machine.connection.respond(key, &parts, BodySize::Unknown, &mut machine.out).unwrap();
    machine.connection.finish(key, Some(&fields), &mut machine.out).unwrap();
    assert_eq!(machine.sent(), ["HEADERS 1 :status=200 x-kept=Z", "HEADERS 1 END_STREAM x-kept=Z"]);
}

/// §8.2.3: "If there are multiple Cookie header fields after decompression, these MUST be concatenated into
/// a single octet string using the two-octet delimiter of 0x3b, 0x20 (the ASCII string "; ") before being
/// passed into a non-HTTP/2 context".
#[test]
fn cookie_crumbs_are_joined() {
    let lines = [("cookie", "a=b"), ("x", "y"), ("cookie", "c=d; e=f"), ("cookie", "g=h")];
    let fields = server().feed(&headers(1, 5, &with(GET, &lines))).request(1).fields().clone();
    assert_eq!(fields.all("cookie").collect::<Vec<_>>(), [b"a=b; c=d; e=f; g=h"]);
    assert_eq!(fields.len(), 3);
    let outcome = server().feed(&headers(1, 5, &with(GET, &[("cookie", "a=b; c=d")])));
    assert_eq!(outcome.request(1).fields().first("cookie"), Some(&b"a=b; c=d"[..]));
}

/// Browsers send a Cookie line for each cookie, and servers may set 180 cookies: they count as one field,
/// which is limited by its bytes.
#[test]
fn crumbs_are_one_field() {
    let crumbs: Vec<_> = (0..500).map(|n| format!("name{n}=value")).collect();
    let lines: Vec<_> = crumbs.iter().map(|crumb| ("cookie", crumb.as_str())).collect();
    let outcome = server().feed_whole(&headers(1, 5, &with(GET, &lines)));
    assert_eq!(outcome.request(1).fields().first("cookie"), Some(crumbs.join("; ").as_bytes()));
    let endpoint = server().within(|limits| limits.head_bytes_max = 500);
    let outcome = endpoint.feed_whole(&headers(1, 5, &with(GET, &lines[..20])));
    assert!(outcome.has_sent("HEADERS 1 END_STREAM :status=431 content-length=0"));
}

/// `Limits::fields_max`, at N and N + 1; the authority is a field, since it becomes Host.
#[test]
fn the_number_of_fields_is_bounded() {
    for max in [1, 10, 128] {
        let endpoint = server().within(|limits| limits.fields_max = max);
        let names: Vec<_> = (1..=max).map(|n| format!("x-{n}")).collect();
        let lines: Vec<_> = names.iter().map(|name| (name.as_str(), "v")).collect();
        let outcome = endpoint.feed_whole(&headers(1, 5, &with(GET, &lines[..max - 1])));
        assert_eq!(outcome.request(1).fields().len(), max);
        let outcome = endpoint.feed_whole(&headers(1, 5, &with(GET, &lines)));
        assert!(outcome.has_sent("HEADERS 1 END_STREAM :status=431 content-length=0"));
    }
}

/// Secrets are never indexed (RFC 7541 §7.1.3), and values that always change are not inserted into the
/// table.
#[test]
fn secrets_do_not_go_into_the_table() {
    let mut head = request(Method::GET);
    head.fields_mut().push("authorization", b"Bearer secret").unwrap();
    head.fields_mut().push("cookie", b"session=secret").unwrap();
    let mut machine = ManualMachine::client();
    for _ in 0..3 {
        machine.out.clear();
        machine.connection.open(&head, "https", BodySize::Exact(0), &mut machine.out).unwrap();
        let written = String::from_utf8_lossy(&machine.out).into_owned();
        assert_eq!(written.matches("secret").count(), 2, "in each request anew");
    }
}
