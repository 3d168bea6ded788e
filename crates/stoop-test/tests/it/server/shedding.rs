//! Load shedding: what is answered when a server has too much to do, over both versions. The clock is paused.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use stoop::{Request, Server, ServerHandle, ServerLimits};
use stoop_test::http2::Client;
use tokio::time::{advance, sleep};

use super::observed::EventLog;
use super::{GET, dial, hello, seconds};
use crate::any_handler::IntoAny;

/// A server that never sheds `/health`.
fn shedding<K>(
    change: impl FnOnce(&mut ServerLimits),
    handler: impl IntoAny<K>,
) -> (ServerHandle, EventLog) {
    let (log, mut limits) = (EventLog::default(), ServerLimits::default());
    change(&mut limits);
    let server = log.observe(Server::listen("127.0.0.1:0").unwrap()).limits(limits);
    let server = server.never_shed(|head| head.path() == "/health");
    (server.run_here(handler.into_any()).unwrap(), log)
}

const HEALTH: &str = "GET /health HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test(start_paused = true)]
async fn requests_are_shed_while_the_thread_is_late_and_not_afterwards() {
    let (server, log) = shedding(|limits| limits.shedding.lag_max = seconds(1), hello);
    let mut peer = dial(&server).await;
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    for late in [false, true, false] {
        if late {
            // All that was to happen in these seconds happens now.
            advance(seconds(3)).await;
        } else {
            sleep(seconds(3)).await;
        }
        peer.send([GET, HEALTH].concat()).await;
        let key = client.get("/").await;
        let (first, health) = (peer.response().await.unwrap(), peer.response().await.unwrap());
        let expected = if late { (503, Some("1"), None) } else { (200, None, None) };
        let got = (first.status, first.field("retry-after"), first.field("connection"));
        assert_eq!((got, health.status), (expected, 200));
        let response = client.response(key).await;
        assert_eq!(response.status, expected.0);
        let retry = response.fields.first("retry-after").map(<[u8]>::to_vec);
        assert_eq!(retry, late.then(|| b"1".to_vec()));
    }
    assert_eq!(server.stats().shed, 2);
    drop((peer, client));
    let lines = log.between(&server).await;
    assert!(lines.iter().all(|line| line.starts_with("shed /: the thread is ")), "{lines:?}");
    assert_eq!(lines.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_request_that_the_exemption_panics_at_is_shed_and_its_connection_stays() {
    let mut limits = ServerLimits::default();
    limits.shedding.handlers_max = 0;
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    let server = server.never_shed(|_| panic!("on purpose")).run_here(hello).unwrap();
    let mut peer = dial(&server).await;
    for _ in 0..2 {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 503);
    }
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    for _ in 0..2 {
        let key = client.get("/").await;
        assert_eq!(client.response(key).await.status, 503);
    }
    let stats = server.stats();
    assert_eq!((stats.shed, stats.observer_panics, stats.panics), (4, 4, 0));
}

#[tokio::test(start_paused = true)]
async fn a_lag_within_the_limit_sheds_nothing_and_without_a_limit_none_does() {
    for (lag_max, lag) in [(seconds(10), seconds(9)), (std::time::Duration::MAX, seconds(50))] {
        let (server, _) = shedding(|limits| limits.shedding.lag_max = lag_max, hello);
        let mut peer = dial(&server).await;
        sleep(seconds(1)).await;
        advance(lag).await;
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
        assert_eq!(server.stats().shed, 0);
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_is_shed_where_as_many_handlers_run_as_may() {
    let called = Arc::new(AtomicUsize::new(0));
    let seen = called.clone();
    let handler = move |request: Request| {
        seen.fetch_add(1, SeqCst);
        async move {
            if request.path() != "/health" {
                sleep(seconds(5)).await;
            }
            "done"
        }
    };
    let (server, log) = shedding(|limits| limits.shedding.handlers_max = 2, handler);
    let mut busy = dial(&server).await;
    busy.send(GET).await;
    let mut client = Client::new(dial(&server).await.into_parts().0).await;
    let first = client.get("/first").await;
    sleep(seconds(1)).await;
    assert_eq!(called.load(SeqCst), 2);

    let second = client.get("/second").await;
    assert_eq!(client.response(second).await.status, 503);
    let mut peer = dial(&server).await;
    peer.send("POST /third HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (503, None));
    assert_eq!(response.field("retry-after"), Some("1"));
    assert_eq!(called.load(SeqCst), 2);
    peer.send(HEALTH).await;
    assert_eq!(peer.response().await.unwrap().status, 200);

    // The connection was kept, and there is room again once the others have answered.
    assert_eq!(busy.response().await.unwrap().status, 200);
    assert_eq!(client.response(first).await.status, 200);
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    drop((busy, client, peer));
    let expected =
        ["/second", "/third"].map(|path| format!("shed {path}: 2 handlers run on the thread"));
    assert_eq!(log.between(&server).await, expected);
    assert_eq!(server.stats().shed, 2);
}
