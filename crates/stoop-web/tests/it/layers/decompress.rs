//! Content of requests in a content coding.

use stoop::body::ContentCoding;
use stoop::{Body, Client, Request, Response};
use stoop_web::{Decompress, Router, post};

use crate::kit::{client, field, text};

fn router(decompress: Decompress) -> Client {
    let echo = post(async |text: String| text);
    let limited = post(async |text: String| text).body_bytes_max(10);
    client(Router::new().route("/", echo).route("/limited", limited).layer(decompress))
}

async fn send(client: &Client, target: &str, coding: &str, body: Body) -> Response {
    let request = Request::post(&format!("http://a.test{target}"), body).unwrap();
    client.send(request.with_field("content-encoding", coding).unwrap()).await.unwrap()
}

#[tokio::test]
async fn content_is_decoded_by_all_its_codings() {
    let client = router(Decompress::new());
    for (coding, codings) in [
        ("gzip", &[ContentCoding::Gzip][..]),
        ("BR", &[ContentCoding::Brotli]),
        ("deflate", &[ContentCoding::Deflate]),
        ("gzip, zstd", &[ContentCoding::Gzip, ContentCoding::Zstd]),
        ("identity", &[]),
    ] {
        let body = codings.iter().fold(Body::from("falcon"), |body, coding| body.encoded(*coding));
        let response = send(&client, "/", coding, body).await;
        assert_eq!(text(response).await, (200, "falcon".to_owned()), "{coding}");
    }
}

#[tokio::test]
async fn what_cannot_be_decoded_is_refused() {
    let client = router(Decompress::new().bytes_max(100));
    for coding in ["compress", "gzip, x", "gzip, gzip, gzip, gzip"] {
        let response = send(&client, "/", coding, "x".into()).await;
        let accepted = field(&response, "accept-encoding").to_owned();
        assert_eq!((response.status().as_u16(), &*accepted), (415, "gzip, deflate, br, zstd"));
    }
    assert_eq!(send(&client, "/", "gzip", "no gzip".into()).await.status(), 400);
    for (length, target, status) in
        [(100, "/", 200), (101, "/", 413), (10, "/limited", 200), (11, "/limited", 413)]
    {
        let body = Body::from("x".repeat(length)).encoded(ContentCoding::Gzip);
        assert_eq!(send(&client, target, "gzip", body).await.status(), status, "{length}");
    }
}
