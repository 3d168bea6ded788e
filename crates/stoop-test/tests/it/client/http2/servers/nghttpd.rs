//! nghttpd, with its limits and settings.

use super::OriginClient;
use crate::origins::{OriginKind, large};

#[tokio::test]
async fn a_hundred_requests_share_five_streams() {
    const NAME: &str = "client::http2::servers::nghttpd::streams";
    for visit in OriginClient::both(NAME, OriginKind::Nghttpd, "--max-concurrent-streams=5").await {
        visit.at_once(100).await;
        // The client knows the limit by now.
        visit.at_once(100).await;
        assert!(visit.connections() <= 32, "{visit}: {}", visit.connections());
    }
}

/// The server uses no table, padded frames, and the smallest windows.
#[tokio::test]
async fn small_and_padded_frames_without_a_table_are_read() {
    const NAME: &str = "client::http2::servers::nghttpd::ways";
    const WAYS: &str = "--header-table-size=0 --encoder-header-table-size=0 --padding=255";
    for visit in OriginClient::both(NAME, OriginKind::Nghttpd, WAYS).await {
        let (status, content) = visit.get("/large").await;
        assert!(status == 200 && content == large(), "{visit}: {status}, {}", content.len());
        visit.at_once(100).await;
        assert_eq!(visit.connections(), 1, "{visit}");
    }
}
