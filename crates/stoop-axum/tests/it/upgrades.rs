//! Connections that an application takes over, by axum's extractors and by hyper's own type.

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::extract::ws::{Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get};
use futures_util::{SinkExt, StreamExt};
use stoop::{Client, Switch, Versions};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message as ClientMessage;
use tokio_tungstenite::tungstenite::protocol::Role;

use crate::{listen, listen_tls};

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        match message {
            Message::Text(_) | Message::Binary(_) => {
                if socket.send(message).await.is_err() {
                    break;
                }
            }
            // Both are answered by reading on.
            Message::Ping(_) | Message::Pong(_) | Message::Close(_) => {}
        }
    }
}

fn app() -> Router {
    let socket = async |upgrade: WebSocketUpgrade| upgrade.protocols(["chat"]).on_upgrade(echo);
    Router::new()
        .route("/ws", any(socket))
        .route("/plain", get(async || "no socket here"))
        .route("/raw", get(raw))
        .route(
            "/dropped",
            get(async |upgrade: WebSocketUpgrade| {
                drop(upgrade);
                "declined"
            }),
        )
}

/// An upgrade as programs without an extractor have it.
async fn raw(mut request: Request) -> Response {
    let switched = hyper::upgrade::on(&mut request);
    tokio::spawn(async move {
        let mut io = hyper_util::rt::TokioIo::new(switched.await.unwrap());
        io.write_all(b"welcome ").await.unwrap();
        let mut some = [0; 100];
        while let Ok(n @ 1..) = io.read(&mut some).await {
            io.write_all(&some[..n].to_ascii_uppercase()).await.unwrap();
        }
        io.write_all(b" bye").await.unwrap();
        io.shutdown().await.unwrap();
    });
    let response = Response::builder().status(StatusCode::SWITCHING_PROTOCOLS);
    let response = response.header("connection", "upgrade").header("upgrade", "shout");
    response.body(Body::empty()).unwrap().into_response()
}

/// Sends and receives messages of all sizes, and closes.
pub(crate) async fn converse(io: impl AsyncRead + AsyncWrite + Unpin) {
    let mut socket = WebSocketStream::from_raw_socket(io, Role::Client, None).await;
    for size in [0, 1, 125, 126, 65_535, 65_536, 1_000_000] {
        let message = ClientMessage::binary(vec![7; size]);
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), message);
    }
    socket.send(ClientMessage::text("ä")).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), ClientMessage::text("ä"));
    socket.send(ClientMessage::Ping("here".into())).await.unwrap();
    assert_eq!(socket.next().await.unwrap().unwrap(), ClientMessage::Pong("here".into()));
    socket.close(None).await.unwrap();
    assert!(matches!(socket.next().await, Some(Ok(ClientMessage::Close(_)))));
    // A server that drops a TLS session says no close_notify, as with every other TLS stack.
    assert!(!matches!(socket.next().await, Some(Ok(_))));
}

#[tokio::test]
async fn a_websocket_opens_over_http1() {
    let server = listen(app());
    for workers in [None, Some(2)] {
        let own = workers.map(|workers| {
            let server = stoop::Server::listen("127.0.0.1:0").unwrap().workers(workers);
            server.run(stoop_axum::handler(app())).unwrap()
        });
        let port = own.as_ref().map_or(server.port(), stoop::ServerHandle::port);
        let tcp = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
        let request = format!("ws://127.0.0.1:{port}/ws");
        // It checks the fields of the 101.
        let (socket, response) = tokio_tungstenite::client_async(request, tcp).await.unwrap();
        assert_eq!(response.status(), 101);
        converse(socket.into_inner()).await;
        if let Some(own) = own {
            own.close().await;
        }
    }
    server.close().await;
}

#[tokio::test]
async fn a_websocket_opens_over_http2() {
    let server = listen(app());
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let url = format!("{}/ws", server.endpoint());
    for _ in 0..3 {
        let request = stoop::Request::extended_connect(&url, "websocket").unwrap();
        let request = request.with_field("sec-websocket-version", "13").unwrap();
        let Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
            panic!("declined")
        };
        converse(stoop::rt::stream(upgraded)).await;
    }
    // Beside them the connection is HTTP's.
    let plain = client.get(format!("{}/plain", server.endpoint())).await.unwrap();
    assert_eq!(plain.text().await.unwrap(), "no socket here");
    server.close().await;
}

#[tokio::test]
async fn a_websocket_opens_over_tls() {
    let (server, client) = listen_tls(app());
    let url = format!("https://localhost:{}/ws", server.port());
    let request = stoop::Request::get(&url).unwrap().versions(Versions::Http1);
    let mut request = request;
    for (name, value) in [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ] {
        request = request.with_field(name, value).unwrap();
    }
    let Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
        panic!("declined")
    };
    converse(stoop::rt::stream(upgraded)).await;
    server.close().await;
}

pub(crate) const UPGRADE: &str = "GET PATH HTTP/1.1\r\nhost: a\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                       sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                       sec-websocket-protocol: chat, other\r\n\r\n";

pub(crate) async fn exchange(port: u16, bytes: String, until: &str) -> String {
    let mut tcp = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    tcp.write_all(bytes.as_bytes()).await.unwrap();
    let mut read = String::new();
    let mut some = [0; 1024];
    while !read.contains(until) {
        let n = tcp.read(&mut some).await.unwrap();
        assert!(n > 0, "closed after {read:?}");
        read += std::str::from_utf8(&some[..n]).unwrap();
    }
    read
}

