//! Services of tower as handlers of a server.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::{HeaderMap, StatusCode, Version};
use http_body_util::Full;
use stoop::{
    Body, Client, ConnectProtocol, ConnectionInfo, Request, Response, Server, ServerLimits,
    Versions, from_tower,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::{ServiceBuilder, service_fn};

use super::{DropCounter, GET, connect, connect_with, dial, seconds};

type Bytes = bytes::Bytes;

/// Answers what it was asked, and sends the content back.
async fn echo(request: http::Request<Body>) -> Result<http::Response<Full<Bytes>>, stoop::Error> {
    let (parts, body) = request.into_parts();
    let content = body.bytes(1_000_000).await?;
    let shown = format!("{} {} {:?} ", parts.method, parts.uri, parts.version);
    let response = http::Response::builder().header("x-a", parts.headers["host"].clone());
    let content = [shown.as_bytes(), &content].concat();
    Ok(response.body(Full::new(content.into())).unwrap())
}

#[tokio::test]
async fn a_service_answers_over_each_version_and_on_each_runtime() {
    let service = ServiceBuilder::new().concurrency_limit(2).service(service_fn(echo));
    let here = Server::listen("127.0.0.1:0").unwrap();
    let here = here.run_here(from_tower(service.clone())).unwrap();
    let own = Server::listen("127.0.0.1:0").unwrap().workers(2);
    let own = own.run(from_tower(service.clone())).unwrap();
    let (told, tell) = std::sync::mpsc::channel();
    let blocking = std::thread::spawn(move || {
        let server = Server::listen("127.0.0.1:0").unwrap().workers(1);
        server.run_blocking(from_tower(service), |handle| told.send(handle).unwrap()).unwrap();
    });
    let blocked = tell.recv().unwrap();
    for server in [here, own, blocked] {
        for (versions, version) in
            [(Versions::Http1, Version::HTTP_11), (Versions::Http2, Version::HTTP_2)]
        {
            let client = Client::builder().versions(versions).build().unwrap();
            let url = format!("{}/a?b", server.endpoint());
            let asked = (0..5).map(|_| client.post(&url).body("content").send());
            for response in asked.collect::<Vec<_>>() {
                let response = response.await.unwrap();
                let host = format!("127.0.0.1:{}", server.port());
                assert_eq!(response.field("x-a"), Some(host.as_bytes()));
                let expected = format!("POST /a?b {version:?} content");
                assert_eq!(response.text().await.unwrap(), expected);
            }
        }
        server.close().await;
    }
    tokio::task::spawn_blocking(|| blocking.join().unwrap()).await.unwrap();
}

/// It is not `Send`, nor is its future.
#[test]
fn a_service_may_stay_on_its_thread() {
    let make = || {
        let calls = Rc::new(std::cell::Cell::new(0));
        from_tower(service_fn(move |_: http::Request<Body>| {
            let calls = calls.clone();
            async move {
                tokio::task::yield_now().await;
                calls.set(calls.get() + 1);
                Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from(
                    calls.get().to_string(),
                ))))
            }
        }))
    };
    let server = || Server::listen("127.0.0.1:0").unwrap().workers(1);
    let ask = |server: stoop::ServerHandle| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = Client::new();
            for calls in ["1", "2"] {
                let url = server.endpoint().to_string();
                assert_eq!(client.get(&url).await.unwrap().text().await.unwrap(), calls);
            }
            server.close().await;
        });
    };
    ask(server().run_with(make).unwrap());
    // The same on the calling thread, which is asked by another.
    let mut asking = None;
    let started = |handle| asking = Some(std::thread::spawn(move || ask(handle)));
    server().run_blocking_with(make, started).unwrap();
    asking.unwrap().join().unwrap();
}

/// The contract of tower: a service is called once it is ready, and by the clone that is.
#[derive(Clone)]
struct ReadyLater {
    asked: u32,
    calls: Arc<AtomicUsize>,
}

