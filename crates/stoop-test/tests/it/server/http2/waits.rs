//! Every wait that a client causes ends.

use http::Method;
use stoop::{Request, Response, ServerLimits};
use stoop_proto::Limits;
use stoop_proto::h2::{ErrorCode, Reset};
use stoop_test::http2::{Client, preface};
use tokio::time::Instant;

use super::super::{connect, connect_with};
use super::{client, echo, path};

#[tokio::test(start_paused = true)]
async fn every_wait_that_a_client_causes_ends() {
    // Between requests.
    let mut idle = client(connect(path)).await;
    let started = Instant::now();
    let key = idle.get("/").await;
    idle.answer(key).await;
    assert_eq!(idle.end().await, [ErrorCode::NO_ERROR]);
    assert_eq!(started.elapsed().as_secs(), 60);

    // Before SETTINGS; and within a header block.
    let half: [&[u8]; 2] = [b"", &[0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]];
    for rest in half {
        let mut peer = connect(path);
        let started = Instant::now();
        peer.say([&preface()[..if rest.is_empty() { 24 } else { 33 }], rest].concat()).await;
        peer.rest().await.unwrap();
        assert_eq!(started.elapsed().as_secs(), 10);
    }

    // Content that is waited for and does not come.
    let mut client = client(connect(echo)).await;
    let started = Instant::now();
    let key = client.ask(Method::POST, "/", &[], false).await;
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::CANCEL));
    assert!((5..8).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_window_that_stays_shut_is_waited_for_and_then_not() {
    let mut limits = Limits::client();
    limits.http2.stream_window_bytes = 65_535;
    let stream = connect(|_: Request| Response::bytes(vec![0; 100_000])).into_parts().0;
    let mut client = Client::with_limits(stream, limits).await;
    client.reads = false;
    let started = Instant::now();
    let key = client.get("/").await;
    assert_eq!(client.reset_of(key).await, Reset::Peer(ErrorCode::CANCEL));
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_at_all_is_cut_off() {
    let (peer, task) =
        connect_with(ServerLimits::default(), |_: Request| Response::bytes(vec![0; 1 << 20]));
    let mut client = client(peer).await;
    for _ in 0..4 {
        client.get("/").await;
    }
    let started = Instant::now();
    task.await.unwrap();
    assert!((30..34).contains(&started.elapsed().as_secs()), "{:?}", started.elapsed());
}
