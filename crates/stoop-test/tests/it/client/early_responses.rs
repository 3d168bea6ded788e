//! Responses that come before their request is complete.

use std::time::Duration;

use stoop::{Body, Client, ErrorKind, Phase, Request, Response, Versions};
use tokio::time::{Instant, sleep, timeout};

use super::kit::{fetch_request, listen_scripted, ok, post, read, scripted, settle};
use crate::client::kit::counts;

#[tokio::test(start_paused = true)]
async fn a_response_may_overtake_its_request_and_the_caller_feed_it_afterwards() {
    // An echo: the head comes at once, the content as the request's content comes.
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        loop {
            let size = peer.until("\r\n").await;
            let Ok(size) = usize::from_str_radix(size.trim(), 16) else { return };
            let data = peer.bytes(size + 2).await;
            peer.send(format!("{size:x}\r\n{data}")).await;
            if size == 0 {
                return peer.stall().await;
            }
        }
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(post(body)).await.unwrap();
    // The caller does not read the response meanwhile, and the channel holds one piece only.
    for _ in 0..100 {
        sender.send("piece ").await.unwrap();
    }
    sender.finish().await.unwrap();
    assert_eq!(read(response).await, Ok((200, "piece ".repeat(100))));
    settle().await;
    assert_eq!(counts(&client), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_success_lets_the_rest_be_sent() {
    let (done, is_done) = tokio::sync::oneshot::channel();
    let done = std::sync::Mutex::new(Some(done));
    let client = scripted(move |mut peer| {
        let done = done.lock().unwrap().take();
        async move {
            peer.head().await;
            peer.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            let content = peer.skip("\r\n0\r\n\r\n").await;
            done.unwrap().send(content).unwrap();
            peer.stall().await;
        }
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(post(body)).await.unwrap();
    assert_eq!(read(response).await, Ok((200, String::new())));
    for _ in 0..1000 {
        sender.send(vec![b'a'; 1000]).await.unwrap();
    }
    sender.finish().await.unwrap();
    assert_eq!(is_done.await.unwrap(), 1000 * 1007 + 5);
    settle().await;
    // The connection is not used again.
    assert_eq!(counts(&client), (0, 0));
}

/// A silent producer of the request's content must not hide that the response's content has stalled.
#[tokio::test(start_paused = true)]
async fn a_response_that_stalls_ends_though_its_request_is_still_to_be_sent() {
    let over_http1 = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nok").await;
        peer.skip_to_end().await;
    });
    let over_http2 = Client::builder().versions(Versions::Http2).handler(|request: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("ok").await.unwrap();
            let _unread = (sender, request);
            std::future::pending::<()>().await;
        });
        Response::new(body)
    });
    for (client, version) in [(over_http1, 1), (over_http2.build().unwrap(), 2)] {
        let (sender, body) = Body::channel(1);
        let response = client.send(post(body)).await.unwrap();
        let begun = Instant::now();
        let content = timeout(Duration::from_secs(3_600), response.into_body().bytes(10)).await;
        let error = content.unwrap_or_else(|_| panic!("HTTP/{version}: no limit")).unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::ReadTimeout, Phase::Receive));
        let waited = begun.elapsed().as_secs();
        assert!((89..=91).contains(&waited), "{waited} s");
        settle().await;
        assert!(sender.send("more").await.is_err());
    }
}

/// The response does not count as stalled while content of the request is sent.
#[tokio::test(start_paused = true)]
async fn a_response_may_be_silent_as_long_as_its_request_is_being_sent() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n").await;
        peer.skip("\r\n0\r\n\r\n").await;
        peer.send("ok").await;
        peer.stall().await;
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(post(body)).await.unwrap();
    tokio::spawn(async move {
        for _ in 0..10 {
            sleep(Duration::from_secs(60)).await;
            sender.send("piece").await.unwrap();
        }
        sender.finish().await.unwrap();
    });
    assert_eq!(read(response).await, ok());
}

/// After the end of the response, sending is limited while no content comes.
#[tokio::test(start_paused = true)]
async fn a_producer_that_falls_silent_behind_its_response_does_not_keep_the_connection() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").await;
        peer.skip_to_end().await;
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(post(body)).await.unwrap();
    assert_eq!(read(response).await, ok());
    for _ in 0..5 {
        sleep(Duration::from_secs(20)).await;
        sender.send("piece").await.unwrap();
    }
    sleep(Duration::from_secs(29)).await;
    assert_eq!(counts(&client), (1, 0));
    sleep(Duration::from_secs(2)).await;
    assert_eq!(counts(&client), (0, 0));
    assert!(sender.send("piece").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_failure_ends_the_sending() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.bytes(7).await;
        peer.send("HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\nok").await;
        let rest = peer.skip_to_end().await;
        assert!(rest < 1000, "{rest} bytes were still sent");
    });
    let (sender, body) = Body::channel(1);
    let sending = tokio::spawn(async move { while sender.send("piece").await.is_ok() {} });
    assert_eq!(fetch_request(&client, post(body)).await, Ok((413, "ok".to_owned())));
    // The caller's channel reports the end.
    sending.await.unwrap();
    assert_eq!(counts(&client), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_response_that_is_dropped_ends_the_sending() {
    let client = scripted(|mut peer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").await;
        peer.skip_to_end().await;
    });
    let (sender, body) = Body::channel(1);
    let response = client.send(post(body)).await.unwrap();
    sender.send("one").await.unwrap();
    drop(response);
    settle().await;
    assert_eq!(counts(&client), (0, 0));
    assert!(sender.send("two").await.is_err());
}

#[tokio::test]
async fn the_answer_of_a_server_that_closes_while_we_send_wins() {
    for reset in [false, true] {
        let server = listen_scripted(move |mut peer| async move {
            peer.head().await;
            peer.send("HTTP/1.1 403 No\r\nconnection: close\r\ncontent-length: 3\r\n\r\nno!").await;
            if reset {
                // Bytes that were received and not read make the kernel send RST.
                peer.reset();
            }
        });
        let url = format!("http://{}/", server.await);
        let body = Body::from(vec![b'a'; 8 << 20]);
        let outcome = fetch_request(&Client::new(), Request::post(&url, body).unwrap()).await;
        if let Ok((status, content)) = &outcome {
            assert_eq!((*status, content.as_str()), (403, "no!"));
        } else {
            // A reset may overtake the answer. The error is then a reset.
            assert!(reset);
            assert_eq!(outcome.unwrap_err().0, ErrorKind::Reset);
        }
    }
}

#[tokio::test]
async fn a_server_that_resets_while_we_send_without_an_answer_is_an_error_of_sending() {
    let server = listen_scripted(|mut peer| async move {
        peer.head().await;
        peer.reset();
    });
    let url = format!("http://{}/", server.await);
    let (sender, body) = Body::channel(1);
    let client = Client::new();
    let sending = async {
        while sender.send(vec![b'a'; 1 << 16]).await.is_ok() {}
        drop(sender);
    };
    let request = Request::post(&url, body).unwrap();
    let (outcome, ()) = tokio::join!(fetch_request(&client, request), sending);
    let (kind, phase) = outcome.unwrap_err();
    assert_eq!(kind, ErrorKind::Reset);
    assert!(matches!(phase, Phase::Send | Phase::Wait), "{phase:?}");
}
