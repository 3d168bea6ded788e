//! §3 Request Line: method, target in its four forms, Host.

use http::Method;
use stoop_proto::{TargetForm, Violation};
use stoop_test::feed::{accepted, refused};

/// §3: request-line = method SP request-target SP HTTP-version
#[test]
fn the_parts_of_a_request_line_are_separated_by_a_single_space() {
    for line in [
        "GET  / HTTP/1.1",
        "GET /  HTTP/1.1",
        " GET / HTTP/1.1",
        "GET\t/ HTTP/1.1",
        "GET /\tHTTP/1.1",
        "GET / HTTP/1.1 ",
        "GET / x HTTP/1.1",
        "GET /a b HTTP/1.1",
        "GET /\x0bHTTP/1.1",
        "GET\x0c/ HTTP/1.1",
        "GET/ HTTP/1.1",
        "GET /HTTP/1.1",
        "/ HTTP/1.1",
        "GET HTTP/1.1",
        "GET  HTTP/1.1",
    ] {
        let wire = format!("{line}\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::RequestLine, 400);
    }
}

/// §3.1: "The method token is case-sensitive."
#[test]
fn a_method_is_any_token() {
    for method in ["GET", "get", "PROPFIND", "M-SEARCH", "x", "!#$%&'*+-.^_`|~09"] {
        let wire = format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(accepted(wire.as_bytes()).head.method().as_str(), method);
    }
    for method in ["", "G(T", "GET:", "G\"T", "GE\0T", "GE\x7fT", "G,T", "{", "G@T"] {
        let wire = format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::RequestLine, 400);
    }
}

/// §3.2: "No whitespace is allowed in the request-target", nor other characters that URIs exclude.
#[test]
fn a_request_target_has_no_character_that_a_uri_has_not() {
    for target in ["/a\x01b", "/\0", "/a\x7f", "/a\tb"] {
        let wire = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::RequestLine, 400);
    }
    for target in ["/a#b", "#", "/ä"] {
        let wire = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::Target, 400);
    }
    // URIs exclude these too, but browsers send them.
    for target in ["/a|b", "/{x}", "/a\"b", "/<>", "/a\\b", "/^`", "/[1]", "/%zz", "/%00", "/a?b?c"]
    {
        let wire = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        assert_eq!(accepted(wire.as_bytes()).head.target(), target);
    }
}

/// §3.2.1
#[test]
fn origin_form_is_an_absolute_path_and_a_query() {
    let head = accepted(b"GET /where?q=now HTTP/1.1\r\nHost: www.example.org\r\n\r\n").head;
    assert_eq!(
        (head.form(), head.path(), head.query()),
        (TargetForm::Origin, "/where", Some("q=now"))
    );
    assert_eq!(head.authority(), "www.example.org");
    let head = accepted(b"GET //x//y HTTP/1.1\r\nHost: a\r\n\r\n").head;
    assert_eq!((head.form(), head.path(), head.query()), (TargetForm::Origin, "//x//y", None));
    for target in ["where", "?q", "a/b", "../a", "www.example.org", "a:80", "mailto:x@y"] {
        let wire = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::Target, 400);
    }
}

/// §3.2.2: "A server MUST accept the absolute-form in requests", and "MUST ignore the received Host
/// header field (if any) and instead use the host information of the request-target".
#[test]
fn absolute_form_is_accepted_and_names_the_host() {
    let head = accepted(b"GET http://b:81/p?q HTTP/1.1\r\nHost: a\r\n\r\n").head;
    assert_eq!((head.form(), head.path(), head.query()), (TargetForm::Absolute, "/p", Some("q")));
    assert_eq!(head.authority(), "b:81");
    assert_eq!(accepted(b"GET HTTP://b HTTP/1.1\r\nHost: b\r\n\r\n").head.path(), "/");
    assert_eq!(accepted(b"GET https://[::1]/x HTTP/1.0\r\n\r\n").head.authority(), "[::1]");
    // §3.2: Host is required all the same.
    refused(b"GET http://b/ HTTP/1.1\r\n\r\n", Violation::HostMissing, 400);
}

/// RFC 9110 §4.2.1, §4.2.4: an empty host is invalid, user information may hide one.
#[test]
fn absolute_form_has_a_host_and_no_user() {
    for target in [
        "http://",
        "http:///p",
        "http://?q",
        "http://:80/",
        "http://u@a/",
        "http://u:p@a/",
        "http://a:x/",
        "http://a:99999/",
        "http:a",
        "http:/a",
        "ftp://a/",
        "httpx://a/",
        "://a/",
        "http://a,b/",
        "http://[::1/",
        "http://a\\@b/",
    ] {
        let wire = format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::Target, 400);
    }
}

