//! Futures and responses that are dropped: at whatever time, they leave nothing behind.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use stoop::{Body, Client, Request};
use stoop_io::sim::{Link, Sim, Split};
use stoop_io::{AnyTransport, Stream};

use super::kit::{OK, ScriptedServer, URL, fetch, get, limited, scripted, scripted_by, settle};
use crate::client::kit::counts;

/// A client whose connections move three bytes at a time, each after a random delay of up to 3 ms.
fn slow_client(answer: &'static str) -> Client {
    let connect = move || {
        let jitter = Duration::from_millis(3);
        let link =
            Link { reads: Split::Each(3), writes: Split::Each(3), jitter, ..Link::default() };
        let (ours, theirs, _) = Sim::pair(7, &link, &link);
        tokio::spawn(ScriptedServer::over(AnyTransport::from(theirs), 0).serve(answer));
        Stream::new(ours)
    };
    let builder = limited(|limits| limits.pool.per_origin_max = 1);
    stoop::rt::connections_from(builder, connect).build().unwrap()
}

/// Polls `future` at most `polls` times, and lets all other tasks run in between. Returns whether it ended.
async fn poll_times<T>(future: impl Future<Output = T>, polls: usize) -> bool {
    let mut future = pin!(future);
    for _ in 0..polls {
        if future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    false
}

#[tokio::test(start_paused = true)]
async fn a_request_dropped_at_any_poll_leaves_nothing() {
    let chunked = "HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                   2\r\nok\r\n0\r\n\r\n";
    for answer in [OK, chunked] {
        let client = slow_client(answer);
        let (mut polls, mut ended) = (0, false);
        while !ended {
            ended = poll_times(fetch(&client), polls).await;
            let (open, idle) = counts(&client);
            assert_eq!(open, idle, "after {polls} polls");
            // The pool's only place is free.
            assert!(fetch(&client).await.is_ok(), "after {polls} polls");
            polls += 1;
        }
        assert!(polls > 4, "{polls}");
        assert_eq!(counts(&client), (1, 1));
    }
}

#[tokio::test(start_paused = true)]
async fn an_upload_dropped_at_any_poll_leaves_nothing() {
    let client = slow_client(OK);
    for polls in 0..40 {
        let (sender, body) = Body::channel(1);
        let feeding = tokio::spawn(async move {
            for _ in 0..5 {
                if sender.send("piece").await.is_err() {
                    return;
                }
            }
            let _ = sender.finish().await;
        });
        let request = Request::post(URL, body).unwrap();
        poll_times(client.send(request), polls).await;
        // A response that came before its request was sent has a task, which ends with the response.
        settle().await;
        let (open, idle) = counts(&client);
        assert_eq!(open, idle, "after {polls} polls");
        feeding.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_turn_dropped_at_any_poll_passes_on() {
    let client =
        scripted_by(limited(|limits| limits.pool.per_origin_max = 1), |mut peer| async move {
            while !peer.head().await.is_empty() {
                tokio::time::sleep(Duration::from_millis(10)).await;
                peer.send(OK).await;
            }
        });
    for polls in 0..20 {
        let holder = get(&client);
        let mut holder = pin!(holder);
        let _ = holder.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        let mut impatient = Box::pin(get(&client));
        let mut patient = pin!(fetch(&client));
        let mut cx = Context::from_waker(Waker::noop());
        assert!(impatient.as_mut().poll(&mut cx).is_pending());
        assert!(patient.as_mut().poll(&mut cx).is_pending());
        // The impatient request is dropped before its turn, when its turn has come, or while it is served.
        let mut held = Some(holder);
        for poll in 0..polls {
            if poll == polls / 2
                && let Some(holder) = held.take()
            {
                drop(holder.await);
            }
            tokio::time::sleep(Duration::from_millis(3)).await;
            if impatient.as_mut().poll(&mut cx).is_ready() {
                break;
            }
        }
        drop(impatient);
        if let Some(holder) = held {
            drop(holder.await);
        }
        assert!(patient.await.is_ok(), "after {polls} polls");
        assert_eq!(counts(&client), (1, 1));
    }
}

#[tokio::test]
async fn a_cancelled_connect_lets_the_next_request_connect() {
    let server = super::kit::listen_scripted(|peer| peer.serve(OK)).await;
    let client = limited(|limits| limits.pool.per_origin_max = 1).build().unwrap();
    let url = format!("http://{server}/");
    let mut cx = Context::from_waker(Waker::noop());
    let mut first = Box::pin(client.get(&url).send());
    assert!(first.as_mut().poll(&mut cx).is_pending());
    let mut second = pin!(client.get(&url).send());
    assert!(second.as_mut().poll(&mut cx).is_pending());
    assert_eq!(counts(&client), (1, 0));
    drop(first);
    let response = second.await.unwrap();
    assert_eq!(super::kit::read(response).await.unwrap().1, "ok");
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn content_dropped_at_any_piece_frees_its_place() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n").await;
        for _ in 0..10 {
            peer.send(vec![b'a'; 10_000]).await;
            settle().await;
        }
        peer.stall().await;
    });
    for pieces in 0..12 {
        let mut body = get(&client).await.unwrap().into_body();
        for _ in 0..pieces {
            let _ = body.chunk().await.unwrap();
        }
        drop(body);
        let (open, idle) = counts(&client);
        assert_eq!(open, idle, "after {pieces} pieces");
    }
}

#[test]
fn a_response_may_be_dropped_where_there_is_no_runtime() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (client, responses) = runtime.block_on(async {
        let server = super::kit::listen_scripted(|mut peer| async move {
            peer.head().await;
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nsome").await;
            peer.stall().await;
        });
        let url = format!("http://{}/", server.await);
        let client = Client::new();
        let mut responses = Vec::new();
        for _ in 0..3 {
            responses.push(client.get(&url).await.unwrap());
        }
        (client, responses)
    });
    drop(responses);
    assert_eq!(counts(&client), (0, 0));
    drop(runtime);
}

#[tokio::test(start_paused = true)]
async fn a_waiting_request_is_woken_only_by_its_response() {
    struct CountingWaker(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for CountingWaker {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let client = scripted(|mut peer| async move {
        peer.head().await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        peer.send(OK).await;
        peer.stall().await;
    });
    let counting = std::sync::Arc::new(CountingWaker(0.into()));
    let waker = Waker::from(counting.clone());
    let mut cx = Context::from_waker(&waker);
    let mut sent = pin!(get(&client));
    assert!(sent.as_mut().poll(&mut cx).is_pending());
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert_eq!(counting.0.load(std::sync::atomic::Ordering::Relaxed), 0);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(counting.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    let Poll::Ready(response) = sent.as_mut().poll(&mut cx) else { panic!("it was woken") };
    assert_eq!(response.unwrap().status(), 200);
}
