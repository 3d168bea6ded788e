//! The least rate of content: here 1,000 bytes a second, over 20 s and after 10 s of grace as by default,
//! while the caller waits for content. The clock is paused.

use std::time::Duration;

use stoop::{Body, Client, ClientTime, Error, ErrorKind, Phase};
use tokio::time::{Instant, sleep};

use super::kit::{ScriptedServer, URL, kind_and_phase, limited, scripted_by};
use crate::client::kit::counts;

/// A client with the default limits and the least rate.
fn client_with_least_rate(
    script: impl Fn(ScriptedServer) -> ScriptFuture + Send + Sync + 'static,
) -> Client {
    with(|_| {}, script)
}

type ScriptFuture = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

fn with(
    change: fn(&mut ClientTime),
    script: impl Fn(ScriptedServer) -> ScriptFuture + Send + Sync + 'static,
) -> Client {
    let builder = limited(|limits| {
        limits.time.body_bytes_per_second_min = 1_000;
        change(&mut limits.time);
    });
    scripted_by(builder, script)
}

/// Sends `first` bytes at once, then `piece` every `pause`, `times` times.
async fn drip(mut peer: ScriptedServer, first: usize, piece: &str, pause: Duration, times: usize) {
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\n\r\n").await;
    peer.send(vec![b'x'; first]).await;
    for _ in 0..times {
        peer.send(piece).await;
        sleep(pause).await;
    }
}

const FOREVER: usize = usize::MAX;

async fn body(client: &Client) -> Body {
    client.get(URL).await.unwrap().into_body()
}

/// How long `read` took, and its result.
async fn timed<T>(read: impl Future<Output = Result<T, Error>>) -> (Duration, Result<T, Error>) {
    let begun = Instant::now();
    let result = read.await;
    (begun.elapsed(), result)
}

fn is_about(took: Duration, seconds: f64) -> bool {
    (seconds..seconds * 1.002 + 0.01).contains(&took.as_secs_f64())
}

const TENTH: Duration = Duration::from_millis(100);

#[tokio::test(start_paused = true)]
async fn content_that_drips_is_given_up() {
    let client = client_with_least_rate(|peer| Box::pin(drip(peer, 0, "x", TENTH, FOREVER)));
    // 10 s of grace, 20 s, and 1/1,000 s for each byte.
    let looked_at = timed(body(&client).await.discard()).await;
    let (took, collected) = timed(body(&client).await.bytes(1 << 20)).await;
    for (took, result) in [looked_at, (took, collected.map(|_| 0))] {
        assert_eq!(kind_and_phase(result.unwrap_err()), (ErrorKind::SlowBody, Phase::Receive));
        assert!((30.0..30.4).contains(&took.as_secs_f64()), "{took:?}");
    }
    assert_eq!(counts(&client), (0, 0));
}

/// Chunk extensions and sizes do not count as content.
#[tokio::test(start_paused = true)]
async fn chunks_that_drip_are_no_content() {
    let client = with(
        |time| time.read_idle = None,
        |mut peer| {
            Box::pin(async move {
                peer.head().await;
                peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5;a=").await;
                for _ in 0..4_000 {
                    peer.send("x").await;
                    sleep(Duration::from_millis(10)).await;
                }
            })
        },
    );
    let mut body = body(&client).await;
    let (took, result) = timed(body.discard()).await;
    assert_eq!(kind_and_phase(result.unwrap_err()), (ErrorKind::SlowBody, Phase::Receive));
    assert!(is_about(took, 30.0), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn the_least_rate_is_enough_and_less_is_not() {
    let piece = |n| Box::leak("x".repeat(n).into_boxed_str());
    let exact: &str = piece(1_000);
    let second = Duration::from_secs(1);
    let client = client_with_least_rate(move |peer| Box::pin(drip(peer, 0, exact, second, 600)));
    assert_eq!(body(&client).await.discard().await.unwrap(), 600_000);
    // A tenth less: after the grace, 19 s are used up in 190, and the last one is too short.
    let less: &str = piece(900);
    let client = client_with_least_rate(move |peer| Box::pin(drip(peer, 0, less, second, 600)));
    let (took, result) = timed(body(&client).await.discard()).await;
    assert_eq!(kind_and_phase(result.unwrap_err()), (ErrorKind::SlowBody, Phase::Receive));
    assert!((200.0..203.0).contains(&took.as_secs_f64()), "{took:?}");
    // A rate of 0 is no limit.
    let client = with(
        |time| time.body_bytes_per_second_min = 0,
        |peer| Box::pin(drip(peer, 0, "x", Duration::from_secs(1), 1_000)),
    );
    assert_eq!(body(&client).await.discard().await.unwrap(), 1_000);
}

/// Content that came fast at first does not make up for content that comes slowly later.
#[tokio::test(start_paused = true)]
async fn the_rate_is_that_of_the_last_seconds() {
    let client = client_with_least_rate(|peer| Box::pin(drip(peer, 10 << 20, "x", TENTH, FOREVER)));
    let (took, result) = timed(body(&client).await.discard()).await;
    assert_eq!(kind_and_phase(result.unwrap_err()), (ErrorKind::SlowBody, Phase::Receive));
    assert!((30.0..30.4).contains(&took.as_secs_f64()), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn grace_and_window_are_what_they_are_set_to() {
    let client = with(
        |time| {
            time.body_grace = Duration::from_secs(2);
            time.body_window = Duration::from_secs(3);
            time.body_bytes_per_second_min = 10;
        },
        |mut peer| {
            Box::pin(async move {
                peer.head().await;
                peer.send("HTTP/1.1 200 OK\r\n\r\nx").await;
                peer.stall().await;
            })
        },
    );
    let (took, result) = timed(body(&client).await.discard()).await;
    assert_eq!(kind_and_phase(result.unwrap_err()), (ErrorKind::SlowBody, Phase::Receive));
    assert!(is_about(took, 5.0), "{took:?}");
}

/// A caller that is slow holds up the server.
#[tokio::test(start_paused = true)]
async fn the_clock_stands_still_while_the_caller_does_not_wait_for_content() {
    let client = client_with_least_rate(|peer| Box::pin(drip(peer, 0, "xxxxxxxxxx", TENTH, 50)));
    let mut body = body(&client).await;
    let mut total = 0;
    while let Some(piece) = body.chunk().await.unwrap() {
        total += piece.len();
        sleep(Duration::from_secs(100)).await;
    }
    assert_eq!(total, 500);
}

/// A caller that asks once and drops the future has not waited until it asks again.
#[tokio::test(start_paused = true)]
async fn a_wait_that_the_caller_abandons_does_not_count() {
    let client =
        client_with_least_rate(|peer| Box::pin(drip(peer, 0, "x", Duration::from_secs(1), 2)));
    let mut body = body(&client).await;
    assert_eq!(body.chunk().await.unwrap().unwrap(), "x");
    {
        let mut asked = std::pin::pin!(body.chunk());
        assert!(
            asked
                .as_mut()
                .poll(&mut std::task::Context::from_waker(std::task::Waker::noop()))
                .is_pending()
        );
        sleep(Duration::from_secs(1_000)).await;
    }
    assert_eq!(body.chunk().await.unwrap().unwrap(), "x");
    assert_eq!(body.chunk().await.unwrap(), None);
}
