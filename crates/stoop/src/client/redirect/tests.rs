//! Tests of redirects: methods, locations, origins.

use super::*;

fn url(text: &str) -> Url {
    Url::parse(text).unwrap()
}

#[test]
fn methods_change_as_the_rfc_and_browsers_have_it() {
    let default = Redirects::default();
    for (status, from, to, with_content) in [
        (301, Method::POST, Method::GET, false),
        (302, Method::POST, Method::GET, false),
        (303, Method::POST, Method::GET, false),
        (301, Method::PUT, Method::PUT, true),
        (303, Method::PUT, Method::GET, false),
        (303, Method::HEAD, Method::HEAD, false),
        (307, Method::POST, Method::POST, true),
        (308, Method::DELETE, Method::DELETE, true),
        (302, Method::HEAD, Method::HEAD, true),
    ] {
        let code = StatusCode::from_u16(status).unwrap();
        assert_eq!(method(code, &from, &default), (to, with_content), "{status} {from}");
    }
}

#[test]
fn a_post_stays_one_behind_the_statuses_of_the_policy() {
    let statuses = [301, 302, 303].map(|status| StatusCode::from_u16(status).unwrap());
    for kept in statuses {
        let policy = Redirects::default().keep_post(kept);
        for status in statuses {
            let stays = (Method::POST, true);
            assert_eq!(method(status, &Method::POST, &policy) == stays, status == kept, "{status}");
        }
        let (changed, _) = method(StatusCode::SEE_OTHER, &Method::PUT, &policy);
        assert_eq!(changed, Method::GET);
    }
    let policy = Redirects::default().keep_post(StatusCode::OK).keep_post(StatusCode::CONTINUE);
    assert_eq!(method(StatusCode::FOUND, &Method::POST, &policy).0, Method::GET);
}

#[test]
fn locations_are_resolved_against_where_they_came_from() {
    let from = url("https://a.example/b/c?d");
    let policy = Redirects::default();
    for (location, to) in [
        ("/x", "https://a.example/x"),
        ("x", "https://a.example/b/x"),
        ("?y", "https://a.example/b/c?y"),
        ("//b.example", "https://b.example/"),
        ("http://b.example/#frag", "http://b.example/"),
        ("../../..", "https://a.example/"),
        (" /a b/ä\t", "https://a.example/a%20b/%C3%A4"),
    ] {
        assert_eq!(target(&from, location.as_bytes(), &policy, |_| {}).unwrap().as_str(), to);
    }
    let latin1 = target(&from, b"/\xe4?%C3", &policy, |_| {}).unwrap();
    assert_eq!(latin1.as_str(), "https://a.example/%E4?%C3");
    for bad in ["ftp://a/", "file:///etc/passwd", "javascript:1", "http://", "http://[::1"] {
        let kind = target(&from, bad.as_bytes(), &policy, |_| {}).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::RedirectDenied, "{bad}");
    }
    let strict = Redirects::default().allow_https_to_http(false);
    assert!(target(&from, b"http://a.example/", &strict, |_| {}).is_err());
}

#[test]
fn what_is_said_of_a_location_has_no_credentials_in_it() {
    let from = url("https://a.example/");
    let strict = Redirects::default().allow_https_to_http(false);
    for bad in [
        "http://me:s3cret@b.example/",
        "ftp://me:s3cret@b.example/",
        "//me:s3cret@b.example:99999/",
        "http://me:s3cret/4@b.example/",
        " \thttps://me:s3cret@[::1",
    ] {
        let error = target(&from, bad.as_bytes(), &strict, |_| {}).unwrap_err().to_string();
        assert!(!error.contains("s3cret") && error.contains("***@"), "{error}");
    }
}

#[test]
fn an_origin_is_scheme_host_and_port() {
    let a = url("https://a.example/");
    assert!(same_origin(&a, &url("https://a.example:443/x")));
    for other in ["http://a.example/", "https://b.example/", "https://a.example:8443/"] {
        assert!(!same_origin(&a, &url(other)), "{other}");
    }
}
