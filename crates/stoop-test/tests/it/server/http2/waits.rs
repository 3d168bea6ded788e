//! Every wait that a client causes ends.

use std::time::Duration;

use http::Method;
use stoop::{Request, Response, ServerLimits};
use stoop_proto::Limits;
use stoop_proto::h2::{ErrorCode, ResetReason};
use stoop_test::frames::{frame, kind, ping, priority, settings, settings_ack, split};
use stoop_test::http2::{Client, preface};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
use tokio::time::{Instant, sleep, timeout};

use super::super::{connect, connect_with};
use super::{client, echo, path};

#[tokio::test(start_paused = true)]
async fn every_wait_that_a_client_causes_ends() {
    // A connection between requests.
    let mut idle = client(connect(path)).await;
    let started = Instant::now();
    let key = idle.get("/").await;
    idle.response(key).await;
    assert_eq!(idle.goaway_codes().await, [ErrorCode::NO_ERROR]);
    assert_eq!(started.elapsed().as_secs(), 60);

    // A client that stops before SETTINGS, or within a header block.
    let half: [&[u8]; 2] = [b"", &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]];
    for rest in half {
        let mut peer = connect(path);
        let started = Instant::now();
        peer.send([&preface()[..if rest.is_empty() { 24 } else { 33 }], rest].concat()).await;
        peer.rest().await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 10);
    }

    // Content that does not come.
    let mut client = client(connect(echo)).await;
    let started = Instant::now();
    let key = client.request(Method::POST, "/", &[], false).await;
    assert_eq!(client.reset_reason(key).await, ResetReason::Peer(ErrorCode::CANCEL));
    assert!((5..8).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_window_that_stays_shut_is_waited_for_30_seconds() {
    let mut limits = Limits::client();
    limits.http2.stream_window_bytes = 65_535;
    let stream = connect(|_: Request| Response::from_bytes(vec![0; 100_000])).into_parts().0;
    let mut client = Client::with_limits(stream, limits).await;
    client.consumes = false;
    let started = Instant::now();
    let key = client.get("/").await;
    assert_eq!(client.reset_reason(key).await, ResetReason::Peer(ErrorCode::CANCEL));
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_at_all_is_cut_off() {
    let (peer, task) =
        connect_with(ServerLimits::default(), |_: Request| Response::from_bytes(vec![0; 1 << 20]));
    let mut client = client(peer).await;
    for _ in 0..4 {
        client.get("/").await;
    }
    let started = Instant::now();
    task.await.unwrap();
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

/// Sends `wire` again and again, `at_a_time` bytes and then a `pause`, until the server closes. Returns
/// after how many seconds it does, and the code of its GOAWAY.
async fn send_until_closed(wire: &[u8], at_a_time: usize, pause: Duration) -> (u64, u8) {
    let mut stream: DuplexStream = connect(path).into_parts().0;
    stream.write_all(&[preface(), settings_ack()].concat()).await.unwrap();
    let started = Instant::now();
    let mut said = Vec::new();
    for piece in wire.chunks(at_a_time).cycle() {
        let _ = stream.write_all(piece).await;
        if let Ok(Ok(0)) = timeout(pause, stream.read_buf(&mut said)).await {
            break;
        }
        sleep(pause).await;
    }
    let seconds = started.elapsed().as_secs();
    let mut code = u8::MAX;
    let mut rest = &said[..];
    while let Some((header, payload, after)) = split(rest) {
        if header[3] == kind::GOAWAY {
            code = payload[7];
        }
        rest = after;
    }
    (seconds, code)
}

/// RFC 9113 §10.5: only requests count as use of a connection.
#[tokio::test(start_paused = true)]
async fn frames_that_are_no_requests_do_not_keep_a_connection() {
    for wire in
        [ping(0, b"12345678"), settings(&[(3, 100)]), priority(1, 3), frame(0xbe, 0, 0, b"unknown")]
    {
        let (seconds, code) = send_until_closed(&wire, usize::MAX, Duration::from_secs(3)).await;
        assert!((60..72).contains(&seconds), "{seconds} s, {wire:?}");
        assert_eq!(code, 0, "NO_ERROR");
    }
}

/// The limit of time for a frame holds for one of an unknown type too.
#[tokio::test(start_paused = true)]
async fn an_unknown_frame_that_drips_is_late_like_a_head() {
    let wire = frame(0xbe, 0, 0, &[0; 16_384]);
    let (seconds, code) = send_until_closed(&wire, 1, Duration::from_millis(100)).await;
    assert!((10..14).contains(&seconds), "{seconds} s");
    assert_eq!(code, 11, "ENHANCE_YOUR_CALM");
}

#[tokio::test(start_paused = true)]
async fn a_request_now_and_then_keeps_a_connection() {
    let mut client = client(connect(path)).await;
    for _ in 0..5 {
        let key = client.get("/").await;
        assert_eq!(client.response(key).await.status, 200);
        sleep(Duration::from_secs(55)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn unlimited_timeouts_do_not_panic() {
    let mut limits = ServerLimits::default();
    (limits.wire.http2.settings_timeout, limits.wire.http2.ping_timeout) =
        (Duration::MAX, Duration::MAX);
    limits.time.idle = Duration::from_secs(20);
    let (peer, _) = connect_with(limits, async |_: Request| {
        sleep(Duration::from_secs(100)).await;
        "late"
    });
    // The client acknowledges SETTINGS only when it reads, which is late.
    let mut client = client(peer).await;
    sleep(Duration::from_secs(15)).await;
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.body, b"late");
}

#[tokio::test(start_paused = true)]
async fn a_handler_beyond_its_limit_is_dropped_and_answered_for() {
    let mut limits = ServerLimits::default();
    limits.time.handler = Duration::from_secs(5);
    let (peer, _) = connect_with(limits, async |request: Request| {
        sleep(Duration::from_secs(request.path()[1..].parse().unwrap())).await;
        "done"
    });
    let mut client = client(peer).await;
    let started = Instant::now();
    let (quick, slow) = (client.get("/3").await, client.get("/1000").await);
    assert_eq!(client.response(quick).await.body, b"done");
    assert_eq!(client.response(slow).await.status, 503);
    assert!((5..8).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}
