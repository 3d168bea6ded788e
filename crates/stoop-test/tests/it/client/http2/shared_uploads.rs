//! Uploads that share a connection: how long each may wait for its turn to send.

use std::time::Duration;

use stoop::{Body, Client, ErrorKind, Phase, Request};
use stoop_test::frames::{settings, settings_ack, window_update};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::super::kit::{FetchOutcome, URL, fetch_request, kind_and_phase, limited};
use super::kit::{FrameServer, NO_SETTINGS, ok_frames, over_http2};
use crate::client::kit::counts;

/// The server of these tests takes 64 KiB of the transport at once, and reads them for four seconds.
const IDLE: Duration = Duration::from_secs(10);

/// What the client sends in a frame where more follows.
const FRAME: usize = 16_375;

/// So many uploads have their turns in circles of as many seconds.
const UPLOADS: usize = 32;

/// A client whose uploads may wait that long. Its server reads a frame a second once `begin` is done, and
/// answers each request at its end, but for one that `begin` has answered.
fn slow_server<F>(
    settings: &'static [(u16, u32)],
    begin: impl Fn(FrameServer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = (FrameServer, Option<u32>)> + Send + 'static,
{
    let begin = std::sync::Arc::new(begin);
    over_http2(
        |limits| {
            limits.time.head = None;
            limits.time.send_idle = Some(IDLE);
        },
        move |peer| {
            let begin = begin.clone();
            async move {
                let frames = FrameServer::accept(peer, settings).await;
                let (mut frames, answered) = begin(frames).await;
                loop {
                    let line = frames.next_stream_frame().await;
                    if line == "gone" {
                        return;
                    }
                    let stream = line.split(' ').nth(1).and_then(|stream| stream.parse().ok());
                    let stream: u32 = stream.unwrap_or(0);
                    assert!(Some(stream) != answered || line.starts_with("DATA"), "{line}");
                    if line.contains("END_STREAM") && Some(stream) != answered {
                        frames.send(&[ok_frames(stream)]).await;
                    }
                    if line.starts_with("DATA") {
                        sleep(Duration::from_secs(1)).await;
                    }
                }
            }
        },
    )
}

async fn upload(client: Client, bytes: usize) -> FetchOutcome {
    let request = Request::post(URL, vec![0; bytes]).unwrap();
    timeout(Duration::from_secs(3_600), fetch_request(&client, request)).await.unwrap()
}

fn ok() -> FetchOutcome {
    Ok((200, "ok".to_owned()))
}

/// Each upload has its turn less often than once in the time that it may be idle.
#[tokio::test(start_paused = true)]
async fn an_upload_that_waits_for_its_turn_is_not_idle_while_others_send() {
    let client = slow_server(&[(4, 1 << 30)], |mut frames| async move {
        frames.send(&[window_update(0, 1 << 30)]).await;
        (frames, None)
    });
    let mut uploads = JoinSet::new();
    (0..UPLOADS).for_each(|_| drop(uploads.spawn(upload(client.clone(), 6 * FRAME))));
    assert_eq!(uploads.join_all().await, vec![ok(); UPLOADS]);
    assert_eq!(counts(&client), (1, 1));
}

/// The same where it is the window of the connection that is opened slowly.
#[tokio::test(start_paused = true)]
async fn an_upload_that_waits_for_the_connections_window_is_not_idle_while_others_send() {
    let client = over_http2(
        |limits| {
            limits.time.head = None;
            limits.time.send_idle = Some(IDLE);
        },
        |peer| async move {
            let mut frames = FrameServer::accept(peer, &[(4, 1 << 30)]).await;
            loop {
                let line = frames.next_stream_frame().await;
                if line == "gone" {
                    return;
                }
                if line.contains("END_STREAM") {
                    let stream = line.split(' ').nth(1).unwrap().parse().unwrap();
                    frames.send(&[ok_frames(stream)]).await;
                }
                if line.starts_with("DATA") {
                    sleep(Duration::from_secs(1)).await;
                    frames.send(&[window_update(0, 16_384)]).await;
                }
            }
        },
    );
    let mut uploads = JoinSet::new();
    (0..UPLOADS).for_each(|_| drop(uploads.spawn(upload(client.clone(), 6 * FRAME))));
    assert_eq!(uploads.join_all().await, vec![ok(); UPLOADS]);
}

/// The server opens the window of one stream only.
#[tokio::test(start_paused = true)]
async fn an_upload_whose_window_stays_closed_is_idle_though_others_send() {
    let client = slow_server(&[(4, 0)], |mut frames| async move {
        assert_eq!(frames.next_request().await, 1);
        frames.send(&[ok_frames(1), window_update(0, 1 << 30)]).await;
        assert_eq!((frames.next_request().await, frames.next_request().await), (3, 5));
        frames.send(&[window_update(5, 1 << 30)]).await;
        (frames, None)
    });
    assert_eq!(fetch_request(&client, Request::get(URL).unwrap()).await, ok());
    let begun = Instant::now();
    let stopped = async {
        let outcome = upload(client.clone(), 30 * FRAME).await;
        (outcome, begun.elapsed())
    };
    let ((outcome, waited), other) = tokio::join!(stopped, upload(client.clone(), 30 * FRAME));
    assert_eq!(outcome, Err((ErrorKind::ReadTimeout, Phase::Send)));
    assert!((IDLE..IDLE + Duration::from_millis(100)).contains(&waited), "{waited:?}");
    assert_eq!(other, ok());
    assert!(begun.elapsed() > 2 * IDLE);
}

/// The server reads frames, and opens no window once those that it has opened are used up.
#[tokio::test(start_paused = true)]
async fn uploads_are_idle_once_the_connections_window_stays_closed() {
    let client = slow_server(NO_SETTINGS, |frames| async move { (frames, None) });
    let begun = Instant::now();
    let mut uploads = JoinSet::new();
    (0..2).for_each(|_| drop(uploads.spawn(upload(client.clone(), 6 * FRAME))));
    let outcomes = uploads.join_all().await;
    assert_eq!(outcomes, vec![Err((ErrorKind::ReadTimeout, Phase::Send)); 2]);
    let waited = begun.elapsed();
    assert!((IDLE..IDLE + Duration::from_secs(5)).contains(&waited), "{waited:?}");
}

/// A response that came before the end of its request does not need the request any more, and the rest is
/// sent for as long as the connection moves.
#[tokio::test(start_paused = true)]
async fn an_upload_that_was_left_behind_its_response_goes_on_while_others_send() {
    let client = slow_server(&[(4, 1 << 30)], |mut frames| async move {
        frames.send(&[window_update(0, 1 << 30)]).await;
        let first = frames.next_request().await;
        frames.send(&[ok_frames(first)]).await;
        (frames, Some(first))
    });
    let left = upload(client.clone(), 122 * FRAME).await;
    assert_eq!(left, ok());
    let mut uploads = JoinSet::new();
    (0..UPLOADS).for_each(|_| drop(uploads.spawn(upload(client.clone(), 6 * FRAME))));
    assert_eq!(uploads.join_all().await, vec![ok(); UPLOADS]);
    while counts(&client) == (1, 0) {
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(counts(&client), (1, 1));
}

/// A caller that makes nothing more of an upload may have forgotten it, whether others send or not.
#[tokio::test(start_paused = true)]
async fn an_upload_that_its_caller_forgot_behind_its_response_ends_though_others_send() {
    let (told, mut tell) = mpsc::unbounded_channel();
    let client = over_http2(
        |limits| {
            limits.time.head = None;
            limits.time.send_idle = Some(IDLE);
        },
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, &[(4, 1 << 30)]).await;
                frames.send(&[window_update(0, 1 << 30)]).await;
                frames.next_request().await;
                frames.send(&[ok_frames(1)]).await;
                loop {
                    let line = frames.next_stream_frame().await;
                    if line.contains("END_STREAM") {
                        frames.send(&[ok_frames(3)]).await;
                    } else if line.starts_with("RST_STREAM") {
                        told.send(line).unwrap();
                    } else if line == "gone" {
                        return;
                    }
                    sleep(Duration::from_secs(1)).await;
                }
            }
        },
    );
    let (_forgotten, body) = Body::channel(1);
    assert_eq!(fetch_request(&client, Request::post(URL, body).unwrap()).await, ok());
    assert_eq!(upload(client.clone(), 40 * FRAME).await, ok());
    assert_eq!(tell.try_recv().unwrap(), "RST_STREAM 1 CANCEL");
}

