//! Over HTTP/1.1, HTTP/2 and TLS.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use stoop::rt::UpgradedStream;
use stoop::{
    Client, ClientTls, ErrorKind, Request, Response, Server, ServerLimits, ServerTls, Versions,
};
use stoop_websocket::{
    ClientHandshake, CloseCode, ConnectError, Deflate, Error, Message, ServerHandshake, WebSocket,
};
use tokio::time::timeout;

use super::{echo, limits, message_limits};

fn handshake(versions: Versions) -> ClientHandshake {
    ClientHandshake::new().protocols(["echo"]).versions(versions).limits(message_limits())
}

/// Sends messages of several sizes and closes.
async fn converse(mut socket: WebSocket<UpgradedStream>) {
    assert_eq!(socket.protocol(), Some("echo"));
    for size in [0, 5, 4_097, 70_000, 3_000_000] {
        let message = Message::from("stoop ".repeat(size / 6 + 1));
        // Both at once: neither end holds as much as a large message.
        let (mut sender, mut receiver) = socket.split();
        let (sent, received) = tokio::join!(sender.send(message.clone()), receiver.recv());
        sent.unwrap();
        assert!(received.unwrap() == Some(message), "{size} bytes");
        socket = WebSocket::join(sender, receiver).unwrap();
    }
    socket.close(CloseCode::NORMAL, "bye").await.unwrap();
    assert_eq!(socket.close_reason().unwrap().code, CloseCode::NORMAL);
}

#[tokio::test]
async fn over_http1_and_http2_without_tls() {
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(echo).unwrap();
    let url = format!("{}/chat", server.endpoint()).replace("http:", "ws:");
    let client = Client::new();
    for versions in [Versions::Http1, Versions::Http2, Versions::All] {
        for deflate in [false, true] {
            let mut handshake = handshake(versions);
            if deflate {
                handshake = handshake.deflate(Deflate::default());
            }
            converse(handshake.connect(&client, &url).await.unwrap()).await;
        }
    }
}

#[tokio::test]
async fn over_tls_by_what_alpn_agrees_on() {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let (certificate, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let tls = ServerTls::builder().certificate_pem(certificate.as_str(), key).build().unwrap();
    let server = |limits: ServerLimits, versions| {
        let server = Server::listen("https://127.0.0.1:0").unwrap().limits(limits);
        server.versions(versions).tls(tls.clone()).run_here(echo).unwrap()
    };
    let both = server(limits(), Versions::All);
    let no_extended_connect = server(ServerLimits::default(), Versions::All);
    let http1 = server(limits(), Versions::Http1);
    let trusted = ClientTls::builder().ca_pem(certificate).build().unwrap();
    let client = Client::builder().tls(trusted).build().unwrap();
    let url = |server: &stoop::ServerHandle| {
        let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!() };
        format!("wss://localhost:{}/chat", address.port())
    };
    for versions in [Versions::Http1, Versions::Http2, Versions::All] {
        converse(handshake(versions).connect(&client, &url(&both)).await.unwrap()).await;
    }
    let refused = handshake(Versions::Http2).connect(&client, &url(&no_extended_connect)).await;
    let Err(ConnectError::Http(error)) = refused else { panic!("{refused:?}") };
    assert_eq!(error.kind(), ErrorKind::H2Refused);
    for server in [&no_extended_connect, &http1] {
        converse(handshake(Versions::All).connect(&client, &url(server)).await.unwrap()).await;
    }
    // RFC 6455 §10.2: a page that came without TLS may be another's.
    for versions in [Versions::Http1, Versions::Http2] {
        let of = |scheme: &str| {
            let origin = url(&both).replace("wss", scheme).replace("/chat", "");
            handshake(versions).field("origin", origin)
        };
        converse(of("https").connect(&client, &url(&both)).await.unwrap()).await;
        let refused = of("http").connect(&client, &url(&both)).await;
        let Err(ConnectError::Declined(response)) = refused else { panic!("{refused:?}") };
        assert_eq!(response.status(), 403);
    }
}