/// §3.2.3: "only used for CONNECT requests", which have no other form.
#[test]
fn authority_form_is_for_connect_only() {
    let head =
        accepted(b"CONNECT www.example.com:80 HTTP/1.1\r\nHost: www.example.com\r\n\r\n").head;
    assert_eq!((head.form(), head.authority()), (TargetForm::Authority, "www.example.com:80"));
    accepted(b"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: a\r\n\r\n");
    for target in ["/", "a", "a:", ":443", "a:x", "[::1]", "http://a:443", "*", "u@a:443", "a:443/"]
    {
        let wire = format!("CONNECT {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::TargetForm, 400);
    }
    refused(b"GET www.example.com:80 HTTP/1.1\r\nHost: a\r\n\r\n", Violation::Target, 400);
}

/// §3.2.4: "only used for a server-wide OPTIONS request".
#[test]
fn asterisk_form_is_for_options_only() {
    let head = accepted(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").head;
    assert_eq!((head.form(), head.target()), (TargetForm::Asterisk, "*"));
    accepted(b"OPTIONS / HTTP/1.1\r\nHost: a\r\n\r\n");
    accepted(b"OPTIONS http://a HTTP/1.1\r\nHost: a\r\n\r\n");
    for method in [Method::GET, Method::POST, Method::HEAD, Method::DELETE] {
        let wire = format!("{method} * HTTP/1.1\r\nHost: a\r\n\r\n");
        refused(wire.as_bytes(), Violation::TargetForm, 400);
    }
    refused(b"OPTIONS ** HTTP/1.1\r\nHost: a\r\n\r\n", Violation::Target, 400);
}

/// §3.2: "MUST respond with a 400 (Bad Request) status code to any HTTP/1.1 request message that
/// lacks a Host header field"
#[test]
fn a_request_that_lacks_host_is_answered_400() {
    refused(b"GET / HTTP/1.1\r\n\r\n", Violation::HostMissing, 400);
    refused(b"GET / HTTP/1.1\r\nHosts: a\r\nX-Host: a\r\n\r\n", Violation::HostMissing, 400);
    accepted(b"GET / HTTP/1.0\r\n\r\n");
}

/// §3.2: "… that contains more than one Host header field line"
#[test]
fn a_request_with_more_than_one_host_is_answered_400() {
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", Violation::HostRepeated, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", Violation::HostRepeated, 400);
    refused(b"GET / HTTP/1.0\r\nHost: a\r\nHOST: a\r\n\r\n", Violation::HostRepeated, 400);
    refused(b"GET / HTTP/1.1\r\nHost: a, b\r\n\r\n", Violation::HostInvalid, 400);
}

/// §3.2: "… or a Host header field with an invalid field value"
#[test]
fn a_request_with_an_invalid_host_is_answered_400() {
    for host in [
        "u@a", "a b", "a/b", "/", "a?b", "a#b", "http://a", "a:x", "a:-1", "a:+80", "a:65536",
        "a:000080", "a: 80", "a :80", "a:80:80", "[::1", "::1", "[::1]x", "[]", "[x]", ":80", ":",
        "a\tb", "a%", "a%2", "a%zz", "a\\b", "\"a\"", "<a>", "a^b", "{a}", "a|b", "ä", "a\x00b",
    ] {
        let wire = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let violation = match host.contains('\0') {
            true => Violation::FieldValue,
            false => Violation::HostInvalid,
        };
        refused(wire.as_bytes(), violation, 400);
    }
}

/// RFC 9110 §7.2: Host = uri-host [ ":" port ]
#[test]
fn a_host_is_a_name_or_an_address_and_perhaps_a_port() {
    for host in [
        "example.com",
        "EXAMPLE.com.",
        "a_b-c",
        "127.0.0.1:8080",
        "[::1]",
        "[::ffff:1.2.3.4]:80",
        "a:",
        "a:0",
        "a:65535",
        "xn--bcher-kva.example",
        "a%41",
        "a!$&'()*+;=~",
        "",
        "  a \t",
    ] {
        let wire = format!("GET / HTTP/1.1\r\nHost:{host}\r\n\r\n");
        accepted(wire.as_bytes());
    }
}
