//! Listening and accepting, over real sockets of this machine.

use std::future::poll_fn;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use socket2::SockRef;
use stoop_io::{
    Accepted, Balance, ConnectionSlot, FillResult, ListenAddress, ListenOptions, Listener, Output,
    PeerAddress, PlacedConnection, Stopper, Transport, Worker, WorkerHandle, Workers,
};

const OPTIONS: ListenOptions =
    ListenOptions { backlog: 4096, reuse_port: false, nodelay: true, mode: None };

fn any_port() -> ListenAddress {
    SocketAddr::from(([127, 0, 0, 1], 0)).into()
}

fn inet(listener: &Listener) -> SocketAddr {
    listener.address().inet().expect("a TCP listener")
}

/// A path for a socket that no other test uses.
struct Path(PathBuf);

impl Path {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        Self(path)
    }

    fn address(&self) -> ListenAddress {
        self.0.clone().into()
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

#[test]
fn the_defaults_are_the_documented_ones() {
    assert_eq!(ListenOptions::default(), OPTIONS);
}

#[tokio::test]
async fn a_connection_is_accepted_and_then_registered() {
    let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
    assert_ne!(inet(&listener).port(), 0);
    let mut client = TcpStream::connect(inet(&listener)).unwrap();
    let accepted = listener.accept().await.unwrap();
    assert_eq!(accepted.peer(), PeerAddress::Inet(client.local_addr().unwrap()));
    let socket = SockRef::from(&accepted);
    assert!(socket.tcp_nodelay().unwrap(), "inherited");
    assert!(socket.nonblocking().unwrap());
    let mut transport = accepted.register().unwrap();
    client.write_all(b"ping").unwrap();
    assert_eq!(poll_fn(|cx| transport.poll_fill(cx, 100)).await.unwrap(), FillResult::Bytes(4));
    let mut out = Output::default();
    out.put(b"pong");
    poll_fn(|cx| transport.poll_flush(cx, &mut out)).await.unwrap();
    let mut answer = [0; 4];
    client.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"pong");
    assert_eq!(listener.starved(), 0);
}

#[tokio::test]
async fn an_accepted_socket_may_go_to_another_thread_first() {
    let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
    let mut client = TcpStream::connect(inet(&listener)).unwrap();
    let accepted = listener.accept().await.unwrap();
    let there = std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut transport = accepted.register().unwrap();
            poll_fn(|cx| transport.poll_fill(cx, 100)).await.unwrap();
            transport.received().to_vec()
        })
    });
    client.write_all(b"hello").unwrap();
    assert_eq!(there.join().unwrap(), b"hello");
}

#[tokio::test]
async fn per_core_listeners_share_a_port_and_serve_every_connection() {
    let mut listeners = Listener::per_core(&any_port(), 4, &OPTIONS).unwrap();
    let address = inet(&listeners[0]);
    assert!(listeners.iter().all(|listener| inet(listener) == address));
    let clients: Vec<_> = (0..40).map(|_| TcpStream::connect(address).unwrap()).collect();
    let mut served = [0; 4];
    for _ in &clients {
        poll_fn(|cx| {
            for (listener, served) in listeners.iter_mut().zip(&mut served) {
                if let Poll::Ready(accepted) = listener.poll_accept(cx) {
                    drop(accepted.unwrap());
                    *served += 1;
                    return Poll::Ready(());
                }
            }
            Poll::Pending
        })
        .await;
    }
    if cfg!(target_os = "linux") {
        assert!(served.iter().filter(|&&served| served > 0).count() > 1, "{served:?}");
    }
}

#[test]
fn a_port_that_is_taken_is_an_error_unless_sharing_is_asked_for() {
    let sharing = ListenOptions { reuse_port: true, ..OPTIONS };
    for first in [OPTIONS, sharing] {
        let taken = Listener::per_core(&any_port(), 2, &first).unwrap();
        let address = taken[0].address();
        let error = Listener::bind(address, &OPTIONS).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        let error = Listener::per_core(address, 2, &OPTIONS).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
    }
    let first = Listener::per_core(&any_port(), 2, &sharing).unwrap();
    assert_eq!(Listener::per_core(first[0].address(), 2, &sharing).unwrap().len(), 2);
}

#[tokio::test]
async fn a_restart_finds_its_port_free_although_connections_linger() {
    let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
    let address = listener.address().clone();
    let client = TcpStream::connect(inet(&listener)).unwrap();
    // Closed by the server first, so that its side waits in TIME_WAIT.
    drop(listener.accept().await.unwrap());
    drop((listener, client));
    assert!(Listener::per_core(&address, 2, &OPTIONS).is_ok());
}

