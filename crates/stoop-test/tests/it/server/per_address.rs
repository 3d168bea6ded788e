//! `connections_per_address_max`: at its value, beyond it, and what is answered there. The clock is paused.

use stoop::{Request, Response, ServerLimits};
use tokio::time::{Instant, sleep};

use super::observed::observed;
use super::{GET, dial, hello, listen, seconds};

fn limits(max: usize) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.connections_per_address_max = max;
    limits
}

#[tokio::test(start_paused = true)]
async fn one_connection_too_many_is_answered_429_and_closed() {
    for max in [1, 3] {
        let (server, log) = observed(limits(max), hello);
        let mut served = Vec::new();
        for _ in 0..max {
            let mut peer = dial(&server).await;
            peer.send(GET).await;
            assert_eq!(peer.response().await.unwrap().status, 200);
            served.push(peer);
        }
        let mut refused = dial(&server).await;
        refused.send(GET).await;
        let response = refused.response().await.unwrap();
        assert_eq!((response.status, response.field("connection")), (429, Some("close")));
        assert_eq!(response.field("retry-after"), Some("1"));
        assert!(response.field("date").is_some() && response.text().starts_with("429 "));
        assert!(refused.is_closed().await);
        drop(refused);
        // A place that became free is another connection's.
        drop(served.pop());
        sleep(seconds(1)).await;
        let mut next = dial(&server).await;
        next.send(GET).await;
        assert_eq!(next.response().await.unwrap().status, 200);
        let stats = server.stats();
        assert_eq!((stats.accepted, stats.refused), (max as u64 + 1, 1));
        assert_eq!((stats.responses.success, stats.responses.client_error), (max as u64 + 1, 1));
        drop((served, next));
        assert_eq!(log.between(&server).await, ["refused PerAddress 429"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_refused_connection_costs_a_descriptor_for_two_seconds() {
    let server = listen(limits(0), hello);
    let mut peer = dial(&server).await;
    assert_eq!(peer.response().await.unwrap().status, 429);
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(100)).await, 0);
    assert!(begin.elapsed() >= seconds(2) && begin.elapsed() < seconds(3));
}

#[tokio::test(start_paused = true)]
async fn more_than_64_at_a_time_are_closed_without_a_word() {
    let (server, log) = observed(limits(0), hello);
    let mut peers = Vec::new();
    for _ in 0..64 {
        let mut peer = dial(&server).await;
        assert_eq!(peer.head().await.unwrap().split(' ').nth(1), Some("429"));
        peers.push(peer);
    }
    assert!(dial(&server).await.is_closed().await);
    drop(peers);
    sleep(seconds(1)).await;
    assert_eq!(dial(&server).await.response().await.unwrap().status, 429);
    let lines = log.between(&server).await;
    assert_eq!(lines.iter().filter(|line| *line == "refused PerAddress 0").count(), 1);
    assert_eq!((lines.len(), server.stats().refused, server.stats().accepted), (66, 66, 0));
}

/// An upgraded connection is not the server's any more, and has its descriptor still.
#[tokio::test(start_paused = true)]
async fn an_upgraded_connection_counts_until_it_is_dropped() {
    let server = listen(limits(1), |request: Request| {
        if request.field("upgrade").is_none() {
            return Response::from_text("none");
        }
        let (response, switched) = Response::upgrade("chat").unwrap();
        tokio::spawn(async move {
            let _upgraded = switched.await;
            sleep(seconds(10)).await;
        });
        response
    });
    let mut peer = dial(&server).await;
    peer.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: chat\r\n\r\n").await;
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 101 "));
    assert_eq!(dial(&server).await.response().await.unwrap().status, 429);
    sleep(seconds(11)).await;
    let mut next = dial(&server).await;
    next.send(GET).await;
    assert_eq!(next.response().await.unwrap().status, 200);
    assert_eq!(server.stats().upgraded, 1);
}
