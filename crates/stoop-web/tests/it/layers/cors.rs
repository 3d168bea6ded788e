//! Cross-origin requests (Fetch standard §3.2).

use std::time::Duration;

use stoop::Method;
use stoop_web::{Cors, Router, get};

use super::send;
use crate::kit::{client, field};

const APP: &str = "https://app.test";

fn listed() -> Cors {
    Cors::origins([APP])
        .methods([Method::PUT])
        .headers(["x-a", "x-b"])
        .expose(["x-c"])
        .credentials()
        .max_age(Duration::from_secs(60))
}

fn router(cors: Cors) -> stoop::Client {
    client(Router::new().route("/", get(|| "content")).layer(cors))
}

/// Fetch standard §3.2.2, §3.3.
#[tokio::test]
async fn a_preflight_is_answered_without_the_handler() {
    let client = router(listed());
    let asked = [
        ("origin", APP),
        ("access-control-request-method", "PUT"),
        ("access-control-request-headers", "x-a"),
    ];
    let response = send(&client, "OPTIONS", "/", &asked).await;
    assert_eq!(response.status(), 204);
    for (name, value) in [
        ("access-control-allow-origin", APP),
        ("access-control-allow-credentials", "true"),
        ("access-control-allow-methods", "GET, HEAD, POST, PUT"),
        ("access-control-allow-headers", "x-a, x-b"),
        ("access-control-max-age", "60"),
        ("access-control-expose-headers", ""),
        ("allow", ""),
    ] {
        assert_eq!(field(&response, name), value, "{name}");
    }
    for name in ["origin", "access-control-request-method", "access-control-request-headers"] {
        assert!(response.fields().lists("vary", name), "{name}");
    }
}

#[tokio::test]
async fn an_origin_that_may_not_gets_no_permission() {
    let client = router(listed());
    for origin in ["https://app.test.evil.test", "https://APP.test", "http://app.test", "null", ""]
    {
        let asked = [("origin", origin), ("access-control-request-method", "PUT")];
        for method in ["OPTIONS", "GET"] {
            let response = send(&client, method, "/", &asked).await;
            let fields = response.fields().iter();
            let permissions = fields.filter(|field| field.name().starts_with("access-control"));
            assert_eq!(permissions.count(), 0, "{method} {origin}");
            assert!(response.fields().lists("vary", "origin"), "{method} {origin}");
        }
    }
}

#[tokio::test]
async fn other_requests_are_answered_and_readable_by_the_origin() {
    let client = router(listed());
    let response = send(&client, "GET", "/", &[("origin", APP)]).await;
    assert_eq!(field(&response, "access-control-allow-origin"), APP);
    assert_eq!(field(&response, "access-control-expose-headers"), "x-c");
    assert_eq!(response.text().await.unwrap(), "content");
    // Errors too, or a page could not tell them from a network that is down.
    let response = send(&client, "GET", "/none", &[("origin", APP)]).await;
    assert_eq!(
        (response.status().as_u16(), field(&response, "access-control-allow-origin")),
        (404, APP)
    );
    // Without Origin too: a cache must not give this answer to a page.
    let response = send(&client, "GET", "/", &[]).await;
    assert_eq!(
        (field(&response, "vary"), field(&response, "access-control-allow-origin")),
        ("origin", "")
    );
    // An OPTIONS that is no preflight is an OPTIONS.
    let response = send(&client, "OPTIONS", "/", &[("origin", APP)]).await;
    assert_eq!(field(&response, "allow"), "GET, HEAD, OPTIONS");
}

#[tokio::test]
async fn all_origins_are_a_star_which_does_not_vary() {
    let client = router(Cors::any_origin().any_method().any_header().expose(["x-c"]));
    let asked = [
        ("origin", "https://x.test"),
        ("access-control-request-method", "REPORT"),
        ("access-control-request-headers", "x-any, x-thing"),
    ];
    let response = send(&client, "OPTIONS", "/", &asked).await;
    assert_eq!(field(&response, "access-control-allow-origin"), "*");
    assert_eq!(field(&response, "access-control-allow-methods"), "REPORT");
    assert_eq!(field(&response, "access-control-allow-headers"), "x-any, x-thing");
    let response = send(&client, "GET", "/", &[]).await;
    assert_eq!(
        (field(&response, "vary"), field(&response, "access-control-allow-origin")),
        ("", "*")
    );
    // A cache may give that answer to a page.
    assert_eq!(field(&response, "access-control-expose-headers"), "x-c");
}

#[test]
#[should_panic(expected = "credentials need a list of origins")]
fn all_origins_never_have_credentials() {
    let _ = Cors::any_origin().credentials();
}
