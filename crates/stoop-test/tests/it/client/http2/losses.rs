//! A broken stream fails its own exchange alone. A lost connection fails all exchanges on it, and none that
//! begins later.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use stoop::{Client, ErrorKind, Phase, Request, Versions};
use stoop_test::frames::{data, flag, frame, go_away, headers, kind, rst_stream, window_update};
use tokio::task::JoinHandle;

use super::super::kit::{
    FetchOutcome, ScriptedServer, fetch, get, kind_and_phase, listen_scripted, ok, read, settle,
};
use super::kit::{FrameServer, ok_frames, over_http2, send_post};
use crate::client::kit::counts;

/// Ways to break stream 3: the server's frames, the code of the client's RST_STREAM if it sends one, and
/// the error's kind and phase.
fn breakages() -> [(Vec<u8>, &'static str, ErrorKind, Phase); 10] {
    let head = |fields: &[(&str, &str)], flags| headers(3, flags, fields);
    let of = |length| {
        let fields = [(":status", "200"), ("content-length", length)];
        head(&fields, flag::END_HEADERS)
    };
    let trailers = [of("2"), data(3, 0, b"ok"), head(&[("X-Sum", "1")], flag::WHOLE)].concat();
    let (protocol, wait, receive) = (ErrorKind::H2Protocol, Phase::Wait, Phase::Receive);
    [
        (rst_stream(3, 2), "", ErrorKind::Reset, wait),
        ([of("9"), data(3, 0, b"o"), rst_stream(3, 8)].concat(), "", ErrorKind::Reset, receive),
        (head(&[], flag::WHOLE), "PROTOCOL_ERROR", protocol, wait),
        (head(&[(":status", "2000")], flag::WHOLE), "PROTOCOL_ERROR", protocol, wait),
        (head(&[(":status", "200"), ("Big", "x")], flag::WHOLE), "PROTOCOL_ERROR", protocol, wait),
        ([of("1"), data(3, flag::END_STREAM, b"ok")].concat(), "PROTOCOL_ERROR", protocol, receive),
        ([of("3"), data(3, flag::END_STREAM, b"ok")].concat(), "PROTOCOL_ERROR", protocol, receive),
        (data(3, flag::END_STREAM, b"ok"), "PROTOCOL_ERROR", protocol, wait),
        (trailers, "PROTOCOL_ERROR", protocol, receive),
        (window_update(3, 0x7fff_ffff), "FLOW_CONTROL_ERROR", protocol, wait),
    ]
}

#[tokio::test]
async fn one_broken_stream_leaves_the_others_unharmed() {
    for (number, (breakage, told, kind, phase)) in breakages().into_iter().enumerate() {
        let breakage: Arc<[u8]> = breakage.into();
        let client = over_http2(
            |_| {},
            move |peer| {
                let breakage = breakage.clone();
                async move {
                    let mut frames = FrameServer::accept(peer, &[]).await;
                    for stream in [1, 3, 5] {
                        assert_eq!(frames.next_request().await, stream);
                    }
                    // Stream 1 has half its response, stream 5 has none.
                    let half = [(":status", "200"), ("content-length", "2")];
                    frames.send(&[headers(1, flag::END_HEADERS, &half), data(1, 0, b"o")]).await;
                    settle().await;
                    frames.peer.send(&breakage).await;
                    if !told.is_empty() {
                        assert_eq!(
                            frames.next_stream_frame().await,
                            format!("RST_STREAM 3 {told}")
                        );
                    }
                    frames.send(&[data(1, flag::END_STREAM, b"k"), ok_frames(5)]).await;
                    assert_eq!(frames.next_request().await, 7);
                    frames.send(&[ok_frames(7)]).await;
                    while frames.next_stream_frame().await != "gone" {}
                }
            },
        );
        let first = spawn_fetch(&client);
        settle().await;
        let other = client.clone();
        let second =
            tokio::spawn(
                async move { read(send_post(&other).await.map_err(kind_and_phase)?).await },
            );
        settle().await;
        let third = spawn_fetch(&client);
        assert_eq!(second.await.unwrap(), Err((kind, phase)), "{number}");
        assert_eq!(first.await.unwrap(), ok(), "{number}");
        assert_eq!(third.await.unwrap(), ok(), "{number}");
        assert_eq!(counts(&client), (1, 1), "{number}");
        assert_eq!(fetch(&client).await, ok(), "{number}");
        assert_eq!(counts(&client), (1, 1), "{number}");
    }
}

fn spawn_fetch(client: &Client) -> JoinHandle<FetchOutcome> {
    let client = client.clone();
    tokio::spawn(async move { fetch(&client).await })
}

fn spawn_post(client: &Client) -> JoinHandle<FetchOutcome> {
    let client = client.clone();
    tokio::spawn(async move { read(send_post(&client).await.map_err(kind_and_phase)?).await })
}

/// How a connection is lost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loss {
    End,
    Reset,
    /// GOAWAY with an error, and 3 as the last stream: those above it were not processed.
    GoAway,
    /// The server breaks the protocol, and the client ends the connection.
    Broken,
}

