//! Through a server and a client of stoop's, in memory: over HTTP/2 it is the window of a stream that stays shut.

use super::*;

use stoop::rt::UpgradedStream;
use stoop::{Client, Request, Response, ServerLimits, Versions};
use stoop_websocket::{ClientHandshake, ServerHandshake};
use tokio::sync::mpsc;

type Socket = WebSocket<UpgradedStream>;

/// Of a server and its client.
async fn sockets(versions: Versions) -> (Socket, Socket) {
    let (give, mut given) = mpsc::unbounded_channel();
    let handler = move |request: Request| -> Response {
        let give = give.clone();
        let handshake = ServerHandshake::new().limits(limits());
        handshake.accept(&request, |socket| async move { give.send(socket).unwrap() })
    };
    let connect = move || {
        let (ours, theirs) = duplex(16 * 1024);
        let mut limits = ServerLimits::default();
        limits.wire.http2.extended_connect = true;
        tokio::spawn(stoop::rt::serve(theirs, handler.clone(), limits));
        ours
    };
    let client = stoop::rt::connections_from(Client::builder().versions(versions), connect);
    let handshake = ClientHandshake::new().versions(versions).limits(limits());
    let client = handshake.connect(&client.build().unwrap(), "ws://here/").await.unwrap();
    (given.recv().await.unwrap(), client)
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_nothing_is_given_up() {
    for versions in [Versions::Http1, Versions::Http2] {
        let (mut server, _client) = sockets(versions).await;
        let begun = Instant::now();
        assert!(is_stuck(&server.send_binary(&vec![1; 1 << 20]).await), "{versions:?}");
        let elapsed = begun.elapsed().as_secs();
        assert!((30..=30 + LATE).contains(&elapsed), "{versions:?}: {elapsed} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_nothing_is_given_up() {
    for versions in [Versions::Http1, Versions::Http2] {
        let (_server, mut client) = sockets(versions).await;
        let begun = Instant::now();
        assert!(is_stuck(&client.send_binary(&vec![1; 4 << 20]).await), "{versions:?}");
        let elapsed = begun.elapsed().as_secs();
        assert!((30..=30 + LATE).contains(&elapsed), "{versions:?}: {elapsed} s");
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_that_reads_slowly_and_steadily_is_not_given_up() {
    // Its window is opened again when half of it was read.
    const MESSAGES: usize = 200;
    for versions in [Versions::Http1, Versions::Http2] {
        let (mut server, mut client) = sockets(versions).await;
        let begun = Instant::now();
        let reading = tokio::spawn(async move {
            for _ in 0..MESSAGES {
                sleep(Duration::from_secs(1)).await;
                client.recv().await.unwrap().unwrap();
            }
            client
        });
        for _ in 0..MESSAGES {
            server.send_binary(&[1; 16 << 10]).await.unwrap();
        }
        assert!(begun.elapsed().as_secs() > 100, "{versions:?}");
        drop(reading.await.unwrap());
    }
}
