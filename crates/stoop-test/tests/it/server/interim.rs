//! Interim responses that handlers send: over each version.

use http::Method;
use stoop::{
    Client, Fields, InterimError, InterimSender, Misuse, Request, Response, Server, ServerLimits,
    StatusCode, Versions, from_tower,
};
use stoop_test::http2::ClientEvent;
use tokio::sync::mpsc::unbounded_channel;
use tokio::time::{Instant, sleep};

use super::http2::client;
use super::{GET, connect, connect_with, seconds};

const LINK: &str = "</style.css>; rel=preload; as=style";

/// Limits that allow so many interim responses to each request.
fn allowing(max: u32) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.interim_responses_max = max;
    limits
}

fn sender(request: &Request) -> InterimSender {
    request.interim().expect("the limits allow it")
}

/// Hints, and a second later the response.
async fn hints(request: Request) -> Response {
    sender(&request).early_hints([LINK, "</a.js>; rel=preload"]).unwrap();
    sleep(seconds(1)).await;
    sender(&request).send(StatusCode::PROCESSING, Fields::new()).unwrap();
    Response::from_text("hello")
}

#[tokio::test(start_paused = true)]
async fn early_hints_come_ahead_of_the_response() {
    let (mut peer, _task) = connect_with(allowing(2), hints);
    for _ in 0..2 {
        let begin = Instant::now();
        peer.send(GET).await;
        let head = "HTTP/1.1 103 Early Hints\r\nlink: </style.css>; rel=preload; as=style\r\n\
                    link: </a.js>; rel=preload";
        assert_eq!(peer.head().await.unwrap(), head);
        assert_eq!(begin.elapsed(), seconds(0));
        assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 102 Processing");
        assert_eq!(peer.response().await.unwrap().text(), "hello");
        assert_eq!(begin.elapsed(), seconds(1));
    }
}

#[tokio::test(start_paused = true)]
async fn early_hints_come_ahead_of_the_response_over_http2() {
    let mut client = client(connect_with(allowing(2), hints).0).await;
    for _ in 0..2 {
        let begin = Instant::now();
        let key = client.get("/").await;
        let mut statuses = Vec::new();
        loop {
            match client.next_event().await {
                ClientEvent::Head(of, head, _) if of == key => {
                    if head.status() == 103 {
                        assert_eq!(begin.elapsed(), seconds(0));
                        assert_eq!(head.fields().first("link"), Some(LINK.as_bytes()));
                        assert_eq!(head.fields().iter().count(), 2);
                    }
                    statuses.push(head.status().as_u16());
                }
                ClientEvent::Data(_, data, true) => {
                    assert_eq!(data, b"hello");
                    break;
                }
                _ => {}
            }
        }
        assert_eq!(statuses, [103, 102, 200]);
        assert_eq!(begin.elapsed(), seconds(1));
    }
}

/// RFC 9110 §15.2: a client of HTTP/1.0 does not know of them. Nor does a request that may not have any.
#[tokio::test(start_paused = true)]
async fn no_interim_response_is_sent_where_none_may_be() {
    let handler = |request: Request| request.interim().is_some().to_string();
    let (mut peer, _task) = connect_with(allowing(8), handler);
    peer.send("GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().text(), "false");
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "true");
    let mut peer = connect(handler);
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "false");
    assert!(Request::get("/").unwrap().interim().is_none());
}

/// RFC 9110 §15.2, RFC 9112 §9.3.2: each is the answer to the oldest request that waits for one.
#[tokio::test(start_paused = true)]
async fn interim_responses_to_pipelined_requests_wait_for_their_turn() {
    let (mut peer, _task) = connect_with(allowing(1), async |request: Request| {
        let path = request.path().to_owned();
        sender(&request).early_hints([&*format!("<{path}.css>")]).unwrap();
        sleep(seconds(if path == "/1" { 5 } else { 1 })).await;
        path
    });
    let request = |path| format!("GET {path} HTTP/1.1\r\nhost: a\r\n\r\n");
    peer.send([request("/1"), request("/2"), request("/3")].concat()).await;
    for path in ["/1", "/2", "/3"] {
        let hint = format!("HTTP/1.1 103 Early Hints\r\nlink: <{path}.css>");
        assert_eq!(peer.head().await.unwrap(), hint);
        assert_eq!(peer.response().await.unwrap().text(), path);
    }
}

