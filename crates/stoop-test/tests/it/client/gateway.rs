//! A gateway whose handler passes errors on by `?`. Its answer blames the side at fault: the upstream
//! (502, 504), its own client (400, 408, 413) or itself (500). The clock is paused.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use stoop::{Body, Client, ClientLimits, Error, ErrorKind, IntoResponse, Request, Response};
use stoop::{ServerLimits, StatusCode, Versions};
use stoop_proto::h2::ErrorCode;
use stoop_test::peer::RawPeer;
use tokio::io::DuplexStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::sleep;

use super::kit::{
    CHUNKED, EACH_VERSION, OK, ScriptedServer, URL, answered_once, client_of, limited, scripted_by,
};

/// The status that a client gets from a gateway to `upstream`, the same over either version.
async fn status_through_gateway(upstream: Client) -> u16 {
    let mut statuses = Vec::new();
    for versions in EACH_VERSION {
        let upstream = upstream.clone();
        let gateway = move |_: Request| {
            let upstream = upstream.clone();
            async move {
                let response = upstream.get(URL).await?;
                let content = response.into_body().bytes(4).await?;
                Ok::<_, Error>(Response::from_bytes(content))
            }
        };
        statuses.push(status_of(versions, gateway, Request::get("http://gateway/").unwrap()).await);
    }
    assert_eq!(statuses[0], statuses[1]);
    statuses[0]
}

/// The status that `gateway` answers to a request over that version.
async fn status_of<H, F>(versions: Versions, gateway: H, request: Request) -> u16
where
    H: Fn(Request) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Response, Error>> + Send + 'static,
{
    let front = client_of(versions, gateway);
    front.send(request.without_deadlines()).await.unwrap().status().as_u16()
}

/// A client of an upstream that follows `script`, with changed limits.
fn upstream<F>(
    change: fn(&mut ClientLimits),
    script: impl Fn(ScriptedServer) -> F + Send + Sync + 'static,
) -> Client
where
    F: Future<Output = ()> + Send + 'static,
{
    scripted_by(limited(change), script)
}

#[tokio::test(start_paused = true)]
async fn the_client_was_blamed_for_what_the_upstream_sent() {
    assert_eq!(status_through_gateway(upstream(|_| {}, |peer| peer.serve(OK))).await, 200);
    // Content that is cut short, malformed, too large for the handler, or too large for the client's limit.
    let cut = answered_once("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab");
    assert_eq!(status_through_gateway(cut).await, 502);
    let malformed = [CHUNKED, "zz\r\n"].concat().leak();
    assert_eq!(status_through_gateway(answered_once(malformed)).await, 502);
    assert_eq!(
        status_through_gateway(answered_once("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabcde"))
            .await,
        502
    );
    assert_eq!(
        status_through_gateway(answered_once([CHUNKED, "5\r\nabcde\r\n"].concat().leak())).await,
        502
    );
    let bounded = upstream(
        |limits| limits.wire.body_bytes_max = Some(3),
        |peer| peer.serve("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd"),
    );
    assert_eq!(status_through_gateway(bounded).await, 502);
    // No response, and nonsense.
    assert_eq!(status_through_gateway(answered_once("")).await, 502);
    assert_eq!(status_through_gateway(answered_once("nonsense\r\n\r\n")).await, 502);
    // A stream that is reset, over HTTP/2.
    let broken = Client::builder().versions(Versions::Http2).handler(|_: Request| {
        let (sender, body) = Body::channel(2);
        tokio::spawn(async move {
            sender.send("ab").await.unwrap();
            sender.fail("the source is gone").await;
        });
        Response::new(body)
    });
    assert_eq!(status_through_gateway(broken.build().unwrap()).await, 502);
}

