//! Go's net/http, whose server in `origins/server.go` has paths for rare behaviour.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use stoop::{ErrorKind, Phase};

use super::{OriginClient, hello};
use crate::origins::{BIG_LEN, OriginKind, big};

/// RFC 9113 §6.8: a server that shuts down completes the exchanges it has begun.
#[tokio::test]
async fn a_server_that_shuts_down_completes_its_responses() {
    for mut visit in
        OriginClient::both("client::http2::servers::go::shutdown", OriginKind::Go, "").await
    {
        let (status, content) = visit.get("/part").await;
        assert_eq!((status, content.len()), (200, 5 + BIG_LEN), "{visit}");
        visit.all_connections_ended().await;
        let refused = visit.error(visit.request("/")).await;
        assert_eq!(refused.kind(), ErrorKind::ConnectRefused, "{visit}: {refused}");
        visit.origin.restart();
        assert_eq!(visit.get("/").await, hello(), "{visit}");
    }
}

/// RFC 9113 §5.4.2: a handler that fails ends its own stream.
#[tokio::test]
async fn a_handler_that_panics_resets_its_own_stream() {
    for visit in OriginClient::both("client::http2::servers::go::panic", OriginKind::Go, "").await {
        for (path, phase) in [("/panic", Phase::Wait), ("/panic/late", Phase::Receive)] {
            let error = visit.error(visit.request(path)).await;
            assert_eq!((error.kind(), error.phase()), (ErrorKind::Reset, phase), "{visit}");
            assert!(error.to_string().contains("INTERNAL_ERROR"), "{error}");
        }
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

/// RFC 9113 §8.1.1: a Content-Length that is not the content's length is an error.
#[tokio::test]
async fn content_shorter_than_announced_is_an_error() {
    for visit in OriginClient::both("client::http2::servers::go::short", OriginKind::Go, "").await {
        let error = visit.error(visit.request("/short")).await;
        assert_eq!(error.phase(), Phase::Receive, "{visit}: {error}");
        assert_eq!(error.kind(), ErrorKind::H2Protocol, "{visit}: {error}");
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

/// The interim responses to a request, and its final one.
async fn interim(visit: &OriginClient, request: stoop::Request) -> (Vec<String>, (u16, Bytes)) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let note = seen.clone();
    let response = visit.client.send_with_interim(request, move |head| {
        let link = head.fields().first("link").unwrap_or_default();
        let line = format!("{} {}", head.status().as_u16(), String::from_utf8_lossy(link));
        note.lock().unwrap().push(line);
    });
    let response = response.await.unwrap();
    let status = response.status().as_u16();
    let content = response.into_body().bytes(BIG_LEN).await.unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (seen, (status, content))
}

#[tokio::test]
async fn early_hints_come_before_the_response() {
    for visit in OriginClient::both("client::http2::servers::go::hints", OriginKind::Go, "").await {
        let (seen, response) = interim(&visit, visit.request("/hints")).await;
        assert_eq!(seen, ["103 </style.css>; rel=preload"], "{visit}");
        assert_eq!(response, hello(), "{visit}");
    }
}

/// RFC 9110 §10.1.1. The client would wait for a minute before it sent the content unasked.
#[tokio::test]
async fn content_that_expects_100_waits_for_it() {
    for visit in OriginClient::both("client::http2::servers::go::expect", OriginKind::Go, "").await
    {
        let expecting =
            |path| visit.post(path, big()).with_field("expect", "100-continue").unwrap();
        let (seen, (status, content)) = interim(&visit, expecting("/echo")).await;
        assert_eq!(seen, ["100 "], "{visit}");
        assert!(status == 200 && content == big(), "{visit}: {status}, {}", content.len());
        let refused = (Vec::new(), (403, Bytes::from_static(b"no\n")));
        assert_eq!(interim(&visit, expecting("/refuse")).await, refused, "{visit}");
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}
