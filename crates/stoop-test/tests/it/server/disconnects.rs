//! Clients that close or reset their connections, and those that only stop sending.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Body, Request, Response, ServerLimits};
use stoop_test::peer::RawPeer;
use tokio::time::{sleep, timeout};

use super::{DropCounter, GET, connect, connect_with, dial, listen};

/// A client may say that it will send no more and still wait: RFC 9112 §9.6.
#[tokio::test(start_paused = true)]
async fn a_client_that_only_stops_sending_gets_its_answers() {
    let mut peer = connect(async |mut request: Request| {
        let _ = request.body_mut().discard().await;
        sleep(Duration::from_secs(100)).await;
        "hello"
    });
    peer.send([GET, GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"].concat())
        .await;
    peer.finish().await;
    for _ in 0..3 {
        assert_eq!(peer.response().await.unwrap().text(), "hello");
    }
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_only_stops_sending_gets_a_stream_to_its_end() {
    let mut peer = connect(|_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            for _ in 0..100 {
                sleep(Duration::from_secs(1)).await;
                sender.send("x").await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        Response::new(body)
    });
    peer.send(GET).await;
    peer.finish().await;
    assert_eq!(peer.response().await.unwrap().body.len(), 100);
}

/// A client that only stops sending counts as gone where the limits say so.
#[tokio::test(start_paused = true)]
async fn a_client_that_has_ended_its_half_has_its_time_for_an_answer() {
    for (half_closed, lasts) in [(0, 1), (5, 6), (1_000, 100)] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = dropped.clone();
        let mut limits = ServerLimits::default();
        limits.time.half_closed = Duration::from_secs(half_closed);
        let (mut peer, task) = connect_with(limits, move |_: Request| {
            let held = DropCounter(counted.clone());
            async move {
                sleep(Duration::from_secs(100)).await;
                drop(held);
                "hello"
            }
        });
        let begin = tokio::time::Instant::now();
        peer.send([GET, GET].concat()).await;
        sleep(Duration::from_secs(1)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), 0);
        peer.finish().await;
        let answers = peer.rest().await.unwrap_or_default();
        let answers = String::from_utf8(answers).unwrap().matches("hello").count();
        task.await.unwrap();
        assert_eq!((begin.elapsed().as_secs(), dropped.load(Ordering::SeqCst)), (lasts, 2));
        assert_eq!(answers, if half_closed > 100 { 2 } else { 0 }, "{half_closed}");
    }
}

/// What is there at once is sent, and a stream is sent for so long.
#[tokio::test(start_paused = true)]
async fn a_client_that_has_ended_its_half_gets_what_there_is_in_its_time() {
    let stream = |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            for _ in 0..100 {
                if sender.send("x").await.is_err() {
                    return;
                }
                sleep(Duration::from_secs(1)).await;
            }
            sender.finish().await.unwrap();
        });
        Response::new(body)
    };
    for (half_closed, pieces) in [(0, 1), (9, 10)] {
        let mut limits = ServerLimits::default();
        limits.time.half_closed = Duration::from_millis(half_closed * 1_000 + 500);
        let (mut peer, task) = connect_with(limits.clone(), stream);
        peer.send(GET).await;
        peer.finish().await;
        let sent = String::from_utf8(peer.rest().await.unwrap_or_default()).unwrap();
        task.await.unwrap();
        assert_eq!(sent.matches("1\r\nx\r\n").count(), pieces, "{sent}");
        assert!(!sent.ends_with("0\r\n\r\n"), "{sent}");
    }
    let mut limits = ServerLimits::default();
    limits.time.half_closed = Duration::ZERO;
    let (mut peer, task) = connect_with(limits, |_: Request| "hello");
    peer.send([GET, GET, GET].concat()).await;
    peer.finish().await;
    for _ in 0..3 {
        assert_eq!(peer.response().await.unwrap().text(), "hello");
    }
    assert!(peer.is_closed().await);
    task.await.unwrap();
}

/// Waiting for the handler of a client that has stopped sending must not use processor time.
#[tokio::test(start_paused = true)]
async fn waiting_after_the_clients_end_does_not_spin() {
    for request in [GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"] {
        let (ours, theirs) = tokio::io::duplex(1024);
        let slow = async |mut request: Request| {
            let _ = request.body_mut().discard().await;
            sleep(Duration::from_secs(100)).await;
            "hello"
        };
        let mut serving = stoop::rt::serve(theirs, slow, ServerLimits::default());
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        tokio::spawn(std::future::poll_fn(move |cx| {
            counted.fetch_add(1, Ordering::Relaxed);
            std::pin::Pin::new(&mut serving).poll(cx)
        }));
        let mut peer = RawPeer::new(ours);
        peer.send(request).await;
        sleep(Duration::from_secs(1)).await;
        peer.finish().await;
        sleep(Duration::from_secs(50)).await;
        assert!(polls.load(Ordering::Relaxed) < 10, "{polls:?} polls");
        assert_eq!(peer.response().await.unwrap().text(), "hello");
    }
}

