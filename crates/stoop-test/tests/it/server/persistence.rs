//! RFC 9112 §9.3: which connections persist, and how responses are framed for each version.

use stoop::{Body, Fields, Request, Response, ServerLimits, StatusCode};

use super::{GET, connect, connect_with, hello};

/// A handler that answers content of unknown length.
fn stream(_: Request) -> Response {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for piece in ["hel", "lo"] {
            sender.send(piece).await.unwrap();
        }
        sender.finish().await.unwrap();
    });
    Response::new(body)
}

#[tokio::test(start_paused = true)]
async fn http_1_1_goes_on_unless_it_says_close() {
    let mut peer = connect(hello);
    for _ in 0..3 {
        peer.send(GET).await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.text(), response.field("connection")), ("hello", None));
    }
    peer.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("hello", Some("close")));
    assert!(peer.is_closed().await);
}

#[tokio::test(start_paused = true)]
async fn http_1_0_ends_unless_it_says_keep_alive() {
    let mut peer = connect(hello);
    for _ in 0..3 {
        peer.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.text(), response.field("connection")), ("hello", Some("keep-alive")));
    }
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("hello", Some("close")));
    assert!(peer.is_closed().await);
}

/// RFC 9112 §6.3: chunks for HTTP/1.1, the end of the connection for HTTP/1.0.
#[tokio::test(start_paused = true)]
async fn content_of_unknown_length_is_chunked_or_ends_with_the_connection() {
    let mut peer = connect(stream);
    peer.send(GET).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("transfer-encoding")), ("hello", Some("chunked")));
    peer.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("transfer-encoding")), ("hello", None));
    assert_eq!(
        (response.field("content-length"), response.field("connection")),
        (None, Some("close"))
    );
}

#[tokio::test(start_paused = true)]
async fn head_204_and_304_have_no_content() {
    let mut peer = connect(hello);
    peer.send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let response = peer.response_to("HEAD").await.unwrap();
    assert_eq!(response.field("content-length"), Some("5"));
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    let mut peer = connect(stream);
    peer.send("HEAD / HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(peer.response_to("HEAD").await.unwrap().field("content-length"), None);
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    for status in [204, 304] {
        let status = StatusCode::from_u16(status).unwrap();
        let mut peer = connect(move |_: Request| Response::from_text("hello").with_status(status));
        for _ in 0..2 {
            peer.send(GET).await;
            let response = peer.response().await.unwrap();
            assert_eq!((response.status, &*response.body), (status.as_u16(), &b""[..]));
            assert!(status != 204 || response.field("content-length").is_none());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_last_request_of_a_connection_is_told_so() {
    let mut limits = ServerLimits::default();
    assert_eq!(limits.requests_per_connection_max, 10_000);
    limits.requests_per_connection_max = 5;
    let slow = async |_: Request| {
        tokio::task::yield_now().await;
        "hello"
    };
    for pipelined in [false, true] {
        let (mut peer, _) = connect_with(limits.clone(), slow);
        if pipelined {
            peer.send(GET.repeat(8)).await;
        }
        for n in 1..=5 {
            if !pipelined {
                peer.send(GET).await;
            }
            let response = peer.response().await.unwrap();
            assert_eq!(response.text(), "hello");
            assert_eq!(response.field("connection"), (n == 5).then_some("close"), "{n}");
        }
        assert!(peer.is_closed().await);
    }
}

#[tokio::test(start_paused = true)]
async fn a_handler_may_close() {
    fn by_field(_: Request) -> Response {
        Response::from_text("bye").with_field("Connection", "x, Close").unwrap()
    }
    for mut peer in
        [connect(|_: Request| Response::from_text("bye").with_close()), connect(by_field)]
    {
        peer.send(GET.repeat(2)).await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.text(), response.field("connection")), ("bye", Some("close")));
        assert!(peer.is_closed().await);
    }
}

/// RFC 9112 §7.1.2, in both directions.
#[tokio::test(start_paused = true)]
async fn trailers_are_read_and_written() {
    let mut peer = connect(async |mut request: Request| {
        let length = request.body_mut().discard().await?;
        let trailers = request.body_mut().take_trailers().unwrap();
        assert_eq!(trailers.first("host"), None, "forbidden");
        let mut ours = Fields::new();
        ours.push("x-sum", trailers.first("x-sum").unwrap()).unwrap();
        ours.push("content-length", b"1").unwrap();
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            sender.send(length.to_string()).await.unwrap();
            sender.trailers(&ours).await.unwrap();
        });
        Ok::<_, stoop::Error>(Response::new(body))
    });
    for _ in 0..2 {
        peer.send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
        peer.send("5\r\nhello\r\n0\r\nX-Sum: 42\r\nHost: evil\r\n\r\n").await;
        let response = peer.response().await.unwrap();
        assert_eq!((response.text(), &*response.trailers), ("5", "x-sum: 42\r\n"));
    }
}

#[tokio::test(start_paused = true)]
async fn trailers_go_through_an_echo() {
    let mut peer = connect(|request: Request| Response::new(request.into_body()));
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n").await;
    peer.send("5\r\nhello\r\n0\r\nx-sum: 42\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), &*response.trailers), ("hello", "x-sum: 42\r\n"));
}

/// A response that must not be sent becomes a 500, and the connection goes on.
#[tokio::test(start_paused = true)]
async fn responses_that_cannot_be_sent_are_500() {
    for status in [100, 101, 199] {
        let mut peer = connect(move |_: Request| {
            Response::from_text("hello").with_status(StatusCode::from_u16(status).unwrap())
        });
        for _ in 0..2 {
            peer.send(GET).await;
            assert_eq!(peer.response().await.unwrap().status, 500, "{status}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_a_handler_passes_can_split_a_response() {
    for (name, value) in
        [("x", "a\r\nb: c"), ("x", "a\0"), ("x\r\ny", "a"), ("", "a"), ("x y", "a")]
    {
        assert!(
            Response::from_text("hello").with_field(name, value).is_err(),
            "{name:?} {value:?}"
        );
    }
}
