//! hyper as a client over HTTP/2.

use std::future::poll_fn;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use stoop::{Address, Body, ClientTls};
use stoop_io::{AnyTransport, Stream, Tcp};
use stoop_proto::Fields;
use tokio::net::TcpStream;
use tokio::task::{JoinHandle, JoinSet};

use super::{CONTENT_LEN, TestServers, content};

/// A connection of hyper, and the task that drives it.
struct HyperClient {
    sender: SendRequest<Body>,
    driver: JoinHandle<hyper::Result<()>>,
    origin: String,
}

impl HyperClient {
    async fn to(servers: &TestServers, tls: bool) -> Self {
        let server = if tls { &servers.secure } else { &servers.plain };
        let Address::Inet(address) = server.endpoint().address() else { panic!("no port") };
        let stream = TcpStream::connect(address).await.unwrap();
        let mut io = AnyTransport::from(Tcp::new(stream, *address));
        if tls {
            let authority = std::fs::read(servers.file("ca.pem")).unwrap();
            let tls = ClientTls::builder().ca_pem(authority).alpn(["h2"]).build().unwrap();
            io = tls.connect(io, &address.ip().to_string()).unwrap().into();
            poll_fn(|cx| io.poll_handshake(cx)).await.unwrap();
        }
        let io = TokioIo::new(Stream::new(io));
        let (sender, connection) = http2::handshake(TokioExecutor::new(), io).await.unwrap();
        Self { sender, driver: tokio::spawn(connection), origin: servers.origin(tls) }
    }

    fn request(&self, method: Method, path: &str, body: impl Into<Body>) -> Request<Body> {
        let url = format!("{}{path}", self.origin);
        Request::builder().method(method).uri(url).body(body.into()).unwrap()
    }

    async fn send(&self, request: Request<Body>) -> Response<Incoming> {
        self.sender.clone().send_request(request).await.unwrap()
    }

    async fn get(&self, path: &str) -> (u16, Bytes) {
        let response = self.send(self.request(Method::GET, path, Body::empty())).await;
        let status = response.status().as_u16();
        (status, whole(response).await.0)
    }

    /// Asserts that the connection ends without an error.
    async fn ends_well(self) {
        drop(self.sender);
        self.driver.await.unwrap().unwrap();
    }
}

/// Reads the content and trailers of a response.
async fn whole(response: Response<Incoming>) -> (Bytes, HeaderMap) {
    let (mut content, mut trailers) = (Vec::new(), HeaderMap::new());
    let mut body = response.into_body();
    while let Some(frame) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        match frame.unwrap().into_data() {
            Ok(piece) => content.extend_from_slice(&piece),
            Err(frame) => trailers = frame.into_trailers().unwrap(),
        }
    }
    (content.into(), trailers)
}

#[tokio::test]
async fn hypers_requests_and_uploads_are_answered() {
    let servers = TestServers::start("hyper");
    for tls in [false, true] {
        let connected = HyperClient::to(&servers, tls).await;
        assert_eq!(connected.get("/").await, (200, "HTTP/2.0 /".into()));
        assert_eq!(connected.get("/big").await, (200, content().into()));
        assert_eq!(connected.get("/nothing").await, (204, "".into()));
        let head = connected.send(connected.request(Method::HEAD, "/big", Body::empty())).await;
        assert_eq!(head.headers()["content-length"], CONTENT_LEN.to_string());
        assert_eq!(whole(head).await.0, "");
        let request = connected.request(Method::POST, "/echo", content());
        assert_eq!(whole(connected.send(request).await).await.0, content());
        let request = connected.request(Method::POST, "/length", content());
        assert_eq!(whole(connected.send(request).await).await.0, CONTENT_LEN.to_string());
        connected.ends_well().await;
    }
    servers.end().await;
}

