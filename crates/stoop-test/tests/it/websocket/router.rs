//! WebSockets in a router of stoop-web, by one handler for GET and the CONNECT of HTTP/2.

use std::time::Duration;

use stoop::{Client, Request, Response, Server, ServerHandle, Versions};
use stoop_web::{Path, Router, State, get};
use stoop_websocket::{ClientHandshake, CloseCode, ConnectError, Limits, Message, ServerHandshake};

use super::limits;

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

fn chat(
    State(terms): State<ServerHandshake>,
    Path(room): Path<String>,
    request: Request,
) -> Response {
    terms.accept(&request, move |mut socket| async move {
        while let Ok(Some(Message::Text(text))) = socket.recv().await {
            if socket.send_text(&format!("{room}: {text}")).await.is_err() {
                return;
            }
        }
    })
}

fn serve() -> ServerHandle {
    let mut short = Limits::default();
    short.message_bytes_max = 100;
    let app = Router::new()
        .route("/rooms/{room}", get(chat).connect(chat))
        .route("/only-get/{room}", get(chat))
        .state(ServerHandshake::new().limits(short))
        .build();
    Server::listen("127.0.0.1:0").unwrap().limits(limits()).run(app.unwrap()).unwrap()
}

fn url(server: &ServerHandle, path: &str) -> String {
    format!("ws://127.0.0.1:{}{path}", server.port())
}

#[tokio::test]
async fn a_route_opens_them_over_both_versions_and_its_drain_closes_them_with_1001() {
    let (server, client) = (serve(), Client::new());
    let mut sockets = Vec::new();
    for versions in VERSIONS {
        let handshake = ClientHandshake::new().versions(versions);
        let mut socket = handshake.connect(&client, &url(&server, "/rooms/a%20b")).await.unwrap();
        socket.send_text("hello").await.unwrap();
        assert_eq!(socket.recv().await.unwrap(), Some(Message::from("a b: hello")));
        sockets.push(socket);
    }
    let drain = server.drain(Duration::from_secs(60));
    let goodbyes = async {
        for socket in &mut sockets {
            assert_eq!(socket.recv().await.unwrap(), None);
            assert_eq!(socket.close_reason().unwrap().code, CloseCode::GOING_AWAY);
        }
    };
    assert_eq!(tokio::join!(drain, goodbyes).0, 0);
}

#[tokio::test]
async fn a_message_beyond_the_limit_of_the_route_closes_the_socket_with_1009() {
    let (server, client) = (serve(), Client::new());
    for versions in VERSIONS {
        let handshake = ClientHandshake::new().versions(versions);
        let mut socket = handshake.connect(&client, &url(&server, "/rooms/a")).await.unwrap();
        socket.send_text(&"x".repeat(100)).await.unwrap();
        assert!(matches!(socket.recv().await, Ok(Some(_))));
        socket.send_text(&"x".repeat(101)).await.unwrap();
        assert_eq!(socket.recv().await.unwrap(), None);
        assert_eq!(socket.close_reason().unwrap().code, CloseCode::TOO_LARGE, "{versions:?}");
    }
    server.close().await;
}

#[tokio::test]
async fn a_request_that_is_no_handshake_and_a_connect_without_its_method_are_refused() {
    let server = serve();
    for (versions, status) in VERSIONS.into_iter().zip([426, 400]) {
        let client = Client::builder().versions(versions).build().unwrap();
        let page = client.get(url(&server, "/rooms/a").replace("ws:", "http:")).await.unwrap();
        assert_eq!(page.status(), status);
    }
    let handshake = ClientHandshake::new().versions(Versions::Http2);
    let declined = handshake.connect(&Client::new(), &url(&server, "/only-get/a")).await;
    let Err(ConnectError::Declined(response)) = declined else { panic!("{declined:?}") };
    assert_eq!(response.status(), 405);
    server.close().await;
}
