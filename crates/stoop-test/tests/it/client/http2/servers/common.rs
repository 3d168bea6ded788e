//! Exchanges that every server must answer alike.

use http::Method;
use stoop::{Body, Request};
use stoop_proto::Fields;

use super::{OriginClient, hello};
use crate::origins::{BIG_LEN, LARGE_LEN, OriginKind, big, large};

#[tokio::test]
async fn content_arrives_unchanged() {
    let large = large();
    for visit in OriginClient::each("client::http2::servers::content").await {
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        let (status, content) = visit.get("/large").await;
        assert!(status == 200 && content == large, "{visit}: {status}, {} bytes", content.len());
        assert_eq!(visit.get("/missing").await.0, 404, "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

/// Content is read while that of another response is left unread.
#[tokio::test]
async fn large_contents_arrive_side_by_side() {
    let large = large();
    for visit in OriginClient::each("client::http2::servers::side_by_side").await {
        let unread = visit.send(visit.request("/large")).await;
        let (one, two) = tokio::join!(visit.get("/large"), visit.get("/large"));
        assert!(one.1 == large && two.1 == large, "{visit}");
        assert!(unread.into_body().bytes(LARGE_LEN).await.unwrap() == large, "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

#[tokio::test]
async fn a_response_to_head_has_no_content() {
    for visit in OriginClient::each("client::http2::servers::head").await {
        let head = Request::new(Method::HEAD, &visit.origin.url("/large")).unwrap();
        let response = visit.send(head).await;
        assert_eq!(response.status(), 200, "{visit}");
        let length = response.field("content-length").map(String::from_utf8_lossy);
        assert_eq!(length.as_deref(), Some(&*LARGE_LEN.to_string()), "{visit}");
        let content = response.into_body().bytes(0).await.map_err(|error| error.to_string());
        assert_eq!(content.as_deref(), Ok(&b""[..]), "{visit}");
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

/// With its length announced, and without.
#[tokio::test]
async fn content_goes_there_and_back() {
    for visit in OriginClient::each("client::http2::servers::echo").await {
        if !visit.origin.kind.echoes() {
            continue;
        }
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            for piece in big().chunks(10_000) {
                sender.send(piece.to_vec()).await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        for body in [big().into(), body] {
            let (status, content) = visit.whole(visit.post("/echo", body)).await;
            assert!(status == 200 && content == big(), "{visit}: {status}, {}", content.len());
        }
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

#[tokio::test]
async fn a_hundred_requests_share_a_connection() {
    for visit in OriginClient::each("client::http2::servers::hundred").await {
        visit.at_once(100).await;
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

#[tokio::test]
async fn trailers_of_a_response_arrive() {
    for visit in OriginClient::each("client::http2::servers::trailers").await {
        let mut body = visit.send(visit.request("/trailers")).await.into_body();
        let mut content = Vec::new();
        while let Some(piece) = body.chunk().await.unwrap() {
            content.extend_from_slice(&piece);
        }
        let trailers = body.take_trailers().unwrap_or_else(|| panic!("{visit} sends none"));
        assert_eq!((content.as_slice(), trailers.first("x-sum")), (&b"hello"[..], Some(&b"5"[..])));
    }
}

/// Trailers of a request do not disturb a server that does not use them.
#[tokio::test]
async fn requests_with_trailers_are_answered() {
    for visit in OriginClient::each("client::http2::servers::requests_with_trailers").await {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let mut trailers = Fields::new();
            trailers.push("x-sum", b"4").unwrap();
            sender.send("some").await?;
            sender.trailers(&trailers).await
        });
        let (status, content) = visit.whole(visit.post("/echo", body)).await;
        match visit.origin.kind {
            // nginx has no such page.
            OriginKind::Nginx => assert!([404, 405].contains(&status), "{status}"),
            _ => assert_eq!((status, &*content), (200, &b"some"[..]), "{visit}"),
        }
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

#[tokio::test]
async fn a_dropped_response_harms_no_other() {
    for visit in OriginClient::each("client::http2::servers::unwanted").await {
        for _ in 0..20 {
            let mut response = visit.send(visit.request("/large")).await;
            let piece = response.body_mut().chunk().await.unwrap().unwrap();
            assert!(piece.len() < BIG_LEN);
            drop(response);
        }
        let (status, content) = visit.get("/big").await;
        assert!(status == 200 && content == big(), "{visit}: {status}, {} bytes", content.len());
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}
