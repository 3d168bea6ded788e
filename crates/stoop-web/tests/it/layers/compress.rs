//! Content of responses in a content coding.

use stoop::body::ContentCoding;
use stoop::{Body, Client, Response, StatusCode, Versions};
use stoop_web::{Compress, Router, get};

use super::send;
use crate::kit::{client, client_over, field};

fn page() -> String {
    "a page of text ".repeat(5000)
}

/// Text that no coding makes much smaller, and more than is sent ahead of its reader.
fn noise() -> String {
    let mut state = 1u64;
    let next = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b' ' + (state >> 58) as u8)
    };
    (0..1 << 20).map(next).collect()
}

fn router(compress: Compress) -> Client {
    client(routes(compress))
}

fn routes(compress: Compress) -> Router {
    let with = |name: &'static str, value: &'static str| {
        get(move || ([(name, value)], Response::from_text(page())))
    };
    let part = |media_type: &'static str| {
        let status = StatusCode::PARTIAL_CONTENT;
        get(move || (status, [("content-type", media_type)], Response::from_text(page())))
    };
    let same = |(name, value): (&'static str, &'static str)| {
        let response = move || Response::from_status(StatusCode::NOT_MODIFIED);
        get(move || response().with_field(name, value).unwrap())
    };
    let streamed = get(|| ([("content-type", "text/plain"), ("etag", "\"a\"")], noise()));
    Router::new()
        .route("/page", get(page))
        .route("/small", get(|| "x".repeat(1023)))
        .route("/floor", get(|| "x".repeat(1024)))
        .route("/empty", get(|| ""))
        .route("/image", with("content-type", "image/png"))
        .route("/events", with("content-type", "text/event-stream"))
        .route("/svg", with("content-type", "image/svg+xml; charset=utf-8"))
        .route("/coded", with("content-encoding", "gzip"))
        .route("/range", with("content-range", "bytes 0-1/2"))
        .route("/fixed", with("cache-control", "public, no-transform"))
        .route("/streamed", streamed)
        .route("/strong", with("etag", "\"a\""))
        .route("/weak", with("etag", "W/\"a\""))
        .route("/part", get(|| (StatusCode::PARTIAL_CONTENT, page())))
        .route("/image-part", part("image/png"))
        .route("/parts", part("multipart/byteranges; boundary=x"))
        .route("/same", same(("etag", "\"a\"")))
        .route("/same-weak", same(("etag", "W/\"a\"")))
        .route("/same-coded", same(("content-encoding", "br")))
        .route("/same-fixed", same(("cache-control", "no-transform")))
        .route("/same-image", same(("content-type", "image/png")))
        .layer(compress)
}

async fn ask(client: &Client, method: &str, target: &str, accepted: &str) -> Response {
    send(client, method, target, &[("accept-encoding", accepted)]).await
}

#[tokio::test]
async fn content_comes_in_the_coding_that_the_client_wants() {
    let client = router(Compress::new());
    for (accepted, coding) in [
        ("gzip", Some(ContentCoding::Gzip)),
        ("x-gzip", Some(ContentCoding::Gzip)),
        ("br", Some(ContentCoding::Brotli)),
        ("zstd", Some(ContentCoding::Zstd)),
        ("gzip, deflate, br, zstd", Some(ContentCoding::Zstd)),
        ("deflate", None),
        ("gzip;q=0.5, identity", None),
        ("", None),
    ] {
        let response = ask(&client, "GET", "/page", accepted).await;
        let body = response.fields().clone();
        assert!(body.lists("vary", "accept-encoding"), "{accepted}");
        assert_eq!(
            field(&response, "content-encoding"),
            coding.map_or("", ContentCoding::as_str),
            "{accepted}"
        );
        let content = response.into_body().bytes(1 << 20).await.unwrap();
        let codings: Vec<_> = coding.into_iter().collect();
        assert!(coding.is_none() || content.len() < 1000, "{accepted}: {}", content.len());
        let decoded = Body::from(content).decoded(&codings, 1 << 20, 1 << 20).bytes(1 << 20).await;
        assert_eq!(decoded.unwrap(), page(), "{accepted}");
    }
}

