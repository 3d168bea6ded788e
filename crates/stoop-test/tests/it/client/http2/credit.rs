//! Windows that a client opens again: once for each byte that the caller has read or that was dropped.

use stoop::{Body, Request};
use stoop_test::frames::{data, flag, headers, rst_stream};

use super::super::kit::settle;
use super::kit::{FrameServer, NO_SETTINGS, over_http2};

/// The content of a whole but unread response opens the window again when the server resets the stream,
/// and not once more when the caller reads it.
#[tokio::test(start_paused = true)]
async fn unread_content_of_a_stream_that_is_reset_is_given_back_once() {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let client = over_http2(
        |limits| {
            limits.wire.http2.connection_window_bytes = 65_535;
            limits.wire.http2.connection_window_bytes_max = 65_535;
        },
        move |peer| {
            let told = told.clone();
            async move {
                let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
                let whole = |stream| {
                    let head = headers(stream, flag::END_HEADERS, &[(":status", "200")]);
                    let some = data(stream, 0, &[0; 10_000]).repeat(3);
                    vec![head, some, data(stream, flag::END_STREAM, &[0; 10_000])]
                };
                let first = frames.next_request().await;
                frames.send(&whole(first)).await;
                frames.send(&[rst_stream(first, 0)]).await;
                loop {
                    let line = frames.next_frame().await;
                    if line == "gone" {
                        return;
                    }
                    if line.starts_with("HEADERS 3") {
                        frames.send(&whole(3)).await;
                    }
                    told.send(line).unwrap();
                }
            }
        },
    );
    let mut updates = move || {
        let mut lines = Vec::new();
        while let Ok(line) = tell.try_recv() {
            lines.push(line);
        }
        lines.retain(|line: &String| line.starts_with("WINDOW_UPDATE 0"));
        lines
    };
    let (_unfinished, body) = Body::channel(1);
    let first = client.send(Request::post("http://server.test/", body).unwrap()).await.unwrap();
    settle().await;
    let second = client.get("http://server.test/").await.unwrap();
    settle().await;
    assert_eq!(updates(), ["WINDOW_UPDATE 0 by 40000"]);
    assert_eq!(first.into_body().bytes(1 << 20).await.unwrap().len(), 40_000);
    settle().await;
    assert_eq!(updates(), Vec::<String>::new());
    assert_eq!(second.into_body().bytes(1 << 20).await.unwrap().len(), 40_000);
    settle().await;
    assert_eq!(updates(), ["WINDOW_UPDATE 0 by 40000"]);
}
