//! RFC 6455 §4: the opening handshake, byte for byte; with our server, and with our client.

use std::sync::{Arc, Mutex};

use stoop::{Client, ClientBuilder, Request, Response, ServerLimits};
use stoop_websocket::{
    AnswerFault, ClientHandshake, ConnectError, Deflate, Message, NotAgreed, Origins,
    ServerHandshake,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};

use crate::kit::masked;

/// RFC 6455 §1.2: the client's handshake.
const EXAMPLE: &str = "GET /chat HTTP/1.1\r\nHost: server.example.com\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
    Origin: http://server.example.com\r\nSec-WebSocket-Protocol: chat, superchat\r\n\
    Sec-WebSocket-Version: 13\r\n\r\n";

/// A server that greets with the subprotocol, and sends each message back.
fn serve(handshake: ServerHandshake) -> DuplexStream {
    let (client, server) = duplex(64 * 1024);
    let handler = move |request: Request| -> Response {
        handshake.accept(&request, |mut socket| async move {
            let greeting = socket.protocol().unwrap_or("none").to_owned();
            socket.send_text(&greeting).await.unwrap();
            while let Ok(Some(message)) = socket.recv().await {
                socket.send(message).await.unwrap();
            }
        })
    };
    tokio::spawn(stoop::rt::serve(server, handler, ServerLimits::default()));
    client
}

async fn head(stream: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap().to_ascii_lowercase()
}

/// The head of the response to a request on a connection of its own.
async fn answer(handshake: ServerHandshake, request: &str) -> String {
    let mut stream = serve(handshake);
    stream.write_all(request.as_bytes()).await.unwrap();
    head(&mut stream).await
}

/// §4.2.2: what a server sends.
mod s4_2_2 {
    use super::*;

    #[tokio::test]
    async fn the_example_is_answered_as_in_the_example() {
        let handshake = ServerHandshake::new().protocols(["chat"]);
        let mut stream = serve(handshake);
        // The first frame may come with the request.
        stream.write_all(EXAMPLE.as_bytes()).await.unwrap();
        stream.write_all(&masked(0x81, b"Hello")).await.unwrap();
        let head = head(&mut stream).await;
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        for line in [
            "upgrade: websocket\r\n",
            "connection: upgrade\r\n",
            "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=\r\n",
            "sec-websocket-protocol: chat\r\n",
        ] {
            assert!(head.contains(line), "{head}");
        }
        assert!(!head.contains("extensions"), "{head}");
        let mut frames = [0; 13];
        stream.read_exact(&mut frames).await.unwrap();
        assert_eq!(&frames, b"\x81\x04chat\x81\x05Hello");
    }

    #[tokio::test]
    async fn the_servers_order_decides_between_subprotocols() {
        let handshake = ServerHandshake::new().protocols(["superchat", "chat"]);
        let head = answer(handshake, EXAMPLE).await;
        assert!(head.contains("sec-websocket-protocol: superchat\r\n"), "{head}");
        let head = answer(ServerHandshake::new().protocols(["other"]), EXAMPLE).await;
        assert!(
            head.starts_with("http/1.1 101 ") && !head.contains("sec-websocket-protocol"),
            "{head}"
        );
    }

    #[tokio::test]
    async fn compression_is_agreed_on_if_both_want_it() {
        let request = EXAMPLE
            .replace("Origin:", "Sec-WebSocket-Extensions: x, permessage-deflate\r\nOrigin:");
        let head = answer(ServerHandshake::new().deflate(Deflate::default()), &request).await;
        let line = "sec-websocket-extensions: permessage-deflate; server_no_context_takeover; \
                    client_no_context_takeover\r\n";
        assert!(head.contains(line), "{head}");
        let head = answer(ServerHandshake::new(), &request).await;
        assert!(head.starts_with("http/1.1 101 ") && !head.contains("extensions"), "{head}");
    }
}

/// §4.2.1, §4.4: requests that are not answered by 101.
mod s4_2_1 {
    use super::*;

