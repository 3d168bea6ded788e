//! What a handler is told when its response was sent, or was cut short: over each version.

use std::fs::File;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use http::Method;
use http_body::Frame;
use stoop::{Body, CutShort, Request, Response, SentResponse, ServerLimits, StatusCode};
use stoop_proto::h2::ErrorCode;
use stoop_test::http2::ClientEvent;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{Instant, sleep};

use super::files::{Ways, content};
use super::http2::client;
use super::{DropCounter, GET, connect, connect_with, dial, listen, seconds};
use crate::programs::TestFolder;

type Told = UnboundedReceiver<(String, SentResponse)>;

/// Has what becomes of a response sent to `told`.
fn watched(told: &UnboundedSender<(String, SentResponse)>, path: &str, to: Response) -> Response {
    let (told, path) = (told.clone(), path.to_owned());
    to.on_sent(move |sent| drop(told.send((path, sent))))
}

/// Streamed content: so many pieces of 1,000 bytes, and then its end, a failure, or nothing for ever.
fn pieces(count: usize, end: Option<Result<(), &'static str>>) -> Body {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for _ in 0..count {
            if sender.send(vec![b'x'; 1_000]).await.is_err() {
                return;
            }
        }
        match end {
            Some(Ok(())) => drop(sender.finish().await),
            Some(Err(error)) => sender.fail(error).await,
            None => std::future::pending().await,
        }
    });
    body
}

/// Content that waits for ever behind its first piece.
struct Waiting(Option<&'static str>, #[expect(dead_code, reason = "it counts")] DropCounter);

impl http_body::Body for Waiting {
    type Data = bytes::Bytes;
    type Error = std::convert::Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        match self.0.take() {
            Some(piece) => Poll::Ready(Some(Ok(Frame::data(piece.into())))),
            None => Poll::Pending,
        }
    }
}

async fn next(told: &mut Told) -> SentResponse {
    told.recv().await.expect("the handler is told").1
}

#[tokio::test]
async fn each_response_tells_once_that_all_of_it_was_sent() {
    let folder = TestFolder::new("sent");
    let file = Arc::new(File::open(folder.write("file", content(100_000))).unwrap());
    let (told, mut tell) = unbounded_channel();
    let ways = Ways::to(move |request: Request| {
        let response = match request.path() {
            "/text" => Response::from_text("hello"),
            "/buffer" => Response::from_bytes(vec![0; 200_000]),
            "/stream" => Response::new(pieces(100, Some(Ok(())))),
            "/file" => Response::new(Body::from_file(file.clone(), 0..100_000)),
            "/small" => Response::new(Body::from_file(file.clone(), 0..1_000)),
            "/http" => http::Response::new(Body::from("hello")).into(),
            _ => Response::from_status(StatusCode::NO_CONTENT),
        };
        let mut response = watched(&told, request.path(), response);
        if request.path() == "/http" {
            // As a layer of tower's takes and gives it.
            response = Response::from(http::Response::from(response));
        }
        response
    });
    for (way, client, origin) in &ways.ways {
        let mut all = Vec::new();
        for (path, bytes) in [
            ("/text", 5),
            ("/buffer", 200_000),
            ("/stream", 100_000),
            ("/file", 100_000),
            ("/small", 1_000),
            ("/http", 5),
            ("/none", 0),
        ] {
            let response = client.get(format!("{origin}{path}")).await.unwrap();
            let status = response.status();
            assert_eq!(response.into_body().bytes(1 << 20).await.unwrap().len(), bytes);
            all.push((path, status, bytes as u64));
        }
        let head = client.request(Method::HEAD, format!("{origin}/text")).send().await.unwrap();
        all.push(("/text", head.status(), 0));
        for (path, status, bytes) in all {
            let (of, sent) = tell.recv().await.unwrap();
            assert_eq!((of.as_str(), sent.status()), (path, Some(status)), "{way}");
            assert_eq!((sent.content_bytes(), sent.cut_short()), (bytes, None), "{way} {path}");
            assert!(sent.is_complete() && sent.head_at().unwrap() <= sent.ended_at());
        }
        assert!(tell.try_recv().is_err(), "{way}: each is told once");
    }
}

