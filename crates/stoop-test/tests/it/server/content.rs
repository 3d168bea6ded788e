//! Content of requests and responses: how much is read ahead, 100 Continue, and content that is malformed or
//! broken off.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Body, ErrorKind, Request, Response, ServerLimits};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::sleep;

use super::{GET, connect, connect_to_reader, connect_with, dial, listen};

const CHUNKED: &str = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n";
const EXPECT: &str = "expect: 100-continue\r\n";

fn echo(request: Request) -> Response {
    Response::new(request.into_body())
}

#[tokio::test(start_paused = true)]
async fn content_found_malformed_while_it_is_read_is_400_and_the_handler_is_told() {
    let (mut peer, mut tell) = connect_to_reader();
    peer.send([CHUNKED, "5\r\nhello\r\n"].concat()).await;
    sleep(Duration::from_secs(1)).await;
    peer.send("zz\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (400, Some("close")));
    assert!(response.text().contains("RFC 9112 §7.1"), "{}", response.text());
    assert_eq!(tell.recv().await.unwrap().kind(), ErrorKind::H1Parse);
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn content_found_malformed_behind_the_response_breaks_it_off() {
    let mut peer = connect(echo);
    peer.send([CHUNKED, "5\r\nhello\r\n"].concat()).await;
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 200"));
    assert_eq!(peer.bytes(10).await.unwrap(), b"5\r\nhello\r\n");
    peer.send("zz\r\n").await;
    assert_eq!(peer.rest().await.unwrap(), b"", "neither a last chunk nor a second response");
}

/// Over a socket, a plain end could pass for the end of content without a length. Hence the reset.
#[tokio::test]
async fn content_without_a_length_is_broken_off_by_a_reset() {
    let server = listen(ServerLimits::default(), |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send("hello").await.unwrap();
            sleep(Duration::from_millis(50)).await;
            sender.fail("the source is gone").await;
        });
        Response::new(body)
    });
    let mut peer = dial(&server).await;
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    let error = peer.response().await.unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    server.close().await;
}