#[tokio::test]
async fn a_handler_is_dropped_when_its_client_resets() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let server = listen(ServerLimits::default(), move |mut request: Request| {
        let held = DropCounter(counted.clone());
        async move {
            let _ = request.body_mut().discard().await;
            sleep(Duration::from_secs(1_000)).await;
            drop(held);
            "hello"
        }
    });
    for request in [GET, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nhi"] {
        let before = dropped.load(Ordering::SeqCst);
        let mut peer = dial(&server).await;
        peer.send(request).await;
        while server.connections() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(20)).await;
        peer.stream().set_zero_linger().unwrap();
        drop(peer);
        while dropped.load(Ordering::SeqCst) == before {
            sleep(Duration::from_millis(1)).await;
        }
    }
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// The handler need not read for that, even where bytes wait that may not be read yet.
#[tokio::test]
async fn a_handler_that_reads_nothing_is_dropped_when_its_client_resets() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let server = listen(ServerLimits::default(), move |request: Request| {
        let held = DropCounter(counted.clone());
        async move {
            sleep(Duration::from_secs(1_000)).await;
            drop((request, held));
            "hello"
        }
    });
    let upload = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n";
    for request in [
        [upload, "\r\n"].concat(),
        [upload, "expect: 100-continue\r\n\r\n"].concat(),
        // The second request waits for the first.
        [GET, upload, "\r\n"].concat(),
        // The same with some of its bytes.
        [upload, "\r\nhiG"].concat(),
        [upload, "\r\nhi", GET].concat(),
        [GET, upload, "\r\nh"].concat(),
        [GET, upload, "\r\nhi", GET].concat(),
    ] {
        let before = dropped.load(Ordering::SeqCst);
        let mut peer = dial(&server).await;
        peer.send(&request).await;
        while server.connections() == 0 {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_millis(20)).await;
        assert_eq!(dropped.load(Ordering::SeqCst), before, "{request}");
        peer.stream().set_zero_linger().unwrap();
        drop(peer);
        let noticed = async {
            while dropped.load(Ordering::SeqCst) == before {
                sleep(Duration::from_millis(1)).await;
            }
        };
        timeout(Duration::from_secs(5), noticed).await.expect(&request);
    }
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// The server does not read ahead without bound behind unread content: the handler gets the error when it
/// reads.
#[tokio::test]
async fn a_reset_behind_unread_content_is_noticed_by_reading() {
    let (go, gone) = tokio::sync::oneshot::channel::<()>();
    let (told, tell) = tokio::sync::oneshot::channel();
    let once = std::sync::Mutex::new(Some((gone, told)));
    let server = listen(ServerLimits::default(), move |request: Request| {
        let (gone, told) = once.lock().unwrap().take().unwrap();
        async move {
            gone.await.unwrap();
            told.send(request.into_body().bytes(100).await).unwrap();
            "hello"
        }
    });
    let mut peer = dial(&server).await;
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello").await;
    while server.connections() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(20)).await;
    peer.stream().set_zero_linger().unwrap();
    drop(peer);
    sleep(Duration::from_millis(20)).await;
    assert_eq!(server.connections(), 1, "the handler goes on");
    go.send(()).unwrap();
    assert!(tell.await.is_err(), "it is dropped as it reads");
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_handler_is_told_that_an_upload_was_cut_short() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    for head in
        ["content-length: 10\r\n\r\nhello", "transfer-encoding: chunked\r\n\r\n5\r\nhello\r\n"]
    {
        let told = told.clone();
        let (mut peer, task) = connect_with(ServerLimits::default(), move |request: Request| {
            let told = told.clone();
            async move {
                told.send(request.into_body().bytes(100).await.unwrap_err()).unwrap();
                "not to be sent"
            }
        });
        peer.send(["POST / HTTP/1.1\r\nhost: a\r\n", head].concat()).await;
        peer.finish().await;
        // The client may still read.
        assert_eq!(peer.response().await.unwrap().status, 400);
        assert_eq!(tell.recv().await.unwrap().kind(), stoop::ErrorKind::ClosedEarly);
        task.await.unwrap();
    }
}

/// A task that reads the content outlives its handler, and gets the error too.
#[tokio::test(start_paused = true)]
async fn a_reader_in_another_task_is_told_that_the_connection_is_gone() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let mut peer = connect(move |request: Request| {
        let told = told.clone();
        let task = tokio::spawn(async move { told.send(request.into_body().bytes(100).await) });
        async move {
            let _ = task.await;
            "hello"
        }
    });
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello").await;
    sleep(Duration::from_secs(1)).await;
    drop(peer);
    assert!(tell.recv().await.unwrap().is_err());
}

/// Unread content that is cut short gets no further answer.
#[tokio::test(start_paused = true)]
async fn unread_content_that_is_cut_short_ends_the_connection_quietly() {
    let mut peer = connect(|_: Request| "hello");
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhello").await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    peer.finish().await;
    assert!(peer.is_closed().await);
}

#[tokio::test]
async fn a_response_stops_when_its_client_is_gone() {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let server = listen(ServerLimits::default(), move |_: Request| {
        let (sender, body) = Body::channel(1);
        let held = DropCounter(counted.clone());
        tokio::spawn(async move {
            while sender.send(vec![0; 10_000]).await.is_ok() {}
            drop(held);
        });
        Response::new(body)
    });
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    peer.bytes(100_000).await.unwrap();
    drop(peer);
    while dropped.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// Also one that has nothing to send.
#[tokio::test]
async fn a_silent_producer_is_told_that_its_client_has_reset() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let server = listen(ServerLimits::default(), move |_: Request| {
        let ((sender, body), told) = (Body::channel(1), told.clone());
        tokio::spawn(async move {
            sender.send("first").await.unwrap();
            sender.closed().await;
            told.send(()).unwrap();
        });
        Response::new(body)
    });
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    peer.head().await.unwrap();
    assert!(tell.try_recv().is_err(), "the client is there");
    peer.stream().set_zero_linger().unwrap();
    drop(peer);
    timeout(Duration::from_secs(30), tell.recv()).await.expect("it is told").unwrap();
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_cut_short_is_400() {
    let mut peer = connect(|_: Request| "hello");
    peer.send([GET, "GET / HT"].concat()).await;
    peer.finish().await;
    assert_eq!(peer.response().await.unwrap().status, 200);
    assert_eq!(peer.response().await.unwrap().status, 400);
    assert!(peer.is_closed().await);
}
