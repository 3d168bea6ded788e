//! Cases in which both peers keep to the protocol, and a client could still lose something.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Body, Client, Error, ErrorKind, Request, Response, Versions};
use stoop_test::frames::{go_away, rst_stream, settings};
use tokio::io::AsyncWriteExt;
use tokio::time::{Instant, sleep};

use super::super::kit::{URL, fetch, get, settle};
use super::kit::{FrameServer, NO_SETTINGS, ok_frames, over_http2, send_post};
use crate::client::kit::{accepted, counts};

/// A request that is dropped while it waits for a stream keeps no place.
#[tokio::test(start_paused = true)]
async fn a_connection_without_streams_is_left() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            let (first, second) = (frames.next_request().await, frames.next_request().await);
            frames.send(&[settings(&[(3, 0)])]).await;
            sleep(Duration::from_millis(10)).await;
            frames.send(&[ok_frames(first), ok_frames(second)]).await;
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    let (a, b) = tokio::join!(fetch(&client), fetch(&client));
    a.and(b).unwrap();
    assert!(fetch(&client).await.is_err());
    sleep(Duration::from_secs(600)).await;
    assert_eq!(counts(&client), (0, 0));
}

/// SETTINGS lower the number of streams below what is open.
#[tokio::test(start_paused = true)]
async fn lowered_streams_are_respected_by_the_pool() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let number = peer.number;
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            if number == 0 {
                let mut open = Vec::new();
                for _ in 0..4 {
                    open.push(frames.next_request().await);
                }
                frames.send(&[settings(&[(3, 1)])]).await;
                sleep(Duration::from_millis(10)).await;
                for stream in open {
                    frames.send(&[ok_frames(stream)]).await;
                }
            }
            loop {
                let stream = frames.next_request().await;
                if stream == 0 {
                    return;
                }
                sleep(Duration::from_secs(6)).await;
                frames.send(&[ok_frames(stream)]).await;
            }
        },
    );
    let four = || {
        let tasks: Vec<_> = (0..4)
            .map(|_| {
                let client = client.clone();
                tokio::spawn(async move { fetch(&client).await })
            })
            .collect();
        async move {
            let mut all = Vec::new();
            for task in tasks {
                all.push(task.await.unwrap());
            }
            all
        }
    };
    let second = four();
    let second = second.await;
    assert!(second.iter().all(Result::is_ok), "{second:?}");
}

/// A request that the server has seen is not sent again.
#[tokio::test(start_paused = true)]
async fn a_stream_that_is_reset_is_no_stale_connection() {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let client = over_http2(
        |_| {},
        move |peer| {
            let count = count.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                let stream = frames.next_request().await;
                frames.send(&[ok_frames(stream)]).await;
                loop {
                    let stream = frames.next_request().await;
                    if stream == 0 {
                        return;
                    }
                    count.fetch_add(1, SeqCst);
                    frames.send(&[rst_stream(stream, 2)]).await;
                }
            }
        },
    );
    fetch(&client).await.unwrap();
    assert!(get(&client).await.is_err());
    assert_eq!(seen.load(SeqCst), 1);
}

/// Every connection begins with a GOAWAY of that code. The error of a request, how many connections it took, and how
/// long.
async fn sent_away(code: u32) -> (Error, usize, Duration) {
    let seen = Arc::new(AtomicUsize::new(0));
    let count = seen.clone();
    let client = over_http2(
        |_| {},
        move |peer| {
            count.fetch_add(1, SeqCst);
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                frames.send(&[go_away(0, code, "calm")]).await;
                while frames.next_stream_frame().await != "gone" {}
            }
        },
    );
    let begun = Instant::now();
    let error = client.get(URL).await.unwrap_err();
    (error, seen.load(SeqCst), begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_server_that_sends_all_requests_away_is_not_hammered() {
    let (error, connections, elapsed) = sent_away(0).await;
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::H2GoAway, 3));
    assert_eq!(connections, 3);
    assert!(elapsed >= Duration::from_millis(15), "each attempt waits: {elapsed:?}");
}

/// ENHANCE_YOUR_CALM (RFC 9113 §7) says that the client asks too much: that it asks 33 times is what the server complains
/// of.
#[tokio::test(start_paused = true)]
async fn a_server_that_asks_for_calm_is_asked_three_times() {
    let (error, connections, elapsed) = sent_away(11).await;
    assert_eq!(connections, 3);
    assert!(elapsed >= Duration::from_millis(15), "each attempt waits: {elapsed:?}");
    assert_eq!((error.kind(), error.attempts()), (ErrorKind::H2GoAway, 3));
    let text = error.to_string();
    for says in ["GOAWAY", "ENHANCE_YOUR_CALM: calm", "did nothing of this request", "attempt 3"] {
        assert!(text.contains(says), "{says} in {text}");
    }
}

