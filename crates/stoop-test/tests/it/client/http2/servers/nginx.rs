//! nginx, with its limits and settings.

use bytes::Bytes;
use http::Method;
use stoop::Request;

use super::{OriginClient, hello};
use crate::origins::{OriginKind, big};

/// RFC 9113 §6.8: requests above the last stream are sent again, over other connections.
#[tokio::test]
async fn connections_that_end_after_ten_requests_lose_none() {
    const NAME: &str = "client::http2::servers::nginx::keepalive_requests";
    for visit in OriginClient::both(NAME, OriginKind::Nginx, "keepalive_requests 10;").await {
        visit.at_once(200).await;
        for _ in 0..25 {
            assert_eq!(visit.get("/").await, hello(), "{visit}");
        }
    }
}

#[tokio::test]
async fn a_hundred_requests_share_four_streams() {
    const NAME: &str = "client::http2::servers::nginx::streams";
    for visit in
        OriginClient::both(NAME, OriginKind::Nginx, "http2_max_concurrent_streams 4;").await
    {
        visit.at_once(100).await;
        // The client knows the limit by now.
        visit.at_once(100).await;
        assert!(visit.connections() <= 32, "{visit}: {}", visit.connections());
    }
}

#[tokio::test]
async fn an_idle_connection_that_nginx_ends_is_replaced() {
    const NAME: &str = "client::http2::servers::nginx::keepalive_timeout";
    for visit in OriginClient::both(NAME, OriginKind::Nginx, "keepalive_timeout 100ms;").await {
        for _ in 0..3 {
            assert_eq!(visit.get("/").await, hello(), "{visit}");
            visit.all_connections_ended().await;
        }
    }
}

/// The end of an idle connection and the next request may cross.
#[tokio::test]
async fn a_request_that_crosses_the_end_of_its_connection_is_answered() {
    const NAME: &str = "client::http2::servers::nginx::crossing";
    for visit in OriginClient::both(NAME, OriginKind::Nginx, "keepalive_timeout 20ms;").await {
        for n in 0..40 {
            assert_eq!(visit.get("/").await, hello(), "{visit}");
            let pause = std::time::Duration::from_micros(19_000 + n * 100);
            tokio::time::sleep(pause).await;
        }
    }
}

#[tokio::test]
async fn uploaded_content_is_stored_unchanged() {
    const NAME: &str = "client::http2::servers::nginx::put";
    const PUT: &str = "location /put { dav_methods PUT; create_full_put_path on; }";
    for visit in OriginClient::both(NAME, OriginKind::Nginx, PUT).await {
        let put = Request::new(Method::PUT, &visit.origin.url("/put/big")).unwrap();
        let (status, _) = visit.whole(put.with_body(big())).await;
        assert_eq!(status, 201, "{visit}");
        let (status, content) = visit.get("/put/big").await;
        assert!(status == 200 && content == big(), "{visit}: {status}, {}", content.len());
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}

/// RFC 9113 §8.1: the server answers before the request is complete.
#[tokio::test]
async fn a_refused_upload_gets_its_response() {
    const NAME: &str = "client::http2::servers::nginx::too_large";
    const SMALL: &str = "client_max_body_size 10k; location = /took { return 200 'took'; }";
    for visit in OriginClient::both(NAME, OriginKind::Nginx, SMALL).await {
        for _ in 0..10 {
            assert_eq!(visit.whole(visit.post("/took", big())).await.0, 413, "{visit}");
            // The next request is answered all the same.
            let took = (200, Bytes::from_static(b"took"));
            assert_eq!(visit.whole(visit.post("/took", "some")).await, took, "{visit}");
        }
    }
}