/// RFC 8441: a WebSocket is one stream of many.
#[tokio::test]
async fn websockets_share_an_http2_connection_with_requests() {
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(echo).unwrap();
    let url = server.endpoint().to_string();
    let client = Client::builder().versions(Versions::Http2).build().unwrap();
    let mut sockets = Vec::new();
    for _ in 0..20 {
        sockets
            .push(handshake(Versions::Http2).connect(&client, &format!("{url}/ws")).await.unwrap());
    }
    for (n, socket) in sockets.iter_mut().enumerate() {
        socket.send(n.to_string().into()).await.unwrap();
    }
    let page = client.get(&url).await.unwrap().into_body().bytes(100).await.unwrap();
    assert_eq!(page, "a page");
    for (n, mut socket) in sockets.into_iter().enumerate() {
        assert_eq!(socket.recv().await.unwrap(), Some(n.to_string().into()));
        socket.close(CloseCode::NORMAL, "").await.unwrap();
    }
    let refused = client.get(format!("{url}/ws")).await.unwrap();
    assert_eq!(refused.status(), 400, "a plain GET over HTTP/2");
}

/// What a worker's connections share need not be `Send`.
#[test]
fn on_a_servers_own_cores_a_handler_shares_what_belongs_to_its_core() {
    let make = || {
        let handshake = ServerHandshake::new();
        let counted = Rc::new(Cell::new(0));
        let handler = move |request: Request| -> Response {
            let counted = counted.clone();
            handshake.accept_local(&request, move |mut socket| async move {
                counted.set(counted.get() + 1);
                let _ = socket.send_text(&format!("{}", counted.get())).await;
                let _ = socket.close(CloseCode::GOING_AWAY, "").await;
            })
        };
        stoop::IntoHandler::into_handler(handler)
    };
    let server = Server::listen("127.0.0.1:0").unwrap().workers(1).run_with(make).unwrap();
    let url = server.endpoint().to_string();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let client = Client::new();
        for n in 1..=3 {
            let mut socket = stoop_websocket::connect(&client, &url).await.unwrap();
            assert_eq!(socket.recv().await.unwrap(), Some(Message::from(n.to_string())));
            assert_eq!(socket.recv().await.unwrap(), None);
        }
    });
}

