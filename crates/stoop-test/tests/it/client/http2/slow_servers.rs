//! Servers that are slow or silent, PINGs that ask whether they are there, and rests of exchanges that have
//! ended.

use std::time::Duration;

use stoop::{ErrorKind, Phase, Request};
use stoop_test::frames::{flag, window_update};
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::super::kit::{URL, settle};
use super::kit::{FrameServer, NO_SETTINGS, lines_with, ok_frames, over_http2};

/// A server gets a PING if it is silent while a request waits, and not if it was silent before the request.
#[tokio::test(start_paused = true)]
async fn a_server_that_answers_at_once_after_a_pause_is_not_asked_whether_it_is_there() {
    let (told, mut tell) = mpsc::unbounded_channel();
    let client = over_http2(
        |_| {},
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                loop {
                    let line = frames.next_frame().await;
                    if line == "gone" {
                        return;
                    }
                    if line.starts_with("PING") {
                        frames.send(&[stoop_test::frames::ping(flag::ACK, b"alive?\0\0")]).await;
                    }
                    if line.starts_with("HEADERS ") {
                        let stream = line.split(' ').nth(1).unwrap().parse().unwrap();
                        sleep(Duration::from_millis(100)).await;
                        frames.send(&[ok_frames(stream)]).await;
                    }
                    told.send(line).unwrap();
                }
            }
        },
    );
    for _ in 0..5 {
        client.get(URL).await.unwrap().into_body().bytes(9).await.unwrap();
        sleep(Duration::from_secs(10)).await;
    }
    assert_eq!(lines_with("PING", &mut tell), [""; 0]);
}

/// A server that is there, as its acknowledgments of PING frames say, and does not answer.
#[tokio::test(start_paused = true)]
async fn a_stream_is_reset_whose_response_does_not_begin_in_time() {
    let (told, mut tell) = mpsc::unbounded_channel();
    let client = over_http2(
        |limits| {
            limits.time.head_wait = Some(Duration::from_secs(8));
            limits.time.total = Some(Duration::from_secs(60));
        },
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                let stream = frames.next_request().await;
                assert_eq!(stream, 1);
                told.send(frames.next_stream_frame().await).unwrap();
            }
        },
    );
    let begun = tokio::time::Instant::now();
    let error = client.get(URL).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::ReadTimeout, Phase::Wait));
    assert!((8000..8100).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
    assert!(tell.recv().await.unwrap().starts_with("RST_STREAM 1 "));
}

/// An upload of which the server reads nothing ends after its response is complete.
#[tokio::test(start_paused = true)]
async fn an_upload_that_the_server_does_not_read_ends_after_its_response() {
    let (told, mut tell) = mpsc::unbounded_channel();
    let client = over_http2(
        |limits| {
            limits.time.send_idle = Some(Duration::from_secs(10));
            limits.time.total = None;
        },
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, &[(4, 0)]).await;
                let stream = frames.next_request().await;
                frames.send(&[ok_frames(stream)]).await;
                loop {
                    let line = frames.next_stream_frame().await;
                    told.send(line.clone()).unwrap();
                    if line == "gone" {
                        return;
                    }
                }
            }
        },
    );
    // More than the initial window of a stream.
    let response = client.send(Request::post(URL, vec![0; 100_000]).unwrap()).await.unwrap();
    assert_eq!(response.into_body().bytes(9).await.unwrap(), "ok");
    settle().await;
    let end = async {
        let mut line = tell.recv().await;
        while line.as_ref().is_some_and(|line| line.starts_with("DATA")) {
            line = tell.recv().await;
        }
        line
    };
    let ended = timeout(Duration::from_secs(3_600), end).await;
    assert_eq!(ended.ok().flatten().as_deref(), Some("RST_STREAM 1 CANCEL"));
}

/// A server that reads an upload slowly answers a PING when it has read the frames before it.
#[tokio::test(start_paused = true)]
async fn a_slow_server_is_not_taken_for_one_that_has_gone() {
    let client = over_http2(
        |limits| {
            limits.time.head = None;
        },
        |peer| async move {
            let mut frames = FrameServer::accept(peer, &[(4, 1 << 30)]).await;
            frames.send(&[window_update(0, 1 << 30)]).await;
            let stream = frames.next_request().await;
            loop {
                let line = frames.next_stream_frame().await;
                sleep(Duration::from_secs(2)).await;
                if line.contains("END_STREAM") || line == "gone" {
                    break;
                }
            }
            frames.send(&[ok_frames(stream)]).await;
            frames.serve().await;
        },
    );
    let request = Request::post(URL, vec![0; 1 << 20]).unwrap();
    let sent = timeout(Duration::from_secs(600), client.send(request)).await.unwrap();
    assert_eq!(sent.unwrap().status(), 200);
}

/// A request that starts just after an unasked frame of the server is sent at once.
#[tokio::test(start_paused = true)]
async fn a_ping_that_came_just_before_a_request_does_not_hold_it_up() {
    let (give, mut given) = mpsc::unbounded_channel();
    let connect = move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        give.send(theirs).unwrap();
        ours
    };
    let builder = stoop::Client::builder().versions(stoop::Versions::Http2);
    let client = stoop::rt::connections_from(builder, connect).build().unwrap();
    let served = async {
        let peer = super::super::kit::ScriptedServer::over(
            stoop_io::from_io(given.recv().await.unwrap()),
            0,
        );
        let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
        assert_eq!(frames.next_request().await, 1);
        frames.send(&[ok_frames(1)]).await;
        frames
    };
    let (mut frames, first) = tokio::join!(served, client.get(URL));
    first.unwrap().into_body().bytes(9).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    frames.send(&[stoop_test::frames::ping(0, b"12345678")]).await;
    let begun = tokio::time::Instant::now();
    let server = async {
        while !frames.next_frame().await.starts_with("HEADERS 3") {}
        frames.send(&[ok_frames(3)]).await;
        frames.serve().await;
        unreachable!()
    };
    let second = tokio::select! { got = client.get(URL) => got, () = server => unreachable!() };
    assert_eq!(second.unwrap().status(), 200);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

/// The first bytes of an unasked frame do not hold up a request.
#[tokio::test(start_paused = true)]
async fn a_part_of_a_frame_does_not_hold_up_a_request() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            assert_eq!(frames.next_request().await, 1);
            let ping = stoop_test::frames::ping(0, b"12345678");
            frames.send(&[ok_frames(1), ping[..5].to_vec()]).await;
            assert_eq!(frames.next_request().await, 3);
            frames.send(&[ping[5..].to_vec(), ok_frames(3)]).await;
            frames.serve().await;
        },
    );
    client.get(URL).await.unwrap().into_body().bytes(9).await.unwrap();
    sleep(Duration::from_secs(10)).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(client.get(URL).await.unwrap().status(), 200);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}
