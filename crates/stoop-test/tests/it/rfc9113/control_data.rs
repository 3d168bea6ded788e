//! §8.3 HTTP Control Data: pseudo-header fields.

use http::Method;
use stoop_proto::h2::Fault;
use stoop_proto::{BodySize, RequestHead, TargetForm};
use stoop_test::feed::h2::{client_after_get, server};
use stoop_test::frames::{data, flag, headers};

use super::kit::{FieldLines, GET, ManualMachine, OK, ok, post, refuses, resets, with};

/// Asserts that a request with these fields alone is refused.
#[track_caller]
fn refuses_fields(fields: FieldLines<'_>, fault: Fault) {
    refuses(&headers(1, flag::WHOLE, fields), fault);
    refuses(&headers(1, flag::END_HEADERS, fields), fault);
}

/// The fields of a GET with another value of one pseudo-field.
fn get_with(name: &str, value: &'static str) -> Vec<(&'static str, &'static str)> {
    GET.iter().map(|&(key, old)| (key, if key == name { value } else { old })).collect()
}

/// §8.3.1: "All HTTP/2 requests MUST include exactly one valid value for the ":method", ":scheme", and
/// ":path" pseudo-header fields, unless they are CONNECT requests".
#[test]
fn a_request_has_a_method_a_scheme_and_a_path() {
    for missing in 0..3 {
        let mut fields = GET.to_vec();
        fields.remove(missing);
        refuses_fields(&fields, Fault::PseudoMissing);
    }
    refuses_fields(&[], Fault::PseudoMissing);
    refuses_fields(&[("x", "y")], Fault::PseudoMissing);
    refuses_fields(&GET[..1], Fault::PseudoMissing);
    let outcome = server().feed(&headers(1, flag::WHOLE, GET));
    let head = outcome.request(1);
    assert_eq!((head.method(), head.target(), head.authority()), (&Method::GET, "/", "a"));
    assert_eq!((head.version(), head.form()), (http::Version::HTTP_2, TargetForm::Origin));
    assert_eq!(head.fields().len(), 1, "the authority is Host");
}

/// §8.3: "The same pseudo-header field name MUST NOT appear more than once in a field block."
#[test]
fn a_pseudo_field_comes_once() {
    for &line in GET {
        refuses_fields(&with(GET, &[line]), Fault::PseudoRepeated);
    }
    let twice = headers(1, flag::WHOLE, &with(OK, OK));
    resets(&client_after_get(), &twice, 1, Fault::PseudoRepeated);
}

/// §8.3: "All pseudo-header fields MUST appear in a field block before all regular field lines."
#[test]
fn a_pseudo_field_comes_first() {
    for at in 0..4 {
        let mut fields = GET.to_vec();
        fields.insert(at, ("x", "y"));
        refuses_fields(&fields, Fault::PseudoLate);
    }
    let late = headers(1, flag::WHOLE, &[("x", "y"), (":status", "200")]);
    resets(&client_after_get(), &late, 1, Fault::PseudoLate);
    let order = [GET[3], GET[2], GET[1], GET[0]];
    assert_eq!(server().feed(&headers(1, 5, &order)).request(1).target(), "/", "in any order");
}

/// §8.3: "Endpoints MUST treat a request or response that contains undefined or invalid pseudo-header
/// fields as malformed". Those of requests are undefined in responses, and all are in trailers.
#[test]
fn a_pseudo_field_is_one_of_its_message() {
    for name in [":", ":x", ":version", ":Path", ":status"] {
        refuses_fields(&with(GET, &[(name, "200")]), Fault::PseudoUnknown);
    }
    for name in [":", ":x", ":method", ":path", ":scheme", ":authority", ":protocol"] {
        let wire = headers(1, flag::WHOLE, &with(OK, &[(name, "/")]));
        resets(&client_after_get(), &wire, 1, Fault::PseudoUnknown);
    }
    for name in [":", ":x", ":method", ":path", ":status", ":authority"] {
        let trailers = headers(1, flag::WHOLE, &[(name, "200")]);
        let wire = [post(1), data(1, 0, b"x"), trailers.clone()].concat();
        resets(&server(), &wire, 1, Fault::PseudoUnknown);
        resets(&client_after_get(), &[ok(1), trailers].concat(), 1, Fault::PseudoUnknown);
    }
}

