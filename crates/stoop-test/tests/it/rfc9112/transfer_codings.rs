//! §7 Transfer Codings: chunked.

use http::Method;
use stoop_proto::{Limits, Violation};
use stoop_test::feed::{ReadRequest, SentRequest, accepted, refused};

/// A request with this chunked body.
fn chunked(body: &[u8]) -> Vec<u8> {
    [b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", body].concat()
}

#[track_caller]
fn decoded(body: &[u8]) -> ReadRequest {
    accepted(&chunked(body))
}

/// Asserts that server and client refuse this chunked body.
#[track_caller]
fn refuses_body(body: &[u8], violation: Violation) {
    refused(&chunked(body), violation, violation.answer().unwrap().as_u16());
    let wire = [b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body].concat();
    SentRequest::new(Method::GET).refuses(&wire, violation);
}

/// §7.1: chunked-body = *chunk last-chunk trailer-section CRLF
#[test]
fn a_chunked_body_is_chunks_a_last_chunk_and_a_trailer_section() {
    assert_eq!(decoded(b"0\r\n\r\n").body, b"");
    assert_eq!(decoded(b"5\r\nhello\r\n0\r\n\r\n").body, b"hello");
    assert_eq!(decoded(b"2\r\nhe\r\n3\r\nllo\r\n00\r\n\r\n").body, b"hello");
    assert_eq!(decoded(b"5\r\n\r\n0\r\n\r\n0\r\n\r\n").body, b"\r\n0\r\n", "CRLF may be data");
    assert_eq!(decoded(b"00000000000000a\r\n0123456789\r\n0\r\n\r\n").body, b"0123456789");
}

/// §7.1: chunk-size = 1*HEXDIG
#[test]
fn a_chunk_size_is_hexadecimal_in_either_case() {
    for size in ["1a", "1A", "01a", "000000000000001A"] {
        let body = format!("{size}\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n");
        assert_eq!(decoded(body.as_bytes()).body.len(), 26);
    }
}

/// §7.1: chunk-size has no sign, prefix, fraction or space.
#[test]
fn a_chunk_size_that_is_not_hexadecimal_is_refused() {
    for size in [
        "", "0x5", "0X5", "+5", "-5", "_5", "5_0", "5.0", " 5", "\t5", "g", "5g", "5 5", "\"5\"",
        "५", "5h", "5,5", "x", ";x", "\r5", "5\x005", "5\x0b", "5=",
    ] {
        refuses_body(format!("{size}\r\nhello\r\n0\r\n\r\n").as_bytes(), Violation::ChunkSize);
    }
    refuses_body(b"5\r\nhello\r\n\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"\r\n5\r\nhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5\r\nhello\r\n-0\r\n\r\n", Violation::ChunkSize);
}

/// §7.1: "recipients MUST anticipate potentially large hexadecimal numerals and prevent parsing
/// errors due to integer conversion overflows"
#[test]
fn a_chunk_size_that_overflows_is_refused() {
    for size in [
        "10000000000000005",
        "fffffffffffffffff",
        "00000000000000005",
        "ffffffffffffffffffffffffff",
    ] {
        refuses_body(
            format!("{size}\r\nhello\r\n0\r\n\r\n").as_bytes(),
            Violation::ChunkSizeOverflow,
        );
    }
    // Nor a size that is negative in 64-bit signed integers, alone or added to the sizes before it.
    refuses_body(b"8000000000000000\r\nhello", Violation::ChunkSizeOverflow);
    refuses_body(b"ffffffffffffffff\r\nhello", Violation::ChunkSizeOverflow);
    refuses_body(b"5\r\nhello\r\n7ffffffffffffffb\r\nhello", Violation::ChunkSizeOverflow);
    let served =
        stoop_test::feed::serve(&chunked(b"7fffffffffffffff\r\nhello"), &Limits::server(), false);
    assert_eq!(served.unfinished.unwrap().body, b"hello", "sixteen digits are a number");
}

/// §7.1: the size is refused when it is read, before its line has ended.
#[test]
fn a_chunk_size_beyond_a_limit_is_refused_before_its_line_has_ended() {
    let mut limits = Limits::server();
    limits.body_bytes_max = Some(10);
    for (body, is_refused) in [
        (&b"a"[..], false),
        (b"b", true),
        (b"10", true),
        (b"5\r\nhello\r\n5", false),
        (b"5\r\nhello\r\n6", true),
    ] {
        let served = stoop_test::feed::serve(&chunked(body), &limits, false);
        assert_eq!(served.violation, is_refused.then_some(Violation::BodyTooLarge));
    }
    let served = stoop_test::feed::serve(&chunked(b"8000000000000000"), &Limits::server(), false);
    assert_eq!(served.violation, Some(Violation::ChunkSizeOverflow));
}

/// §7.1: chunk = chunk-size [ chunk-ext ] CRLF chunk-data CRLF
#[test]
fn a_chunk_is_followed_by_crlf() {
    for end in ["", "\n", "\r", "x\r\n", "\r\r\n", " \r\n", "XX", "\n\r\n"] {
        refuses_body(format!("5\r\nhello{end}0\r\n\r\n").as_bytes(), Violation::ChunkEnd);
    }
}

/// §7.1: neither a bare LF nor a bare CR ends the line.
#[test]
fn a_chunk_size_line_ends_in_crlf() {
    refuses_body(b"5\nhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5\rhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5\r\rhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5 \nhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5\r\nhello\r\n0\n\r\n", Violation::ChunkSize);
    refuses_body(b"5;x\nhello\r\n0\r\n\r\n", Violation::ChunkExtension);
    refuses_body(b"5;x\rhello\r\n0\r\n\r\n", Violation::ChunkSize);
    refuses_body(b"5\r\nhello\r\n0\r\n\n", Violation::BareLf);
    refuses_body(b"5\r\nhello\r\n0\r\nX: y\n\r\n", Violation::BareLf);
    refuses_body(b"5\r\nhello\r\n0\r\nX: y\r\n\n", Violation::BareLf);
    refuses_body(b"5\r\nhello\r\n0\r\n\rX", Violation::FieldName);
}

/// §7.1.1: "A recipient MUST ignore unrecognized chunk extensions."
#[test]
fn chunk_extensions_are_ignored() {
    for extension in [
        ";a",
        ";a=b",
        ";a=\"b c\"",
        " ; a = b",
        "\t;\ta",
        ";a;b=c;d",
        ";a=\"\\\"\"",
        ";a=\"é\"",
        ";a=\"\"",
        ";a=\"b\";c",
        ";a=\"b\" ;c",
        ";a=\"1;2\"",
    ] {
        let body =
            [b"5", extension.as_bytes(), b"\r\nhello\r\n0", extension.as_bytes(), b"\r\n\r\n"];
        assert_eq!(decoded(&body.concat()).body, b"hello");
    }
}

/// §7.1.1: an extension cannot end its line or begin another.
#[test]
fn a_chunk_extension_has_no_control_characters() {
    for extension in [";\0", ";a\n", ";a=\"\n\"", ";a\x0b", ";\x7f", ";a\x1b[2J", ";\x08"] {
        refuses_body(
            format!("5{extension}\r\nhello\r\n0\r\n\r\n").as_bytes(),
            Violation::ChunkExtension,
        );
    }
    // A quoted string does not hide a line end.
    refuses_body(b"5;a=\"\r\nhello\r\n0\r\n\r\n", Violation::ChunkExtension);
    refuses_body(b"5;a=\"\\\r\nhello\r\n0\r\n\r\n", Violation::ChunkExtension);
}

/// §7.1.1: chunk-ext = *( BWS ";" BWS chunk-ext-name [ BWS "=" BWS chunk-ext-val ] ): a name is a token,
/// a value a token or a quoted string, and nothing else is read as if it were.
#[test]
fn a_chunk_extension_is_what_its_grammar_says() {
    for extension in [
        ";",
        ";;a",
        ";a;",
        ";=b",
        ";a=",
        ";a=;b",
        ";a==b",
        ";a b",
        ";a=b c",
        ";a=\"b",
        ";a=\"b\"c",
        ";a=\"b\"\"c\"",
        ";a=b\"c\"",
        ";\"a\"",
        ";a=b=c",
        ";é",
        ";a=é",
        ";a,b",
        ";a=[b]",
        ";a ",
        ";a=b ",
        ";a=\"b\" ",
    ] {
        refuses_body(
            format!("5{extension}\r\nhello\r\n0\r\n\r\n").as_bytes(),
            Violation::ChunkExtension,
        );
        refuses_body(
            format!("5\r\nhello\r\n0{extension}\r\n\r\n").as_bytes(),
            Violation::ChunkExtension,
        );
    }
}

/// §7.1.1: BWS stands before a semicolon, not before the line end. Old servers pad sizes so.
#[test]
fn a_chunk_size_padded_with_spaces_is_read_by_clients_only() {
    for padding in [" ", "  ", "\t", "     "] {
        let body = format!("5{padding}\r\nhello\r\n0{padding}\r\n\r\n");
        refused(&chunked(body.as_bytes()), Violation::ChunkSize, 400);
        let wire = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let read = SentRequest::new(Method::GET).accepts(wire.as_bytes());
        assert_eq!((&read.body[..], read.is_reusable), (&b"hello"[..], true));
    }
}

/// §7.1.2: "A trailer section allows the sender to include additional fields at the end of a chunked
/// message"
#[test]
fn a_trailer_section_is_handed_on_apart_from_the_head() {
    let request =
        decoded(b"5\r\nhello\r\n0\r\nX-Sum: 1\r\nx-sum: 2\r\nServer-Timing: a;dur=1\r\n\r\n");
    let trailers = request.trailers.unwrap();
    assert_eq!(trailers.all("X-Sum").collect::<Vec<_>>(), [&b"1"[..], b"2"]);
    assert_eq!(trailers.len(), 3);
    assert_eq!(request.head.fields().len(), 2, "never merged into the head");
    assert_eq!(decoded(b"0\r\n\r\n").trailers, None);

    let read = SentRequest::new(Method::GET).accepts(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nEtag: \"x\"\r\n\r\n",
    );
    assert_eq!(read.trailers.unwrap().first("etag"), Some(&b"\"x\""[..]));
}

/// RFC 9110 §6.5.1: fields "necessary for message framing, routing, authentication, request
/// modifiers, response controls, or content format" must not be processed as trailers.
#[test]
fn fields_that_may_not_be_trailers_are_dropped() {
    for name in [
        "Content-Length",
        "transfer-encoding",
        "HOST",
        "Authorization",
        "Cookie",
        "Set-Cookie",
        "Connection",
        "Content-Type",
        "Content-Encoding",
        "Content-Range",
        "Trailer",
        "TE",
        "Upgrade",
        "Expect",
        "If-Match",
        "Range",
        "Location",
        "Cache-Control",
        "Proxy-Authorization",
        "WWW-Authenticate",
        "Date",
        "Keep-Alive",
    ] {
        let body = format!("0\r\n{name}: 5\r\nX-Kept: y\r\n\r\n");
        let trailers = decoded(body.as_bytes()).trailers.unwrap();
        assert!(!trailers.contains(name) && trailers.contains("x-kept"), "{name}");
    }
}

/// §7.1.2: a trailer section is made of field lines, and they are read as strictly as in a head.
#[test]
fn a_trailer_section_is_read_as_strictly_as_a_head() {
    refuses_body(b"0\r\nX : y\r\n\r\n", Violation::SpaceBeforeColon);
    refuses_body(b"0\r\nX: y\r\n z\r\n\r\n", Violation::ObsFold);
    refuses_body(b"0\r\n X: y\r\n\r\n", Violation::ObsFold);
    refuses_body(b"0\r\nX y\r\n\r\n", Violation::SpaceBeforeColon);
    refuses_body(b"0\r\n: y\r\n\r\n", Violation::FieldName);
    refuses_body(b"0\r\nX(: y\r\n\r\n", Violation::FieldName);
    refuses_body(b"0\r\nX: y\0\r\n\r\n", Violation::FieldValue);
    refuses_body(b"0\r\nX: y\rz\r\n\r\n", Violation::FieldValue);
    refuses_body(b"0\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n", Violation::SpaceBeforeColon);
}
