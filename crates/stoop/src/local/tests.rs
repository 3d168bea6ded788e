//! Both drivers of a connection, in one task of one thread each, wherever their turns end.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::Frame;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, timeout};

use crate::turn::tests::ENDS_WITH;
use crate::{Body, Client, Request, Response, ServerLimits, Versions};

/// So many pieces of content, each of which is there when it is asked for.
struct Pieces(u32, usize);

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;
    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Some(left) = self.0.checked_sub(1) else { return Poll::Ready(None) };
        self.0 = left;
        Poll::Ready(Some(Ok(Frame::data(vec![b'x'; self.1].into()))))
    }
}

/// `/pieces` is content that is always there, `/echo` the request's, anything else a handler that is
/// polled again and again.
async fn answer(request: Request) -> Response {
    match request.path() {
        "/pieces" => Response::new(Body::stream(Pieces(200, 1_000))),
        "/large" => Response::new(Body::stream(Pieces(50, 9_000))),
        "/echo" => Response::new(request.into_body()),
        _ => {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            Response::from_text("done")
        }
    }
}

async fn length(client: &Client, request: Request) -> u64 {
    client.send(request).await.unwrap().into_body().discard().await.unwrap()
}

/// Streams both ways, content that is a buffer, and thirty requests at once.
async fn transfers(client: &Client) {
    let get = |path: &str| Request::get(&format!("http://here{path}")).unwrap();
    assert_eq!(length(client, get("/pieces")).await, 200_000);
    assert_eq!(length(client, get("/large")).await, 450_000);
    let echo = Request::post("http://here/echo", Body::stream(Pieces(150, 2_000))).unwrap();
    assert_eq!(length(client, echo).await, 300_000);
    let many = (0..30).map(|n| {
        let (client, path) = (client.clone(), if n % 3 == 0 { "/pieces" } else { "/" });
        let request = get(path);
        tokio::spawn(async move { length(&client, request).await })
    });
    for task in many.collect::<Vec<_>>() {
        assert!(matches!(task.await.unwrap(), 4 | 200_000));
    }
}

/// A lost wake-up shows as time: the clock only moves on when every task waits.
#[tokio::test(start_paused = true)]
async fn nothing_waits_because_a_turn_has_ended() {
    for versions in [Versions::Http1, Versions::Http2] {
        for steps in (1..=40).chain([64, 100, 200, 257]) {
            ENDS_WITH.set(Some(steps));
            let client = Client::builder().versions(versions).handler(answer).build().unwrap();
            let begun = Instant::now();
            let done = timeout(Duration::from_secs(3_600), transfers(&client)).await;
            assert!(done.is_ok(), "{versions:?}, turns of {steps} steps: it waits for ever");
            let elapsed = begun.elapsed();
            let late = Duration::from_millis(10);
            assert!(elapsed < late, "{versions:?}, turns of {steps} steps: {elapsed:?}");
            ENDS_WITH.set(None);
        }
    }
}

/// Requests for `path`, as many as a server may run at once over HTTP/2, which come all at once.
fn at_once(versions: Versions, path: &str) -> Vec<u8> {
    if versions == Versions::Http1 {
        return format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n").repeat(100).into();
    }
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    // :method GET, :scheme http, :path by a literal, :authority a (RFC 7541 §6.1, §6.2.2).
    let mut block = vec![0x82, 0x86, 0x04, path.len() as u8];
    block.extend_from_slice(path.as_bytes());
    block.extend_from_slice(b"\x01\x01a");
    for id in (1..200u8).step_by(2) {
        bytes.extend_from_slice(&[0, 0, block.len() as u8, 1, 5, 0, 0, 0, id]);
        bytes.extend_from_slice(&block);
    }
    bytes
}

/// Whatever a connection has to do, a task whose socket has become readable is polled after a few of
/// its turns: so each turn has ended with its steps, and sockets were looked at before the next.
#[tokio::test]
async fn a_connection_that_always_has_something_to_do_lets_others_have_their_turn() {
    for versions in [Versions::Http1, Versions::Http2] {
        for path in ["/at-once", "/polled"] {
            ENDS_WITH.set(Some(2));
            let enough = if path == "/polled" { 1_000 } else { 1 };
            let calls = Arc::new(AtomicUsize::new(0));
            let counted = calls.clone();
            let handler = move |request: Request| {
                let (calls, is_polled) = (counted.clone(), request.path() == "/polled");
                async move {
                    calls.fetch_add(1, Relaxed);
                    if is_polled {
                        loop {
                            tokio::task::yield_now().await;
                            calls.fetch_add(1, Relaxed);
                        }
                    }
                    Response::from_text("done")
                }
            };
            let (mut near, mut far) = tokio::net::UnixStream::pair().unwrap();
            let reader = tokio::spawn(async move { far.read_u8().await.unwrap() });
            tokio::task::yield_now().await;
            let (mut peer, theirs) = tokio::io::duplex(1 << 20);
            peer.write_all(&at_once(versions, path)).await.unwrap();
            let serving = crate::rt::serve(theirs, handler, ServerLimits::default());
            let serving = tokio::spawn(serving);
            while calls.load(Relaxed) < enough {
                tokio::task::yield_now().await;
            }
            near.write_u8(7).await.unwrap();
            let before = calls.load(Relaxed);
            assert_eq!(reader.await.unwrap(), 7);
            let during = calls.load(Relaxed) - before;
            assert!(during <= 16, "{versions:?} {path}: {during} calls");
            serving.abort();
            ENDS_WITH.set(None);
        }
    }
}
