//! A client behind a path that is slow and steady: it takes bytes all the time, though the server's kernel, which has
//! taken megabytes at once, takes none for longer than the limit.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use stoop::{Address, Client, Request, Response, Server, Versions};
use stoop_websocket::{ClientHandshake, Limits, ServerHandshake};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::limits;

/// What the path carries in a fiftieth of a second: 200 KB a second.
const PIECE: usize = 4_000;
const LIMIT: Duration = Duration::from_secs(2);
/// Longer than what the kernels take at once, and than a third of it, is on its way.
const SENDING: Duration = Duration::from_secs(12);

/// The near end of a path to `server`.
async fn slow_path(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        let (near, _) = listener.accept().await.unwrap();
        let far = TcpSocket::new_v4().unwrap();
        far.set_recv_buffer_size(64 << 10).unwrap();
        carry(near, far.connect(server).await.unwrap()).await;
    });
    address
}

async fn carry(near: TcpStream, far: TcpStream) {
    let (mut from_near, mut to_near) = near.into_split();
    let (mut from_far, mut to_far) = far.into_split();
    tokio::spawn(async move { copy(&mut from_near, &mut to_far).await });
    let mut piece = [0; PIECE];
    while let Ok(n @ 1..) = from_far.read(&mut piece).await {
        if to_near.write_all(&piece[..n]).await.is_err() {
            return;
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Sends for as long as that, and tells how it ended and how long the longest message waited.
async fn send_steadily(versions: Versions) -> (Result<(), String>, Duration) {
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let handler = move |request: Request| -> Response {
        let tell = tell.clone();
        let mut limits = Limits::default();
        limits.send_timeout = LIMIT;
        ServerHandshake::new().limits(limits).accept(&request, |mut socket| async move {
            let (begun, mut longest) = (Instant::now(), Duration::ZERO);
            let mut sent = Ok(());
            while sent.is_ok() && begun.elapsed() < SENDING {
                let sending = Instant::now();
                sent = socket.send_binary(&[1; 16 << 10]).await;
                longest = longest.max(sending.elapsed());
            }
            tell.send((sent.map_err(|error| error.to_string()), longest)).unwrap();
        })
    };
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits()).run_here(handler).unwrap();
    let Address::Inet(address) = *server.endpoint().address() else { panic!("it is over TCP") };
    let url = format!("ws://{}/", slow_path(address).await);
    let client = Client::builder().versions(versions).build().unwrap();
    let handshake = ClientHandshake::new().versions(versions);
    let mut socket = handshake.connect(&client, &url).await.unwrap();
    let receiving = tokio::spawn(async move { while let Ok(Some(_)) = socket.recv().await {} });
    let ended = timeout(Duration::from_secs(40), told.recv()).await.expect("it ends").unwrap();
    receiving.abort();
    ended
}

#[tokio::test]
async fn a_client_that_takes_bytes_slowly_and_steadily_is_not_given_up() {
    let (http1, http2) =
        tokio::join!(send_steadily(Versions::Http1), send_steadily(Versions::Http2));
    for (sent, longest) in [http1, http2] {
        assert_eq!(sent, Ok(()), "{longest:?}");
        if cfg!(target_os = "linux") {
            assert!(longest > LIMIT * 2, "the wait tests nothing: {longest:?}");
        }
    }
}
