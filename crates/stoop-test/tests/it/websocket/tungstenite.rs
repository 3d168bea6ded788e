//! tungstenite as the other end, in both roles.

use std::time::Duration;

use bytes::Bytes;
use stoop::{Address, Client, Server};
use stoop_websocket::{CloseCode, Message};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message as TheirMessage;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

use super::{echo, limits};
use futures_util::{SinkExt, StreamExt};

const LIMIT: Duration = Duration::from_secs(20);

const SIZES: [usize; 7] = [0, 1, 125, 126, 16_384, 65_536, 1_000_000];

#[tokio::test]
async fn tungstenite_talks_to_our_server() {
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(echo).unwrap();
    let Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let stream = TcpStream::connect(address).await.unwrap();
    let url = format!("ws://{address}/chat");
    let talking = async {
        let (mut socket, response) = tokio_tungstenite::client_async(url, stream).await.unwrap();
        assert_eq!(response.status(), 101);
        for size in SIZES {
            for message in
                [TheirMessage::text("x".repeat(size)), TheirMessage::binary(vec![size as u8; size])]
            {
                socket.send(message.clone()).await.unwrap();
                assert!(socket.next().await.unwrap().unwrap() == message, "{size} bytes");
            }
        }
        socket.send(TheirMessage::Ping(Bytes::from_static(b"?"))).await.unwrap();
        let pong = socket.next().await.unwrap().unwrap();
        assert_eq!(pong, TheirMessage::Pong(Bytes::from_static(b"?")));
        let frame = CloseFrame { code: 4000.into(), reason: "done".into() };
        socket.close(Some(frame)).await.unwrap();
        let TheirMessage::Close(Some(answer)) = socket.next().await.unwrap().unwrap() else {
            panic!("no Close frame");
        };
        assert_eq!(u16::from(answer.code), 4000);
        assert!(socket.next().await.is_none());
    };
    timeout(LIMIT, talking).await.unwrap();
}

#[tokio::test]
async fn our_client_talks_to_tungstenite() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/chat", listener.local_addr().unwrap());
    let serving = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(stream).await.unwrap();
        let (mut pinged, mut closed) = (false, None);
        while let Some(message) = socket.next().await {
            match message.unwrap() {
                message @ (TheirMessage::Text(_) | TheirMessage::Binary(_)) => {
                    socket.send(message).await.unwrap();
                }
                TheirMessage::Ping(_) => pinged = true,
                // It answers when it is asked for more.
                TheirMessage::Close(frame) => closed = frame,
                _ => {}
            }
        }
        (pinged, closed)
    });
    let talking = async {
        let mut socket = stoop_websocket::connect(&Client::new(), &url).await.unwrap();
        for size in SIZES {
            for message in [Message::from("x".repeat(size)), Message::from(vec![7; size])] {
                socket.send(message.clone()).await.unwrap();
                assert!(socket.recv().await.unwrap() == Some(message), "{size} bytes");
            }
        }
        socket.ping(b"?").await.unwrap();
        socket.close(CloseCode::new(4000).unwrap(), "done").await.unwrap();
    };
    timeout(LIMIT, talking).await.unwrap();
    let (pinged, frame) = serving.await.unwrap();
    let frame = frame.unwrap();
    assert!(pinged);
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (4000, "done"));
}