/// The kernel's full buffers take nothing for a long time, though the server reads from them.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn uploads_to_a_server_that_reads_slowly_are_not_idle_while_it_does() {
    use std::io::{Read, Write};
    let idle = Duration::from_millis(400);
    let builder = limited(|limits| limits.time.send_idle = Some(idle));
    let client = builder.versions(stoop::Versions::Http2).build().unwrap();
    let listener = crate::client::kit::narrow_listener();
    let url = format!("http://127.0.0.1:{}/", listener.local_addr().unwrap().port());
    // It reads 16 KiB each 50 ms, 40 times, and then nothing more.
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let opens = [settings(&[(4, 1 << 30)]), settings_ack(), window_update(0, 1 << 30)];
        socket.write_all(&opens.concat()).unwrap();
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(50));
            socket.read_exact(&mut vec![0; 16 << 10]).unwrap();
        }
        (std::time::Instant::now(), socket)
    });
    let mut uploads = JoinSet::new();
    for _ in 0..4 {
        let (client, url) = (client.clone(), url.clone());
        uploads.spawn(async move {
            let request = Request::post(&url, vec![b'a'; 16 << 20]).unwrap();
            let error = client.send(request).await.unwrap_err();
            (kind_and_phase(error), std::time::Instant::now())
        });
    }
    let ended = uploads.join_all().await;
    let (stopped, _) = server.join().unwrap();
    for (error, ended) in ended {
        assert_eq!(error, (ErrorKind::ReadTimeout, Phase::Send));
        let waited = ended.saturating_duration_since(stopped);
        assert!(waited > Duration::from_millis(300), "{waited:?}");
        assert!(waited < Duration::from_secs(2), "{waited:?}");
    }
}