#[tokio::test(start_paused = true)]
async fn another_task_may_send_them_until_the_response_is_begun() {
    let (told, mut tell) = unbounded_channel();
    let handler = move |request: Request| {
        let (interim, told) = (sender(&request), told.clone());
        tokio::spawn(async move {
            for _ in 0..3 {
                sleep(seconds(2)).await;
                told.send(interim.early_hints([LINK])).unwrap();
            }
        });
        async {
            sleep(seconds(5)).await;
            "hello"
        }
    };
    let (mut peer, _task) = connect_with(allowing(8), handler.clone());
    let begin = Instant::now();
    peer.send(GET).await;
    for nth in [1, 2] {
        assert!(peer.head().await.unwrap().starts_with("HTTP/1.1 103"));
        assert_eq!(begin.elapsed(), seconds(2 * nth));
    }
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    let mut client = client(connect_with(allowing(8), handler).0).await;
    let (begin, mut heads) = (Instant::now(), Vec::new());
    client.get("/").await;
    while heads.len() < 3 {
        if let ClientEvent::Head(_, head, _) = client.next_event().await {
            heads.push((head.status().as_u16(), begin.elapsed().as_secs()));
        }
    }
    assert_eq!(heads, [(103, 2), (103, 4), (200, 5)]);
    sleep(seconds(5)).await;
    let mut told: Vec<_> = std::iter::from_fn(|| tell.try_recv().ok()).collect();
    told.sort_by_key(Result::is_err);
    let late = Err(InterimError::TooLate);
    assert_eq!(told, [Ok(()), Ok(()), Ok(()), Ok(()), late, late]);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_sent_is_refused_and_sends_nothing() {
    let (mut peer, _task) = connect_with(allowing(3), async |request: Request| {
        let interim = sender(&request);
        let mut large = Fields::new();
        large.push("link", &[b'x'; 16 * 1024]).unwrap();
        let mut framing = Fields::new();
        framing.push("content-length", b"7").unwrap();
        framing.push("transfer-encoding", b"chunked").unwrap();
        framing.push("connection", b"close").unwrap();
        let misuse = |misuse| Err(InterimError::Misuse(misuse));
        assert_eq!(interim.send(StatusCode::OK, Fields::new()), misuse(Misuse::Status));
        let switch = StatusCode::SWITCHING_PROTOCOLS;
        assert_eq!(interim.send(switch, Fields::new()), misuse(Misuse::Status));
        assert_eq!(interim.early_hints(["a\r\nb"]), misuse(Misuse::FieldValue));
        assert_eq!(interim.send(StatusCode::EARLY_HINTS, large), Err(InterimError::TooMany));
        assert_eq!(interim.send(StatusCode::EARLY_HINTS, framing), Ok(()));
        assert_eq!(interim.early_hints(["a"]), Ok(()));
        assert_eq!(interim.early_hints(["b"]), Ok(()));
        assert_eq!(interim.early_hints(["c"]), Err(InterimError::TooMany));
        "hello"
    });
    peer.send(GET).await;
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 103 Early Hints");
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 103 Early Hints\r\nlink: a");
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 103 Early Hints\r\nlink: b");
    assert_eq!(peer.response().await.unwrap().text(), "hello");
}

/// A 100 is still the server's to send, when the content is first read.
#[tokio::test(start_paused = true)]
async fn hints_come_ahead_of_the_100_of_a_handler_that_reads_later() {
    let (mut peer, _task) = connect_with(allowing(1), async |request: Request| {
        sender(&request).early_hints(["a"]).unwrap();
        sleep(seconds(1)).await;
        let content = request.into_body().bytes(100).await?;
        Ok::<_, stoop::Error>(Response::from_bytes(content))
    });
    peer.send("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\nexpect: 100-continue\r\n\r\n")
        .await;
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 103 Early Hints\r\nlink: a");
    assert_eq!(peer.head().await.unwrap(), "HTTP/1.1 100 Continue");
    peer.send("hi").await;
    assert_eq!(peer.response().await.unwrap().text(), "hi");
}

#[tokio::test]
async fn a_service_of_tower_sends_them_and_our_client_sees_them() {
    let service = tower::service_fn(async |request: http::Request<stoop::Body>| {
        let interim: &InterimSender = request.extensions().get().unwrap();
        interim.early_hints(["a"]).unwrap();
        tokio::task::yield_now().await;
        Ok::<_, std::convert::Infallible>(http::Response::new(stoop::Body::from("hello")))
    });
    let server = Server::listen("127.0.0.1:0").unwrap().limits(allowing(1));
    let server = server.run_here(from_tower(service)).unwrap();
    for versions in [Versions::Http1, Versions::Http2] {
        let (told, mut tell) = unbounded_channel();
        let client = Client::builder()
            .versions(versions)
            .observe(move |_, event| {
                if let stoop::ClientEvent::Interim { head, .. } = event {
                    told.send(head.status().as_u16()).unwrap();
                }
            })
            .build()
            .unwrap();
        let url = server.endpoint().to_string();
        let response = client.request(Method::GET, url).send().await.unwrap();
        assert_eq!(response.text().await.unwrap(), "hello");
        assert_eq!(tell.recv().await, Some(103));
    }
}