impl tower::Service<http::Request<Body>> for ReadyLater {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = std::future::Ready<Result<http::Response<Body>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.asked += 1;
        if self.asked < 3 {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: http::Request<Body>) -> Self::Future {
        assert_eq!(self.asked, 3, "called before it was ready");
        self.calls.fetch_add(1, Ordering::SeqCst);
        std::future::ready(Ok(http::Response::new("ready".into())))
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_is_called_once_it_is_ready() {
    let calls = Arc::new(AtomicUsize::new(0));
    let mut peer = connect(from_tower(ReadyLater { asked: 0, calls: calls.clone() }));
    for n in 1..=3 {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().text(), "ready");
        assert_eq!(calls.load(Ordering::SeqCst), n);
    }
}

#[tokio::test(start_paused = true)]
async fn an_error_is_answered_by_whose_fault_it_is() {
    let fails = service_fn(async |request: http::Request<Body>| match request.uri().path() {
        "/content" => {
            let content = request.into_body().bytes(3).await;
            content.map(|_| http::Response::new(Body::empty())).map_err(stoop::BoxError::from)
        }
        "/ok" => Ok(http::Response::new(Body::from("fine"))),
        _ => Err("no such path".into()),
    });
    let mut peer = connect(from_tower(fails));
    peer.send("POST /content HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n12345").await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.text()), (413, "413 Payload Too Large\n"));
    peer.send("GET /other HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let response = peer.response().await.unwrap();
    let text = "500 Internal Server Error: the service failed\n";
    assert_eq!((response.status, response.text()), (500, text), "what went wrong stays here");
    peer.send("GET /ok HTTP/1.1\r\nhost: a\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().text(), "fine");
}

#[tokio::test(start_paused = true)]
async fn a_layer_gives_a_slow_call_up() {
    let slow =
        ServiceBuilder::new().timeout(seconds(1)).service_fn(async |_: http::Request<Body>| {
            tokio::time::sleep(seconds(9)).await;
            Ok::<_, Infallible>(http::Response::new(Body::empty()))
        });
    let mut peer = connect(from_tower(slow));
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 500);
}

/// Our rules for targets are wider than those of the `http` crate, which names the longest it takes.
#[tokio::test(start_paused = true)]
async fn a_target_that_is_no_uri_is_refused_and_the_connection_goes_on() {
    let mut limits = ServerLimits::default();
    limits.wire.request_line_bytes_max = 100_000;
    limits.wire.head_bytes_max = 200_000;
    let handler = from_tower(service_fn(echo));
    let (mut peer, _) = connect_with(limits, handler);
    let long = "a".repeat(70_000);
    peer.send(format!("GET /{long} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
    let response = peer.response().await.unwrap();
    assert_eq!(response.status, 400);
    assert!(response.text().starts_with("400 Bad Request: the target is no URI: "));
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().status, 200);
}

#[tokio::test(start_paused = true)]
async fn trailers_go_both_ways() {
    // What comes is what goes, piece by piece.
    let service = service_fn(async |request: http::Request<Body>| {
        Ok::<_, Infallible>(http::Response::new(request.into_body()))
    });
    let mut peer = connect(from_tower(service));
    let head = "POST / HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nte: trailers\r\n\r\n";
    peer.send([head, "2\r\nhi\r\n0\r\nx-sum: 7\r\n\r\n"].concat()).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), &*response.trailers), ("hi", "x-sum: 7\r\n"));
}

/// Sends everything back in capitals, over what the connection becomes.
async fn shout(request: http::Request<Body>) -> Result<http::Response<Body>, Infallible> {
    let protocol = request.extensions().get().map(ConnectProtocol::as_str);
    if request.headers().get("upgrade").is_none() && protocol != Some("shout") {
        return Ok(http::Response::new("not asked to".into()));
    }
    let (response, switched) = Response::upgrade("shout").unwrap();
    tokio::spawn(async move {
        let mut stream = stoop::rt::stream(switched.await.unwrap());
        let mut some = [0; 100];
        while let Ok(n @ 1..) = stream.read(&mut some).await {
            stream.write_all(&some[..n].to_ascii_uppercase()).await.unwrap();
        }
    });
    Ok(response.into())
}

