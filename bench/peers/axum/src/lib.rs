//! The application of the contenders that run axum: the paths of every contender, as axum's users write them.

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::BodyExt;
use stoop_bench_peer::{HELLO, TextPieces, text};

/// The application: plain handlers, extractors of the content, boxed bodies.
pub fn router() -> Router {
    Router::new()
        .route("/", get(async || plain(Bytes::from_static(HELLO))).post(sink))
        .route("/820", get(async || plain(text(820))))
        .route("/1m", get(async || plain(text(1 << 20))))
        .route("/stream", get(async || plain(Body::new(TextPieces::new()))))
        .route("/sink", post(sink))
}

async fn sink(mut content: Body) -> Response {
    while let Some(Ok(_)) = content.frame().await {}
    plain(Bytes::from_static(HELLO))
}

fn plain(content: impl Into<Body>) -> Response {
    let mut response = Response::new(content.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
