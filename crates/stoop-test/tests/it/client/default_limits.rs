//! Ordinary uses that the default limits must allow: event streams, slow downloads, waves of requests. The
//! clock is paused.

use std::time::Duration;

use stoop::{Client, Response, Versions};
use tokio::time::{Instant, sleep};

use super::kit::{OK, ScriptedServer, URL, scripted};
use crate::client::kit::counts;

/// A client with the default limits whose server sends `piece` every `pause`, `times` times.
fn dripping(piece: &'static str, pause: Duration, times: usize) -> Client {
    scripted(move |mut peer: ScriptedServer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n").await;
        for _ in 0..times {
            sleep(pause).await;
            peer.send(piece).await;
        }
    })
}

/// The same client over HTTP/2.
fn dripping_over_http2(piece: &'static str, pause: Duration, times: usize) -> Client {
    let handler = move |_: stoop::Request| {
        let (sender, body) = stoop::Body::channel(1);
        tokio::spawn(async move {
            for _ in 0..times {
                sleep(pause).await;
                sender.send(piece).await.unwrap();
            }
            sleep(Duration::from_secs(1)).await;
            let _ = sender.fail("the end").await;
        });
        Response::new(body)
    };
    Client::builder().versions(Versions::Http2).handler(handler).build().unwrap()
}

async fn assert_survives(piece: &'static str, pause: Duration, times: usize) {
    let all = piece.len() * times;
    let mut body = dripping(piece, pause, times).get(URL).await.unwrap().into_body();
    let begun = Instant::now();
    assert_eq!(body.discard().await.unwrap(), all as u64);
    assert!(begun.elapsed() >= pause * times as u32);
    let client = dripping_over_http2(piece, pause, times);
    let mut body = client.get(URL).await.unwrap().into_body();
    let mut got = 0;
    while got < all {
        got += body.chunk().await.unwrap().unwrap().len();
    }
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_with_heartbeats_every_40_s_was_killed_at_30_s() {
    assert_survives(": heartbeat\n\n", Duration::from_secs(40), 30).await;
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_of_20_bytes_a_second_was_killed_at_30_s() {
    assert_survives("data: 0123456789ab\n\n", Duration::from_secs(1), 600).await;
}

#[tokio::test(start_paused = true)]
async fn a_download_of_4_kb_a_second_was_killed_at_60_s() {
    let piece: &'static str = Box::leak("x".repeat(4_000).into_boxed_str());
    assert_survives(piece, Duration::from_secs(1), 600).await;
}

#[tokio::test(start_paused = true)]
async fn twenty_waves_of_a_hundred_requests_opened_1696_connections() {
    let opened = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let seen = opened.clone();
    let client = scripted(move |mut peer: ScriptedServer| {
        seen.fetch_max(peer.number + 1, std::sync::atomic::Ordering::Relaxed);
        async move {
            while !peer.head().await.is_empty() {
                sleep(Duration::from_millis(10)).await;
                peer.send(OK).await;
            }
        }
    });
    for _ in 0..20 {
        let wave: Vec<_> = (0..100)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { super::kit::fetch(&client).await.unwrap() })
            })
            .collect();
        for request in wave {
            request.await.unwrap();
        }
    }
    assert_eq!(opened.load(std::sync::atomic::Ordering::Relaxed), 100);
    assert_eq!(counts(&client), (100, 100));
}
