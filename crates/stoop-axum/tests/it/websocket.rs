//! stoop's WebSockets in axum's handlers.

use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::Path;
use axum::response::{IntoResponse, Response};
use axum::routing::any;
use stoop::rt::UpgradedStream;
use stoop::{Client, Request, ServerHandle, Switch, Versions};
use stoop_axum::stoop_websocket::{
    ClientHandshake, ConnectError, Deflate, Limits, Message, Origins, ServerHandshake, WebSocket,
};
use stoop_axum::{WebSocketRejection, WebSocketUpgrade};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::ServiceExt;

use crate::upgrades::{UPGRADE, converse, exchange};
use crate::{listen, listen_tls};

/// Sends back each message, until the end.
async fn echo(mut socket: WebSocket<UpgradedStream>) {
    while let Ok(Some(message)) = socket.recv().await {
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

fn app() -> Router {
    let chat = async |upgrade: WebSocketUpgrade| upgrade.protocols(["chat"]).on_upgrade(echo);
    let deflated = async |Path(room): Path<String>, upgrade: WebSocketUpgrade| {
        assert_eq!(room, "hall");
        upgrade.deflate(Deflate::default()).on_upgrade(echo)
    };
    let bounded = async |upgrade: WebSocketUpgrade| {
        let mut limits = Limits::default();
        limits.message_bytes_max = 3;
        upgrade.origins(Origins::Any).limits(limits).on_upgrade(echo)
    };
    let optional = async |upgrade: Option<WebSocketUpgrade>| match upgrade {
        Some(upgrade) => upgrade.on_upgrade(echo),
        None => "a page".into_response(),
    };
    let prepared = async |upgrade: WebSocketUpgrade| -> Result<Response, WebSocketRejection> {
        let terms = ServerHandshake::new().protocols(["chat"]).close_on_drain(false);
        let (mut response, pending) = upgrade.handshake(terms).prepare()?;
        let protocol = pending.protocol().unwrap_or("none").parse().unwrap();
        response.headers_mut().insert("x-chosen", protocol);
        tokio::spawn(async move { echo(pending.await.unwrap()).await });
        Ok(response)
    };
    Router::new()
        .route("/ws", any(chat))
        .nest("/rooms", Router::new().route("/{room}", any(deflated)))
        .route("/bounded", any(bounded))
        .route("/optional", any(optional))
        .route("/prepared", any(prepared))
}

fn client(versions: Versions) -> Client {
    Client::builder().versions(versions).build().unwrap()
}

/// Opens a WebSocket by hand: the fields of the response, and the stream below.
async fn open(
    (server, client, versions): (&ServerHandle, &Client, Versions),
    path: &str,
    fields: &[(&str, &str)],
) -> (impl Fn(&str) -> Option<String>, UpgradedStream) {
    let url = format!("{}{path}", server.endpoint());
    let mut request = match versions {
        Versions::Http2 => Request::extended_connect(&url, "websocket").unwrap(),
        _ => [
            ("connection", "upgrade"),
            ("upgrade", "websocket"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ]
        .iter()
        .fold(Request::get(&url).unwrap(), |request, (name, value)| {
            request.with_field(name, value).unwrap()
        }),
    };
    for (name, value) in [("sec-websocket-version", "13")].iter().chain(fields) {
        request = request.with_field(name, value).unwrap();
    }
    let Switch::Accepted(upgraded) = client.switch(request).await.unwrap() else {
        panic!("declined")
    };
    let head = upgraded.response_head().unwrap().clone();
    let field = move |name: &str| {
        head.fields().first(name).map(|value| String::from_utf8(value.to_vec()).unwrap())
    };
    (field, stoop::rt::stream(upgraded))
}

/// RFC 6455 §1.3 has this key and this answer; tungstenite is a peer that is not ours.
#[tokio::test]
async fn a_websocket_opens_over_each_version() {
    let server = listen(app());
    let offered = [("sec-websocket-protocol", "other, chat")];
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let (field, stream) = open((&server, &client, versions), "/ws", &offered).await;
        let is_http1 = versions == Versions::Http1;
        let accept = is_http1.then(|| "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=".to_owned());
        assert_eq!(field("sec-websocket-accept"), accept);
        assert_eq!(field("sec-websocket-protocol").as_deref(), Some("chat"));
        assert_eq!(field("sec-websocket-extensions"), None);
        converse(stream).await;
    }
    server.close().await;
}

/// RFC 7692 §7.2.3.1 has this message; the masking key is zero.
#[tokio::test]
async fn messages_are_compressed_where_both_ends_want_it() {
    let server = listen(app());
    let offered = [("sec-websocket-extensions", "permessage-deflate")];
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let (field, mut stream) = open((&server, &client, versions), "/rooms/hall", &offered).await;
        let agreed =
            "permessage-deflate; server_no_context_takeover; client_no_context_takeover".to_owned();
        assert_eq!(field("sec-websocket-extensions"), Some(agreed));
        let hello = b"\xc1\x87\0\0\0\0\xf2\x48\xcd\xc9\xc9\x07\x00";
        stream.write_all(hello).await.unwrap();
        let mut read = [0; 7];
        stream.read_exact(&mut read).await.unwrap();
        assert_eq!(&read, b"\x81\x05Hello");
        // 300 bytes, which come back compressed: RSV1 is set, and there are fewer than 126.
        stream.write_all(b"\x81\xfe\x01\x2c\0\0\0\0").await.unwrap();
        stream.write_all(&[b'a'; 300]).await.unwrap();
        let mut head = [0; 2];
        stream.read_exact(&mut head).await.unwrap();
        assert!(head[0] == 0xc1 && head[1] < 126, "{head:x?}");

        // And with a client that says what a message was.
        let handshake = ClientHandshake::new().deflate(Deflate::default()).versions(versions);
        let url = format!("ws://127.0.0.1:{}/rooms/hall", server.port());
        let mut socket = handshake.connect(&client, &url).await.unwrap();
        let text = "again and again, ".repeat(10_000);
        socket.send_text(&text).await.unwrap();
        assert_eq!(socket.recv().await.unwrap(), Some(Message::from(text)));
    }
    server.close().await;
}

#[tokio::test]
async fn the_limits_are_the_handlers() {
    let server = listen(app());
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let foreign = [("origin", "https://b.test")];
        let (_, mut stream) = open((&server, &client, versions), "/bounded", &foreign).await;
        stream.write_all(b"\x81\x83\0\0\0\0abc\x81\x84\0\0\0\0abcd").await.unwrap();
        let mut read = [0; 9];
        stream.read_exact(&mut read).await.unwrap();
        // The message that fits, and a Close with 1009.
        assert_eq!(
            (&read[..5], read[5], &read[7..]),
            (&b"\x81\x03abc"[..], 0x88, &b"\x03\xf1"[..])
        );
    }
    server.close().await;
}

