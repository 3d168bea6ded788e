//! Requests with content: how it is framed, when it waits, and servers that refuse it or read it slowly.

use std::time::Duration;

use bytes::Bytes;
use stoop::{Body, ErrorKind, Fields, Phase, Request};

use super::kit::{
    OK, fetch_request, kind_and_phase, limited, ok, post, scripted, scripted_by, settle,
};
use crate::bodies::MisstatedLength;
use crate::client::kit::counts;

#[tokio::test(start_paused = true)]
async fn content_of_known_length_is_announced() {
    let client = scripted(|mut peer| async move {
        assert!(peer.head().await.contains("\r\ncontent-length: 5\r\n"));
        assert_eq!(peer.bytes(5).await, "hello");
        peer.send(OK).await;
        assert!(peer.head().await.contains("\r\ncontent-length: 0\r\n"));
        peer.answer(OK).await;
    });
    assert_eq!(fetch_request(&client, post("hello")).await, ok());
    assert_eq!(fetch_request(&client, post("")).await, ok());
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn content_of_unknown_length_is_chunked_with_trailers() {
    let client = scripted(|mut peer| async move {
        let head = peer.head().await;
        assert!(head.contains("\r\ntransfer-encoding: chunked\r\n"), "{head}");
        assert_eq!(
            peer.until("sum: 7\r\n\r\n").await,
            "5\r\nhello\r\n1\r\n!\r\n0\r\nsum: 7\r\n\r\n"
        );
        peer.answer(OK).await;
    });
    let (sender, body) = Body::channel(1);
    let sending = async {
        sender.send("hello").await.unwrap();
        sender.send("").await.unwrap();
        sender.send("!").await.unwrap();
        let mut trailers = Fields::new();
        trailers.push("sum", b"7").unwrap();
        trailers.push("content-length", b"7").unwrap();
        sender.trailers(&trailers).await.unwrap();
    };
    let (outcome, ()) = tokio::join!(fetch_request(&client, post(body)), sending);
    assert_eq!((outcome, counts(&client)), (ok(), (1, 1)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_read_holds_the_sender_up() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        tokio::time::sleep(Duration::from_secs(5)).await;
        peer.skip("\r\n0\r\n\r\n").await;
        peer.answer(OK).await;
    });
    let (sender, body) = Body::channel(1);
    let sending = tokio::spawn(async move {
        let mut sent = 0;
        let piece = Bytes::from(vec![b'a'; 16 * 1024]);
        let begun = tokio::time::Instant::now();
        while sent < 4 << 20 {
            sender.send(piece.clone()).await.unwrap();
            sent += piece.len();
            if begun.elapsed() < Duration::from_secs(5) {
                // 64 KiB on the wire, 64 KiB of output, a piece beyond it, one in the channel and
                // one that the client has taken.
                assert!(sent <= (64 + 64 + 3 * 16 + 32) * 1024, "{sent} bytes ahead of the server");
            }
        }
        sender.finish().await.unwrap();
    });
    assert_eq!(fetch_request(&client, post(body)).await, ok());
    sending.await.unwrap();
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn content_that_expects_100_waits_for_it() {
    let client = scripted(|mut peer| async move {
        assert!(peer.head().await.contains("\r\nexpect: 100-continue\r\n"));
        settle().await;
        peer.send("HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n").await;
        assert_eq!(peer.bytes(5).await, "hello");
        peer.answer(OK).await;
    });
    let begun = tokio::time::Instant::now();
    let request = post("hello").with_field("expect", b"100-continue").unwrap();
    assert_eq!(fetch_request(&client, request).await, ok());
    assert!(begun.elapsed() < Duration::from_millis(10));
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn content_that_expects_100_is_not_sent_after_a_final_response() {
    for status in ["200 OK", "401 Who"] {
        let client = scripted(move |mut peer| async move {
            peer.head().await;
            peer.send(format!("HTTP/1.1 {status}\r\ncontent-length: 2\r\n\r\nok")).await;
            assert_eq!(peer.skip_to_end().await, 0, "content was sent after {status}");
        });
        let request = post("hello").with_field("expect", b"100-continue").unwrap();
        assert_eq!(fetch_request(&client, request).await.unwrap().1, "ok");
        // The request was not sent to its end, so the connection is not used again.
        assert_eq!(counts(&client), (0, 0));
        settle().await;
    }
}

/// RFC 9110 §10.1.1: a client that is answered by 417 repeats the request without the expectation.
#[tokio::test(start_paused = true)]
async fn an_expectation_that_a_server_refuses_is_taken_back() {
    let respond = |refuses_always: bool| {
        scripted(move |mut peer| async move {
            let refused = "HTTP/1.1 417 No\r\ncontent-length: 2\r\nconnection: close\r\n\r\nno";
            if peer.head().await.contains("\r\nexpect: ") || refuses_always {
                peer.send(refused).await;
                return settle().await;
            }
            assert_eq!(peer.bytes(5).await, "hello");
            peer.answer(OK).await;
        })
    };
    let request = || post("hello").with_field("expect", b"100-continue").unwrap();
    assert_eq!(fetch_request(&respond(false), request()).await, ok());
    let (status, content) = fetch_request(&respond(true), request()).await.unwrap();
    assert_eq!((status, &*content), (417, "no"), "it is taken back once");
    // What can be sent only once is not sent again.
    let (_sender, body) = Body::channel(1);
    let streamed = request().with_body(body);
    let (status, _) = fetch_request(&respond(false), streamed).await.unwrap();
    assert_eq!(status, 417);
}

#[tokio::test(start_paused = true)]
async fn content_whose_100_never_comes_is_sent_after_a_second() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        let begun = tokio::time::Instant::now();
        assert_eq!(peer.bytes(5).await, "hello");
        let waited = begun.elapsed();
        assert!(waited >= Duration::from_millis(999) && waited < Duration::from_millis(1010));
        peer.answer(OK).await;
    });
    let request = post("hello").with_field("expect", b"100-continue").unwrap();
    assert_eq!(fetch_request(&client, request).await, ok());
}

