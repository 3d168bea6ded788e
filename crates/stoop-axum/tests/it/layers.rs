//! Layers of tower-http around an application.

use std::time::Duration;

use axum::Router;
use axum::http::{HeaderName, StatusCode};
use axum::routing::{get, post};
use stoop::{Client, Request, Response};
use tower_http::ServiceBuilderExt;
use tower_http::compression::CompressionLayer;
use tower_http::cors::{Any, CorsLayer};
use tower_http::limit::RequestBodyLimitLayer;
use tower_http::request_id::MakeRequestUuid;
use tower_http::services::ServeDir;
use tower_http::timeout::TimeoutLayer;
use tower_http::trace::TraceLayer;
use tower_http::validate_request::ValidateRequestHeaderLayer;

use crate::listen;

async fn get_with(url: &str, fields: &[(&str, &str)]) -> Response {
    let mut request = Request::get(url).unwrap().decode_content(false);
    for (name, value) in fields {
        request = request.with_field(name, value).unwrap();
    }
    Client::new().send(request).await.unwrap()
}

#[tokio::test]
async fn content_is_compressed_for_who_takes_it() {
    let text = "the same again and again, ".repeat(1_000);
    let expected = text.clone();
    let app = Router::new()
        .route("/", get(move || std::future::ready(text.clone())))
        .layer(CompressionLayer::new());
    let server = listen(app);
    let url = server.endpoint().to_string();
    let response = get_with(&url, &[("accept-encoding", "gzip")]).await;
    assert_eq!(response.field("content-encoding"), Some(&b"gzip"[..]));
    assert_eq!(response.field("content-length"), None);
    assert!(response.bytes().await.unwrap().len() < 2_000);
    let plain = get_with(&url, &[("accept-encoding", "identity")]).await;
    assert_eq!(plain.text().await.unwrap(), expected);
    server.close().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_answered_408() {
    let slow = async || tokio::time::sleep(Duration::from_secs(60)).await;
    let layer =
        TimeoutLayer::with_status_code(StatusCode::REQUEST_TIMEOUT, Duration::from_millis(50));
    let server = listen(Router::new().route("/", get(slow)).layer(layer));
    let response = get_with(&server.endpoint().to_string(), &[]).await;
    assert_eq!(response.status(), 408);
    server.close().await;
}

#[tokio::test]
async fn content_beyond_a_limit_is_answered_413() {
    let length = async |body: axum::body::Bytes| body.len().to_string();
    let app = Router::new().route("/", post(length)).layer(RequestBodyLimitLayer::new(10));
    let server = listen(app);
    let url = server.endpoint().to_string();
    for (length, status) in [(10, 200), (11, 413)] {
        let sized = Client::new().post(&url).body(vec![0; length]).send().await.unwrap();
        assert_eq!(sized.status(), status);
        // Without a length that says it beforehand.
        let (sender, body) = stoop::Body::channel(1);
        let sending = async move {
            let _ = sender.send(vec![0; length]).await;
            let _ = sender.finish().await;
        };
        let (streamed, ()) = tokio::join!(Client::new().post(&url).body(body).send(), sending);
        assert_eq!(streamed.unwrap().status(), status);
    }
    server.close().await;
}

/// The preflight of the Fetch standard.
#[tokio::test]
async fn a_preflight_is_answered_by_the_layer() {
    let cors = CorsLayer::new().allow_origin(Any).allow_methods([http::Method::PUT]);
    let app = Router::new().route("/", get(async || "content")).layer(cors);
    let server = listen(app);
    let url = server.endpoint().to_string();
    let preflight = Request::new(http::Method::OPTIONS, &url)
        .unwrap()
        .with_field("origin", "http://a.test")
        .and_then(|request| request.with_field("access-control-request-method", "PUT"));
    let answer = Client::new().send(preflight.unwrap()).await.unwrap();
    assert_eq!(answer.status(), 200);
    assert_eq!(answer.field("access-control-allow-methods"), Some(&b"PUT"[..]));
    let plain = get_with(&url, &[("origin", "http://a.test")]).await;
    assert_eq!(plain.field("access-control-allow-origin"), Some(&b"*"[..]));
    server.close().await;
}

#[tokio::test]
async fn credentials_are_asked_for() {
    #[expect(deprecated, reason = "it is what users have")]
    let layer = ValidateRequestHeaderLayer::bearer("secret");
    let server = listen(Router::new().route("/", get(async || "content")).layer(layer));
    let url = server.endpoint().to_string();
    assert_eq!(get_with(&url, &[]).await.status(), 401);
    let response = get_with(&url, &[("authorization", "Bearer secret")]).await;
    assert_eq!(response.text().await.unwrap(), "content");
    server.close().await;
}

#[tokio::test]
async fn each_request_gets_a_number_and_is_traced() {
    let name = HeaderName::from_static("x-request-id");
    let layers = tower::ServiceBuilder::new()
        .set_request_id(name.clone(), MakeRequestUuid)
        .layer(TraceLayer::new_for_http())
        .propagate_request_id(name)
        .catch_panic();
    let app = Router::new()
        .route("/", get(async || "content"))
        .route("/panic", get(async || -> &'static str { panic!("as expected") }))
        .layer(layers);
    let server = listen(app);
    let url = server.endpoint().to_string();
    let first = get_with(&url, &[]).await;
    let second = get_with(&url, &[]).await;
    assert!(first.field("x-request-id").is_some_and(|id| id.len() == 36));
    assert_ne!(first.field("x-request-id"), second.field("x-request-id"));
    let panicked = get_with(&format!("{url}/panic"), &[]).await;
    assert_eq!(
        (panicked.status(), panicked.text().await.unwrap().as_str()),
        (StatusCode::INTERNAL_SERVER_ERROR, "Service panicked")
    );
    server.close().await;
}

#[tokio::test]
async fn files_are_served_with_their_length_and_in_ranges() {
    let folder = std::env::temp_dir().join(format!("stoop-axum-files-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("a.txt"), "0123456789").unwrap();
    std::fs::write(folder.join("large.bin"), vec![7; 3_000_000]).unwrap();
    let server = listen(Router::new().fallback_service(ServeDir::new(&folder)));
    let url = server.endpoint().to_string();
    let whole = get_with(&format!("{url}/a.txt"), &[]).await;
    assert_eq!(whole.field("content-length"), Some(&b"10"[..]));
    assert_eq!(whole.field("content-type"), Some(&b"text/plain"[..]));
    assert_eq!(whole.text().await.unwrap(), "0123456789");
    let part = get_with(&format!("{url}/a.txt"), &[("range", "bytes=2-4")]).await;
    assert_eq!(
        (part.status(), part.field("content-range")),
        (StatusCode::PARTIAL_CONTENT, Some(&b"bytes 2-4/10"[..]))
    );
    assert_eq!(part.text().await.unwrap(), "234");
    let large = get_with(&format!("{url}/large.bin"), &[]).await;
    assert_eq!(large.field("content-length"), Some(&b"3000000"[..]));
    assert_eq!(large.bytes().await.unwrap().len(), 3_000_000);
    let head = Request::new(http::Method::HEAD, &format!("{url}/large.bin")).unwrap();
    let head = Client::new().send(head).await.unwrap();
    assert_eq!(head.field("content-length"), Some(&b"3000000"[..]));
    assert_eq!(get_with(&format!("{url}/../Cargo.toml"), &[]).await.status(), 404);
    server.close().await;
    std::fs::remove_dir_all(&folder).unwrap();
}