/// RFC 6455 §1.3 has this key and this answer.
#[tokio::test]
async fn the_101_is_the_applications() {
    let server = listen(app());
    let head = exchange(server.port(), UPGRADE.replace("PATH", "/ws"), "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    for line in [
        "connection: upgrade\r\n",
        "upgrade: websocket\r\n",
        "sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n",
        "sec-websocket-protocol: chat\r\n",
    ] {
        assert_eq!(head.matches(line).count(), 1, "{line} in {head}");
    }
    server.close().await;
}

/// An offer may be declined by any ordinary response, and the connection stays HTTP's.
#[tokio::test]
async fn what_declines_an_upgrade_is_an_ordinary_response() {
    let server = listen(app());
    for (path, body) in [("/plain", "no socket here"), ("/dropped", "declined")] {
        let get = "GET /plain HTTP/1.1\r\nhost: a\r\n\r\n";
        let bytes = UPGRADE.replace("PATH", path) + &get.replace("/plain", "/nowhere");
        let read = exchange(server.port(), bytes, "404").await;
        assert!(read.starts_with("HTTP/1.1 200 ") && read.contains(body), "{read}");
    }
    // RFC 9110 §7.8: "MUST ignore an Upgrade header field that is received in an HTTP/1.0 request".
    let old = UPGRADE.replace("PATH", "/ws").replace("HTTP/1.1", "HTTP/1.0");
    let read = exchange(server.port(), old, "\r\n\r\n").await;
    assert!(read.starts_with("HTTP/1.1 426 "), "{read}");
    let missing = UPGRADE.replace("PATH", "/ws").replace("sec-websocket-version: 13\r\n", "");
    let read = exchange(server.port(), missing, "\r\n\r\n").await;
    assert!(read.starts_with("HTTP/1.1 400 "), "{read}");
    server.close().await;
}

#[tokio::test]
async fn an_upgrade_of_hypers_own_type_carries_bytes_both_ways_to_their_ends() {
    let server = listen(app());
    let mut tcp = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await.unwrap();
    let bytes = UPGRADE.replace("PATH", "/raw") + "behind the head";
    tcp.write_all(bytes.as_bytes()).await.unwrap();
    tcp.shutdown().await.unwrap();
    let mut read = String::new();
    tcp.read_to_string(&mut read).await.unwrap();
    let (head, rest) = read.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 101 ") && head.contains("upgrade: shout"), "{head}");
    assert_eq!(rest, "welcome BEHIND THE HEAD bye");
    server.close().await;
}

/// It lost its connection to the one that is made for hyper's type.
#[tokio::test]
async fn a_response_of_stoops_own_switches_the_connection() {
    let shout = async || {
        let (response, switched) = stoop::Response::upgrade("shout").unwrap();
        tokio::spawn(async move {
            let mut stream = stoop::rt::stream(switched.await.unwrap());
            stream.write_all(b"welcome").await.unwrap();
        });
        http::Response::<stoop::Body>::from(response).map(Body::new)
    };
    let server = listen(Router::new().route("/", get(shout)));
    let read = exchange(server.port(), UPGRADE.replace("PATH", "/"), "welcome").await;
    assert!(read.starts_with("HTTP/1.1 101 ") && read.contains("upgrade: shout\r\n"), "{read}");
    server.close().await;
}

/// RFC 8441 §3: a server says that it takes extended CONNECT, which it does not by default.
#[tokio::test]
async fn a_websocket_opens_over_http2_on_the_servers_own_threads() {
    let server = stoop::Server::listen("127.0.0.1:0").unwrap().workers(1);
    let server = server.limits(stoop_axum::server_limits());
    let server = server.run(stoop_axum::handler(app())).unwrap();
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let url = format!("{}/ws", server.endpoint());
    let request = stoop::Request::extended_connect(&url, "websocket").unwrap();
    let request = request.with_field("sec-websocket-version", "13").unwrap();
    let Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
        panic!("declined")
    };
    converse(stoop::rt::stream(upgraded)).await;
    server.close().await;
}

/// RFC 9110 §9.3.6, for an application that is a proxy.
#[tokio::test]
async fn a_connect_opens_a_tunnel() {
    let tunnel = async |mut request: Request| {
        if request.uri().authority().is_none_or(|authority| authority.as_str() != "target:443") {
            return StatusCode::BAD_REQUEST;
        }
        let switched = hyper::upgrade::on(&mut request);
        tokio::spawn(async move {
            let mut io = hyper_util::rt::TokioIo::new(switched.await.unwrap());
            let mut some = [0; 5];
            io.read_exact(&mut some).await.unwrap();
            io.write_all(b"through the tunnel").await.unwrap();
        });
        StatusCode::OK
    };
    let server = listen(Router::new().fallback(tunnel));
    let connect = "CONNECT target:443 HTTP/1.1\r\nhost: target:443\r\n\r\nhello".to_owned();
    let read = exchange(server.port(), connect, "tunnel").await;
    assert!(
        read.starts_with("HTTP/1.1 200 ") && read.ends_with("\r\n\r\nthrough the tunnel"),
        "{read}"
    );
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let proxy = server.endpoint().to_string();
    let request = stoop::Request::connect(&proxy, "target:443").unwrap();
    let Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
        panic!("declined")
    };
    let mut stream = stoop::rt::stream(upgraded);
    stream.write_all(b"hello").await.unwrap();
    let mut read = String::new();
    stream.read_to_string(&mut read).await.unwrap();
    assert_eq!(read, "through the tunnel");
    server.close().await;
}
