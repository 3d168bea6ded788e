//! Whether content has changed, by what is known of each URL (RFC 9110 §13).

use std::time::Duration;

use stoop::{Client, Method, Redirects, Request, Response, Retries, StatusCode, Validators};

/// Answers with the conditions and the path of the request, as a 304 if its If-None-Match has `"k"`; `/to?URL` redirects, and
/// `/busy` answers 503.
fn answer(request: Request) -> Response {
    let location = request.query().filter(|_| request.path() == "/to");
    let status = match (location, request.path()) {
        (Some(_), _) => StatusCode::FOUND,
        (None, "/busy") => StatusCode::SERVICE_UNAVAILABLE,
        (None, _) if request.field("if-none-match") == Some(b"\"k\"") => StatusCode::NOT_MODIFIED,
        (None, _) => StatusCode::OK,
    };
    let mut response = Response::from_status(status);
    if let Some(location) = location {
        response = response.with_field("location", location).unwrap();
    }
    for (name, seen) in [("if-none-match", "x-etag"), ("if-modified-since", "x-date")] {
        if let Some(value) = request.field(name) {
            response = response.with_field(seen, value).unwrap();
        }
    }
    response
}

/// A client that knows something of `/known`, of `/busy` and of a redirect, and a date of `/dated`.
fn client() -> Client {
    let find = |method: &Method, url: &str| {
        assert!(matches!(*method, Method::GET | Method::HEAD));
        let etag = match url {
            "http://a.test/known" | "http://b.test/known" => Some("\"k\"".into()),
            "http://a.test/busy" | "http://a.test/to?/other" => Some("\"k\"".into()),
            "http://a.test/dated" => None,
            // What no field may have was in no response.
            "http://a.test/broken" => {
                return Some(Validators { etag: Some("a\r\nb".into()), last_modified: None });
            }
            _ => return None,
        };
        Some(Validators { etag, last_modified: Some("then".into()) })
    };
    let retries = Retries::up_to(2).delay(Duration::from_millis(1), Duration::from_millis(1));
    let builder = Client::builder().validators(find).redirects(Redirects::follow(3));
    builder.retries(retries).handler(answer).build().unwrap()
}

/// The status, the conditions that were seen, and whether it is unchanged.
fn told(response: &Response) -> (u16, &str, &str, bool) {
    let seen = |name| std::str::from_utf8(response.field(name).unwrap_or_default()).unwrap();
    (response.status().as_u16(), seen("x-etag"), seen("x-date"), response.is_unchanged())
}

#[tokio::test(start_paused = true)]
async fn a_request_has_the_validators_of_its_url_and_of_no_other() {
    let client = client();
    for (path, expected) in [
        ("known", (304, "\"k\"", "then", true)),
        ("dated", (200, "", "then", false)),
        ("broken", (200, "", "", false)),
        ("other", (200, "", "", false)),
        // Of a redirect that of the URL it leads to, also on another origin.
        ("to?/known", (304, "\"k\"", "then", true)),
        ("to?http://b.test/known", (304, "\"k\"", "then", true)),
        ("to?/other", (200, "", "", false)),
        // Each attempt.
        ("busy", (503, "\"k\"", "then", false)),
    ] {
        let response = client.get(format!("http://a.test/{path}")).await.unwrap();
        assert_eq!(told(&response), expected, "{path}");
    }
    let head = client.send(Request::new(Method::HEAD, "http://a.test/known").unwrap()).await;
    assert_eq!(told(&head.unwrap()), (304, "\"k\"", "then", true));
}

#[tokio::test(start_paused = true)]
async fn requests_with_conditions_or_a_range_and_other_methods_stay_as_they_are() {
    let client = client();
    let get = || Request::get("http://a.test/known").unwrap();
    for (request, expected) in [
        (get().with_field("if-none-match", "\"k\"").unwrap(), (304, "\"k\"", "", false)),
        (get().with_field("if-range", "\"x\"").unwrap(), (200, "", "", false)),
        (get().with_field("range", "bytes=0-1").unwrap(), (200, "", "", false)),
        (Request::new(Method::POST, "http://a.test/known").unwrap(), (200, "", "", false)),
        (Request::new(Method::POST, "http://a.test/to?/known").unwrap(), (200, "", "", false)),
    ] {
        let method = request.method().clone();
        let response = client.send(request).await.unwrap();
        assert_eq!(told(&response), expected, "{method}");
    }
}
