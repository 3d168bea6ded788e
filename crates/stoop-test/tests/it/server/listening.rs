//! Accepting connections: how many, on which addresses, and errors of listening.

use std::collections::HashMap;
use std::time::Duration;

use stoop::{Request, Server, ServerLimits};
use tokio::time::{sleep, timeout};

use super::{GET, dial, hello, listen, seconds};

#[tokio::test]
async fn at_the_bound_connections_wait_until_one_ends() {
    let mut limits = ServerLimits::default();
    limits.connections_max = 3;
    let server = listen(limits, hello);
    let mut peers = Vec::new();
    for _ in 0..3 {
        let mut peer = dial(&server).await;
        peer.send(GET).await;
        peer.response().await.unwrap();
        peers.push(peer);
    }
    let mut fourth = dial(&server).await;
    fourth.send(GET).await;
    let waited = timeout(Duration::from_millis(100), fourth.response()).await;
    assert!(waited.is_err(), "it waits in the kernel's queue");
    assert_eq!(server.connections(), 3);
    drop(peers.pop());
    assert_eq!(fourth.response().await.unwrap().status, 200);
    // The other connections go on.
    for peer in &mut peers {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
    }
    // The server stops at the bound too.
    assert_eq!(server.drain(Duration::from_secs(5)).await, 0);
}

/// Also where several workers accept at the same time, and hand connections over.
#[test]
fn the_bound_holds_over_all_workers() {
    const MAX: usize = 5;
    let mut limits = ServerLimits::default();
    limits.connections_max = MAX;
    let server = Server::listen("127.0.0.1:0").unwrap().workers(4).limits(limits);
    let server = server.run(hello).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..20 {
            let mut waiting = tokio::task::JoinSet::new();
            for _ in 0..40 {
                let mut peer = dial(&server).await;
                waiting.spawn(async move {
                    peer.send(GET).await;
                    peer.response().await.map(|_| peer)
                });
            }
            let mut answered = Vec::new();
            while let Ok(Some(next)) = timeout(seconds(1) / 50, waiting.join_next()).await {
                answered.push(next.unwrap().unwrap());
                // The pause gives slow machines, too, the time to exceed the bound.
                assert!(answered.len() <= MAX, "{} connections", server.connections());
            }
            while answered.len() < MAX {
                answered.push(waiting.join_next().await.unwrap().unwrap().unwrap());
            }
            // The next connection is served as soon as one ends.
            drop(answered.pop());
            answered.push(waiting.join_next().await.unwrap().unwrap().unwrap());
            drop((waiting, answered));
            while server.connections() > 0 {
                sleep(seconds(1) / 1_000).await;
            }
        }
        server.close().await;
    });
    server.join();
}

#[test]
fn two_workers_have_equal_shares() {
    let server = Server::listen("127.0.0.1:0").unwrap().workers(2);
    let server = server.run(|_: Request| format!("{:?}", std::thread::current().id())).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        for _ in 0..3 {
            let (mut peers, mut shares) = (Vec::new(), HashMap::<String, u32>::new());
            for _ in 0..64 {
                peers.push(dial(&server).await);
            }
            for peer in &mut peers {
                peer.send(GET).await;
                *shares.entry(peer.response().await.unwrap().text().to_owned()).or_default() += 1;
            }
            assert_eq!(shares.len(), 2);
            // The tolerance is 12 % of 32.
            assert!(shares.values().all(|&share| share.abs_diff(32) <= 3), "{shares:?}");
            drop(peers);
            while server.connections() > 0 {
                sleep(Duration::from_millis(1)).await;
            }
            // A connection gives its place on a worker back just after it is counted as closed.
            sleep(Duration::from_millis(20)).await;
        }
        server.close().await;
    });
    server.join();
}

#[tokio::test]
async fn a_unix_socket_is_served_and_its_file_removed() {
    let path = std::env::temp_dir().join(format!("stoop-it-{}.sock", std::process::id()));
    let endpoint = format!("unix:{}", path.display());
    let server = Server::listen(endpoint.as_str()).unwrap().run_here(hello).unwrap();
    let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
    let mut peer = stoop_test::peer::RawPeer::new(stream);
    peer.send([GET, "nonsense\r\n\r\n"].concat()).await;
    assert_eq!(peer.response().await.unwrap().text(), "hello");
    assert_eq!(peer.response().await.unwrap().status, 400);
    assert!(peer.is_closed().await);

    let error = Server::listen(endpoint.as_str()).unwrap().run_here(hello).unwrap_err();
    let text = error.to_string();
    assert!(text.contains(&endpoint) && text.contains("choose another path"), "{text}");
    server.close().await;
    assert!(!path.exists());
}

/// As by a process that it was handed over to.
#[tokio::test]
async fn a_place_whose_socket_is_shut_down_took_the_others_with_it() {
    let broken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let copy = socket2::Socket::from(broken.try_clone().unwrap());
    let server = Server::listen("127.0.0.1:0").unwrap().also_listen(broken).unwrap();
    let server = server.also_listen("127.0.0.1:0").unwrap().run_here(hello).unwrap();
    copy.shutdown(std::net::Shutdown::Both).unwrap();
    for place in [0, 2, 0] {
        let stoop::Address::Inet(address) = *server.endpoints()[place].address() else {
            panic!("not TCP")
        };
        let stream = tokio::net::TcpStream::connect(address).await.unwrap();
        let mut peer = stoop_test::peer::RawPeer::new(stream);
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().text(), "hello", "{place}");
    }
    assert_eq!(server.drain(seconds(5)).await, 0);
}