/// What lies in the connection's output is not sent.
#[tokio::test(start_paused = true)]
async fn a_response_is_sent_once_the_client_has_made_room_for_all_of_it() {
    for len in [1, 100_000] {
        let (told, mut tell) = unbounded_channel();
        let mut peer = connect(move |request: Request| {
            watched(&told, request.path(), Response::from_bytes(vec![0; 64 * 1024 + len]))
        });
        peer.send(GET).await;
        sleep(seconds(1)).await;
        assert!(tell.try_recv().is_err());
        assert_eq!(peer.response().await.unwrap().body.len(), 64 * 1024 + len);
        let sent = next(&mut tell).await;
        assert_eq!((sent.content_bytes(), sent.cut_short()), ((64 * 1024 + len) as u64, None));
        let (head, end) = (sent.head_at().unwrap(), sent.ended_at());
        assert!((end - head).as_secs() == 1, "{:?}", end - head);
    }
}

#[tokio::test(start_paused = true)]
async fn responses_to_pipelined_requests_tell_in_their_order() {
    let (told, mut tell) = unbounded_channel();
    let mut peer = connect(move |request: Request| {
        let told = told.clone();
        async move {
            let path = request.path().to_owned();
            // The last is ready first, and at once.
            let waits = 10 - path[1..].parse::<u64>().unwrap();
            if waits > 0 {
                sleep(seconds(waits)).await;
            }
            watched(&told, &path, Response::from_text("hello"))
        }
    });
    let all = [0, 1, 2, 3, 10];
    let requests = all.map(|n| format!("GET /{n} HTTP/1.1\r\nhost: a\r\n\r\n"));
    peer.send(requests.concat()).await;
    for n in all {
        assert_eq!(peer.response().await.unwrap().text(), "hello");
        let (path, sent) = tell.recv().await.unwrap();
        assert_eq!((path, sent.is_complete()), (format!("/{n}"), true));
        let waited = sent.head_at().unwrap() - sent.answered_at().unwrap();
        assert!(waited.as_millis().abs_diff(n * 1_000) < 10, "{n}: {waited:?}");
    }
}