#[tokio::test(start_paused = true)]
async fn a_response_of_a_service_switches_the_connection() {
    let mut peer = connect(from_tower(service_fn(shout)));
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "not asked to");
    peer.send("GET / HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: shout\r\n\r\nhello")
        .await;
    let head = peer.head().await.unwrap();
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("upgrade: shout"), "{head}");
    assert_eq!(peer.bytes(5).await.unwrap(), b"HELLO");
    peer.send("more").await;
    assert_eq!(peer.bytes(4).await.unwrap(), b"MORE");
}

#[tokio::test]
async fn an_extended_connect_reaches_the_service_and_switches_the_stream() {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    let server = server.run_here(from_tower(service_fn(shout))).unwrap();
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let url = format!("{}/chat", server.endpoint());
    let request = Request::extended_connect(&url, "shout").unwrap();
    let stoop::Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
        panic!("declined")
    };
    let mut stream = stoop::rt::stream(upgraded);
    stream.write_all(b"hello").await.unwrap();
    let mut back = [0; 5];
    stream.read_exact(&mut back).await.unwrap();
    assert_eq!(&back, b"HELLO");
    server.close().await;
}

#[tokio::test]
async fn a_service_sees_the_connection() {
    let service = service_fn(async |request: http::Request<Body>| {
        let connection: ConnectionInfo = *request.extensions().get().unwrap();
        let text = format!(
            "{:?} {:?} {}",
            connection.remote_address().map(|address| address.ip()),
            connection.version(),
            connection.is_reused()
        );
        Ok::<_, Infallible>(http::Response::new(Body::from(text)))
    });
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(from_tower(service)).unwrap();
    let mut peer = dial(&server).await;
    for reused in [false, true, true] {
        peer.send(GET).await;
        let expected = format!("Some(127.0.0.1) HTTP/1.1 {reused}");
        assert_eq!(peer.response().await.unwrap().text(), expected);
    }
    server.close().await;
}

/// A client that is gone costs the service no more than its future.
#[tokio::test]
async fn the_future_of_a_call_is_dropped_with_its_connection() {
    let (dropped, began) = (Arc::new(AtomicUsize::new(0)), Arc::new(tokio::sync::Notify::new()));
    let service = {
        let (dropped, began) = (dropped.clone(), began.clone());
        service_fn(move |_: http::Request<Body>| {
            let (counter, began) = (DropCounter(dropped.clone()), began.clone());
            async move {
                began.notify_one();
                std::future::pending::<()>().await;
                drop(counter);
                Ok::<_, Infallible>(http::Response::new(Body::empty()))
            }
        })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(from_tower(service)).unwrap();
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    began.notified().await;
    let (stream, _) = peer.into_parts();
    socket2::SockRef::from(&stream).set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
    while dropped.load(Ordering::SeqCst) == 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    server.close().await;
}

/// Fields that a service sets are sent as they are, those of the framing by us.
#[tokio::test(start_paused = true)]
async fn the_framing_is_the_servers() {
    let service = service_fn(async |_: http::Request<Body>| {
        let mut response = http::Response::new(Full::new(Bytes::from_static(b"four")));
        let mut fields = HeaderMap::new();
        fields.insert("content-length", "4".parse().unwrap());
        fields.append("set-cookie", "a=1".parse().unwrap());
        fields.append("set-cookie", "b=2".parse().unwrap());
        *response.headers_mut() = fields;
        *response.status_mut() = StatusCode::CREATED;
        Ok::<_, Infallible>(response)
    });
    let mut peer = connect(from_tower(service));
    peer.send(GET).await;
    let response = peer.response().await.unwrap();
    assert_eq!((response.status, response.text()), (201, "four"));
    assert_eq!(response.head.matches("content-length: 4").count(), 1);
    assert!(response.head.contains("set-cookie: a=1\r\nset-cookie: b=2"), "{}", response.head);
}
