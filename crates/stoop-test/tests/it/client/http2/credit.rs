//! Windows that a client opens again: once for each byte that the caller has read or that was dropped.

use std::sync::Mutex;

use stoop::{Body, Client, Request, Response};
use stoop_test::frames::{data, flag, headers, rst_stream};
use tokio::sync::{mpsc, oneshot};

use super::super::kit::{URL, settle};
use super::kit::{FrameServer, NO_SETTINGS, lines_with, over_http2};

/// The frames of a response with 40,000 bytes.
fn response(stream: u32) -> Vec<Vec<u8>> {
    let head = headers(stream, flag::END_HEADERS, &[(":status", "200")]);
    let some = data(stream, 0, &[0; 10_000]).repeat(3);
    vec![head, some, data(stream, flag::END_STREAM, &[0; 10_000])]
}

/// A client whose connections have a small window, and a function that returns the WINDOW_UPDATEs that
/// it sent for the connection since the last call. The server answers two requests and resets the stream
/// of the first: at once, or when it has answered the second and is told to.
fn client_with_a_reset(
    later: Option<oneshot::Receiver<()>>,
) -> (Client, impl FnMut() -> Vec<String>) {
    let (told, mut tell) = mpsc::unbounded_channel();
    let later = Mutex::new(later);
    let client = over_http2(
        |limits| {
            limits.wire.http2.connection_window_bytes = 65_535;
            limits.wire.http2.connection_window_bytes_max = 65_535;
        },
        move |peer| {
            let told = told.clone();
            let mut later = later.lock().unwrap().take();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                let first = frames.next_request().await;
                frames.send(&response(first)).await;
                if later.is_none() {
                    frames.send(&[rst_stream(first, 0)]).await;
                }
                loop {
                    let line = frames.next_frame().await;
                    if line == "gone" {
                        return;
                    }
                    if line.starts_with("HEADERS 3") {
                        frames.send(&response(3)).await;
                        if let Some(later) = later.take() {
                            let _ = later.await;
                            frames.send(&[rst_stream(first, 0)]).await;
                        }
                    }
                    told.send(line).unwrap();
                }
            }
        },
    );
    (client, move || lines_with("WINDOW_UPDATE 0", &mut tell))
}

async fn read_all(response: Response) {
    assert_eq!(response.into_body().bytes(1 << 20).await.unwrap().len(), 40_000);
    settle().await;
}

/// The content of a whole but unread response opens the window again when the server resets the stream,
/// and not once more when the caller reads it.
#[tokio::test(start_paused = true)]
async fn unread_content_of_a_stream_that_is_reset_is_given_back_once() {
    let (client, mut updates) = client_with_a_reset(None);
    let (_unfinished, body) = Body::channel(1);
    let first = client.send(Request::post(URL, body).unwrap()).await.unwrap();
    settle().await;
    let second = client.get(URL).await.unwrap();
    settle().await;
    assert_eq!(updates(), ["WINDOW_UPDATE 0 by 40000"]);
    read_all(first).await;
    assert_eq!(updates(), [""; 0]);
    read_all(second).await;
    assert_eq!(updates(), ["WINDOW_UPDATE 0 by 40000"]);
}

/// Content that the caller reads opens the window again then, and not once more when its stream is reset.
#[tokio::test(start_paused = true)]
async fn content_that_was_read_before_its_stream_is_reset_is_given_back_once() {
    let (resets, reset) = oneshot::channel();
    let (client, mut updates) = client_with_a_reset(Some(reset));
    let (_unfinished, body) = Body::channel(1);
    let first = client.send(Request::post(URL, body).unwrap()).await.unwrap();
    settle().await;
    read_all(first).await;
    assert_eq!(updates(), ["WINDOW_UPDATE 0 by 40000"]);
    let second = client.get(URL).await.unwrap();
    settle().await;
    resets.send(()).unwrap();
    settle().await;
    // Nothing of the second response was read.
    assert_eq!(updates(), [""; 0]);
    drop(second);
}