    #[tokio::test]
    async fn what_is_missing_or_wrong_is_named() {
        let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let twice = format!("{key}{key}");
        let cases = [
            (
                "GET /chat HTTP/1.1",
                "POST /chat HTTP/1.1\r\nContent-Length: 0",
                "405",
                "allow: get\r\n",
            ),
            ("HTTP/1.1", "HTTP/1.0", "426", "upgrade: websocket\r\n"),
            ("Upgrade: websocket\r\n", "", "426", "upgrade: websocket\r\n"),
            ("Upgrade: websocket\r\n", "Upgrade: h2c\r\n", "426", "connection: "),
            ("Connection: Upgrade\r\n", "", "400", ""),
            (key, "", "400", ""),
            (key, &twice, "400", ""),
            (key, "Sec-WebSocket-Key: dGhl\r\n", "400", ""),
            ("Version: 13", "Version: 8", "426", "sec-websocket-version: 13\r\n"),
            ("Version: 13", "Version: 13\r\nSec-WebSocket-Version: 13", "426", ""),
            ("Sec-WebSocket-Version: 13\r\n", "", "426", "sec-websocket-version: 13\r\n"),
            ("http://server", "http://evil.server", "403", ""),
            ("chat, superchat", "chat superchat", "400", ""),
            ("Origin", "Sec-WebSocket-Extensions: a b\r\nOrigin", "400", ""),
        ];
        for (from, to, status, line) in cases {
            assert!(EXAMPLE.contains(from), "{from}");
            let head = answer(ServerHandshake::new(), &EXAMPLE.replace(from, to)).await;
            assert!(head.starts_with(&format!("http/1.1 {status} ")), "{from} {to}: {head}");
            assert!(head.contains(line), "{from} {to}: {head}");
        }
    }

    #[tokio::test]
    async fn what_is_written_differently_is_the_same() {
        for (from, to) in [
            ("Upgrade: websocket", "uPGRADE: h2c, WebSocket"),
            ("Connection: Upgrade", "Connection: keep-alive, upgrade"),
            ("Origin: http://server.example.com\r\n", ""),
            ("/chat", "/chat?room=1"),
            ("chat, superchat", "chat\r\nSec-WebSocket-Protocol: superchat"),
        ] {
            let head = answer(ServerHandshake::new(), &EXAMPLE.replace(from, to)).await;
            assert!(head.starts_with("http/1.1 101 "), "{from} {to}: {head}");
        }
        let evil = EXAMPLE.replace("http://server", "http://evil.server");
        let head = answer(ServerHandshake::new().origins(Origins::Any), &evil).await;
        assert!(head.starts_with("http/1.1 101 "), "{head}");
    }
}

/// §4.1: the client.
mod s4_1 {
    use super::*;