#[tokio::test]
async fn trailers_go_both_ways() {
    let servers = TestServers::start("hyper-trailers");
    for tls in [false, true] {
        let connected = HyperClient::to(&servers, tls).await;
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let mut trailers = Fields::new();
            trailers.push("x-sum", b"1").unwrap();
            sender.send("some").await?;
            sender.trailers(&trailers).await
        });
        let request = connected.request(Method::POST, "/echo", body);
        let (content, trailers) = whole(connected.send(request).await).await;
        assert_eq!((&*content, &trailers["x-sum"]), (&b"some"[..], &"1".parse().unwrap()));
        let request = connected.request(Method::GET, "/stream", Body::empty());
        let (content, trailers) = whole(connected.send(request).await).await;
        assert_eq!(content.len().to_string(), trailers["x-sum"].to_str().unwrap());
        connected.ends_well().await;
    }
    servers.end().await;
}

/// As many requests as hyper sends at a time, with more content than the connection's window; some are
/// dropped.
#[tokio::test]
async fn many_concurrent_requests_are_answered() {
    let servers = TestServers::start("hyper-many");
    for tls in [false, true] {
        let connected = HyperClient::to(&servers, tls).await;
        let mut all = JoinSet::new();
        for n in 0..200 {
            let path = if n % 4 == 0 { "/endless" } else { "/stream" };
            let request = connected.request(Method::GET, path, Body::empty());
            let mut sender = connected.sender.clone();
            all.spawn(async move {
                let response = sender.send_request(request).await.unwrap();
                match n % 4 {
                    0 => drop(response),
                    _ => assert_eq!(whole(response).await.0.len(), 100_000),
                }
            });
        }
        all.join_all().await;
        assert_eq!(connected.get("/").await, (200, "HTTP/2.0 /".into()));
        connected.ends_well().await;
    }
    servers.end().await;
}

/// RFC 9113 §8.1: the response comes before the request is complete, and none of it is lost.
#[tokio::test]
async fn a_refused_upload_gets_its_response() {
    let servers = TestServers::start("hyper-refused");
    for tls in [false, true] {
        let connected = HyperClient::to(&servers, tls).await;
        for _ in 0..10 {
            let response = connected.send(connected.request(Method::POST, "/refuse", content()));
            let response = response.await;
            assert_eq!(response.status(), 413);
            assert_eq!(whole(response).await.0, "no");
        }
        connected.ends_well().await;
    }
    servers.end().await;
}

/// hyper does not wait for the interim response, and skips it.
#[tokio::test]
async fn a_request_that_expects_100_is_answered() {
    let servers = TestServers::start("hyper-expect");
    for tls in [false, true] {
        let connected = HyperClient::to(&servers, tls).await;
        let mut request = connected.request(Method::POST, "/length", content());
        request.headers_mut().insert("expect", "100-continue".parse().unwrap());
        let (content, _) = whole(connected.send(request).await).await;
        assert_eq!(content, CONTENT_LEN.to_string());
        connected.ends_well().await;
    }
    servers.end().await;
}

/// RFC 9113 §6.8: the running exchanges are completed, and the connection then ends.
#[tokio::test]
async fn a_server_that_shuts_down_completes_its_responses() {
    let servers = TestServers::start("hyper-drain");
    let connected = [HyperClient::to(&servers, false).await, HyperClient::to(&servers, true).await];
    let mut begun = Vec::new();
    for connected in &connected {
        let request = connected.request(Method::GET, "/stream", Body::empty());
        begun.push(connected.send(request).await);
    }
    let TestServers { plain, secure, folder: _folder } = servers;
    let limit = Duration::from_secs(30);
    let drained = async { tokio::join!(plain.drain(limit), secure.drain(limit)) };
    let read = async {
        for response in begun {
            assert_eq!(whole(response).await.0.len(), 100_000);
        }
        for connected in connected {
            // The client's sender still exists, so it is the server that ended the connection.
            connected.driver.await.unwrap().unwrap();
        }
    };
    let (left, ()) = tokio::join!(drained, read);
    assert_eq!(left, (0, 0));
}