#[tokio::test]
async fn a_client_that_goes_without_a_word_ends_the_servers_task() {
    let (told, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| -> Response {
        let told = told.clone();
        stoop_websocket::accept(&request, |mut socket| async move {
            told.send(socket.recv().await.map_err(|error| error.to_string())).unwrap();
        })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(handler).unwrap();
    let url = server.endpoint().to_string();
    let client = Client::new();
    for versions in [Versions::Http1, Versions::Http2] {
        let handshake = ClientHandshake::new().versions(versions);
        drop(handshake.connect(&client, &url).await.unwrap());
        let end = timeout(Duration::from_secs(5), ended.recv()).await.unwrap().unwrap();
        let expected = "the peer ended the connection without a Close frame".to_owned();
        assert_eq!(end, Err(expected), "{versions:?}");
    }
}

/// RFC 6455 §7.4.1: 1001 says that an endpoint is going away, such as a server that goes down.
#[tokio::test]
async fn a_server_that_drains_closes_its_sockets_with_1001() {
    for versions in [Versions::Http1, Versions::Http2] {
        let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).workers(2);
        let server = server.run(echo).unwrap();
        let url = format!("{}/chat", server.endpoint()).replace("http:", "ws:");
        let mut socket = handshake(versions).connect(&Client::new(), &url).await.unwrap();
        socket.send_text("hello").await.unwrap();
        assert_eq!(socket.recv().await.unwrap(), Some(Message::from("hello")));
        let drained = server.drain(Duration::from_secs(5));
        let (drained, end) = tokio::join!(drained, socket.recv());
        assert_eq!((drained, end.unwrap()), (0, None), "{versions:?}");
        assert_eq!(socket.close_reason().unwrap().code, CloseCode::GOING_AWAY);
    }
}

/// The connection had left the server, and the socket did not hold the drain up yet.
#[tokio::test]
async fn a_drain_waits_for_a_socket_whose_task_has_not_begun() {
    for versions in [Versions::Http1, Versions::Http2] {
        let (give, mut given) = tokio::sync::mpsc::unbounded_channel();
        let handler = move |request: Request| -> Response {
            let (response, pending) = ServerHandshake::new().prepare(&request).unwrap();
            give.send(pending).unwrap();
            response
        };
        let server = Server::listen("127.0.0.1:0").unwrap().limits(limits());
        let server = server.run_here(handler).unwrap();
        let url = format!("{}/chat", server.endpoint()).replace("http:", "ws:");
        let mut socket = handshake(versions).connect(&Client::new(), &url).await.unwrap();
        let begin = async {
            server.draining().await;
            assert!(timeout(Duration::from_millis(50), server.ended()).await.is_err());
            let mut begun = given.recv().await.unwrap().await.unwrap();
            assert_eq!(begun.recv().await.unwrap(), None);
        };
        let drained = server.drain(Duration::from_secs(30));
        let (drained, end, ()) = tokio::join!(drained, socket.recv(), begin);
        assert_eq!((drained, end.unwrap()), (0, None), "{versions:?}");
        assert_eq!(socket.close_reason().unwrap().code, CloseCode::GOING_AWAY);
    }
}

#[tokio::test]
async fn a_socket_may_stay_when_the_server_drains() {
    let staying = ServerHandshake::new().close_on_drain(false);
    let handler = move |request: Request| {
        staying.accept(&request, |mut socket| async move {
            while let Ok(Some(message)) = socket.recv().await {
                socket.send(message).await.unwrap();
            }
        })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(handler).unwrap();
    let url = format!("{}/chat", server.endpoint()).replace("http:", "ws:");
    let mut socket = ClientHandshake::new().connect(&Client::new(), &url).await.unwrap();
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
    socket.send_text("still here").await.unwrap();
    assert_eq!(socket.recv().await.unwrap(), Some(Message::from("still here")));
    socket.close(CloseCode::NORMAL, "").await.unwrap();
}

/// Its windows stay shut: TCP's over HTTP/1, over HTTP/2 that of its stream, whose connection goes on.
#[tokio::test]
async fn a_client_that_takes_nothing_is_given_up() {
    let (told, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| -> Response {
        if request.path() == "/" {
            return Response::from_text("a page");
        }
        let told = told.clone();
        let mut limits = message_limits();
        limits.send_timeout = Duration::from_millis(200);
        ServerHandshake::new().limits(limits).accept(&request, |mut socket| async move {
            let sent = socket.send_binary(&vec![1; 32 << 20]).await;
            told.send(matches!(sent, Err(Error::SendTimeout))).unwrap();
        })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(handler).unwrap();
    let url = server.endpoint().to_string();
    for versions in [Versions::Http1, Versions::Http2] {
        let client = Client::builder().versions(versions).build().unwrap();
        let handshake = ClientHandshake::new().versions(versions);
        let mut socket = handshake.connect(&client, &format!("{url}/chat")).await.unwrap();
        let is_stuck = timeout(Duration::from_secs(30), ended.recv()).await;
        assert_eq!(is_stuck, Ok(Some(true)), "{versions:?}");
        let page = client.get(&url).await.unwrap().into_body().bytes(100).await.unwrap();
        assert_eq!(page, "a page");
        // What was on its way ends within the message.
        assert!(socket.recv().await.is_err());
    }
}

/// How much of what was written the client has not taken: it reads, and there is less of it.
#[tokio::test]
async fn what_a_client_has_not_taken_is_known_over_tcp() {
    let (give, mut given) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| -> Response {
        let give = give.clone();
        stoop_websocket::accept(&request, |socket| async move { give.send(socket).unwrap() })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().run_here(handler).unwrap();
    let url = server.endpoint().to_string();
    let mut client = stoop_websocket::connect(&Client::new(), &url).await.unwrap();
    let mut socket = given.recv().await.unwrap();
    let sending = socket.send(Message::from(vec![1; 16 << 20]));
    assert!(timeout(Duration::from_millis(200), sending).await.is_err(), "it is not read");
    let before = socket.get_ref().backlog();
    if cfg!(target_os = "linux") {
        assert!(before > 0);
    }
    let receiving = tokio::spawn(async move { client.recv().await });
    socket.flush().await.unwrap();
    let _ = receiving.await;
    timeout(Duration::from_secs(10), async {
        while socket.get_ref().backlog() > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await
    .expect("all of it was taken");
}
