//! RFC 9110's rules that do not depend on the version of HTTP, over both.

use http::{Method, StatusCode};
use stoop::{Client, ErrorKind, Request, Response, Versions};

use super::kit::URL;

const BOTH: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// A client of a handler in this process, over one version.
macro_rules! client {
    ($versions:expr, $handler:expr) => {
        Client::builder().versions($versions).handler($handler).build().unwrap()
    };
}

fn fields(response: &Response, name: &str) -> Vec<String> {
    let values = response.fields().all(name);
    values.map(|value| String::from_utf8(value.to_vec()).unwrap()).collect()
}

/// RFC 9110 §6.4.1, §15.3.5, §15.3.6, §15.4.5: neither HEAD nor these statuses have content.
#[tokio::test]
async fn a_response_without_content_has_none_whatever_its_handler_made() {
    for versions in BOTH {
        let client = client!(versions, |request: Request| {
            let status = request.path().trim_start_matches('/').parse().unwrap();
            Response::from_text("some").with_status(StatusCode::from_u16(status).unwrap())
        });
        for (method, status, length) in [
            (Method::GET, 200, vec!["4"]),
            (Method::HEAD, 200, vec!["4"]),
            (Method::GET, 204, vec![]),
            (Method::GET, 205, vec!["0"]),
            (Method::GET, 304, vec![]),
        ] {
            let request = Request::new(method.clone(), &format!("http://a/{status}")).unwrap();
            let response = client.send(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status);
            let what = format!("{versions:?} {method} {status}");
            let said = fields(&response, "content-length");
            // Over HTTP/2 the end of the stream says that there is nothing.
            let is_silent = versions == Versions::Http2 && status == 205 && said.is_empty();
            assert!(is_silent || said == length, "{what}: {said:?}");
            let has_content = status == 200 && method == Method::GET;
            let content = response.into_body().bytes(9).await.unwrap();
            assert_eq!(content.len(), if has_content { 4 } else { 0 }, "{what}");
        }
    }
}

/// RFC 9110 §10.1.1: Expect is a list, of which every member has to be 100-continue.
#[tokio::test]
async fn an_expectation_other_than_100_continue_is_refused() {
    for versions in BOTH {
        let client = client!(versions, async |mut request: Request| {
            let length = request.body_mut().discard().await?;
            Ok::<_, stoop::Error>(length.to_string())
        });
        for (expect, body, status) in [
            ("100-continue", "abc", 200),
            ("100-Continue, 100-continue", "abc", 200),
            ("100-continue", "", 200),
            ("102-processing", "abc", 417),
            ("100-continue, more", "abc", 417),
            ("100-continue=1", "abc", 417),
        ] {
            let request = Request::post(URL, body).unwrap().with_field("expect", expect).unwrap();
            let response = client.send(request).await.unwrap();
            assert_eq!(response.status().as_u16(), status, "{versions:?} {expect:?} {body:?}");
        }
        // Two lines are one list.
        let request = Request::post(URL, "abc").unwrap().with_field("expect", "100-continue");
        let request = request.unwrap().with_field("expect", "other").unwrap();
        assert_eq!(client.send(request).await.unwrap().status(), 417, "{versions:?}");
    }
}

/// RFC 9110 §6.6.1, §8.3: what the server adds, it adds where the handler did not.
#[tokio::test]
async fn a_server_adds_date_and_type_unless_the_handler_gave_them() {
    for versions in BOTH {
        let client = client!(versions, |request: Request| {
            let response = Response::from_text("some");
            match request.path() {
                "/own" => response
                    .with_field("Content-Type", "a/b")
                    .and_then(|r| r.with_field("DATE", "Sun, 06 Nov 1994 08:49:37 GMT"))
                    .unwrap(),
                _ => response,
            }
        });
        let own = client.get("http://a/own").await.unwrap();
        assert_eq!(fields(&own, "content-type"), ["a/b"], "{versions:?}");
        assert_eq!(fields(&own, "date"), ["Sun, 06 Nov 1994 08:49:37 GMT"], "{versions:?}");
        let added = client.get("http://a/").await.unwrap();
        assert_eq!(fields(&added, "content-type"), ["text/plain; charset=utf-8"], "{versions:?}");
        assert_eq!(fields(&added, "date").len(), 1, "{versions:?}");
    }
}

/// RFC 9110 §7.2: a request has one Host, and a valid one.
#[tokio::test]
async fn a_request_with_two_hosts_or_a_malformed_one_is_not_sent() {
    for versions in BOTH {
        let client = client!(versions, |_: Request| "never");
        for hosts in [&["a", "b"][..], &["a", "a"], &["a b"], &["a/b"]] {
            let mut request = Request::get(URL).unwrap();
            for host in hosts {
                request = request.with_field("host", host).unwrap();
            }
            let error = client.send(request).await.unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidMessage, "{versions:?} {hosts:?}: {error}");
        }
    }
}
