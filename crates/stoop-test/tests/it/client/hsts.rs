//! Hosts that are asked over https alone (RFC 6797), from request to request and over redirects.

use stoop::{Client, ErrorKind, Hsts, Redirects, Request, Response, StatusCode};

/// Asks for https for 100 s; `/to?URL` redirects, `/forget` takes it back.
fn answer(request: Request) -> Response {
    let response = match (request.path(), request.query()) {
        ("/to", Some(url)) => {
            Response::from_status(StatusCode::FOUND).with_field("location", url).unwrap()
        }
        _ => Response::from_text("ok"),
    };
    let age = if request.path() == "/forget" { "max-age=0" } else { "max-age=100" };
    response.with_field("strict-transport-security", age).unwrap()
}

async fn url(client: &Client, asked: &str) -> String {
    client.get(asked).await.unwrap().url().unwrap().to_owned()
}

#[tokio::test(start_paused = true)]
async fn a_host_that_asked_for_https_is_asked_over_it_and_redirected_to_over_it() {
    let builder = Client::builder().hsts(Hsts::new());
    let strict = Redirects::follow(3).allow_https_to_http(false);
    let client = builder.redirects(strict).handler(answer).build().unwrap();
    // Over http it may be an attacker who asks.
    assert_eq!(url(&client, "http://a.test/").await, "http://a.test/");
    assert_eq!(url(&client, "http://a.test/").await, "http://a.test/");
    assert_eq!(url(&client, "https://a.test/").await, "https://a.test/");
    assert_eq!(url(&client, "http://a.test/x").await, "https://a.test/x");
    // It does not leave https, then.
    let there = url(&client, "https://b.test/to?http://a.test/y").await;
    assert_eq!(there, "https://a.test/y");
    let denied = client.get("https://b.test/to?http://c.test/").await.unwrap_err();
    assert_eq!(denied.kind(), ErrorKind::RedirectDenied);
    url(&client, "http://a.test/forget").await;
    assert_eq!(url(&client, "http://a.test/").await, "http://a.test/");
}
