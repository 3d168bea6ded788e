//! The client as a service of tower, under its layers and those of tower-http.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use http::StatusCode;
use http_body_util::{BodyExt, Empty, Full};
use stoop::{Body, Client, Request, Response, Timings};
use tower::{ServiceBuilder, ServiceExt};

type Bytes = bytes::Bytes;

fn get(url: &str) -> http::Request<Empty<Bytes>> {
    http::Request::get(url).body(Empty::new()).unwrap()
}

async fn text<B>(response: http::Response<B>) -> String
where
    B: http_body::Body<Data = Bytes>,
    B::Error: std::fmt::Debug,
{
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().into()).unwrap()
}

/// Answers by method, target, two fields and content.
async fn echo(request: Request) -> Result<Response, stoop::Error> {
    let shown = |name| request.field(name).map(|value| String::from_utf8_lossy(value).into_owned());
    let (authorization, a) = (shown("authorization"), shown("x-a"));
    let line = format!("{} {} {authorization:?} {a:?}", request.method(), request.target());
    let content = request.into_body().bytes(100).await?;
    Ok(Response::from_text(format!("{line} {}", String::from_utf8_lossy(&content))))
}

fn client() -> Client {
    Client::builder().handler(echo).build().unwrap()
}

#[tokio::test(start_paused = true)]
async fn requests_and_responses_of_the_http_crate_go_through() {
    let body = Full::new(Bytes::from_static(b"content"));
    let request = http::Request::put("http://a/b?c").header("x-a", "1").body(body).unwrap();
    let response = client().oneshot(request).await.unwrap();
    assert_eq!((response.status(), response.version()), (StatusCode::OK, http::Version::HTTP_11));
    assert_eq!(response.headers()["content-type"], "text/plain; charset=utf-8");
    assert!(response.extensions().get::<Timings>().is_some());
    assert_eq!(text(response).await, "PUT /b?c None Some(\"1\") content");

    let by_reference = client();
    let response = (&by_reference).oneshot(get("http://a/")).await.unwrap();
    assert_eq!(text(response).await, "GET / None None ");
    let error = client().oneshot(get("/no/url")).await.unwrap_err();
    assert!(error.is_request(), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_timeout_of_tower_gives_a_call_up() {
    let slow = async |_: Request| {
        tokio::time::sleep(Duration::from_secs(9)).await;
        "late"
    };
    let client = Client::builder().handler(slow).build().unwrap();
    let limited = ServiceBuilder::new().timeout(Duration::from_secs(1)).service(client.clone());
    let error = limited.oneshot(get("http://a/")).await.unwrap_err();
    assert!(error.is::<tower::timeout::error::Elapsed>());
    tokio::time::sleep(Duration::from_millis(1)).await;
    assert_eq!(client.connections().open, 0, "the exchange was dropped");
}

#[tokio::test(start_paused = true)]
async fn a_limit_of_tower_bounds_the_calls_at_once() {
    let (now, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let (counted, seen) = (Arc::clone(&now), Arc::clone(&most));
    let busy = move |_: Request| {
        let counted = Arc::clone(&counted);
        seen.fetch_max(counted.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        async move {
            tokio::time::sleep(Duration::from_secs(1)).await;
            counted.fetch_sub(1, Ordering::Relaxed);
            "done"
        }
    };
    let client = Client::builder().handler(busy).build().unwrap();
    let limited = ServiceBuilder::new().concurrency_limit(3).service(client);
    let calls = (0..10).map(|_| tokio::spawn(limited.clone().oneshot(get("http://a/"))));
    for call in calls.collect::<Vec<_>>() {
        assert_eq!(text(call.await.unwrap().unwrap()).await, "done");
    }
    assert_eq!(most.load(Ordering::Relaxed), 3);
}

/// Repeats what is answered 503, as often as is left.
#[derive(Clone)]
struct Attempts(u32);

impl tower::retry::Policy<http::Request<Empty<Bytes>>, http::Response<Body>, stoop::Error>
    for Attempts
{
    type Future = std::future::Ready<()>;

    fn retry(
        &mut self,
        _: &mut http::Request<Empty<Bytes>>,
        result: &mut Result<http::Response<Body>, stoop::Error>,
    ) -> Option<Self::Future> {
        let is_busy = matches!(result, Ok(response) if response.status() == 503);
        self.0 = self.0.checked_sub(1).filter(|_| is_busy)?;
        Some(std::future::ready(()))
    }

    fn clone_request(
        &mut self,
        request: &http::Request<Empty<Bytes>>,
    ) -> Option<http::Request<Empty<Bytes>>> {
        Some(request.clone())
    }
}

#[tokio::test(start_paused = true)]
async fn a_retry_of_tower_sends_a_request_again() {
    let calls = AtomicU32::new(0);
    let busy = move |_: Request| {
        let is_third = calls.fetch_add(1, Ordering::Relaxed) == 2;
        let response = Response::from_text("done");
        let status = if is_third { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
        std::future::ready(response.with_status(status))
    };
    let client = Client::builder().handler(busy).build().unwrap();
    let service = ServiceBuilder::new().retry(Attempts(5)).service(client);
    let response = service.oneshot(get("http://a/")).await.unwrap();
    assert_eq!((response.status(), text(response).await), (StatusCode::OK, "done".into()));
}

#[tokio::test(start_paused = true)]
async fn layers_of_tower_http_change_requests_and_responses() {
    use tower_http::follow_redirect::FollowRedirectLayer;
    use tower_http::set_header::SetRequestHeaderLayer;
    use tower_http::validate_request::ValidateRequestHeaderLayer;

    let moved = async |request: Request| match request.path() {
        "/moved" => {
            let moved = Response::from_status(StatusCode::FOUND);
            Ok(moved.with_field("location", "/there")?)
        }
        _ => echo(request).await,
    };
    let client = Client::builder().redirects(stoop::Redirects::none()).handler(moved);
    let service = ServiceBuilder::new()
        .layer(ValidateRequestHeaderLayer::accept("text/plain"))
        .layer(FollowRedirectLayer::new())
        .layer(SetRequestHeaderLayer::overriding(
            http::HeaderName::from_static("x-a"),
            http::HeaderValue::from_static("layered"),
        ))
        .service(client.build().unwrap());
    let response = service.oneshot(get("http://a/moved")).await.unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(text(response).await, "GET /there None Some(\"layered\") ");
}

#[tokio::test(start_paused = true)]
async fn a_layer_of_tower_http_decodes_content() {
    use tower_http::decompression::DecompressionLayer;

    const GZIP: &[u8] =
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff\xcb\x48\xcd\xc9\xc9\x07\0\x86\xa6\x10\x36\x05\0\0\0";
    let packed = async |_: Request| {
        Response::from_bytes(GZIP).with_field("content-encoding", "gzip").unwrap()
    };
    let client = Client::builder().handler(packed).build().unwrap();
    let service = ServiceBuilder::new().layer(DecompressionLayer::new()).service(client);
    assert_eq!(text(service.oneshot(get("http://a/")).await.unwrap()).await, "hello");
}
