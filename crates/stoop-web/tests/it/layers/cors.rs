//! Cross-origin requests (Fetch standard §3.2).

use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::{Client, Method, Response, Server, ServerHandle, ServerLimits, ServingEvent, Versions};
use stoop_web::{Cors, Next, Router, get};

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

fn router(cors: Cors) -> Client {
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

/// Where a server says what it hears of panics, with handlers that fail in each way.
struct Failing {
    server: ServerHandle,
    panics: Arc<Mutex<Vec<String>>>,
}

impl Failing {
    fn start(cors: Cors, limits: ServerLimits) -> Self {
        async fn around(request: stoop::Request, next: Next) -> Response {
            next.run(request).await
        }
        let panics = Arc::<Mutex<Vec<String>>>::default();
        let heard = panics.clone();
        let later = async || -> &'static str {
            tokio::task::yield_now().await;
            panic!("on purpose, later")
        };
        let app = Router::new()
            .route("/now", get(|| -> &'static str { panic!("on purpose, now") }))
            .route("/later", get(later))
            .route("/slow", get(pending::<()>).time_limit(Duration::from_millis(1)))
            .route("/never", get(pending::<()>))
            .layer(around)
            .layer(cors.clone())
            // One within the other, as in a nested router, adds what it would add.
            .layer(cors);
        let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
        let server = server.observe(move |_, event| {
            if let ServingEvent::Panicked { message, .. } = event {
                heard.lock().unwrap().push((*message).to_owned());
            }
        });
        Self { server: server.run_here(app.build().unwrap()).unwrap(), panics }
    }

    async fn ask(&self, versions: Versions, path: &str, origin: &str) -> Response {
        let client = Client::builder().versions(versions).build().unwrap();
        let url = format!("{}{path}", self.server.endpoint());
        client.get(url).header("origin", origin).await.unwrap()
    }
}

/// A page sees the status, and not that it may not read the answer.
#[tokio::test]
async fn pages_can_read_what_is_answered_in_place_of_the_handler() {
    let mut limits = ServerLimits::default();
    limits.time.handler = Duration::from_millis(20);
    let failing = Failing::start(listed(), limits);
    for versions in [Versions::Http1, Versions::Http2] {
        for (path, status, retry_after) in
            [("/now", 500, ""), ("/later", 500, ""), ("/slow", 503, "5"), ("/never", 503, "5")]
        {
            let response = failing.ask(versions, path, APP).await;
            assert_eq!(response.status(), status, "{path}");
            assert_eq!(field(&response, "retry-after"), retry_after, "{path}");
            let origins: Vec<_> = response.fields().all("access-control-allow-origin").collect();
            assert_eq!(origins, [APP.as_bytes()], "{path}");
            assert_eq!(field(&response, "access-control-allow-credentials"), "true", "{path}");
            assert_eq!(field(&response, "access-control-expose-headers"), "x-c", "{path}");
            assert!(response.fields().lists("vary", "origin"), "{path}");
            let stranger = failing.ask(versions, path, "https://b.test").await;
            assert_eq!(stranger.status(), status, "{path}");
            assert_eq!(field(&stranger, "access-control-allow-origin"), "", "{path}");
        }
    }
    // They are panics like others.
    let panics = failing.panics.lock().unwrap().clone();
    assert_eq!(panics.len(), 8, "{panics:?}");
    assert!(panics.iter().all(|message| message.starts_with("on purpose, ")), "{panics:?}");
    assert_eq!(failing.server.stats().panics, 8);
    failing.server.close().await;
}

/// What was added to an answer that was not given is not added to the next one.
#[tokio::test]
async fn what_one_answer_would_have_had_is_in_no_other() {
    async fn catching(request: stoop::Request, next: Next) -> Response {
        let answer = tokio::spawn(async move { next.run(request).await });
        answer.await.unwrap_or_else(|_| Response::from_text("caught"))
    }
    let open = Router::new().route("/open", get(|| -> &'static str { panic!("on purpose") }));
    let own = Router::new()
        .route("/own", get(|| -> &'static str { panic!("on purpose") }))
        .layer(catching)
        .layer(Cors::any_origin());
    let client = client(open.merge(own));
    for _ in 0..2 {
        let own = send(&client, "GET", "/own", &[("origin", APP)]).await;
        assert_eq!(own.text().await.unwrap(), "caught");
        let open = send(&client, "GET", "/open", &[("origin", APP)]).await;
        assert_eq!(open.status(), 500);
        assert_eq!(field(&open, "access-control-allow-origin"), "");
    }
}