/// RFC 9112 §6.3: a Content-Length that Transfer-Encoding overrides is not passed on, and a repeated one is
/// passed on once (RFC 9110 §8.6).
#[tokio::test(start_paused = true)]
async fn a_response_was_broken_by_the_length_that_its_upstream_said_beside_its_framing() {
    for (text, length) in [
        ("transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", None),
        ("content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n4\r\nabcd\r\n0\r\n\r\n", None),
        ("content-length: 4, 4\r\n\r\nabcd", Some("4")),
        ("content-length: 4\r\ncontent-length: 4\r\n\r\nabcd", Some("4")),
        ("content-length: 004\r\n\r\nabcd", Some("4")),
    ] {
        for versions in EACH_VERSION {
            let upstream = answered_once(format!("HTTP/1.1 200 OK\r\nx: y\r\n{text}").leak());
            let front = client_of(versions, move |_: Request| {
                let upstream = upstream.clone();
                async move { upstream.get(URL).await }
            });
            let response = front.get("http://gateway/").await.unwrap();
            assert_eq!(response.status(), 200, "{versions:?} {text}");
            let said = response.fields().first("content-length").map(<[u8]>::to_vec);
            assert_eq!(said.as_deref(), length.map(str::as_bytes), "{versions:?} {text}");
            assert_eq!(response.fields().first("x"), Some(&b"y"[..]));
            assert_eq!(response.into_body().bytes(9).await.unwrap(), "abcd", "{versions:?} {text}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_client_was_blamed_for_an_upstream_that_took_too_long() {
    // Content that stalls or drips, a head that is late, an exchange that takes too long.
    async fn stalling(mut peer: ScriptedServer) {
        peer.head().await;
        peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab").await;
        peer.stall().await;
    }
    let stalls = |limits: &mut ClientLimits| limits.time.read_idle = Some(Duration::from_secs(1));
    assert_eq!(status_through_gateway(upstream(stalls, stalling)).await, 504);
    let slow = |limits: &mut ClientLimits| {
        (limits.time.body_grace, limits.time.body_window) =
            (Duration::ZERO, Duration::from_secs(1));
        limits.time.body_bytes_per_second_min = 1_000;
    };
    assert_eq!(status_through_gateway(upstream(slow, stalling)).await, 504);
    assert_eq!(status_through_gateway(upstream(|_| {}, ScriptedServer::stall)).await, 504);
    let total = |limits: &mut ClientLimits| limits.time.total = Some(Duration::from_secs(1));
    assert_eq!(status_through_gateway(upstream(total, ScriptedServer::stall)).await, 504);
    assert_eq!(status_through_gateway(upstream(total, stalling)).await, 504);
}

/// Connecting, resolving and the TLS handshake have deadlines of the upstream as well.
#[test]
fn an_upstream_that_misses_any_deadline_is_answered_504() {
    use ErrorKind::*;
    for kind in ErrorKind::ALL {
        let error = Error::new(*kind, stoop::Phase::Receive);
        let is_deadline = matches!(
            kind,
            DnsTimeout
                | ConnectTimeout
                | TlsTimeout
                | FirstByteTimeout
                | ReadTimeout
                | SlowBody
                | TotalTimeout
        );
        let status = error.into_response().status();
        assert_eq!(status == StatusCode::GATEWAY_TIMEOUT, is_deadline, "{kind:?}: {status}");
        assert!(status.is_server_error(), "{kind:?}: {status}");
    }
}

/// A request that comes too slowly to be passed on in time is not the upstream's fault.
#[tokio::test(start_paused = true)]
async fn the_upstream_was_blamed_for_a_client_that_sends_too_slowly() {
    for versions in EACH_VERSION {
        let upstream = upstream(|_| {}, ScriptedServer::stall);
        let front = client_of(versions, move |request: Request| {
            let upstream = upstream.clone();
            async move { upstream.send(Request::post(URL, request.into_body())?).await }
        });
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            while sender.send("ab").await.is_ok() {
                sleep(Duration::from_secs(5)).await;
            }
        });
        let request = Request::post("http://gateway/", body).unwrap();
        let response = front.send(request.without_deadlines()).await.unwrap();
        assert_eq!(response.status(), 408, "{versions:?}");
    }
}

/// A gateway that sends one upstream's response on to another, which is not to blame if it comes too slowly;
/// nor is its own client, whose request was complete.
#[tokio::test(start_paused = true)]
async fn the_client_was_blamed_for_content_of_another_upstream() {
    for versions in EACH_VERSION {
        let source = upstream(
            |_| {},
            async |mut peer| {
                peer.head().await;
                peer.send("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nab").await;
                peer.stall().await;
            },
        );
        let target = client_of(versions, async |request: Request| {
            request.into_body().bytes(10).await.map(Response::from_bytes)
        });
        let gateway = move |_: Request| {
            let (source, target) = (source.clone(), target.clone());
            async move {
                let content = source.get(URL).await?.into_body();
                target.send(Request::post(URL, content)?.timeout(Duration::from_secs(5))).await
            }
        };
        let request = Request::get("http://gateway/").unwrap();
        assert_eq!(status_of(versions, gateway, request).await, 504, "{versions:?}");
    }
}

/// Content that is held until a 100 comes waits for the upstream.
#[tokio::test(start_paused = true)]
async fn the_client_was_blamed_for_a_100_that_did_not_come() {
    for versions in EACH_VERSION {
        let upstream = upstream(|_| {}, ScriptedServer::stall);
        let gateway = move |_: Request| {
            let upstream = upstream.clone();
            async move {
                let request = Request::post(URL, "abc")?.with_field("expect", "100-continue")?;
                upstream.send(request.timeout(Duration::from_millis(500))).await
            }
        };
        let request = Request::get("http://gateway/").unwrap();
        assert_eq!(status_of(versions, gateway, request).await, 504, "{versions:?}");
    }
}

/// Content that is too large for the handler is its client's fault also where the handler wrapped it, and
/// the upstream's fault where the upstream sent it before it had the whole request.
#[tokio::test(start_paused = true)]
async fn content_that_is_too_large_is_blamed_on_its_sender() {
    for versions in EACH_VERSION {
        let front = client_of(versions, |request: Request| async move {
            Body::stream(request.into_body()).bytes(3).await
        });
        let response = front.send(Request::post("http://gateway/", "abcd").unwrap()).await.unwrap();
        assert_eq!(response.status(), 413, "{versions:?}");
        let upstream = answered_once("HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\nabcd");
        let front = client_of(versions, move |_: Request| {
            let upstream = upstream.clone();
            async move {
                let (_sender, body) = Body::channel(1);
                upstream.send(Request::post(URL, body)?).await?.into_body().bytes(3).await
            }
        });
        assert_eq!(front.get("http://gateway/").await.unwrap().status(), 502, "{versions:?}");
    }
}

/// Connects in memory to a server whose handler reads the request's content, and reports the error's kind
/// and the status it would answer.
fn connect_to_reader() -> (RawPeer<DuplexStream>, UnboundedReceiver<(ErrorKind, u16)>) {
    let (told, tell) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| {
        let told = told.clone();
        tokio::spawn(async move {
            let error = request.into_body().bytes(1_000).await.unwrap_err();
            told.send((error.kind(), error.into_response().status().as_u16())).unwrap();
        });
        std::future::pending::<&'static str>()
    };
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(stoop::rt::serve(theirs, handler, ServerLimits::default()));
    (RawPeer::new(ours), tell)
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_gateways_client_are_blamed_on_it() {
    let post = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\nab";
    let chunked = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n";
    let (mut peer, mut tell) = connect_to_reader();
    peer.send(post).await;
    peer.finish().await;
    assert_eq!(tell.recv().await, Some((ErrorKind::ClosedEarly, 400)));
    let (mut peer, mut tell) = connect_to_reader();
    peer.send(chunked).await;
    sleep(Duration::from_millis(1)).await;
    peer.send("zz\r\n").await;
    assert_eq!(tell.recv().await, Some((ErrorKind::H1Parse, 400)));
    let (mut peer, mut tell) = connect_to_reader();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1001\r\n\r\nab").await;
    assert_eq!(tell.recv().await, Some((ErrorKind::BodyTooLarge, 413)));
    let (mut peer, mut tell) = connect_to_reader();
    peer.send(chunked).await;
    peer.send(format!("3e8\r\n{}\r\n", "x".repeat(1_000))).await;
    assert_eq!(tell.recv().await, Some((ErrorKind::BodyTooLarge, 413)));
    // The connection is lost.
    let (mut peer, mut tell) = connect_to_reader();
    peer.send(post).await;
    sleep(Duration::from_millis(1)).await;
    drop(peer);
    assert_eq!(tell.recv().await.unwrap().1, 400);
}

#[tokio::test(start_paused = true)]
async fn faults_of_the_gateways_client_over_http2_are_blamed_on_it() {
    let (peer, mut tell) = connect_to_reader();
    let mut client = stoop_test::http2::Client::new(peer.into_parts().0).await;
    let post = http::Method::POST;
    let key = client.request(post.clone(), "/", &[("content-length", "5")], false).await;
    client.reset(key, ErrorCode::CANCEL).await;
    assert_eq!(tell.recv().await, Some((ErrorKind::ClosedEarly, 400)));
    let key = client.request(post.clone(), "/", &[], false).await;
    let id = client.machine.stream_id(key).unwrap();
    // A WINDOW_UPDATE by 0.
    client.send_raw(&[0, 0, 4, 8, 0, 0, 0, 0, id as u8, 0, 0, 0, 0]).await;
    assert_eq!(tell.recv().await, Some((ErrorKind::H2Protocol, 400)));
    client.request(post, "/", &[("content-length", "1001")], false).await;
    assert_eq!(tell.recv().await, Some((ErrorKind::BodyTooLarge, 413)));
}

#[tokio::test(start_paused = true)]
async fn content_that_stalls_and_content_that_drips_are_both_answered_408() {
    // Content that stalls for 30 s, after it came well above the least rate.
    let (mut peer, mut tell) = connect_to_reader();
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 1000\r\n\r\n").await;
    peer.send([b'x'; 999]).await;
    let stalled = tell.recv().await;
    assert_eq!(stalled, Some((ErrorKind::SlowBody, 408)), "999 bytes pay for 4 s, and 5 are grace");
    for (bytes, kind) in [(1, ErrorKind::SlowBody), (100_000, ErrorKind::ReadTimeout)] {
        let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
        let handler = move |mut request: Request| {
            let told = told.clone();
            tokio::spawn(async move {
                let error = request.body_mut().discard().await.unwrap_err();
                told.send((error.kind(), error.into_response().status().as_u16())).unwrap();
            });
            std::future::pending::<&'static str>()
        };
        let front = client_of(Versions::Http2, handler.clone());
        let (sender, body) = Body::channel(1);
        let request = Request::post("http://a/", body).unwrap().without_deadlines();
        let sent = tokio::spawn(async move { front.send(request).await.map(drop) });
        sender.send(vec![b'x'; bytes]).await.unwrap();
        assert_eq!(tell.recv().await, Some((kind, 408)), "over HTTP/2");
        sent.abort();
        let (ours, theirs) = tokio::io::duplex(1 << 18);
        tokio::spawn(stoop::rt::serve(theirs, handler, ServerLimits::default()));
        let mut peer = RawPeer::new(ours);
        peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 200000\r\n\r\n").await;
        peer.send(vec![b'x'; bytes]).await;
        assert_eq!(tell.recv().await, Some((kind, 408)), "over HTTP/1");
    }
}

/// A gateway that passes its request's content on: a fault of its client is not the upstream's, though it
/// is the exchange with the upstream that fails.
#[tokio::test(start_paused = true)]
async fn the_upstream_was_blamed_for_a_request_whose_client_broke_it_off() {
    assert_eq!(broken_off(|content| content).await, (ErrorKind::RequestBody, 400));
}

/// Decoders and readers pass errors on as those of `std::io`.
#[tokio::test(start_paused = true)]
async fn the_gateway_was_blamed_for_a_client_whose_error_went_through_io() {
    struct Decoded(Body);
    impl http_body::Body for Decoded {
        type Data = bytes::Bytes;
        type Error = std::io::Error;
        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<http_body::Frame<bytes::Bytes>, std::io::Error>>> {
            Pin::new(&mut self.0).poll_frame(cx).map_err(Into::into)
        }
    }
    let broken_off = broken_off(|content| Body::stream(Decoded(content))).await;
    assert_eq!(broken_off, (ErrorKind::RequestBody, 400));
}

/// The error and the answer of a gateway that passes on `changed` content of a request that its client
/// breaks off.
async fn broken_off(changed: fn(Body) -> Body) -> (ErrorKind, u16) {
    let (told, mut tell) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| {
        let told = told.clone();
        tokio::spawn(async move {
            let upstream = upstream(|_| {}, ScriptedServer::stall);
            let forwarded = Request::post(URL, changed(request.into_body())).unwrap();
            let error = upstream.send(forwarded).await.unwrap_err();
            told.send((error.kind(), error.into_response().status().as_u16())).unwrap();
        });
        std::future::pending::<&'static str>()
    };
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    tokio::spawn(stoop::rt::serve(theirs, handler, ServerLimits::default()));
    let mut peer = RawPeer::new(ours);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 900\r\n\r\nab").await;
    peer.finish().await;
    tell.recv().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_upstream_was_blamed_for_a_field_that_the_handler_got_wrong() {
    for versions in EACH_VERSION {
        let handler = async |_: Request| {
            Ok(Response::from_text("moved").with_field("location", "/a\r\nset-cookie: b")?)
        };
        let request = Request::get("http://a/").unwrap();
        assert_eq!(status_of(versions, handler, request).await, 500);
    }
    let error = Response::from_text("x").with_field("location", "/a\r\nset-cookie: b").unwrap_err();
    let text = Error::from(error).to_string();
    assert!(!text.contains("URL") && text.contains("RFC 9110 §5.5"), "{text}");
}