#[tokio::test]
async fn an_endpoint_that_cannot_be_listened_on_is_an_error_that_says_what_to_do() {
    let server = listen(ServerLimits::default(), hello);
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let taken = address.to_string();
    let rows = [
        (taken.as_str(), "another program listens there"),
        ("192.0.2.1:8080", "no network interface of this machine has that address"),
        ("unix:/no/such/directory/socket", "create it first"),
        ("unix:/etc/hostname", "no socket"),
        ("https://127.0.0.1:0", "certificate"),
    ];
    for (endpoint, advice) in rows {
        let server = Server::listen(endpoint).unwrap();
        let error = server.run_here(hello).err().unwrap_or_else(|| panic!("{endpoint}"));
        let text = error.to_string();
        assert!(text.starts_with("cannot listen on ") && text.contains(advice), "{text}");
        // Also as a program's `main` prints it, and as the library's error.
        assert_eq!(format!("{error:?}"), format!("ListenError({text})"));
        let error = stoop::Error::from(error).to_string();
        assert!(error.starts_with(&text), "{error}");
    }
    let several = Server::listen(taken.as_str()).unwrap().workers(2);
    assert!(several.run(hello).unwrap_err().to_string().contains(&taken));
    for nonsense in ["nonsense", "127.0.0.1:99999", "a b:80", "ftp://127.0.0.1", "unix:a"] {
        let error = Server::listen(nonsense).map(drop).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with(&format!("cannot listen on {nonsense:?}: ")), "{text}");
    }
    server.close().await;
}

/// One handler and one bound for TCP, a Unix socket, and a socket of the caller's, on every worker.
#[test]
fn a_server_listens_in_several_places() {
    let path = std::env::temp_dir().join(format!("stoop-it-several-{}.sock", std::process::id()));
    let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let own_port = own.local_addr().unwrap().port();
    for workers in [1, 3] {
        let server = Server::listen(stoop::Binding::new(&*path).unwrap().mode(0o600))
            .and_then(|server| server.also_listen("127.0.0.1:0"))
            .and_then(|server| server.also_listen(own.try_clone().unwrap()))
            .unwrap()
            .workers(workers)
            .run(hello)
            .unwrap();
        let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
        assert_eq!(mode & 0o777, 0o600);
        let places: Vec<_> = server.endpoints().iter().map(ToString::to_string).collect();
        let port = server.port();
        let unix = format!("unix:{}", path.display());
        let expected =
            [unix, format!("http://127.0.0.1:{port}"), format!("http://127.0.0.1:{own_port}")];
        assert_eq!(places, expected);
        assert_eq!(server.endpoint().to_string(), expected[0]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            for _ in 0..20 {
                let mut peers = Vec::new();
                for port in [port, own_port] {
                    let stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
                    let mut peer = stoop_test::peer::RawPeer::new(stream);
                    peer.send(GET).await;
                    assert_eq!(peer.response().await.unwrap().text(), "hello");
                    peers.push(peer);
                }
                let stream = tokio::net::UnixStream::connect(&path).await.unwrap();
                let mut peer = stoop_test::peer::RawPeer::new(stream);
                peer.send(GET).await;
                assert_eq!(peer.response().await.unwrap().text(), "hello");
                assert!(server.connections() >= 3);
            }
            assert_eq!(server.drain(seconds(5)).await, 0);
        });
        server.join();
        assert!(!path.exists());
    }
    // The caller's own socket outlives the servers it was lent to.
    std::net::TcpStream::connect(("127.0.0.1", own_port)).unwrap();
}

#[tokio::test]
async fn of_several_addresses_the_first_that_can_be_listened_on_is_taken() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let _held = std::net::TcpListener::bind(taken).unwrap();
    let free = std::net::SocketAddr::from(([127, 0, 0, 1], 0));
    let server = Server::listen(&[taken, free][..]).unwrap().run_here(hello).unwrap();
    assert!(server.port() != 0 && server.port() != taken.port());
    server.close().await;
    let error = Server::listen(&[taken, taken][..]).unwrap().run_here(hello).unwrap_err();
    let text = error.to_string();
    let both = format!("cannot listen on {taken}, {taken}: ");
    assert!(text.starts_with(&both) && text.contains("another program listens there"), "{text}");
}

#[tokio::test]
async fn a_descriptor_that_does_not_listen_is_refused() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connected = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let datagram = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    let file = std::fs::File::open("/etc/hostname").unwrap();
    for fd in [std::os::fd::OwnedFd::from(connected), datagram.into(), file.into()] {
        let error = Server::listen(fd).unwrap().run_here(hello).unwrap_err();
        assert!(error.to_string().starts_with("cannot listen on descriptor "), "{error}");
    }
}

/// The bound on connections holds over all places, and each place has its turn.
#[tokio::test]
async fn a_busy_place_does_not_starve_another() {
    let server = Server::listen("127.0.0.1:0").unwrap().also_listen("127.0.0.1:0").unwrap();
    let server = server.run_here(hello).unwrap();
    let port = |endpoint: &stoop::Endpoint| match endpoint.address() {
        stoop::Address::Inet(address) => address.port(),
        stoop::Address::Unix(_) => 0,
    };
    let (busy, quiet) = (port(&server.endpoints()[0]), port(&server.endpoints()[1]));
    let flood = tokio::spawn(async move {
        loop {
            drop(tokio::net::TcpStream::connect(("127.0.0.1", busy)).await);
        }
    });
    for _ in 0..20 {
        let stream = tokio::net::TcpStream::connect(("127.0.0.1", quiet)).await.unwrap();
        let mut peer = stoop_test::peer::RawPeer::new(stream);
        peer.send(GET).await;
        let answered = timeout(seconds(2), peer.response()).await.expect("it has its turn");
        assert_eq!(answered.unwrap().text(), "hello");
    }
    flood.abort();
    server.close().await;
}