/// Where the framing shows that content is incomplete, the bytes that were sent arrive.
#[tokio::test]
async fn content_with_framing_is_broken_off_and_nothing_of_it_is_lost() {
    const PIECE: usize = 1 << 20;
    for length in [Some(2 * PIECE), None] {
        let server = listen(ServerLimits::default(), move |_: Request| {
            let (sender, body) = Body::channel(2);
            tokio::spawn(async move {
                sender.send(vec![b'x'; PIECE]).await.unwrap();
                sender.fail("the source is gone").await;
            });
            let response = Response::new(body);
            match length {
                Some(length) => response.with_field("content-length", length.to_string()).unwrap(),
                None => response,
            }
        });
        let mut peer = dial(&server).await;
        peer.send("GET / HTTP/1.1\r\nhost: a\r\n\r\nGET /next").await;
        sleep(Duration::from_millis(100)).await;
        peer.head().await.unwrap();
        let rest = peer.rest().await.unwrap();
        let framing = if length.is_some() { 0 } else { "100000\r\n\r\n".len() };
        assert_eq!(rest.len(), PIECE + framing, "{length:?}");
        server.close().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_told_to_continue_when_the_handler_first_reads() {
    let mut peer = connect(async |mut request: Request| {
        sleep(Duration::from_secs(5)).await;
        let length = request.body_mut().discard().await?;
        Ok::<_, stoop::Error>(length.to_string())
    });
    for _ in 0..2 {
        let begin = tokio::time::Instant::now();
        let head = format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\n");
        peer.send(head).await;
        assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 100 Continue");
        assert_eq!(begin.elapsed(), Duration::from_secs(5));
        peer.send("hello").await;
        assert_eq!(peer.response().await.unwrap().text(), "5");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_is_not_told_to_continue_where_the_handler_does_not_read() {
    // It is then unknown whether the content will come, and the connection ends.
    let mut peer = connect(|_: Request| "no, thanks");
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\n")).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("no, thanks", Some("close")));
    assert!(peer.is_closed().await);

    // The handler keeps the body without reading it.
    let mut peer = connect(|mut request: Request| {
        let body = std::mem::take(request.body_mut());
        tokio::spawn(async move {
            sleep(Duration::from_secs(1)).await;
            drop(body);
        });
        "no, thanks"
    });
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\n")).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.field("connection")), (200, Some("close")));

    // HTTP/1.0 has no 100.
    let mut peer = connect(echo);
    peer.send(format!("POST / HTTP/1.0\r\ncontent-length: 5\r\n{EXPECT}\r\nhello")).await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");

    // The content is there already.
    let mut peer = connect(echo);
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\nhello"))
        .await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");

    // The announced length is more than the handler accepts.
    let mut peer = connect(async |request: Request| {
        let body = request.into_body().bytes(4).await?;
        Ok::<_, stoop::Error>(Response::from_bytes(body))
    });
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\n")).await;
    assert_eq!(peer.response().await.unwrap().status, 413);
}

#[tokio::test(start_paused = true)]
async fn a_streaming_handler_continues_before_its_response() {
    let mut peer = connect(echo);
    peer.send(format!("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n{EXPECT}\r\n")).await;
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 100 Continue");
    assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 200"));
    peer.send("hello").await;
    assert_eq!(peer.bytes(5).await.unwrap(), b"hello");
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
}

/// A known length is announced.
#[tokio::test(start_paused = true)]
async fn an_echo_of_known_length_has_that_length() {
    let mut peer = connect(echo);
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("content-length")), ("hello", Some("5")));
}

#[tokio::test(start_paused = true)]
async fn both_directions_run_at_once() {
    let mut peer = connect(echo);
    peer.send(CHUNKED).await;
    peer.head().await.unwrap();
    for _ in 0..1_000 {
        peer.send("5\r\nhello\r\n").await;
        assert_eq!(peer.bytes(10).await.unwrap(), b"5\r\nhello\r\n");
    }
    peer.send("0\r\n\r\n").await;
    assert_eq!(peer.bytes(5).await.unwrap(), b"0\r\n\r\n");
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
}

/// The next request stayed unread when the last of a large response left in one go.
#[tokio::test(start_paused = true)]
async fn a_response_larger_than_what_may_wait_is_not_the_last_on_its_connection() {
    let mut limits = ServerLimits::default();
    // The last of the output is more than this limit, however little the client reads at a time.
    limits.output_bytes_max = 1;
    let (mut peer, _) =
        connect_with(limits, |_: Request| Response::from_bytes(vec![b'x'; 1 << 20]));
    let begin = tokio::time::Instant::now();
    for _ in 0..3 {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().body.len(), 1 << 20);
    }
    assert!(begin.elapsed() < Duration::from_secs(1), "a time limit had to wake it");
}

/// A client can send a bounded amount to a handler that reads nothing.
#[tokio::test(start_paused = true)]
async fn a_client_is_held_up_by_a_handler_that_does_not_read() {
    let (mut peer, _) = connect_with(ServerLimits::default(), async |mut request: Request| {
        let first = request.body_mut().chunk().await?.unwrap().len();
        sleep(Duration::from_secs(1_000)).await;
        let rest = request.body_mut().discard().await?;
        Ok::<_, stoop::Error>((first as u64 + rest).to_string())
    });
    let head = "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 104857600\r\n\r\n";
    peer.send(head).await;
    let (stream, _) = peer.into_parts();
    let (mut read, mut write) = tokio::io::split(stream);
    let sent = Arc::new(AtomicUsize::new(0));
    let counted = sent.clone();
    tokio::spawn(async move {
        let piece = [b'x'; 4096];
        while counted.fetch_add(piece.len(), Ordering::Relaxed) < 100 << 20 {
            write.write_all(&piece).await.unwrap();
        }
        std::future::pending::<()>().await;
    });
    sleep(Duration::from_secs(500)).await;
    let ahead = sent.load(Ordering::Relaxed);
    assert!(ahead <= 64 * 1024 + 160 * 1024, "{ahead} bytes were taken from the client");
    let mut answer = vec![0; 1_000];
    let n = read.read(&mut answer).await.unwrap();
    assert!(String::from_utf8_lossy(&answer[..n]).ends_with("\r\n104857600"));
}

/// A bounded amount of a response is made for a client that reads nothing.
#[tokio::test(start_paused = true)]
async fn a_response_is_held_up_by_a_client_that_does_not_read() {
    /// A body without an end, which counts its bytes.
    struct EndlessBody(Arc<AtomicUsize>);
    impl http_body::Body for EndlessBody {
        type Data = bytes::Bytes;
        type Error = std::convert::Infallible;
        fn poll_frame(
            self: std::pin::Pin<&mut Self>,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<Result<http_body::Frame<bytes::Bytes>, Self::Error>>> {
            self.0.fetch_add(1000, Ordering::Relaxed);
            let piece = bytes::Bytes::from_static(&[0; 1000]);
            std::task::Poll::Ready(Some(Ok(http_body::Frame::data(piece))))
        }
    }
    let made = Arc::new(AtomicUsize::new(0));
    let counted = made.clone();
    let mut peer = connect(move |_: Request| Response::from_stream(EndlessBody(counted.clone())));
    peer.send(GET).await;
    peer.head().await.unwrap();
    sleep(Duration::from_secs(20)).await;
    let ahead = made.load(Ordering::Relaxed);
    assert!(ahead <= 64 * 1024 + 80 * 1024, "{ahead} bytes were made");
    // A body that is always ready lets other tasks run, and goes on as the client reads.
    for _ in 0..10_000 {
        peer.bytes(1_000).await.unwrap();
    }
}

/// 100 MiB go to the server and back over sockets, and are checked byte by byte.
#[tokio::test]
async fn an_echo_of_100_mib_is_unchanged() {
    const TOTAL: usize = 100 << 20;
    let server = listen(ServerLimits::default(), echo);
    let (stream, _) = dial(&server).await.into_parts();
    let (read, mut write) = stream.into_split();
    let pattern = |at: usize| (at / 3 + at / 4096) as u8;
    let writer = tokio::spawn(async move {
        write.write_all(CHUNKED.as_bytes()).await.unwrap();
        let mut at = 0;
        while at < TOTAL {
            let n = (TOTAL - at).min(1 + at % 60_000);
            let piece: Vec<u8> = (at..at + n).map(pattern).collect();
            write.write_all(format!("{n:x}\r\n").as_bytes()).await.unwrap();
            write.write_all(&piece).await.unwrap();
            write.write_all(b"\r\n").await.unwrap();
            at += n;
        }
        write.write_all(b"0\r\n\r\n").await.unwrap();
        write
    });
    let mut reader = tokio::io::BufReader::with_capacity(1 << 16, read);
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        tokio::io::AsyncBufReadExt::read_line(&mut reader, &mut line).await.unwrap();
    }
    let (mut at, mut piece) = (0, Vec::new());
    loop {
        line.clear();
        tokio::io::AsyncBufReadExt::read_line(&mut reader, &mut line).await.unwrap();
        let n = usize::from_str_radix(line.trim_end(), 16).unwrap();
        piece.resize(n + 2, 0);
        reader.read_exact(&mut piece).await.unwrap();
        if n == 0 {
            break;
        }
        assert!(piece[..n].iter().zip(at..).all(|(byte, at)| *byte == pattern(at)));
        at += n;
    }
    assert_eq!(at, TOTAL);
    drop(writer.await.unwrap());
    server.close().await;
}
