//! Requests that wait for a stream: one that gives up takes no stream, and does not hold up the next.

use std::time::Duration;

use stoop::{Client, ErrorKind, Phase};
use stoop_test::frames::{data, flag, headers, setting};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::kit::{FetchOutcome, URL, fetch, ok, read, settle};
use super::kit::{FrameServer, ok_frames, over_http2};
use crate::client::kit::counts;

/// A client with one connection of one stream, which the returned response holds until `ended` has passed.
/// Exchanges may take 5 s. The receiver gets the stream of each later request.
async fn client_with_busy_stream(
    ended: Duration,
) -> (Client, stoop::Response, mpsc::UnboundedReceiver<u32>) {
    let (seen, requests) = mpsc::unbounded_channel();
    let client = over_http2(
        |limits| {
            limits.pool.http2_per_origin_max = 1;
            limits.time.total = Some(Duration::from_secs(5));
        },
        move |peer| {
            let seen = seen.clone();
            async move {
                let mut frames =
                    FrameServer::accept(peer, &[(setting::MAX_CONCURRENT_STREAMS, 1)]).await;
                let stream = frames.next_request().await;
                frames.send(&[ok_frames(stream)]).await;
                let stream = frames.next_request().await;
                let head = [(":status", "200")];
                frames.send(&[headers(stream, flag::END_HEADERS, &head)]).await;
                sleep(ended).await;
                frames.send(&[data(stream, flag::END_STREAM, b"ok")]).await;
                loop {
                    let stream = frames.next_request().await;
                    if stream == 0 {
                        return;
                    }
                    seen.send(stream).unwrap();
                    frames.send(&[ok_frames(stream)]).await;
                }
            }
        },
    );
    // The first exchange brings the server's SETTINGS.
    fetch(&client).await.unwrap();
    // Its content is not asked for, so that its own deadline does not end it.
    let held = client.get(URL).await.unwrap();
    (client, held, requests)
}

fn spawn_timed_fetch(client: &Client) -> JoinHandle<(FetchOutcome, Duration)> {
    let (client, begun) = (client.clone(), Instant::now());
    tokio::spawn(async move { (fetch(&client).await, begun.elapsed()) })
}

#[tokio::test(start_paused = true)]
async fn a_wait_for_a_stream_ends_with_the_deadline_and_takes_none() {
    let (client, _held, mut requests) = client_with_busy_stream(Duration::from_secs(6)).await;
    let first = spawn_timed_fetch(&client);
    sleep(Duration::from_secs(2)).await;
    let second = spawn_timed_fetch(&client);
    let (outcome, took) = first.await.unwrap();
    assert_eq!(outcome, Err((ErrorKind::TotalTimeout, Phase::Queue)));
    assert_eq!(took.as_secs(), 5);
    // No request was sent while the stream was taken.
    assert!(requests.try_recv().is_err());
    let (outcome, took) = second.await.unwrap();
    assert_eq!(outcome, ok());
    assert_eq!(took.as_secs(), 4, "at the end of what held the stream");
    // Streams 1 and 3 came before: the request that gave up had no stream.
    assert_eq!(requests.try_recv(), Ok(5));
    assert!(requests.try_recv().is_err());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn the_error_says_where_the_time_went() {
    let (client, _held, _requests) = client_with_busy_stream(Duration::from_secs(60)).await;
    let error = client.get(URL).await.unwrap_err();
    let text = "the deadline has passed (after 5.0 s, safe to repeat) [total_timeout, queue]";
    assert_eq!(error.to_string(), text);
    assert_eq!(error.timings().queue(), Some(Duration::from_secs(5)));
    assert!(error.is_unprocessed(), "so that the caller may repeat it");
}

/// Neither does a request that is dropped while it waits. The others are served in their order.
#[tokio::test(start_paused = true)]
async fn a_request_that_leaves_the_queue_holds_up_no_other() {
    let (client, _held, mut requests) = client_with_busy_stream(Duration::from_secs(1)).await;
    let waiting: Vec<_> = (0..50).map(|_| spawn_timed_fetch(&client)).collect();
    settle().await;
    for (place, task) in waiting.iter().enumerate() {
        if place % 5 != 0 {
            task.abort();
        }
    }
    for (place, task) in waiting.into_iter().enumerate() {
        match task.await {
            Ok((outcome, took)) => {
                assert_eq!(outcome, ok(), "{place}");
                assert_eq!(took.as_secs(), 1);
            }
            Err(error) => assert!(error.is_cancelled() && place % 5 != 0),
        }
    }
    let streams: Vec<_> = std::iter::from_fn(|| requests.try_recv().ok()).collect();
    assert_eq!(streams, (5..25).step_by(2).collect::<Vec<_>>());
    assert_eq!(counts(&client), (1, 1));
}

/// The total deadline of a request covers its wait for a stream.
#[tokio::test(start_paused = true)]
async fn waiting_counts_for_the_deadline_of_everything() {
    let client = over_http2(
        |limits| {
            limits.pool.http2_per_origin_max = 1;
            limits.time.total = Some(Duration::from_secs(5));
        },
        |peer| async {
            let mut frames =
                FrameServer::accept(peer, &[(setting::MAX_CONCURRENT_STREAMS, 1)]).await;
            let stream = frames.next_request().await;
            frames.send(&[ok_frames(stream)]).await;
            let stream = frames.next_request().await;
            sleep(Duration::from_secs(3)).await;
            frames.send(&[ok_frames(stream)]).await;
            // The next request has two seconds.
            assert_eq!(frames.next_request().await, 5);
            let begun = Instant::now();
            assert_eq!(frames.next_stream_frame().await, "RST_STREAM 5 CANCEL");
            assert_eq!(begun.elapsed().as_secs(), 2);
            frames.serve().await;
        },
    );
    fetch(&client).await.unwrap();
    let (first, second) = (spawn_timed_fetch(&client), spawn_timed_fetch(&client));
    assert_eq!(first.await.unwrap().0, ok());
    let (outcome, took) = second.await.unwrap();
    assert_eq!(outcome, Err((ErrorKind::TotalTimeout, Phase::Wait)));
    assert_eq!(took.as_secs(), 5);
    assert_eq!(read(client.get(URL).await.unwrap()).await, ok());
    assert_eq!(counts(&client), (1, 1));
}
