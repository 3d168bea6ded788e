//! Pauses of a caller that reads no content for a while: the server keeps the time that it had left.

use std::time::Duration;

use stoop::{Body, ClientTime, Error, ErrorKind, Phase, Request, Response, Server, Versions};
use tokio::time::{Instant, sleep, timeout};

use super::kit::{ScriptedServer, URL, limited, scripted_by};

/// A total deadline of 2 s, and one of a second without content.
fn limits() -> ClientTime {
    let mut time = ClientTime::default();
    (time.total, time.read_idle) = (Some(Duration::from_secs(2)), Some(Duration::from_secs(1)));
    time
}

/// Sends `abc`, with half a second before each letter.
async fn letters(mut peer: ScriptedServer) {
    peer.head().await;
    peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n").await;
    for letter in ["a", "b", "c"] {
        sleep(Duration::from_millis(500)).await;
        peer.send(letter).await;
    }
    peer.stall().await;
}

async fn piece(body: &mut Body) -> Result<String, ErrorKind> {
    let piece = body.chunk().await.map_err(|error: Error| error.kind())?;
    Ok(String::from_utf8(piece.expect("content").to_vec()).expect("text"))
}

/// Content that waited for the caller was lost as a time-out.
#[tokio::test(start_paused = true)]
async fn the_time_of_a_pause_is_not_the_servers() {
    for pauses in [false, true] {
        let client = scripted_by(limited(|all| all.time = limits()), letters);
        let mut body = client.get(URL).await.unwrap().into_body();
        assert_eq!(piece(&mut body).await.unwrap(), "a");
        if pauses {
            body.pause();
        }
        sleep(Duration::from_secs(60)).await;
        if !pauses {
            assert_eq!(piece(&mut body).await, Err(ErrorKind::TotalTimeout));
            continue;
        }
        body.pause();
        sleep(Duration::from_secs(60)).await;
        let begun = Instant::now();
        assert_eq!(piece(&mut body).await.unwrap(), "bc");
        // The deadline holds for the 1.5 s that the server has left; the limit without content is nearer.
        assert_eq!(piece(&mut body).await, Err(ErrorKind::ReadTimeout));
        let waited = begun.elapsed().as_millis();
        assert!((1000..1105).contains(&waited), "{waited} ms");
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_left_of_the_deadline_holds_after_a_pause() {
    let mut time = limits();
    time.read_idle = None;
    let client = scripted_by(limited(|all| all.time = time), letters);
    let mut response = client.get(URL).await.unwrap();
    assert_eq!(piece(response.body_mut()).await.unwrap(), "a");
    response.body_mut().pause();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(piece(response.body_mut()).await.unwrap(), "bc");
    // A wait that is given up is the server's time.
    assert!(timeout(Duration::from_millis(300), response.body_mut().chunk()).await.is_err());
    response.body_mut().pause();
    sleep(Duration::from_secs(60)).await;
    let begun = Instant::now();
    assert_eq!(piece(response.body_mut()).await, Err(ErrorKind::TotalTimeout));
    let waited = begun.elapsed().as_millis();
    assert!((1200..1325).contains(&waited), "{waited} ms");
}

/// A read that was given up before the pause began a wait, which the pause ends.
#[tokio::test(start_paused = true)]
async fn a_pause_ends_the_wait_for_content() {
    let script = |mut peer: ScriptedServer| async move {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n").await;
        sleep(Duration::from_millis(61_500)).await;
        peer.send("a").await;
    };
    let mut time = limits();
    (time.body_bytes_per_second_min, time.body_grace) = (1000, Duration::from_secs(1));
    time.body_window = Duration::ZERO;
    let client = scripted_by(limited(|all| all.time = time), script);
    let mut body = client.get(URL).await.unwrap().into_body();
    assert!(timeout(Duration::from_millis(100), body.chunk()).await.is_err());
    body.pause();
    sleep(Duration::from_millis(60_700)).await;
    assert_eq!(piece(&mut body).await.unwrap(), "a");
}

/// Whatever is between the exchange and its reader passes a pause on.
#[tokio::test(start_paused = true)]
async fn decoded_content_that_is_observed_can_be_paused() {
    let script = |mut peer: ScriptedServer| async move {
        peer.head().await;
        let content = Body::from(vec![b'a'; 100]).encoded(stoop::body::ContentCoding::Gzip);
        let content = content.bytes(1000).await.unwrap();
        let length = content.len();
        let head = format!("content-encoding: gzip\r\ncontent-length: {length}\r\n\r\n");
        peer.send(format!("HTTP/1.1 200 OK\r\n{head}")).await;
        sleep(Duration::from_secs(1)).await;
        peer.send(content).await;
    };
    let mut time = limits();
    time.read_idle = None;
    let builder = limited(|all| all.time = time).observe(|_, _| {});
    let client = scripted_by(builder.decode_content(true), script);
    let mut body = client.get(URL).await.unwrap().into_body();
    body.pause();
    sleep(Duration::from_secs(60)).await;
    assert_eq!(piece(&mut body).await.unwrap().len(), 100);
}

/// Responses that were not read for a while held all of their connection's window: another one, over the same
/// connection, was not received.
#[tokio::test]
async fn responses_that_pause_do_not_hold_up_the_others_of_their_connection() {
    let content = bytes::Bytes::from(vec![b'x'; 300_000]);
    let handler = move |_: Request| {
        let content = content.clone();
        async move { Response::from_bytes(content) }
    };
    let server = Server::listen("http://127.0.0.1:0").unwrap().run(handler).unwrap();
    let builder = limited(|all| {
        let http2 = &mut all.wire.http2;
        (http2.stream_window_bytes, http2.stream_window_bytes_max) = (65_535, 65_535);
        (http2.connection_window_bytes, http2.connection_window_bytes_max) = (131_070, 131_070);
    });
    let client = builder.versions(Versions::Http2).build().unwrap();
    let url = format!("{}/", server.endpoint());
    let long = Duration::from_secs(60);
    let mut paused = Vec::new();
    for _ in 0..8 {
        let mut response = client.get(&url).await.unwrap();
        response.body_mut().pause();
        paused.push(response);
        let other = client.get(&url).await.unwrap();
        let other = timeout(long, other.bytes()).await.expect("the window has room");
        assert_eq!(other.unwrap().len(), 300_000);
    }
    assert_eq!(client.stats().total.connected, 1);
    // They go on, but for one that is dropped.
    paused.pop();
    for response in paused {
        assert_eq!(timeout(long, response.bytes()).await.unwrap().unwrap().len(), 300_000);
    }
}

/// Content that has come is given out after the deadline; a caller that reads it slowly asks for that.
#[tokio::test(start_paused = true)]
async fn content_that_is_there_is_not_read_beyond_the_deadline_if_its_caller_asks() {
    let begun = Instant::now();
    let client = scripted_by(limited(|all| all.time = limits()), async |mut peer| {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabc").await;
        peer.stall().await;
    });
    let mut body = client.get(URL).await.unwrap().into_body();
    let due = body.due().expect("a deadline").duration_since(begun.into_std());
    assert_eq!(due.as_secs(), 2);
    assert!(body.overdue().is_none());
    sleep(Duration::from_secs(3)).await;
    let late = body.overdue().expect("it is late");
    assert_eq!((late.kind(), late.phase()), (ErrorKind::TotalTimeout, Phase::Receive));
    assert_eq!(body.chunk().await.unwrap(), None, "nothing is read any more");
}