#[tokio::test]
async fn ipv4_peers_of_an_ipv6_listener_appear_as_ipv4() {
    let any = ListenAddress::Inet("[::]:0".parse().unwrap());
    // Machines without IPv6 exist.
    let Ok(mut listener) = Listener::bind(&any, &OPTIONS) else { return };
    let client = TcpStream::connect(("127.0.0.1", inet(&listener).port())).unwrap();
    let peer = listener.accept().await.unwrap().peer();
    assert_eq!(peer, PeerAddress::Inet(client.local_addr().unwrap()));
}

#[tokio::test]
async fn a_listener_can_be_made_from_a_descriptor() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut listener = Listener::from_std(tcp, &OPTIONS).unwrap();
    let _client = TcpStream::connect(inet(&listener)).unwrap();
    let accepted = listener.accept().await.unwrap();
    assert!(SockRef::from(&accepted).tcp_nodelay().unwrap());

    // And handed on, with a connection waiting in the queue.
    let waiting = TcpStream::connect(inet(&listener)).unwrap();
    let mut heir = Listener::from_fd(listener.into_fd().unwrap(), &OPTIONS).unwrap();
    let peer = heir.accept().await.unwrap().peer();
    assert_eq!(peer, PeerAddress::Inet(waiting.local_addr().unwrap()));

    let datagrams = UdpSocket::bind("127.0.0.1:0").unwrap();
    let error = Listener::from_fd(datagrams.into(), &OPTIONS).err().unwrap();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[tokio::test]
async fn a_connection_can_be_made_from_a_descriptor() {
    let (near, far) = UnixStream::pair().unwrap();
    let accepted = Accepted::from_fd(near.into()).unwrap();
    assert_eq!(accepted.peer(), PeerAddress::Unix);
    assert!(SockRef::from(&accepted).nonblocking().unwrap());
    (&far).write_all(b"!").unwrap();
    let mut transport = accepted.register().unwrap();
    assert_eq!(poll_fn(|cx| transport.poll_fill(cx, 100)).await.unwrap(), FillResult::Bytes(1));
    let unconnected = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None);
    assert!(Accepted::from_fd(unconnected.unwrap().into()).is_err());
}

#[test]
fn a_socket_that_does_not_listen_is_refused() {
    let stream = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let datagram = UdpSocket::bind("127.0.0.1:0").unwrap();
    for socket in [std::os::fd::OwnedFd::from(stream), datagram.into()] {
        let error = Listener::from_fd(socket, &OPTIONS).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}

/// Linux: a listening socket that is shut down listens no more.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_socket_that_listens_no_more_is_an_error_and_not_a_loop() {
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut listener = Listener::from_std(socket.try_clone().unwrap(), &OPTIONS).unwrap();
    SockRef::from(&socket).shutdown(std::net::Shutdown::Read).unwrap();
    assert_eq!(listener.accept().await.err().unwrap().kind(), ErrorKind::InvalidInput);
}

/// Also where no event loop has noticed them.
#[test]
fn queued_connections_can_be_taken_without_waiting() {
    let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
    assert!(listener.accept_queued().unwrap().is_none());
    let clients: Vec<_> = (0..3).map(|_| TcpStream::connect(inet(&listener)).unwrap()).collect();
    for client in &clients {
        let accepted = listener.accept_queued().unwrap().expect("it is there");
        assert_eq!(accepted.peer(), PeerAddress::Inet(client.local_addr().unwrap()));
    }
    assert!(listener.accept_queued().unwrap().is_none());
}

#[test]
fn accepted_sockets_and_listeners_are_send() {
    fn send<T: Send>() {}
    send::<(Listener, Accepted, WorkerHandle, PlacedConnection)>();
    fn shared<T: Send + Sync>() {}
    shared::<(ConnectionSlot, Balance, Worker, Workers, Stopper)>();
}

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[tokio::test]
async fn after_4_connections_other_tasks_run() {
    let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
    let clients: Vec<_> = (0..7).map(|_| TcpStream::connect(inet(&listener)).unwrap()).collect();
    // The first is awaited: until the event loop runs, the listener does not know of any.
    drop(listener.accept().await.unwrap());
    let count = Arc::new(WakeCount::default());
    let waker = Waker::from(Arc::clone(&count));
    let mut turns = Vec::new();
    tokio::task::coop::unconstrained(poll_fn(|_| {
        let mut cx = Context::from_waker(&waker);
        for _ in 0..2 {
            let mut turn = 0;
            while listener.poll_accept(&mut cx).is_ready() {
                turn += 1;
            }
            turns.push(turn);
        }
        Poll::Ready(())
    }))
    .await;
    assert_eq!(turns, [3, 3]);
    // It goes on by itself, once the runtime has looked at its sockets.
    tokio::task::yield_now().await;
    assert_eq!(count.0.load(Ordering::Relaxed), 1);
    drop(clients);
}