impl Loss {
    /// Loses the connection in this way.
    async fn cause(self, mut frames: FrameServer) {
        match self {
            Self::End => frames.peer.shutdown().await,
            Self::Reset => return frames.peer.reset(),
            Self::GoAway => {
                frames.send(&[go_away(3, 2, "out of memory")]).await;
                frames.peer.shutdown().await;
            }
            Self::Broken => {
                let push = frame(kind::PUSH_PROMISE, flag::END_HEADERS, 1, &[0, 0, 0, 2]);
                frames.send(&[push]).await;
                let mut last = frames.next_stream_frame().await;
                while last.starts_with("DATA") {
                    last = frames.next_stream_frame().await;
                }
                assert_eq!(last, "GOAWAY 0 PROTOCOL_ERROR: a push was not allowed");
            }
        }
        while frames.next_stream_frame().await != "gone" {}
    }

    /// The kind of error of the requests that are not repeated.
    fn kind(self) -> ErrorKind {
        match self {
            Self::End => ErrorKind::ClosedEarly,
            Self::Reset => ErrorKind::Reset,
            Self::GoAway => ErrorKind::H2GoAway,
            Self::Broken => ErrorKind::H2Protocol,
        }
    }
}

/// Loses the first connection with six requests on it, after it answered one more if it is to be an old
/// one. The other connections serve, and count their requests.
async fn serve_after_loss(loss: Loss, old: bool, served: Arc<AtomicUsize>, peer: ScriptedServer) {
    let number = peer.number;
    let mut frames = FrameServer::accept(peer, &[]).await;
    if number > 0 {
        loop {
            let stream = frames.next_request().await;
            if stream == 0 {
                return;
            }
            served.fetch_add(1, SeqCst);
            frames.send(&[ok_frames(stream)]).await;
        }
    }
    if old {
        let stream = frames.next_request().await;
        frames.send(&[ok_frames(stream)]).await;
    }
    let mut first = 0;
    for n in 0..6 {
        let stream = frames.next_request().await;
        if n == 0 {
            first = stream;
        }
    }
    let half = [(":status", "200"), ("content-length", "2")];
    frames.send(&[headers(first, flag::END_HEADERS, &half), data(first, 0, b"o")]).await;
    settle().await;
    loss.cause(frames).await;
}