#[tokio::test]
async fn a_response_whose_client_leaves_is_cut_short() {
    for version in [1, 2] {
        for is_stream in [false, true] {
            let (told, mut tell) = unbounded_channel();
            let server = listen(ServerLimits::default(), move |request: Request| {
                let response = match is_stream {
                    true => Response::new(pieces(50_000, Some(Ok(())))),
                    false => Response::from_bytes(vec![0; 50_000_000]),
                };
                watched(&told, request.path(), response)
            });
            let mut peer = dial(&server).await;
            if version == 1 {
                peer.send(GET).await;
                peer.bytes(100_000).await.unwrap();
                drop(peer);
            } else {
                let mut client = client(peer).await;
                client.get("/").await;
                let mut received = 0;
                while received < 100_000 {
                    if let ClientEvent::Data(_, data, _) = client.next_event().await {
                        received += data.len();
                    }
                }
                drop(client);
            }
            let sent = next(&mut tell).await;
            assert_eq!(sent.cut_short(), Some(CutShort::Client), "HTTP/{version}");
            assert_eq!(sent.status(), Some(StatusCode::OK));
            let sent = sent.content_bytes();
            assert!((90_000..50_000_000).contains(&sent), "HTTP/{version}, {is_stream}: {sent}");
            server.close().await;
            assert!(tell.try_recv().is_err());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_response_whose_stream_is_reset_is_cut_short_and_no_other() {
    let (told, mut tell) = unbounded_channel();
    let mut client = client(connect(move |request: Request| {
        watched(&told, request.path(), Response::new(pieces(2, None)))
    }))
    .await;
    let (first, second) = (client.get("/first").await, client.get("/second").await);
    let mut received = 0;
    while received < 4_000 {
        if let ClientEvent::Data(_, data, _) = client.next_event().await {
            received += data.len();
        }
    }
    client.reset(second, ErrorCode::CANCEL).await;
    let (path, sent) = tell.recv().await.unwrap();
    assert_eq!((&*path, sent.cut_short()), ("/second", Some(CutShort::Client)));
    assert_eq!(sent.content_bytes(), 2_000);
    assert!(tell.try_recv().is_err());
    client.reset(first, ErrorCode::CANCEL).await;
    assert_eq!(tell.recv().await.unwrap().0, "/first");
}

#[tokio::test(start_paused = true)]
async fn a_response_whose_content_fails_is_cut_short() {
    let failing = |told: UnboundedSender<_>| {
        move |request: Request| {
            let response = match request.path() {
                "/fails" => Response::new(pieces(2, Some(Err("on purpose")))),
                // Less than it says.
                _ => Response::new(pieces(2, Some(Ok(()))))
                    .with_field("content-length", "2001")
                    .unwrap(),
            };
            watched(&told, request.path(), response)
        }
    };
    for path in ["/fails", "/short"] {
        let (told, mut tell) = unbounded_channel();
        let mut peer = connect(failing(told.clone()));
        peer.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        peer.rest().await.unwrap();
        let first = next(&mut tell).await;
        let mut client = client(connect(failing(told))).await;
        let key = client.get(path).await;
        client.reset_reason(key).await;
        for sent in [first, next(&mut tell).await] {
            assert_eq!(sent.cut_short(), Some(CutShort::Content), "{path}");
            assert_eq!((sent.status(), sent.content_bytes()), (Some(StatusCode::OK), 2_000));
        }
    }
}

/// The client gets a 500 of the server's, and that is what is told.
#[tokio::test(start_paused = true)]
async fn a_failure_that_is_sent_in_place_of_a_response_is_what_is_told() {
    const MALFORMED: &str = "500 Internal Server Error: the handler's response is malformed\n";
    let wrong = |told: UnboundedSender<_>| {
        move |request: Request| {
            let response = Response::from_text("hello").with_field("content-length", "6").unwrap();
            watched(&told, request.path(), response)
        }
    };
    let (told, mut tell) = unbounded_channel();
    let mut peer = connect(wrong(told.clone()));
    peer.send(GET).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.text()), (500, MALFORMED));
    let mut client = client(connect(wrong(told))).await;
    let key = client.get("/").await;
    assert_eq!(client.response(key).await.status, 500);
    for _ in 0..2 {
        let sent = next(&mut tell).await;
        assert_eq!(sent.status(), Some(StatusCode::INTERNAL_SERVER_ERROR));
        assert_eq!((sent.content_bytes(), sent.cut_short()), (MALFORMED.len() as u64, None));
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_timed_out() {
    let endless = |told: UnboundedSender<_>| {
        move |request: Request| {
            watched(&told, request.path(), Response::new(pieces(1_000, Some(Ok(())))))
        }
    };
    let (told, mut tell) = unbounded_channel();
    let started = Instant::now();
    let (mut peer, task) = connect_with(ServerLimits::default(), endless(told.clone()));
    peer.send(GET).await;
    assert_eq!(next(&mut tell).await.cut_short(), Some(CutShort::Timeout));
    task.await.unwrap();
    // Over HTTP/2 it is the window that is not opened.
    let mut client = client(connect(endless(told))).await;
    client.consumes = false;
    client.get("/").await;
    let waits = async { while client.next_event().await != ClientEvent::Closed {} };
    let sent = tokio::select! {
        () = waits => panic!("the connection is kept"),
        sent = next(&mut tell) => sent,
    };
    let window = u64::from(stoop_proto::Limits::client().http2.stream_window_bytes);
    assert_eq!((sent.cut_short(), sent.content_bytes()), (Some(CutShort::Timeout), window));
    assert!(started.elapsed() < 3 * ServerLimits::default().time.send);
}

#[tokio::test]
async fn a_response_that_is_under_way_when_the_server_closes_is_cut_short_by_it() {
    for version in [1, 2] {
        let (told, mut tell) = unbounded_channel();
        let server = listen(ServerLimits::default(), move |request: Request| {
            watched(&told, request.path(), Response::new(pieces(1, None)))
        });
        let mut peer = dial(&server).await;
        let mut later = None;
        if version == 1 {
            peer.send(GET).await;
            peer.bytes(1_000).await.unwrap();
            later = Some(peer);
        } else {
            let mut client = client(peer).await;
            client.get("/").await;
            while !matches!(client.next_event().await, ClientEvent::Data(..)) {}
        }
        if later.is_some() {
            server.close().await;
            let sent = next(&mut tell).await;
            assert_eq!(sent.cut_short(), Some(CutShort::Server));
            assert_eq!(sent.content_bytes(), 1_000);
        } else {
            assert_eq!(next(&mut tell).await.cut_short(), Some(CutShort::Client));
            server.close().await;
        }
    }
}

/// The response of the second is there, and will not be sent.
#[tokio::test(start_paused = true)]
async fn a_response_that_is_not_begun_when_its_client_leaves_is_dropped() {
    let (told, mut tell) = unbounded_channel();
    let (mut peer, task) = connect_with(ServerLimits::default(), move |request: Request| {
        let response = match request.path() {
            "/first" => Response::new(pieces(1_000, Some(Ok(())))),
            _ => Response::from_text("hello"),
        };
        watched(&told, request.path(), response)
    });
    let request = |path| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    peer.send([request("/first"), request("/second")].concat()).await;
    peer.bytes(10_000).await.unwrap();
    drop(peer);
    task.await.unwrap();
    let mut told = [tell.recv().await.unwrap(), tell.recv().await.unwrap()];
    told.sort_by(|one, other| one.0.cmp(&other.0));
    let [(_, first), (_, second)] = told;
    assert_eq!(first.cut_short(), Some(CutShort::Client));
    assert_eq!((second.cut_short(), second.status()), (Some(CutShort::Dropped), None));
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_sent_with_its_head() {
    let (told, mut tell) = unbounded_channel();
    let mut peer = connect(move |request: Request| {
        let (response, upgraded) = Response::upgrade("mine").unwrap();
        tokio::spawn(async move { drop(upgraded.await) });
        watched(&told, request.path(), response)
    });
    peer.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: mine\r\n\r\n").await;
    assert_eq!(
        peer.head().await.unwrap().lines().next().unwrap(),
        "HTTP/1.1 101 Switching Protocols"
    );
    let sent = next(&mut tell).await;
    assert_eq!(sent.status(), Some(StatusCode::SWITCHING_PROTOCOLS));
    assert_eq!((sent.content_bytes(), sent.cut_short()), (0, None));
}

/// Content that has nothing to send is dropped as soon as its client leaves: over HTTP/1 by a reset, because a
/// client that has only ended its side may still read.
#[tokio::test]
async fn streamed_content_that_waits_is_dropped_when_its_client_leaves() {
    for how in ["HTTP/1 reset", "HTTP/2 reset", "HTTP/2 stream reset", "HTTP/2 end"] {
        let dropped = Arc::new(AtomicUsize::new(0));
        let counted = dropped.clone();
        let server = listen(ServerLimits::default(), move |_: Request| {
            Response::from_stream(Waiting(Some("some"), DropCounter(counted.clone())))
        });
        let mut peer = dial(&server).await;
        let mut kept = None;
        if how == "HTTP/1 reset" {
            peer.send(GET).await;
            while !peer.head().await.unwrap().starts_with("HTTP/1.1 200") {}
            peer.stream().set_zero_linger().unwrap();
            drop(peer);
        } else {
            if how == "HTTP/2 reset" {
                peer.stream().set_zero_linger().unwrap();
            }
            let mut client = client(peer).await;
            let key = client.get("/").await;
            while !matches!(client.next_event().await, ClientEvent::Data(..)) {}
            assert_eq!(dropped.load(Ordering::SeqCst), 0);
            if how == "HTTP/2 stream reset" {
                client.reset(key, ErrorCode::CANCEL).await;
                kept = Some(client);
            }
        }
        let noticed = async {
            while dropped.load(Ordering::SeqCst) == 0 {
                sleep(std::time::Duration::from_millis(1)).await;
            }
        };
        tokio::time::timeout(seconds(5), noticed).await.expect(how);
        drop(kept);
        server.close().await;
    }
}