/// RFC 9110 §9.1: method = token
#[test]
fn a_method_is_a_token() {
    for method in ["GET", "get", "M-SEARCH", "X"] {
        let outcome = server().feed(&headers(1, 5, &get_with(":method", method)));
        assert_eq!(outcome.request(1).method().as_str(), method);
    }
    for method in ["", "GET / HTTP/1.1", "G:T", "G\u{e4}T", "G,T"] {
        refuses_fields(&get_with(":method", method), Fault::Method);
    }
    refuses_fields(&get_with(":method", "GET\r\nx: y"), Fault::FieldValue);
}

/// RFC 3986 §3.1
#[test]
fn a_scheme_follows_the_grammar_of_uris() {
    for scheme in ["http", "https", "HTTPS", "ftp", "a+b-c.d"] {
        assert_eq!(server().feed(&headers(1, 5, &get_with(":scheme", scheme))).events.len(), 1);
    }
    for scheme in ["", "1http", "ht tp", "http:", "https://", "h\u{e4}"] {
        refuses_fields(&get_with(":scheme", scheme), Fault::Scheme);
    }
}

/// §8.3.1: "This pseudo-header field MUST NOT be empty for "http" or "https" URIs; "http" or "https" URIs
/// that do not contain a path component MUST include a value of '/'. The exceptions to this rule are: an
/// OPTIONS request for an "http" or "https" URI that does not include a path component; these MUST include
/// a ":path" pseudo-header field with a value of '*'".
#[test]
fn a_path_begins_with_a_slash() {
    for path in ["/", "/a?b=c", "//", "/?", "/a;b,c{}|%zz", "/*"] {
        let outcome = server().feed(&headers(1, 5, &get_with(":path", path)));
        assert_eq!(outcome.request(1).target(), path);
    }
    for path in ["", "a", "?a", "*", "http://a/", "/a b", "/a#b", "/\u{e4}", "a:1", "\\"] {
        refuses_fields(&get_with(":path", path), Fault::Path);
    }
    refuses_fields(&get_with(":path", "/a\r\nx: y"), Fault::FieldValue);
    let asterisk =
        [(":method", "OPTIONS"), (":scheme", "https"), (":path", "*"), (":authority", "a")];
    let outcome = server().feed(&headers(1, 5, &asterisk));
    assert_eq!(outcome.request(1).form(), TargetForm::Asterisk);
}

/// §8.3.1: "The recipient of an HTTP/2 request MUST NOT use the Host header field to determine the target
/// URI if ":authority" is present"; "A server SHOULD treat a request as malformed if it contains a Host
/// header field that identifies an entity that differs from the entity in the ":authority" pseudo-header
/// field."
#[test]
fn host_is_the_authority_or_stands_for_it() {
    let outcome = server().feed(&headers(1, 5, &with(&GET[..3], &[("host", "b:1")])));
    assert_eq!(outcome.request(1).authority(), "b:1");
    for host in ["a", "A"] {
        let outcome = server().feed(&headers(1, 5, &with(GET, &[("x", "y"), ("host", host)])));
        let head = outcome.request(1);
        assert_eq!((head.authority(), head.fields().len()), ("a", 2), "once");
    }
    for host in ["b", "a:443", "", "a,b", "u@a"] {
        refuses_fields(&with(GET, &[("host", host)]), Fault::Authority);
    }
    let twice = [("host", "a"), ("host", "a")];
    refuses_fields(&with(GET, &twice), Fault::Authority);
    refuses_fields(&with(&GET[..3], &twice), Fault::Authority);
    refuses_fields(&GET[..3], Fault::PseudoMissing);
}

/// §8.3.1: "The authority MUST NOT include the deprecated userinfo subcomponent for "http" or "https" schemed
/// URIs."
#[test]
fn an_authority_is_a_host_and_perhaps_a_port() {
    for authority in ["a", "a:443", "[::1]:8080", "a.example", "192.0.2.1"] {
        let outcome = server().feed(&headers(1, 5, &get_with(":authority", authority)));
        assert_eq!(outcome.request(1).authority(), authority);
    }
    for authority in
        ["", "u@a", "u:p@a", "a/b", "a b", "a,b", "a:x", "a:70000", ":1", "[::1", "a#b"]
    {
        refuses_fields(&get_with(":authority", authority), Fault::Authority);
    }
}

