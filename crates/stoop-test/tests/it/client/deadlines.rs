//! Time: what has a limit, whether it is kept, and what it is called.

use std::time::Duration;

use stoop::{Body, ClientTime, ErrorKind, Phase, Redirects, Request};
use tokio::time::{Instant, sleep};

use super::kit::{OK, Outcome, Peer, URL, fetch, fetch_request, limited, scripted_by, settle};

/// Nothing but a deadline for everything.
fn only(total: Duration) -> ClientTime {
    let mut time = ClientTime::default();
    (time.dns, time.connect, time.tls) = (None, None, None);
    (time.first_byte, time.read_idle, time.send_idle) = (None, None, None);
    time.total = Some(total);
    time
}

/// Fails after `after`, to the millisecond or two that timers take.
async fn fails_after(
    after: u64,
    what: impl Future<Output = Outcome>,
    kind: ErrorKind,
    phase: Phase,
) {
    let begun = Instant::now();
    assert_eq!(what.await, Err((kind, phase)));
    let took = begun.elapsed().as_millis() as u64;
    assert!((after..after + after / 10 + 5).contains(&took), "{took} ms, not {after}");
}

async fn with<F>(time: ClientTime, script: fn(Peer) -> F, after: u64, kind: ErrorKind, phase: Phase)
where
    F: Future<Output = ()> + Send + 'static,
{
    let client = scripted_by(limited(|limits| limits.time = time), script);
    fails_after(after, fetch(&client), kind, phase).await;
    assert_eq!(client.connections(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_every_phase() {
    let total = only(Duration::from_secs(2));
    let kind = ErrorKind::TotalTimeout;
    with(total.clone(), Peer::stall, 2000, kind, Phase::Wait).await;
    // A head that drips.
    async fn dripping_head(mut peer: Peer) {
        peer.head().await;
        for byte in format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(9999)).bytes() {
            peer.send([byte]).await;
            sleep(Duration::from_millis(90)).await;
        }
    }
    with(total.clone(), dripping_head, 2000, kind, Phase::Wait).await;
    // Content that drips, however it is framed.
    async fn dripping(mut peer: Peer, head: &str, piece: &str) {
        peer.head().await;
        peer.send(head).await;
        loop {
            peer.send(piece).await;
            sleep(Duration::from_millis(90)).await;
        }
    }
    let length = |peer| dripping(peer, "HTTP/1.1 200 OK\r\ncontent-length: 99999\r\n\r\n", "a");
    with(total.clone(), length, 2000, kind, Phase::Receive).await;
    let close = |peer| dripping(peer, "HTTP/1.1 200 OK\r\n\r\n", "a");
    with(total.clone(), close, 2000, kind, Phase::Receive).await;
    const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunks = |peer| dripping(peer, CHUNKED, "1\r\na\r\n");
    with(total.clone(), chunks, 2000, kind, Phase::Receive).await;
    // Trailers that drip.
    let trailers = |peer| {
        dripping(peer, "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n0\r\n", "a: b\r\n")
    };
    with(total, trailers, 2000, kind, Phase::Receive).await;
}

#[tokio::test(start_paused = true)]
async fn an_endless_body_that_is_always_there_ends_at_the_deadline() {
    async fn flood(mut peer: Peer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
        let piece = vec![b'a'; 60_000];
        loop {
            peer.send(&piece).await;
            sleep(Duration::from_millis(1)).await;
        }
    }
    let time = only(Duration::from_secs(1));
    let client = scripted_by(limited(|limits| limits.time = time.clone()), flood);
    fails_after(1000, fetch(&client), ErrorKind::TotalTimeout, Phase::Receive).await;
    let mut body = client.get(URL).await.unwrap().into_body();
    let begun = Instant::now();
    let error = body.discard().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TotalTimeout);
    assert!(begun.elapsed() < Duration::from_millis(1010));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_waiting_for_a_connection_and_redirects() {
    let kind = ErrorKind::TotalTimeout;
    let client = scripted_by(
        limited(|limits| {
            limits.time = only(Duration::from_secs(2));
            limits.pool.per_origin_max = 1;
        }),
        Peer::stall,
    );
    let first = tokio::spawn({
        let client = client.clone();
        async move { fetch(&client).await }
    });
    settle().await;
    fails_after(2000, fetch(&client), kind, Phase::Queue).await;
    first.await.unwrap().unwrap_err();
    // A redirect each half second.
    let client = scripted_by(
        limited(|limits| limits.time = only(Duration::from_secs(2))),
        |mut peer| async move {
            while !peer.head().await.is_empty() {
                sleep(Duration::from_millis(450)).await;
                peer.send("HTTP/1.1 302 Go\r\nlocation: /\r\ncontent-length: 0\r\n\r\n").await;
            }
        },
    );
    fails_after(2000, fetch(&client), kind, Phase::Wait).await;
    assert_eq!(client.connections(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_total_covers_sending() {
    let client =
        scripted_by(limited(|limits| limits.time = only(Duration::from_secs(2))), Peer::stall);
    let large = Request::post(URL, vec![0; 1 << 20]).unwrap();
    fails_after(2000, fetch_request(&client, large), ErrorKind::TotalTimeout, Phase::Send).await;
    let (sender, body) = Body::channel(1);
    let slow = Request::post(URL, body).unwrap();
    fails_after(2000, fetch_request(&client, slow), ErrorKind::TotalTimeout, Phase::Send).await;
    drop(sender);
    // Also where the response has overtaken it.
    let client = scripted_by(
        limited(|limits| limits.time = only(Duration::from_secs(2))),
        |mut peer| async move {
            peer.head().await;
            peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n").await;
            peer.stall().await;
        },
    );
    let (sender, body) = Body::channel(1);
    let slow = Request::post(URL, body).unwrap();
    fails_after(2000, fetch_request(&client, slow), ErrorKind::TotalTimeout, Phase::Send).await;
    assert!(sender.send("x").await.is_err());
    assert_eq!(client.connections(), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn the_first_byte_has_its_own_limit_up_to_the_whole_head() {
    let mut time = only(Duration::from_secs(60));
    time.first_byte = Some(Duration::from_secs(3));
    let kind = ErrorKind::FirstByteTimeout;
    with(time.clone(), Peer::stall, 3000, kind, Phase::Wait).await;
    async fn dripping(mut peer: Peer) {
        peer.head().await;
        for byte in format!("HTTP/1.1 200 OK\r\nx: {}", "a".repeat(9999)).bytes() {
            peer.send([byte]).await;
            sleep(Duration::from_millis(1000)).await;
        }
    }
    with(time.clone(), dripping, 3000, kind, Phase::Wait).await;
    // An interim response begins it anew: it is there to say so.
    async fn processing(mut peer: Peer) {
        peer.head().await;
        for _ in 0..3 {
            sleep(Duration::from_secs(2)).await;
            peer.send("HTTP/1.1 102 Processing\r\n\r\n").await;
        }
        peer.stall().await;
    }
    with(time, processing, 9000, kind, Phase::Wait).await;
}

#[tokio::test(start_paused = true)]
async fn content_that_stops_has_its_own_limit() {
    let mut time = only(Duration::from_secs(60));
    time.read_idle = Some(Duration::from_secs(3));
    async fn stopping(mut peer: Peer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n").await;
        for _ in 0..3 {
            sleep(Duration::from_secs(2)).await;
            peer.send("a").await;
        }
        peer.stall().await;
    }
    with(time, stopping, 9000, ErrorKind::ReadTimeout, Phase::Receive).await;
}

#[tokio::test(start_paused = true)]
async fn short_deadlines_are_kept_as_well_as_long_ones() {
    for ms in [1, 5, 20, 100, 1000, 30_000] {
        let time = only(Duration::from_millis(ms));
        with(time, Peer::stall, ms, ErrorKind::TotalTimeout, Phase::Wait).await;
    }
}

#[tokio::test(start_paused = true)]
async fn one_connection_serves_requests_with_different_deadlines() {
    let client = scripted_by(
        limited(|limits| limits.time = only(Duration::from_secs(60))),
        |mut peer| async move {
            for _ in 0..3 {
                peer.head().await;
                sleep(Duration::from_millis(1)).await;
                peer.send(OK).await;
            }
            peer.head().await;
            peer.stall().await;
        },
    );
    let fetch_in = async |seconds: u64| {
        let by = Instant::now() + Duration::from_secs(seconds);
        let response = client.send_by(Request::get(URL).unwrap(), Some(by.into())).await;
        super::kit::read(response.map_err(super::kit::what)?).await
    };
    for seconds in [30, 50, 20] {
        fetch_in(seconds).await.unwrap();
        assert_eq!(client.connections(), (1, 1));
    }
    // The timer was armed for later by those before.
    fails_after(2000, fetch_in(2), ErrorKind::TotalTimeout, Phase::Wait).await;
}

#[tokio::test(start_paused = true)]
async fn no_deadline_is_no_deadline() {
    let client = scripted_by(
        limited(|limits| {
            limits.time = only(Duration::ZERO);
            limits.time.total = None;
        })
        .redirects(Redirects::none()),
        |mut peer| async move {
            peer.head().await;
            sleep(Duration::from_secs(100_000)).await;
            peer.send(OK).await;
        },
    );
    assert_eq!(fetch(&client).await, Ok((200, "ok".to_owned())));
}
