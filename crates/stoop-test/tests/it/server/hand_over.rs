//! Listening sockets that are handed over while clients connect: none is refused, none is reset, each is answered.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Binding, Request, Server, ServerHandle};
use stoop_test::http2;
use stoop_test::peer::RawPeer;
use tokio::net::{TcpStream, UnixStream};

use super::{GET, dial, hello, seconds};

const CLOSE: &str = "GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n";

fn start(place: Binding, workers: usize, name: &'static str) -> ServerHandle {
    Server::listen(place).unwrap().workers(workers).run(move |_: Request| name).unwrap()
}

/// The sockets of the one place of a server.
fn sockets(server: &ServerHandle) -> Vec<OwnedFd> {
    let mut places = server.sockets().unwrap();
    assert_eq!(places.len(), 1);
    places.remove(0)
}

/// One connection with one request; HTTP/1 and HTTP/2 by turns.
async fn ask(address: std::net::SocketAddr, turn: usize) -> String {
    let stream = TcpStream::connect(address).await.expect("no connection is refused");
    if turn.is_multiple_of(2) {
        let mut peer = RawPeer::new(stream);
        peer.send(CLOSE).await;
        return peer.response().await.expect("no connection is reset").text().to_owned();
    }
    let mut client = http2::Client::new(stream).await;
    let key = client.get("/").await;
    String::from_utf8(client.response(key).await.body).unwrap()
}

/// Of as many workers, of more, and of fewer, back and forth.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_client_notices_that_another_server_takes_the_place() {
    let first = start(Binding::new("127.0.0.1:0").unwrap(), 2, "server");
    let stoop::Address::Inet(address) = *first.endpoint().address() else { panic!("not TCP") };
    let (stop, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (stop, asked) = (stop.clone(), asked.clone());
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let turn = asked.fetch_add(1, Ordering::Relaxed);
                    assert_eq!(ask(address, turn).await, "server");
                }
            })
        })
        .collect();
    let mut server = first;
    for workers in [2, 4, 1, 3] {
        let before = asked.load(Ordering::Relaxed);
        while asked.load(Ordering::Relaxed) < before + 20 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let handed = sockets(&server);
        let next = start(Binding::from_sockets(handed).unwrap(), workers, "server");
        assert_eq!(server.drain(seconds(10)).await, 0);
        assert!(sockets(&server).is_empty(), "it has stopped");
        tokio::task::spawn_blocking(|| server.join()).await.unwrap();
        server = next;
    }
    stop.store(true, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert_eq!(server.drain(seconds(10)).await, 0);
}

/// More sockets than workers, of which each has a queue of its own.
#[tokio::test]
async fn one_worker_accepts_from_several_sockets() {
    let old = start(Binding::new("127.0.0.1:0").unwrap(), 4, "old");
    let handed = sockets(&old);
    assert_eq!(handed.len(), if cfg!(target_os = "linux") { 4 } else { handed.len() });
    let new = Server::listen(Binding::from_sockets(handed).unwrap()).unwrap();
    let new = new.run_here(|_: Request| "new").unwrap();
    assert_eq!(new.endpoint(), old.endpoint());
    assert_eq!(old.drain(seconds(5)).await, 0);
    // Spread by the kernel over the four.
    for _ in 0..32 {
        let mut peer = dial(&new).await;
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().text(), "new");
    }
    new.close().await;
}

#[tokio::test]
async fn the_file_of_a_unix_socket_stays_for_the_next_server() {
    let path = std::env::temp_dir().join(format!("stoop-handed-{}", std::process::id()));
    let old = start(Binding::new(path.as_path()).unwrap(), 2, "old");
    let new = start(Binding::from_sockets(sockets(&old)).unwrap(), 2, "new");
    assert_eq!(old.drain(seconds(5)).await, 0);
    let mut peer = RawPeer::new(UnixStream::connect(&path).await.unwrap());
    peer.send(GET).await;
    assert_eq!(peer.response().await.unwrap().text(), "new");
    new.close().await;
    std::fs::remove_file(&path).unwrap();
}

#[tokio::test]
async fn sockets_that_are_no_place_are_refused() {
    assert!(Binding::from_sockets([]).is_err());
    let listener = || OwnedFd::from(std::net::TcpListener::bind("127.0.0.1:0").unwrap());
    let apart = Binding::from_sockets([listener(), listener()]).unwrap();
    let error = Server::listen(apart).unwrap().run_here(hello).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    assert!(error.to_string().contains("listen on different addresses"), "{error}");
    let socket = OwnedFd::from(std::net::UdpSocket::bind("127.0.0.1:0").unwrap());
    let error = Server::listen(Binding::from_sockets([socket]).unwrap()).unwrap();
    assert_eq!(error.run_here(hello).unwrap_err().kind(), std::io::ErrorKind::InvalidInput);
}