    /// A client whose server answers the head of a request by what `script` makes of the key.
    fn scripted(
        script: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> (Client, Arc<Mutex<String>>) {
        let seen = Arc::new(Mutex::new(String::new()));
        let (kept, script) = (seen.clone(), Arc::new(script));
        let connect = move || {
            let (client, mut server) = duplex(64 * 1024);
            let (kept, script) = (kept.clone(), script.clone());
            tokio::spawn(async move {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(server.read_u8().await.unwrap());
                }
                let head = String::from_utf8(head).unwrap();
                let key = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("sec-websocket-key").then_some(value)
                });
                let answer = script(key.unwrap());
                *kept.lock().unwrap() = head.to_ascii_lowercase();
                server.write_all(answer.as_bytes()).await.unwrap();
                let _ = server.read_u8().await;
            });
            client
        };
        let builder: ClientBuilder = Client::builder();
        (stoop::rt::connections_from(builder, connect).build().unwrap(), seen)
    }

    /// What our own server makes of the key.
    fn accept(key: &str) -> String {
        let request = Request::get("/").unwrap();
        let fields = [
            ("host", "a"),
            ("upgrade", "websocket"),
            ("connection", "upgrade"),
            ("sec-websocket-key", key),
            ("sec-websocket-version", "13"),
        ];
        let request = fields
            .iter()
            .fold(request, |request, (name, value)| request.with_field(name, value).unwrap());
        let (response, _) = ServerHandshake::new().prepare(&request).unwrap();
        let accept = response.field("sec-websocket-accept").unwrap();
        String::from_utf8(accept.to_vec()).unwrap()
    }

    fn switch(key: &str, more: &str) -> String {
        format!(
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: {}\r\n{more}\r\n",
            accept(key)
        )
    }

    #[tokio::test]
    async fn the_request_has_what_a_server_looks_for_and_what_the_caller_adds() {
        let (client, seen) = scripted(|key| switch(key, "Sec-WebSocket-Protocol: v1\r\n"));
        let handshake = ClientHandshake::new()
            .protocols(["v2", "v1"])
            .deflate(Deflate::default())
            .field("Origin", "http://a.test");
        let socket = handshake.connect(&client, "ws://a.test:81/chat?x=1").await.unwrap();
        assert_eq!(socket.protocol(), Some("v1"));
        let seen = seen.lock().unwrap().clone();
        assert!(seen.starts_with("get /chat?x=1 http/1.1\r\n"), "{seen}");
        for line in [
            "host: a.test:81\r\n",
            "upgrade: websocket\r\n",
            "connection: upgrade\r\n",
            "sec-websocket-version: 13\r\n",
            "sec-websocket-protocol: v2, v1\r\n",
            "origin: http://a.test\r\n",
            "sec-websocket-extensions: permessage-deflate; server_no_context_takeover; \
             client_no_context_takeover; client_max_window_bits\r\n",
        ] {
            assert!(seen.contains(line), "{line}{seen}");
        }
    }

    #[tokio::test]
    async fn an_answer_that_was_not_asked_for_fails() {
        type Script = fn(&str) -> String;
        let cases: [(Script, AnswerFault); 7] = [
            (|key| switch(key, "").replace("Accept: ", "Accept: x"), AnswerFault::Accept),
            (|key| switch(key, "").replace("-Accept", "-Accepted"), AnswerFault::Accept),
            (|_| switch("dGhlIHNhbXBsZSBub25jZQ==", ""), AnswerFault::Accept),
            (|key| switch(key, "Sec-WebSocket-Protocol: v3\r\n"), AnswerFault::Protocol),
            (
                |key| switch(key, "Sec-WebSocket-Protocol: v1\r\nSec-WebSocket-Protocol: v2\r\n"),
                AnswerFault::Protocol,
            ),
            (
                |key| switch(key, "Sec-WebSocket-Extensions: permessage-deflate\r\n"),
                AnswerFault::Extensions(NotAgreed::NotOffered),
            ),
            (
                |key| switch(key, "").replace("Upgrade: websocket", "Upgrade: websocket, other"),
                AnswerFault::Upgrade,
            ),
        ];
        for (script, fault) in cases {
            let (client, _) = scripted(script);
            let handshake = ClientHandshake::new().protocols(["v1", "v2"]);
            let error = handshake.connect(&client, "ws://a.test/").await.unwrap_err();
            assert!(matches!(error, ConnectError::Answer(found) if found == fault), "{error:?}");
        }
    }

    #[tokio::test]
    async fn a_status_other_than_101_is_handed_to_the_caller() {
        let (client, _) = scripted(|_| {
            "HTTP/1.1 401 Unauthorized\r\nContent-Length: 3\r\nWWW-Authenticate: Basic\r\n\r\nno!"
                .into()
        });
        let error = stoop_websocket::connect(&client, "ws://a.test/").await.unwrap_err();
        assert_eq!(error.to_string(), "the server opens no WebSocket: it answers 401 Unauthorized");
        let ConnectError::Declined(response) = error else { panic!("{error:?}") };
        assert_eq!(response.field("www-authenticate"), Some(&b"Basic"[..]));
        assert_eq!(response.into_body().bytes(9).await.unwrap(), "no!");
    }

    #[tokio::test]
    async fn what_the_caller_may_not_ask_for_is_refused_and_not_sent() {
        let client = Client::new();
        let connect = |handshake: ClientHandshake, url: &'static str| {
            let client = client.clone();
            async move { handshake.connect(&client, url).await.unwrap_err().to_string() }
        };
        let new = ClientHandshake::new;
        for (handshake, url, expected) in [
            (new(), "a.test/chat", "it has no scheme"),
            (new(), "ftp://a.test/", "its scheme is not ws"),
            (new(), "ws://a.test/#top", "it has a fragment"),
            (new().protocols(["a b"]), "ws://a.test/", "\"a b\" is no token"),
            (new().field("Sec-WebSocket-Key", "x"), "ws://a.test/", "belongs to the handshake"),
            (new().field("x", "a\r\nb"), "ws://a.test/", ""),
        ] {
            let error = connect(handshake, url).await;
            assert!(error.contains(expected), "{url}: {error}");
        }
    }

    #[tokio::test]
    async fn our_client_and_our_server_agree() {
        let handshake = ServerHandshake::new().protocols(["chat"]).deflate(Deflate::default());
        let handler = move |request: Request| -> Response {
            handshake.accept(&request, |mut socket| async move {
                while let Ok(Some(message)) = socket.recv().await {
                    socket.feed(message).await.unwrap();
                }
            })
        };
        let client = Client::builder().handler(handler).build().unwrap();
        let handshake = ClientHandshake::new().protocols(["chat"]).deflate(Deflate::default());
        let mut socket = handshake.connect(&client, "ws://a.test/chat").await.unwrap();
        assert_eq!(socket.protocol(), Some("chat"));
        let message = Message::from("hello ".repeat(1_000));
        socket.send(message.clone()).await.unwrap();
        assert_eq!(socket.recv().await.unwrap(), Some(message));
    }
}
