//! Servers that end without closing their connections in order, and come back at the same address.

use std::time::Duration;

use stoop::{ErrorKind, Phase, Request};

use super::super::super::kit::settle;
use super::{OriginClient, hello};
use crate::origins::OriginKind;

/// Both where the client has seen that the connection ended, and where it finds out when it sends.
#[tokio::test]
async fn the_next_request_goes_over_a_new_connection() {
    for mut visit in OriginClient::each("client::http2::servers::restarts").await {
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        for is_seen in [false, true] {
            visit.origin.restart();
            if is_seen {
                visit.all_connections_ended().await;
            }
            assert_eq!(visit.get("/").await, hello(), "{visit}, seen: {is_seen}");
            settle().await;
            assert_eq!(visit.connections(), 1, "{visit}, seen: {is_seen}");
        }
    }
}

/// Both where the client has seen that the connection ended, and where only the kernel has: a POST is not
/// sent over it.
#[tokio::test]
async fn the_next_post_goes_over_a_new_connection() {
    for mut visit in OriginClient::each("client::http2::servers::restarts_post").await {
        if visit.origin.kind == OriginKind::Nginx {
            continue;
        }
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        for is_seen in [false, true] {
            // No task runs meanwhile, for far longer than the kernel takes to deliver the end on a busy machine, and than the
            // client trusts a connection without looking at it.
            visit.origin.restart();
            std::thread::sleep(Duration::from_millis(50));
            if is_seen {
                visit.all_connections_ended().await;
            }
            let answer = visit.whole(visit.post("/echo", "hello")).await;
            assert_eq!(answer, hello(), "{visit}, seen: {is_seen}");
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_come_back_refuses_connections() {
    for mut visit in OriginClient::each("client::http2::servers::ends").await {
        assert_eq!(visit.get("/").await, hello(), "{visit}");
        let mut begun = visit.send(visit.request("/large")).await.into_body();
        visit.origin.end();
        // Content that came before can still be read.
        let failed = loop {
            match begun.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{visit}: it was not sent to its end"),
                Err(error) => break error,
            }
        };
        let kinds = [ErrorKind::ClosedEarly, ErrorKind::Reset];
        assert!(kinds.contains(&failed.kind()), "{visit}: {failed}");
        assert_eq!(failed.phase(), Phase::Receive, "{visit}: {failed}");
        let refused = visit.error(Request::get(&visit.origin.url("/")).unwrap()).await;
        assert_eq!(refused.kind(), ErrorKind::ConnectRefused, "{visit}: {refused}");
        assert_eq!(visit.connections(), 0, "{visit}");
    }
}
