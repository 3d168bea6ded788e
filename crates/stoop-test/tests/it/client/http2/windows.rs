//! A server that shuts its windows: no body is asked for content, no task runs, and uploads go on where
//! they stopped.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use stoop::{Body, Client, Request, Versions};
use stoop_test::frames::{setting, settings, window_update};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::super::kit::{FetchOutcome, ScriptedServer, URL, fetch, fetch_request, ok, settle};
use super::kit::{FrameServer, ok_frames};
use crate::client::kit::counts;

/// A count of polls.
#[derive(Clone, Default)]
struct PollCount(Arc<AtomicUsize>);

impl PollCount {
    fn get(&self) -> usize {
        self.0.load(SeqCst)
    }

    fn increment(&self) -> usize {
        self.0.fetch_add(1, SeqCst)
    }
}

/// A body of that many pieces of 10 bytes, which counts how many were asked for.
struct SmallPieces(usize, PollCount);

impl http_body::Body for SmallPieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let place = self.1.increment();
        let piece = (place < self.0).then(|| Ok(Frame::data(Bytes::from_static(b"0123456789"))));
        Poll::Ready(piece)
    }
}

/// A stream that counts its polls for bytes: each turn of the connection's driver ends with one.
struct CountedStream(DuplexStream, PollCount);

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.1.increment();
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}

/// A client, the server's end of each connection once there is a request, and the count of its driver's
/// turns.
fn client() -> (Client, mpsc::UnboundedReceiver<DuplexStream>, PollCount) {
    let (give, given) = mpsc::unbounded_channel();
    let turns = PollCount::default();
    let counted = turns.clone();
    let connect = move || {
        let (ours, theirs) = tokio::io::duplex(64 * 1024);
        give.send(theirs).unwrap();
        CountedStream(ours, counted.clone())
    };
    let builder = Client::builder().versions(Versions::Http2);
    (stoop::rt::connections_from(builder, connect).build().unwrap(), given, turns)
}

/// The server's end, after an exchange that brought the client the initial window of streams.
async fn first_exchange(
    client: &Client,
    given: &mut mpsc::UnboundedReceiver<DuplexStream>,
    window: u32,
) -> FrameServer {
    let served = async {
        let peer = ScriptedServer::over(stoop_io::from_io(given.recv().await.unwrap()), 0);
        let mut frames = FrameServer::accept(peer, &[(setting::INITIAL_WINDOW_SIZE, window)]).await;
        assert_eq!(frames.next_request().await, 1);
        frames.send(&[ok_frames(1)]).await;
        frames
    };
    let (frames, fetched) = tokio::join!(served, fetch(client));
    fetched.unwrap();
    frames
}

/// Starts an upload of that many pieces, and counts those that were asked for.
fn upload(client: &Client, pieces: usize) -> (tokio::task::JoinHandle<FetchOutcome>, PollCount) {
    let (client, made) = (client.clone(), PollCount::default());
    let body = Body::stream(SmallPieces(pieces, made.clone()));
    let request = Request::post(URL, body).unwrap();
    (tokio::spawn(async move { fetch_request(&client, request).await }), made)
}

/// Asserts that nothing happens, now and for 25 seconds, but for a PING, its answer, and a timer.
async fn assert_idle(frames: &mut FrameServer, turns: &PollCount, made: &[&PollCount]) {
    settle().await;
    let before: Vec<_> = made.iter().map(|made| made.get()).collect();
    let turned = turns.get();
    settle().await;
    assert_eq!(turns.get(), turned, "the driver runs without need");
    // PINGs are answered meanwhile.
    let said = timeout(Duration::from_secs(25), frames.next_stream_frame()).await;
    assert!(said.is_err(), "{said:?}");
    let after: Vec<_> = made.iter().map(|made| made.get()).collect();
    assert_eq!(after, before, "no body is asked for content that cannot be sent");
    assert!(turns.get() - turned <= 6, "{} turns", turns.get() - turned);
}

#[tokio::test(start_paused = true)]
async fn while_a_streams_window_is_shut_nothing_runs() {
    let (client, mut given, turns) = client();
    let mut frames = first_exchange(&client, &mut given, 0).await;
    let (uploading, made) = upload(&client, 4);
    assert_eq!(frames.next_request().await, 3);
    assert_idle(&mut frames, &turns, &[&made]).await;
    assert_eq!(made.get(), 1, "the piece that waits");
    // Then as much is sent as the window allows, whatever the pieces.
    frames.send(&[window_update(3, 15)]).await;
    assert_eq!(frames.next_stream_frame().await, "DATA 3 0123456789");
    assert_eq!(frames.next_stream_frame().await, "DATA 3 01234");
    assert_idle(&mut frames, &turns, &[&made]).await;
    assert_eq!(made.get(), 2);
    frames.send(&[window_update(3, 5)]).await;
    assert_eq!(frames.next_stream_frame().await, "DATA 3 56789");
    frames.send(&[settings(&[(setting::INITIAL_WINDOW_SIZE, 100)])]).await;
    assert_eq!(frames.next_stream_frame().await, "DATA 3 0123456789");
    assert_eq!(frames.next_stream_frame().await, "DATA 3 0123456789");
    assert_eq!(frames.next_stream_frame().await, "DATA 3 END_STREAM ");
    frames.send(&[ok_frames(3)]).await;
    assert_eq!(uploading.await.unwrap(), ok());
    assert_eq!(made.get(), 5);
}

/// The same for the connection's window, with many uploads; a request without content is not held up.
#[tokio::test(start_paused = true)]
async fn while_the_connections_window_is_shut_only_requests_without_content_run() {
    let (client, mut given, turns) = client();
    let mut frames = first_exchange(&client, &mut given, 1 << 20).await;
    let (_, all) = upload(&client, usize::MAX);
    assert_eq!(frames.next_request().await, 3);
    let mut sent = 0;
    while sent < 65_535 {
        let line = frames.next_stream_frame().await;
        sent += line.strip_prefix("DATA 3 ").unwrap().len();
    }
    assert_eq!(sent, 65_535, "what every connection begins with");
    let others: Vec<_> = (0..20).map(|_| upload(&client, 1)).collect();
    for n in 2..22 {
        assert_eq!(frames.next_request().await, 2 * n + 1);
    }
    let made: Vec<_> = others.iter().map(|(_, made)| made).chain([&all]).collect();
    assert_idle(&mut frames, &turns, &made).await;
    assert!(others.iter().all(|(_, made)| made.get() == 1));
    let other = client.clone();
    let asking = tokio::spawn(async move { fetch(&other).await });
    let stream = frames.next_request().await;
    frames.send(&[ok_frames(stream)]).await;
    assert_eq!(asking.await.unwrap(), ok());
    // Room for all of the short uploads, and for as much of the long one.
    frames.send(&[window_update(0, 410)]).await;
    let (mut ended, mut more) = (0, 0);
    while let Ok(line) = timeout(Duration::from_secs(1), frames.next_stream_frame()).await {
        ended += usize::from(line.contains("END_STREAM"));
        more += line.strip_prefix("DATA 3 ").map_or(0, str::len);
    }
    assert!((200..=210).contains(&more), "{more}");
    assert_eq!(ended, 20);
    assert_eq!(counts(&client), (1, 0));
}
