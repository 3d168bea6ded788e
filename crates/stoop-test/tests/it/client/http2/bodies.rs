//! Content that panics, never ends, or is still sent after its response; tunnels that are dropped.

use std::time::Duration;

use bytes::Bytes;
use stoop::{Body, ErrorKind, Phase, Request};
use stoop_test::frames::data;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::super::kit::{fetch, ok, read, settle};
use super::kit::{FrameServer, NO_SETTINGS, ok_frames, over_http2, tunnels_to};
use crate::client::kit::{accepted, counts};

/// The response is complete, and the request never will be.
#[tokio::test(start_paused = true)]
async fn an_upload_that_never_completes_ends_after_its_response() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, &[(4, 10)]).await;
            let stream = frames.next_request().await;
            frames.send(&[ok_frames(stream)]).await;
            loop {
                let line = frames.next_stream_frame().await;
                if line == "gone" {
                    return;
                }
            }
        },
    );
    let (sender, body) = Body::channel(1);
    let request = Request::post("http://server.test/", body).unwrap();
    let response = client.send(request).await.unwrap();
    let sending = tokio::spawn(async move { while sender.send("0123456789").await.is_ok() {} });
    assert_eq!(read(response).await, ok());
    sleep(Duration::from_secs(600)).await;
    assert!(sending.is_finished());
    assert_eq!(counts(&client).1, counts(&client).0);
}

/// Bytes that were written to a tunnel are sent though the tunnel is dropped.
#[tokio::test]
async fn bytes_written_before_a_tunnel_is_dropped_arrive() {
    let (client, mut tell) = tunnels_to(|mut stream| async move {
        let mut all = Vec::new();
        (stream.read_to_end(&mut all).await.map_err(|error| error.kind()), all)
    });
    let request = Request::connect("http://proxy/", "a.test:80").unwrap();
    let mut stream = stoop::rt::stream(accepted(client.switch(request).await));
    stream.write_all(b"last words").await.unwrap();
    stream.flush().await.unwrap();
    stream.shutdown().await.unwrap();
    drop(stream);
    assert_eq!(tell.recv().await.unwrap(), (Ok(10), b"last words".to_vec()));
}

/// A body that panics when it is asked whether it has ended.
struct PanickingEnd(u32);

impl http_body::Body for PanickingEnd {
    type Data = Bytes;
    type Error = std::convert::Infallible;
    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Bytes>, Self::Error>>> {
        self.0 += 1;
        std::task::Poll::Ready(Some(Ok(http_body::Frame::data("a".into()))))
    }
    fn is_end_stream(&self) -> bool {
        if self.0 > 0 { panic!("on purpose") } else { false }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_whose_end_panics_fails_alone() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            let first = frames.next_request().await;
            let _second = frames.next_request().await;
            sleep(Duration::from_secs(1)).await;
            frames.send(&[ok_frames(first)]).await;
            frames.serve().await;
        },
    );
    let other = client.clone();
    let other = tokio::spawn(async move { fetch(&other).await });
    settle().await;
    let body = Body::stream(PanickingEnd(0));
    let request = Request::post("http://server.test/", body).unwrap();
    let error = client.send(request).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::RequestBody);
    assert_eq!(other.await.unwrap(), ok());
    let _ = data(1, 0, b"");
}

/// As over HTTP/1, the heads of one exchange have a limit together. They are not flow controlled.
#[tokio::test(start_paused = true)]
async fn interim_responses_count_together() {
    let client = over_http2(
        |_| {},
        |peer| async {
            let mut frames = FrameServer::accept(peer, NO_SETTINGS).await;
            let stream = frames.next_request().await;
            let long = "a".repeat(15_000);
            for _ in 0..2 {
                // Each has 135,000 bytes, and 256 KiB are allowed.
                let fields = [(":status", "103"), ("link", long.as_str())];
                frames.send(&[stoop_test::frames::headers(stream, 0, &fields)]).await;
                for n in 0..8 {
                    let block = stoop_test::frames::block(&[("link", &long)]);
                    let flags = if n == 7 { stoop_test::frames::flag::END_HEADERS } else { 0 };
                    frames.send(&[stoop_test::frames::continuation(stream, flags, &block)]).await;
                }
            }
            assert_eq!(
                frames.next_stream_frame().await,
                format!("RST_STREAM {stream} PROTOCOL_ERROR")
            );
            while frames.next_stream_frame().await != "gone" {}
        },
    );
    assert_eq!(fetch(&client).await, Err((ErrorKind::H2Protocol, Phase::Wait)));
}