#[tokio::test(start_paused = true)]
async fn a_body_that_fails_or_lies_is_the_callers_error_at_once() {
    let server = |mut peer: super::kit::ScriptedServer| async move {
        peer.head().await;
        // There is no last chunk, which would make half a request a whole one.
        assert!(!peer.until("\r\n0\r\n\r\n").await.ends_with("0\r\n\r\n"));
    };
    let (sender, body) = Body::channel(4);
    sender.send("half").await.unwrap();
    sender.fail("the file is gone").await;
    let client = scripted(server);
    let begun = tokio::time::Instant::now();
    let error = client.send(post(body)).await.unwrap_err();
    assert!(error.to_string().contains("the file is gone"), "{error}");
    assert_eq!(kind_and_phase(error), (ErrorKind::RequestBody, Phase::Send));
    assert!(begun.elapsed() < Duration::from_millis(10));
    assert_eq!(counts(&client), (0, 0));
    for (announced, piece) in [(5, "hell"), (5, "hello!")] {
        let client = scripted(server);
        let body = Body::stream(MisstatedLength { announced, piece, left: 1 });
        let error = client.send(post(body)).await;
        assert_eq!(
            kind_and_phase(error.unwrap_err()),
            (ErrorKind::RequestBody, Phase::Send),
            "{piece}"
        );
        assert_eq!(counts(&client), (0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_nothing_for_too_long_is_given_up() {
    let limits = || {
        limited(|limits| {
            limits.time.send_idle = Some(Duration::from_secs(3));
            limits.time.head = None;
        })
    };
    let client = scripted_by(limits(), |mut peer| async move {
        peer.head().await;
        peer.stall().await;
    });
    let begun = tokio::time::Instant::now();
    let outcome = fetch_request(&client, post(vec![b'a'; 1 << 20])).await;
    assert_eq!(outcome, Err((ErrorKind::ReadTimeout, Phase::Send)));
    assert!((3000..3050).contains(&begun.elapsed().as_millis()));
    // A server that reads a little now and then is not given up.
    let client = scripted_by(limits(), |mut peer| async move {
        peer.head().await;
        for _ in 0..8 {
            tokio::time::sleep(Duration::from_secs(1)).await;
            peer.bytes(40_000).await;
        }
        peer.send(OK).await;
        peer.skip_to_end().await;
    });
    assert_eq!(fetch_request(&client, post(vec![b'a'; 320_000])).await, ok());
    // Neither is an exchange whose caller is slow.
    let client = scripted_by(limits(), |mut peer| async move {
        peer.skip("\r\n0\r\n\r\n").await;
        peer.answer(OK).await;
    });
    let (sender, body) = Body::channel(1);
    let sending = async move {
        for _ in 0..3 {
            tokio::time::sleep(Duration::from_secs(60)).await;
            sender.send("piece").await.unwrap();
        }
        sender.finish().await.unwrap();
    };
    let (outcome, ()) = tokio::join!(fetch_request(&client, post(body)), sending);
    assert_eq!(outcome, ok());
}

/// The kernel's full buffers take nothing for a long time, though the server reads from them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_server_that_reads_slowly_is_not_idle_while_it_does() {
    let idle = Duration::from_millis(400);
    let client = limited(|limits| limits.time.send_idle = Some(idle)).build().unwrap();
    let listener = super::kit::narrow_listener();
    let port = listener.local_addr().unwrap().port();
    // It reads 16 KiB each 50 ms, 40 times, and then nothing more.
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(50));
            std::io::Read::read(&mut socket, &mut vec![0; 16 << 10]).unwrap();
        }
        (std::time::Instant::now(), socket)
    });
    let url = format!("http://127.0.0.1:{port}/");
    let request = Request::post(&url, vec![b'a'; 64 << 20]).unwrap();
    let error = client.send(request).await.unwrap_err();
    let ended = std::time::Instant::now();
    assert_eq!(kind_and_phase(error), (ErrorKind::ReadTimeout, Phase::Send));
    let (stopped, _) = server.join().unwrap();
    let waited = ended - stopped;
    assert!(waited > Duration::from_millis(300), "{waited:?}");
    assert!(waited < Duration::from_secs(2), "{waited:?}");
}