/// Servers count streams that are reset, so the client reads short content rather than reset its stream.
#[tokio::test]
async fn a_client_that_reads_only_statuses_is_not_taken_for_an_attacker() {
    let server = stoop::Server::listen("127.0.0.1:0").unwrap();
    let server = server
        .run_here(async |_: Request| {
            sleep(Duration::from_millis(3)).await;
            let (sender, body) = Body::channel(1);
            tokio::spawn(async move {
                sleep(Duration::from_millis(2)).await;
                let _ = sender.send(vec![b'a'; 2_000]).await;
                let _ = sender.finish().await;
            });
            Response::new(body)
        })
        .unwrap();
    let url = format!("{}/", server.endpoint());
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let mut errors = Vec::new();
    let tasks: Vec<_> = (0..20)
        .map(|n| {
            let (client, url) = (client.clone(), url.clone());
            tokio::spawn(async move {
                let mut errors = Vec::new();
                for _ in 0..50 {
                    sleep(Duration::from_micros(100 * n)).await;
                    errors.extend(client.get(&url).await.err());
                }
                errors
            })
        })
        .collect();
    for task in tasks {
        errors.extend(task.await.unwrap().into_iter().map(|error| error.to_string()));
    }
    assert!(errors.is_empty(), "{} errors, such as {}", errors.len(), errors[0]);
}

/// The connection was closed while it idled.
#[tokio::test(start_paused = true)]
async fn frames_that_came_while_idle_are_read_first() {
    let mut failed = Vec::new();
    for (word, streams) in
        [(go_away(1, 0, ""), true), (go_away(1, 0, ""), false), (Vec::new(), false)]
    {
        let word: Arc<[u8]> = word.into();
        let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
        let client = over_http2(
            |_| {},
            move |peer| {
                let (word, told) = (word.clone(), told.clone());
                async move {
                    let number = peer.number;
                    let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                    let stream = frames.next_request().await;
                    frames.send(&[ok_frames(stream)]).await;
                    if number > 0 {
                        return frames.serve().await;
                    }
                    sleep(Duration::from_secs(1)).await;
                    told.send(()).unwrap();
                    frames.send(&[word.to_vec()]).await;
                    frames.peer.shutdown().await;
                    while frames.next_stream_frame().await != "gone" {}
                }
            },
        );
        fetch(&client).await.unwrap();
        let other = client.clone();
        let task = tokio::spawn(async move {
            tell.recv().await.unwrap();
            if streams {
                let (sender, body) = Body::channel(1);
                tokio::spawn(async move {
                    sender.send("some").await?;
                    sender.finish().await
                });
                other.send(Request::post("http://server.test/", body).unwrap()).await
            } else {
                send_post(&other).await
            }
        });
        let outcome = task.await.unwrap();
        failed.extend(outcome.err().map(|error| error.to_string()));
    }
    assert!(failed.is_empty(), "{failed:?}");
}

/// The server prefers HTTP/2, which has no Upgrade.
#[tokio::test]
async fn an_upgrade_over_tls_still_works() {
    use super::super::tls::{authority, certificate, client_trusting, server_tls};
    let root = authority("r");
    let tls = server_tls(certificate(&root, &["localhost"], false));
    let server = stoop::Server::listen("127.0.0.1:0").unwrap().tls(tls);
    let server = server
        .run_here(|_: Request| {
            let (response, switched) = Response::upgrade("echo").unwrap();
            tokio::spawn(async move {
                let Ok(upgraded) = switched.await else { return };
                let mut stream = stoop::rt::stream(upgraded);
                stream.write_all(b"hello").await.unwrap();
            });
            response
        })
        .unwrap();
    let stoop::Address::Inet(address) = server.endpoint().address() else { panic!() };
    let url = format!("https://localhost:{}/", address.port());
    let client = client_trusting(&root).build().unwrap();
    let request = Request::get(&url).unwrap();
    let request = request.with_field("connection", "upgrade").unwrap();
    let request = request.with_field("upgrade", "echo").unwrap();
    drop(accepted(client.switch(request).await));
}

/// The limit is 1 at least, as its documentation says.
#[tokio::test(start_paused = true)]
async fn a_limit_of_no_requests_counts_as_one() {
    let client = over_http2(
        |limits| limits.pool.http2_requests_per_connection_max = 0,
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            let stream = frames.next_request().await;
            assert_eq!(stream, 1);
            frames.send(&[ok_frames(stream)]).await;
            assert_eq!(frames.next_request().await, 0, "another connection takes its place");
        },
    );
    for _ in 0..3 {
        fetch(&client).await.unwrap();
        settle().await;
        assert_eq!(counts(&client), (0, 0));
    }
}