#[tokio::test]
async fn a_request_that_may_not_have_a_websocket_is_told_why() {
    let server = listen(app());
    let request = UPGRADE.replace("PATH", "/ws");
    let foreign = request.replace("host: a\r\n", "host: a\r\norigin: https://b.test\r\n");
    let own = request.replace("host: a\r\n", "host: a\r\norigin: https://a\r\n");
    let plain = "GET /ws HTTP/1.1\r\nhost: a\r\n\r\n".to_owned();
    let version = request.replace("version: 13", "version: 12");
    let key = request.replace("dGhlIHNhbXBsZSBub25jZQ==", "short");
    let post = request.replace("GET ", "POST ").replace("host:", "content-length: 0\r\nhost:");
    for (request, expected) in [
        (own, "HTTP/1.1 101 "),
        (foreign, "HTTP/1.1 403 "),
        (plain, "HTTP/1.1 426 "),
        (version, "HTTP/1.1 426 "),
        (key, "HTTP/1.1 400 "),
        (post, "HTTP/1.1 405 "),
    ] {
        let head = exchange(server.port(), request, "\r\n\r\n").await;
        assert!(head.starts_with(expected), "{head}");
        if expected.contains("426") {
            assert!(head.contains("upgrade: websocket\r\n"), "{head}");
        }
    }
    // Over HTTP/2 it is no extended CONNECT, or one from elsewhere.
    let client = client(Versions::Http2);
    let url = format!("{}/ws", server.endpoint());
    let plain = client.get(&url).await.unwrap();
    assert_eq!(plain.status(), 400);
    assert!(plain.text().await.unwrap().contains("extended CONNECT (RFC 8441 §5)"));
    for (origin, accepted) in [(url.trim_end_matches("/ws"), true), ("https://b.test", false)] {
        let request = Request::extended_connect(&url, "websocket").unwrap();
        let request = request.with_field("sec-websocket-version", "13").unwrap();
        let request = request.with_field("origin", origin).unwrap();
        match client.switch(request).await.unwrap() {
            Switch::Accepted(_) => assert!(accepted, "{origin}"),
            Switch::Declined(response) => {
                assert!(!accepted && response.status() == 403, "{origin}");
            }
        }
    }
    server.close().await;
}