/// Sends six requests over a connection that is lost, and checks which are repeated and how the others fail.
async fn check_loss(client: &Client, loss: Loss, old: bool, served: &AtomicUsize) {
    if old {
        assert_eq!(fetch(client).await, ok());
    }
    // The response to the first request begins. The streams of the others are in their order.
    let begun = spawn_fetch(client);
    settle().await;
    let mut tasks = Vec::new();
    for n in 0..5 {
        tasks.push(if n % 2 == 0 { spawn_post(client) } else { spawn_fetch(client) });
        settle().await;
    }
    let why = loss.kind();
    assert_eq!(begun.await.unwrap(), Err((why, Phase::Receive)), "{loss:?}");
    let mut repeated = 0;
    for (n, task) in tasks.into_iter().enumerate() {
        let stream = 2 * (n + 1 + usize::from(old)) + 1;
        // A GET without a response is repeated, since the connection was not made for it and may have
        // been closed before it was sent.
        let again = match loss {
            Loss::End | Loss::Reset => n % 2 == 1,
            Loss::GoAway => stream > 3,
            Loss::Broken => false,
        };
        repeated += usize::from(again);
        let expected = if again { ok() } else { Err((why, Phase::Wait)) };
        assert_eq!(task.await.unwrap(), expected, "{loss:?}, {old}: stream {stream}");
    }
    assert_eq!(served.load(SeqCst), repeated, "{loss:?}: each once");
    // Later requests are not affected.
    assert_eq!(fetch(client).await, ok());
    assert_eq!(read(send_post(client).await.unwrap()).await, ok());
    assert_eq!(counts(client), (1, 1), "{loss:?}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_fails_each_request_for_itself() {
    for loss in [Loss::End, Loss::Reset, Loss::GoAway, Loss::Broken] {
        for old in [false, true] {
            let served = Arc::new(AtomicUsize::new(0));
            let count = served.clone();
            let client =
                over_http2(|_| {}, move |peer| serve_after_loss(loss, old, count.clone(), peer));
            check_loss(&client, loss, old, &served).await;
        }
    }
}

/// The same where the kernel reports the reset.
#[tokio::test]
async fn a_tcp_reset_fails_each_request_for_itself() {
    let address = listen_scripted(|peer| async move {
        let mut frames = FrameServer::accept(peer, &[]).await;
        if frames.peer.number > 0 {
            return frames.serve().await;
        }
        for stream in [1, 3, 5] {
            assert_eq!(frames.next_request().await, stream);
        }
        frames.peer.reset();
    })
    .await;
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let url = format!("http://{address}/");
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let client = client.clone();
            let request = Request::post(&url, "some").unwrap();
            tokio::spawn(async move { client.send(request).await })
        })
        .collect();
    for task in tasks {
        let error = task.await.unwrap().unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::Reset, Phase::Wait));
        assert_eq!(error.remote_address(), Some(address));
    }
    assert_eq!(read(client.get(&url).await.unwrap()).await, ok());
}

/// A server that refuses every stream at once is asked a limited number of times, with growing pauses, or
/// until the deadline. The error is the refusal, which says more than the deadline.
#[tokio::test(start_paused = true)]
async fn a_server_that_refuses_every_stream_is_asked_a_limited_number_of_times() {
    for (total, times) in [(60, 33..34), (2, 8..20)] {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let client = over_http2(
            |limits| limits.time.total = Some(Duration::from_secs(total)),
            move |peer| {
                let count = count.clone();
                async move {
                    let mut frames = FrameServer::accept(peer, &[]).await;
                    loop {
                        let stream = frames.next_request().await;
                        if stream == 0 {
                            return;
                        }
                        count.fetch_add(1, SeqCst);
                        frames.send(&[rst_stream(stream, 7)]).await;
                    }
                }
            },
        );
        let begun = tokio::time::Instant::now();
        let refused = Some((ErrorKind::H2Refused, Phase::Wait));
        assert_eq!(get(&client).await.map_err(kind_and_phase).err(), refused);
        assert!(times.contains(&asked.load(SeqCst)), "{}", asked.load(SeqCst));
        let most = if total == 2 { 1..2 } else { 5..15 };
        assert!(most.contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
        assert_eq!(counts(&client), (1, 1));
    }
}