#[tokio::test]
async fn what_is_small_coded_or_a_part_stays_as_it_is() {
    let client = router(Compress::new());
    for (target, coding, varies) in [
        ("/small", "", false),
        ("/floor", "br", true),
        ("/empty", "", false),
        ("/image", "", false),
        ("/events", "", false),
        ("/svg", "br", true),
        ("/coded", "gzip", false),
        ("/range", "", false),
        ("/fixed", "", false),
        ("/part", "", true),
        ("/none", "", false),
    ] {
        let response = ask(&client, "GET", target, "br").await;
        assert_eq!(field(&response, "content-encoding"), coding, "{target}");
        assert_eq!(response.fields().contains("vary"), varies, "{target}");
    }
}

/// RFC 9110 §8.8.1, §9.3.2.
#[tokio::test]
async fn a_strong_etag_becomes_weak_and_a_head_says_what_a_get_would() {
    let client = router(Compress::new());
    for target in ["/strong", "/weak"] {
        for method in ["GET", "HEAD"] {
            let response = ask(&client, method, target, "gzip").await;
            assert_eq!(field(&response, "etag"), "W/\"a\"", "{target}");
            assert_eq!(field(&response, "content-encoding"), "gzip", "{method} {target}");
            assert_eq!(field(&response, "content-length"), "", "{method} {target}");
        }
    }
    assert_eq!(field(&ask(&client, "GET", "/strong", "").await, "etag"), "\"a\"");
}

/// RFC 9110 §15.4.5: a cache finds by it what it holds, which was `W/"a"` if it was encoded.
#[tokio::test]
async fn a_304_has_the_fields_that_the_200_would_have() {
    let client = router(Compress::new());
    for (target, held, accepted, etag, varies) in [
        ("/same", "W/\"a\"", "gzip", "W/\"a\"", true),
        ("/same", "W/\"a\"", "", "W/\"a\"", true),
        ("/same", "\"a\"", "gzip", "\"a\"", true),
        ("/same", "\"x\", W/\"a\"", "gzip", "W/\"a\"", true),
        ("/same", "\"a\", W/\"a\"", "gzip", "W/\"a\"", true),
        ("/same", "\"a\", W/\"a\"", "", "\"a\"", true),
        ("/same", "\"a\", W/\"a\"", "gzip;q=0.5, identity", "\"a\"", true),
        ("/same", "*", "gzip", "\"a\"", true),
        ("/same", "W/\"b\"", "gzip", "\"a\"", true),
        ("/same-weak", "W/\"a\"", "gzip", "W/\"a\"", true),
        ("/same-coded", "W/\"a\"", "gzip", "", false),
        ("/same-fixed", "W/\"a\"", "gzip", "", false),
        ("/same-image", "W/\"a\"", "gzip", "", false),
    ] {
        let sent = [("accept-encoding", accepted), ("if-none-match", held)];
        for method in ["GET", "HEAD"] {
            let response = send(&client, method, target, &sent).await;
            assert_eq!(response.status(), 304);
            assert_eq!(field(&response, "etag"), etag, "{target} {held} {accepted}");
            let vary = if varies { "accept-encoding" } else { "" };
            assert_eq!(field(&response, "vary"), vary, "{target} {held} {accepted}");
        }
    }
    let first = ask(&client, "GET", "/strong", "gzip").await;
    let sent = [("accept-encoding", "gzip"), ("if-none-match", field(&first, "etag"))];
    let again = send(&client, "GET", "/same", &sent).await;
    for name in ["etag", "vary"] {
        assert_eq!(field(&first, name), field(&again, name));
    }
}

/// RFC 9110 §15.3.7.
#[tokio::test]
async fn a_part_varies_as_the_whole_does() {
    let client = router(Compress::new());
    for (target, vary) in
        [("/part", "accept-encoding"), ("/parts", "accept-encoding"), ("/image-part", "")]
    {
        let response = ask(&client, "GET", target, "gzip").await;
        assert_eq!((response.status().as_u16(), field(&response, "vary")), (206, vary));
        assert_eq!(field(&response, "content-encoding"), "");
    }
}

/// RFC 9110 §12.5.3: `identity;q=0` is a wish too.
#[tokio::test]
async fn a_client_may_refuse_content_without_a_coding() {
    let client = router(Compress::new().codings([ContentCoding::Gzip]));
    let response = ask(&client, "GET", "/small", "gzip, identity;q=0").await;
    assert_eq!(field(&response, "content-encoding"), "gzip");
    let response = ask(&client, "GET", "/page", "br, *;q=0").await;
    assert_eq!((response.status().as_u16(), field(&response, "vary")), (406, "accept-encoding"));
}

