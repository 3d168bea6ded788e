//! Trailer sections of responses, through what is around handlers, over both versions.

use std::io::{self, Write};
use std::time::Duration;

use stoop::{Body, Client, Fields, Response, Server, Versions};
#[cfg(feature = "compression")]
use stoop_web::Compress;
use stoop_web::{AccessLog, Cors, Router, Sight, TraceRequests, get};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Content with a trailer section behind it.
async fn checked() -> Response {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        sender.send("hello").await.unwrap();
        let mut trailers = Fields::new();
        trailers.push("x-checksum", b"17").unwrap();
        sender.trailers(&trailers).await.unwrap();
    });
    Response::new(body).with_field("content-type", "text/plain").unwrap()
}

/// What may be around a handler, each alone, and all of it.
fn routers() -> Vec<(&'static str, Router)> {
    let router = || Router::new().route("/", get(checked));
    let limit = Duration::from_secs(5);
    let all = router().time_limit(limit).layer(Cors::any_origin()).layer(TraceRequests::new());
    let all = all.layer(AccessLog::json(io::sink())).layer(Sight::new());
    #[cfg(feature = "compression")]
    let all = all.layer(Compress::new());
    vec![
        ("nothing", router()),
        ("a time limit", router().time_limit(limit)),
        (
            "a function",
            router().layer(async |request, next: stoop_web::Next| next.run(request).await),
        ),
        ("cors", router().layer(Cors::any_origin())),
        ("spans", router().layer(TraceRequests::new())),
        ("figures", router().layer(Sight::new())),
        ("a log", router().layer(AccessLog::json(io::sink()))),
        #[cfg(feature = "compression")]
        ("compression", router().layer(Compress::new())),
        ("all of it", all),
    ]
}

#[tokio::test]
async fn a_trailer_section_comes_through_each_layer_over_both_versions() {
    for versions in [Versions::Http1, Versions::Http2] {
        for (around, router) in routers() {
            let app = router.build().unwrap();
            let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
            let client = Client::builder().versions(versions).build().unwrap();
            let request = client.get(server.endpoint().to_string()).header("te", "trailers");
            let mut body = request.header("origin", "http://b.test").await.unwrap().into_body();
            let mut content = Vec::new();
            while let Some(piece) = body.chunk().await.unwrap() {
                content.extend_from_slice(&piece);
            }
            assert_eq!(content, b"hello", "{around}");
            let trailers = body.take_trailers().unwrap_or_default();
            assert_eq!(trailers.first("x-checksum"), Some(&b"17"[..]), "{around}");
            server.close().await;
        }
    }
}

#[tokio::test]
async fn over_http1_a_trailer_section_stands_behind_the_last_chunk() {
    for (around, router) in routers() {
        let app = router.build().unwrap();
        let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
        let mut peer = TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
        let head = b"GET / HTTP/1.1\r\nhost: a\r\nte: trailers\r\nconnection: te, close\r\n\r\n";
        peer.write_all(head).await.unwrap();
        let mut text = String::new();
        peer.read_to_string(&mut text).await.unwrap();
        let (head, content) = text.split_once("\r\n\r\n").unwrap();
        assert!(
            head.to_ascii_lowercase().contains("transfer-encoding: chunked"),
            "{around}: {head}"
        );
        assert_eq!(content, "5\r\nhello\r\n0\r\nx-checksum: 17\r\n\r\n", "{around}");
    }
}

/// The trailers are behind what the coding ends with.
#[cfg(feature = "compression")]
#[tokio::test]
async fn a_trailer_section_stands_behind_encoded_content() {
    for versions in [Versions::Http1, Versions::Http2] {
        for coding in ["gzip", "br", "zstd"] {
            let app =
                Router::new().route("/", get(checked)).layer(Compress::new()).build().unwrap();
            let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
            let client = Client::builder().versions(versions).build().unwrap();
            let request =
                client.get(server.endpoint().to_string()).header("accept-encoding", coding);
            let response = request.decode_content(true).await.unwrap();
            assert_eq!(response.decoded_from().len(), 1, "{coding}");
            let mut body = response.into_body();
            let mut content = Vec::new();
            while let Some(piece) = body.chunk().await.unwrap() {
                content.extend_from_slice(&piece);
            }
            assert_eq!(content, b"hello", "{coding}");
            let trailers = body.take_trailers().unwrap_or_default();
            assert_eq!(trailers.first("x-checksum"), Some(&b"17"[..]), "{coding}");
        }
    }
}

/// Content that is logged is counted without what frames it, and its trailers are no content.
#[tokio::test]
async fn trailers_are_not_counted_as_content() {
    let (tell, told) = std::sync::mpsc::channel();
    let log = AccessLog::custom(io::sink(), move |entry, line| {
        let _ = writeln!(line, "{}", entry.content_bytes());
        tell.send((entry.content_bytes(), entry.is_complete())).unwrap();
    });
    let handle = log.handle();
    for versions in [Versions::Http1, Versions::Http2] {
        let app = Router::new().route("/", get(checked)).layer(log.clone()).build().unwrap();
        let server = Server::listen("127.0.0.1:0").unwrap().run_here(app).unwrap();
        let client = Client::builder().versions(versions).build().unwrap();
        let response = client.get(server.endpoint().to_string()).await.unwrap();
        assert_eq!(response.bytes().await.unwrap(), "hello");
        drop(client);
        server.close().await;
        handle.flush();
        assert_eq!(told.try_recv().unwrap(), (5, true));
    }
}