/// What is read of a socket by then is no more than so many connections late, however many wait.
#[test]
fn after_4_connections_the_sockets_are_looked_at() {
    const CONNECTIONS: usize = 200;
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let options = tokio::runtime::LocalOptions::default();
    builder.enable_all().build_local(options).unwrap().block_on(async {
        let mut listener = Listener::bind(&any_port(), &OPTIONS).unwrap();
        let address = inet(&listener);
        let _waiting: Vec<_> =
            (0..CONNECTIONS).map(|_| TcpStream::connect(address).unwrap()).collect();
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let near = tokio::net::UnixStream::from_std(near).unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let seen = accepted.clone();
        let reads = tokio::task::spawn_local(async move {
            near.readable().await.unwrap();
            seen.load(Ordering::Relaxed)
        });
        tokio::task::yield_now().await;
        let accepts = tokio::task::spawn_local(async move {
            for _ in 0..CONNECTIONS {
                let socket = listener.accept().await.unwrap();
                // Each has a task that has something to do at once.
                tokio::task::spawn_local(async move { drop(socket) });
                if accepted.fetch_add(1, Ordering::Relaxed) == 0 {
                    far.write_all(b"!").unwrap();
                }
            }
        });
        let seen = reads.await.unwrap();
        assert!((1..=12).contains(&seen), "{seen} connections later");
        accepts.await.unwrap();
    });
}

#[tokio::test]
async fn a_unix_listener_removes_its_file_with_its_last_copy() {
    let path = Path::new("copies");
    let mut listeners = Listener::per_core(&path.address(), 2, &OPTIONS).unwrap();
    assert_eq!(listeners[0].address(), &path.address());
    let mut client = UnixStream::connect(&path.0).unwrap();
    let accepted = listeners[1].accept().await.unwrap();
    assert_eq!(accepted.peer(), PeerAddress::Unix);
    let mut transport = accepted.register().unwrap();
    client.write_all(b"!").unwrap();
    assert_eq!(poll_fn(|cx| transport.poll_fill(cx, 100)).await.unwrap(), FillResult::Bytes(1));
    listeners.pop();
    assert!(path.0.exists());
    listeners.pop();
    assert!(!path.0.exists());
}

#[test]
fn a_socket_file_is_replaced_only_without_a_listener() {
    let path = Path::new("stale");
    let in_use = || Listener::bind(&path.address(), &OPTIONS).err().map(|error| error.kind());
    let living = UnixListener::bind(&path.0).unwrap();
    assert_eq!(in_use(), Some(ErrorKind::AddrInUse));
    drop(living);
    assert!(path.0.exists(), "left behind");
    assert_eq!(in_use(), None, "replaced, and removed again");
    std::fs::write(&path.0, "no socket").unwrap();
    assert_eq!(in_use(), Some(ErrorKind::AddrInUse));
    assert_eq!(std::fs::read(&path.0).unwrap(), b"no socket");
}

#[test]
fn a_socket_file_of_another_process_is_left_alone() {
    let path = Path::new("anothers");
    let first = Listener::bind(&path.address(), &OPTIONS).unwrap();
    std::fs::rename(&path.0, path.0.with_extension("old")).unwrap();
    let _second = UnixListener::bind(&path.0).unwrap();
    drop(first);
    assert!(path.0.exists());
    std::fs::remove_file(path.0.with_extension("old")).unwrap();
}

#[test]
fn a_unix_listener_that_is_handed_over_keeps_its_file() {
    let path = Path::new("handed");
    let listener = Listener::bind(&path.address(), &OPTIONS).unwrap();
    let heir = Listener::from_fd(listener.into_fd().unwrap(), &OPTIONS).unwrap();
    assert_eq!(heir.address(), &path.address());
    assert!(UnixStream::connect(&path.0).is_ok());
    drop(heir);
    assert!(path.0.exists());
}