/// §8.3.2: "a single ":status" pseudo-header field is defined that carries the HTTP status code field. This
/// pseudo-header field MUST be included in all responses, including interim responses".
#[test]
fn a_response_has_a_status_of_three_digits() {
    for status in ["200", "299", "404", "599", "999"] {
        let outcome = client_after_get().feed(&headers(1, flag::WHOLE, &[(":status", status)]));
        assert_eq!(outcome.response(1).status().as_str(), status);
        assert_eq!(outcome.response(1).version(), http::Version::HTTP_2);
    }
    for status in ["", "20", "2000", "abc", "2x0", "099", "000", "+20", "200 OK", "-20"] {
        let wire = headers(1, flag::WHOLE, &[(":status", status)]);
        resets(&client_after_get(), &wire, 1, Fault::Status);
    }
    resets(&client_after_get(), &headers(1, flag::WHOLE, &[]), 1, Fault::PseudoMissing);
    resets(&client_after_get(), &headers(1, flag::WHOLE, &[("x", "y")]), 1, Fault::PseudoMissing);
}

/// The pseudo-fields that we send for each form of a target.
#[test]
fn our_pseudo_fields_are_made_of_the_target_and_host() {
    let sent = |method, target: &str, host: &str, scheme| {
        let mut head = RequestHead::new(method, target).unwrap();
        head.fields_mut().push("Host", host.as_bytes()).unwrap();
        let mut machine = ManualMachine::client();
        machine.connection.open(&head, scheme, BodySize::Exact(0), &mut machine.out).unwrap();
        machine.sent().remove(0).replace("HEADERS 1 END_STREAM ", "")
    };
    let get = |path, authority, scheme| {
        format!(":method=GET :scheme={scheme} :authority={authority} :path={path}")
    };
    assert_eq!(sent(Method::GET, "/", "a", "https"), get("/", "a", "https"));
    assert_eq!(sent(Method::GET, "/a?b", "a:1", "http"), get("/a?b", "a:1", "http"));
    assert_eq!(sent(Method::GET, "http://b:2/c?d", "a", "http"), get("/c?d", "b:2", "http"));
    assert_eq!(sent(Method::GET, "http://b", "a", "http"), get("/", "b", "http"));
    assert_eq!(sent(Method::GET, "http://b?d", "a", "http"), get("/?d", "b", "http"));
    assert_eq!(sent(Method::GET, "https://b/", "a", "coap"), get("/", "b", "coap"));
    let options = |path| format!(":method=OPTIONS :scheme=https :authority=a :path={path}");
    assert_eq!(sent(Method::OPTIONS, "*", "a", "https"), options("*"));
    assert_eq!(sent(Method::OPTIONS, "https://a", "a", "https"), options("*"));
    assert_eq!(sent(Method::OPTIONS, "https://a/", "a", "https"), options("/"));
    assert_eq!(sent(Method::OPTIONS, "https://a?b", "a", "https"), options("/?b"));
    let posted = sent(Method::POST, "/", "a", "https");
    assert_eq!(posted, ":method=POST :scheme=https :authority=a :path=/ content-length=0");
}

/// A request that cannot be sent is refused, and leaves the machine as it was.
#[test]
fn an_invalid_request_is_a_misuse() {
    use stoop_proto::Misuse;
    use stoop_proto::h2::Refusal;
    let refused = |method, target: &str, hosts: &[&str]| {
        let mut head = RequestHead::new(Method::GET, "/").unwrap();
        head.set_method(method);
        if target != "/" {
            head.set_target(target).unwrap();
        }
        for host in hosts {
            head.fields_mut().push("host", host.as_bytes()).unwrap();
        }
        let mut machine = ManualMachine::client();
        let size = BodySize::Exact(0);
        let refused = machine.connection.open(&head, "https", size, &mut machine.out).unwrap_err();
        assert!(machine.out.is_empty() && machine.connection.streams() == 0);
        refused
    };
    assert_eq!(refused(Method::GET, "/", &[]), Refusal::Misuse(Misuse::Host));
    assert_eq!(refused(Method::GET, "/", &["a", "a"]), Refusal::Misuse(Misuse::Host));
    assert_eq!(refused(Method::GET, "/", &[""]), Refusal::Misuse(Misuse::HostInvalid));
    assert_eq!(refused(Method::GET, "/", &["u@a"]), Refusal::Misuse(Misuse::HostInvalid));
    assert_eq!(refused(Method::CONNECT, "/", &["a"]), Refusal::Misuse(Misuse::Target));
}