#[tokio::test]
async fn a_stream_is_sent_whenever_it_pauses() {
    let (sender, receiver) = tokio::sync::mpsc::channel::<Body>(1);
    let receiver = std::sync::Arc::new(tokio::sync::Mutex::new(receiver));
    let stream = move || {
        let receiver = receiver.clone();
        async move {
            let body = receiver.lock().await.recv().await.unwrap();
            ([("content-type", "text/event-stream")], Response::new(body))
        }
    };
    let compress = Compress::new().types(|of| of == "text/event-stream");
    let client = client(Router::new().route("/", get(stream)).layer(compress));
    let (pieces, body) = Body::channel(1);
    sender.send(body).await.unwrap();
    let response = ask(&client, "GET", "/", "gzip").await;
    assert_eq!(field(&response, "content-encoding"), "gzip");
    let mut body = response.into_body().decoded(&[ContentCoding::Gzip], 1000, 1000);
    for event in ["data: 1\n\n", "data: 2\n\n"] {
        pieces.send(event).await.unwrap();
        assert_eq!(body.chunk().await.unwrap().unwrap(), event);
    }
}

/// One that is streamed is encoded at a time; whether the content of the first is read, dropped or neither.
#[tokio::test]
async fn responses_beyond_the_encoders_go_out_as_they_are() {
    for (versions, ends) in [Versions::Http1, Versions::Http2]
        .into_iter()
        .flat_map(|versions| [(versions, true), (versions, false)])
    {
        let compress = Compress::new().encoders_max(1);
        let client = client_over(versions, routes(compress.clone()));
        let first = ask(&client, "GET", "/streamed", "br").await;
        assert_eq!(field(&first, "content-encoding"), "br");
        assert_eq!(compress.encoders(), 1);

        let second = ask(&client, "GET", "/streamed", "br").await;
        assert_eq!(field(&second, "content-encoding"), "");
        assert_eq!((field(&second, "vary"), field(&second, "etag")), ("accept-encoding", "\"a\""));
        assert_eq!(second.text().await.unwrap(), noise());
        let only = ask(&client, "GET", "/streamed", "br, identity;q=0").await;
        assert_eq!((only.status().as_u16(), field(&only, "retry-after")), (503, "1"));
        assert_eq!(field(&only, "vary"), "accept-encoding");
        assert_eq!((compress.encoders(), compress.not_encoded()), (1, 2));

        // Neither of these outlasts the call that makes it.
        assert_eq!(field(&ask(&client, "GET", "/floor", "br").await, "content-encoding"), "br");
        let head = ask(&client, "HEAD", "/streamed", "br").await;
        assert_eq!(field(&head, "content-encoding"), "br");

        match ends {
            true => drop(first.into_body().bytes(2 << 20).await.unwrap()),
            false => drop(first),
        }
        while compress.encoders() > 0 {
            tokio::task::yield_now().await;
        }
        assert_eq!(field(&ask(&client, "GET", "/streamed", "br").await, "content-encoding"), "br");
        while compress.encoders() > 0 {
            tokio::task::yield_now().await;
        }
    }
}

/// What is short and not in memory is encoded as it is sent too: a file that is not remembered, and a stream.
#[cfg(feature = "files")]
#[tokio::test]
async fn what_is_short_and_not_in_memory_takes_an_encoder() {
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = stoop_web::Files::new(directory).unwrap().without_cache();
    let streamed = || {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let _ = sender.send(vec![b'x'; 20_000]).await;
            let _ = sender.finish().await;
        });
        ([("content-type", "text/plain")], Response::new(Body::sized(20_000, body)))
    };
    for (max, coding) in [(0, ""), (1, "br")] {
        let compress = Compress::new().encoders_max(max);
        let router = Router::new().route("/streamed", get(streamed)).fallback(files.clone());
        let client = client(router.layer(compress.clone()));
        for target in ["/Cargo.toml", "/streamed"] {
            let response = ask(&client, "GET", target, "br").await;
            assert_eq!(field(&response, "content-encoding"), coding, "{target} {max}");
            response.into_body().bytes(1 << 20).await.unwrap();
        }
        assert_eq!(compress.not_encoded(), if max == 0 { 2 } else { 0 });
    }
}