/// The extractor had lost the connection, and so took each for one without TLS.
#[tokio::test]
async fn a_page_that_came_without_tls_opens_no_websocket_over_tls() {
    let (server, client) = listen_tls(app());
    let url = format!("wss://localhost:{}/ws", server.port());
    for versions in [Versions::Http1, Versions::Http2] {
        let open = async |scheme: &str| {
            let origin = format!("{scheme}://localhost:{}", server.port());
            let handshake = ClientHandshake::new().versions(versions).field("origin", origin);
            handshake.connect(&client, &url).await
        };
        assert!(open("https").await.is_ok(), "{versions:?}");
        match open("http").await {
            Err(ConnectError::Declined(response)) => assert_eq!(response.status(), 403),
            other => panic!("{versions:?}: {other:?}"),
        }
    }
    server.close().await;
}

#[tokio::test]
async fn a_route_may_have_a_page_beside_its_websocket() {
    let server = listen(app());
    let plain = "GET /optional HTTP/1.1\r\nhost: a\r\n\r\n".to_owned();
    let page = exchange(server.port(), plain, "a page").await;
    assert!(page.starts_with("HTTP/1.1 200 "), "{page}");
    let bad = UPGRADE.replace("PATH", "/optional").replace("version: 13", "version: 12");
    let bad = exchange(server.port(), bad, "\r\n\r\n").await;
    assert!(bad.starts_with("HTTP/1.1 426 ") && bad.contains("sec-websocket-version: 13"), "{bad}");
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let page = client.get(format!("{}/optional", server.endpoint())).await.unwrap();
        assert_eq!(page.text().await.unwrap(), "a page");
        let (_, stream) = open((&server, &client, versions), "/optional", &[]).await;
        converse(stream).await;
    }
    server.close().await;
}

#[tokio::test]
async fn the_response_and_the_task_are_the_handlers_if_it_wants_them() {
    let server = listen(app());
    let offered = [("sec-websocket-protocol", "chat")];
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let (field, stream) = open((&server, &client, versions), "/prepared", &offered).await;
        assert_eq!(field("x-chosen").as_deref(), Some("chat"));
        converse(stream).await;
    }
    let foreign = UPGRADE.replace("PATH", "/prepared");
    let foreign = foreign.replace("host: a\r\n", "host: a\r\norigin: https://b.test\r\n");
    let head = exchange(server.port(), foreign, "\r\n\r\n").await;
    assert!(head.starts_with("HTTP/1.1 403 "), "{head}");
    server.close().await;
}

/// RFC 6455 §7.4.1: 1001 is an end that goes away.
#[tokio::test]
async fn sockets_say_goodbye_when_the_server_drains() {
    for versions in [Versions::Http1, Versions::Http2] {
        let client = client(versions);
        let server = listen(app());
        let (_, mut stream) = open((&server, &client, versions), "/ws", &[]).await;
        stream.write_all(b"\x81\x82\0\0\0\0hi").await.unwrap();
        let mut read = [0; 4];
        stream.read_exact(&mut read).await.unwrap();
        let goodbye = async {
            let mut read = [0; 4];
            stream.read_exact(&mut read).await.unwrap();
            assert!(read[0] == 0x88 && read[2..] == *b"\x03\xe9", "{read:x?}");
            stream.write_all(b"\x88\x82\0\0\0\0\x03\xe9").await.unwrap();
        };
        let drained = server.drain(Duration::from_secs(30));
        tokio::time::timeout(Duration::from_secs(10), async { tokio::join!(goodbye, drained) })
            .await
            .expect("the drain ends with the socket");
    }
}

#[tokio::test]
async fn another_server_does_not_answer_101() {
    let request = http::Request::get("/ws")
        .header("connection", "upgrade")
        .header("upgrade", "websocket")
        .header("sec-websocket-version", "13")
        .header("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ==");
    let response = app().oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
    assert_eq!(response.status(), 500);
    let text = axum::body::to_bytes(response.into_body(), 1_000).await.unwrap();
    assert!(text.ends_with(b"is not served by stoop_axum\n"), "{text:?}");
}
