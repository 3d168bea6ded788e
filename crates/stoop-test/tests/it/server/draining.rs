//! Stopping a server: gracefully, with a limit of time, and at once.

use std::sync::Arc;
use std::time::Duration;

use stoop::{Body, Request, Response, Server, ServerLimits};
use tokio::time::{Instant, sleep};

use super::{GET, dial, listen, seconds};

/// A handler that answers after as many milliseconds as the path says.
async fn slow(request: Request) -> String {
    sleep(Duration::from_millis(request.path()[1..].parse().unwrap_or(0))).await;
    request.path().to_owned()
}

#[tokio::test]
async fn idle_connections_are_closed_at_once() {
    let server = listen(ServerLimits::default(), slow);
    let mut peers = Vec::new();
    for _ in 0..10 {
        let mut peer = dial(&server).await;
        peer.send(GET).await;
        peer.response().await.unwrap();
        peers.push(peer);
    }
    // As a client does that reads the end of its connection.
    let closing = peers.into_iter().map(|mut peer| async move { peer.is_closed().await });
    let closing: Vec<_> = closing.map(tokio::spawn).collect();
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(5)).await, 0);
    assert!(begin.elapsed() < seconds(1) / 2, "{:?}", begin.elapsed());
    for closing in closing {
        assert!(closing.await.unwrap());
    }
    // The port is closed.
    let stoop::Address::Inet(address) = server.endpoint().address() else { panic!("not TCP") };
    assert!(tokio::net::TcpStream::connect(address).await.is_err());
    // A second drain and a close do nothing.
    assert_eq!(server.drain(seconds(5)).await, 0);
    server.close().await;
    server.ended().await;
}

/// RFC 9112 §9.6: a request may cross with the close of an idle connection. It is not answered, and nothing is reset.
#[tokio::test]
async fn a_request_that_crosses_with_the_close_is_not_answered_by_a_reset() {
    let server = Arc::new(listen(ServerLimits::default(), slow));
    let mut idle = dial(&server).await;
    idle.send(GET).await;
    idle.response().await.unwrap();
    let drained = server.clone();
    let drain = tokio::spawn(async move { drained.drain(seconds(5)).await });
    assert!(idle.is_closed().await);
    let (mut stream, _) = idle.into_parts();
    // Where the server's end is closed, the first is answered by a reset, and the second fails.
    for _ in 0..2 {
        tokio::io::AsyncWriteExt::write_all(&mut stream, GET.as_bytes()).await.unwrap();
    }
    drop(stream);
    assert_eq!(drain.await.unwrap(), 0);
}

/// A client that does not close its end holds a drain up for a while only, and is not counted as cut off.
#[tokio::test]
async fn a_client_that_does_not_close_is_left_after_the_linger() {
    let mut limits = ServerLimits::default();
    limits.time.linger = seconds(1) / 5;
    let server = listen(limits, slow);
    let mut idle = dial(&server).await;
    idle.send(GET).await;
    idle.response().await.unwrap();
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(5)).await, 0);
    let took = begin.elapsed();
    assert!(took >= seconds(1) / 5 && took < seconds(1), "{took:?}");
    assert!(idle.is_closed().await);
}

#[tokio::test]
async fn running_requests_are_finished_and_told_to_close() {
    let server = Arc::new(listen(ServerLimits::default(), slow));
    let mut peer = dial(&server).await;
    peer.send("GET /200 HTTP/1.1\r\nhost: a\r\n\r\nGET /100 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    let mut upload = dial(&server).await;
    upload.send("POST /100 HTTP/1.1\r\nhost: a\r\ncontent-length: 2\r\n\r\nh").await;
    sleep(seconds(1) / 20).await;
    let drained = server.clone();
    let drain = tokio::spawn(async move { drained.drain(seconds(5)).await });
    sleep(seconds(1) / 20).await;
    upload.send("i").await;
    // Both requests had begun, so both are answered. Only the last response can say that it is the last.
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("/200", None));
    let response = peer.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("/100", Some("close")));
    assert!(peer.is_closed().await);
    let response = upload.response().await.unwrap();
    assert_eq!((response.text(), response.field("connection")), ("/100", Some("close")));
    drop(upload);
    drop(peer);
    assert_eq!(drain.await.unwrap(), 0);
}

#[tokio::test]
async fn a_long_download_is_completed() {
    let server = Arc::new(listen(ServerLimits::default(), |_: Request| {
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            for _ in 0..30 {
                sleep(seconds(1) / 100).await;
                sender.send(vec![0; 10_000]).await.unwrap();
            }
            sender.finish().await.unwrap();
        });
        Response::new(body)
    }));
    let mut peer = dial(&server).await;
    peer.send(GET).await;
    peer.head().await.unwrap();
    let drained = server.clone();
    let drain = tokio::spawn(async move { drained.drain(seconds(5)).await });
    let rest = peer.rest().await.unwrap();
    assert!(rest.ends_with(b"\r\n0\r\n\r\n") && rest.len() > 300_000);
    assert_eq!(drain.await.unwrap(), 0);
}

/// A client that keeps sending requests does not keep the server from stopping.
#[tokio::test]
async fn a_client_that_pipelines_without_end_is_drained() {
    let server = listen(ServerLimits::default(), slow);
    let (stream, _) = dial(&server).await.into_parts();
    let (mut read, mut write) = stream.into_split();
    let writer = tokio::spawn(async move {
        let request = "GET /5 HTTP/1.1\r\nhost: a\r\n\r\n";
        while tokio::io::AsyncWriteExt::write_all(&mut write, request.as_bytes()).await.is_ok() {}
    });
    let reader = tokio::spawn(async move {
        let mut sink = tokio::io::sink();
        let _ = tokio::io::copy(&mut read, &mut sink).await;
    });
    sleep(seconds(1) / 10).await;
    assert_eq!(server.drain(seconds(5)).await, 0);
    reader.await.unwrap();
    writer.await.unwrap();
}

#[tokio::test]
async fn requests_not_finished_in_time_are_cut_off_and_counted() {
    let server = listen(ServerLimits::default(), slow);
    let mut peers = Vec::new();
    for path in [60_000, 60_000, 60_000, 100] {
        let mut peer = dial(&server).await;
        peer.send(format!("GET /{path} HTTP/1.1\r\nhost: a\r\n\r\n")).await;
        peers.push(peer);
    }
    sleep(seconds(1) / 20).await;
    let begin = Instant::now();
    assert_eq!(server.drain(seconds(1) / 2).await, 3);
    assert!(
        begin.elapsed() >= seconds(1) / 2 && begin.elapsed() < seconds(1),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(server.connections(), 0);
    assert_eq!(peers.pop().unwrap().response().await.unwrap().text(), "/100");
    for mut peer in peers {
        assert!(peer.response().await.is_err());
    }
}

#[tokio::test]
async fn close_cuts_everything_off_at_once() {
    let server = listen(ServerLimits::default(), slow);
    let mut peer = dial(&server).await;
    peer.send("GET /60000 HTTP/1.1\r\nhost: a\r\n\r\n").await;
    sleep(seconds(1) / 20).await;
    let begin = Instant::now();
    server.close().await;
    assert!(begin.elapsed() < seconds(1) / 10, "{:?}", begin.elapsed());
    assert!(peer.response().await.is_err());
}

/// Connections in the kernel's queue are served, since their clients take them for established.
#[tokio::test]
async fn connections_that_wait_to_be_accepted_are_served() {
    let server = listen(ServerLimits::default(), slow);
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    // The server's tasks do not run meanwhile.
    let mut clients = Vec::new();
    for _ in 0..200 {
        let mut client = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut client, GET.as_bytes()).unwrap();
        clients.push(client);
    }
    assert_eq!(server.drain(seconds(5)).await, 0);
    for mut client in clients {
        let mut response = String::new();
        std::io::Read::read_to_string(&mut client, &mut response).unwrap();
        assert!(response.starts_with("HTTP/1.1 200"), "{response}");
        assert!(response.contains("\r\nconnection: close\r\n"), "{response}");
    }
}

/// The request of a connection that was just accepted may be on its way. The server waits a moment for it,
/// and no longer.
#[tokio::test]
async fn a_connection_that_has_said_nothing_gets_a_moment() {
    let server = Arc::new(listen(ServerLimits::default(), slow));
    let (mut quick, mut silent) = (dial(&server).await, dial(&server).await);
    while server.connections() < 2 {
        sleep(seconds(1) / 100).await;
    }
    let drained = server.clone();
    let begin = Instant::now();
    let drain = tokio::spawn(async move { drained.drain(seconds(5)).await });
    sleep(seconds(1) / 5).await;
    quick.send(GET).await;
    assert_eq!(quick.response().await.unwrap().field("connection"), Some("close"));
    drop(quick);
    assert!(silent.is_closed().await);
    drop(silent);
    assert_eq!(drain.await.unwrap(), 0);
    assert!(begin.elapsed() < seconds(2), "{:?}", begin.elapsed());
}

#[test]
fn the_threads_of_a_server_end_with_it() {
    let server = Server::listen("127.0.0.1:0").unwrap().workers(2).run(slow).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut peers = Vec::new();
        for _ in 0..20 {
            let mut peer = dial(&server).await;
            peer.send("GET /50 HTTP/1.1\r\nhost: a\r\n\r\n").await;
            peers.push(peer);
        }
        sleep(seconds(1) / 50).await;
        assert_eq!(server.drain(seconds(5)).await, 0);
        for mut peer in peers {
            assert_eq!(peer.response().await.unwrap().text(), "/50");
        }
        server.ended().await;
    });
    server.join();
}

#[test]
fn the_calling_thread_can_be_one_of_the_servers_threads() {
    for workers in [1, 2] {
        let (server, starts) = std::sync::mpsc::channel();
        let stopper = std::thread::spawn(move || {
            let server: stoop::ServerHandle = starts.recv().unwrap();
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                let mut peer = dial(&server).await;
                peer.send("GET /5 HTTP/1.1\r\nhost: a\r\n\r\n").await;
                assert_eq!(peer.response().await.unwrap().text(), "/5");
                assert_eq!(server.drain(seconds(5)).await, 0);
            });
        });
        let listening = Server::listen("127.0.0.1:0").unwrap().workers(workers);
        listening.run_blocking(slow, |handle| server.send(handle).unwrap()).unwrap();
        stopper.join().unwrap();
    }
}

/// A value that panics when it is cloned on the server's thread with that number.
struct PanicsOnClone(Option<usize>);

impl Clone for PanicsOnClone {
    fn clone(&self) -> Self {
        // The calling thread is number 0 and has no such name.
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        let number = name.strip_prefix("stoop-").map_or(0, |number| number.parse().unwrap());
        assert!(self.0.is_none_or(|refused| refused != number), "no handler for you");
        Self(self.0)
    }
}

/// A handler whose clone panics on that thread of the server.
fn handler_refusing(
    refused: Option<usize>,
) -> impl Fn(Request) -> &'static str + Clone + Send + Sync {
    let held = PanicsOnClone(refused);
    move |_| {
        let _held = &held;
        "here"
    }
}

/// The message of a panic.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap()
}

#[tokio::test]
async fn a_thread_without_a_handler_ends_the_server_and_says_so() {
    for refused in [0, 1] {
        let server = Server::listen("127.0.0.1:0").unwrap().workers(2);
        let server = server.run(handler_refusing(Some(refused))).unwrap();
        tokio::time::timeout(seconds(5), server.ended()).await.unwrap();
        let joins = tokio::task::spawn_blocking(|| server.join()).await.unwrap_err();
        let panic = panic_text(&*joins.into_panic());
        assert_eq!(panic, format!("worker {refused} panicked: no handler for you"));
    }
}

#[test]
fn a_panic_on_the_calling_thread_is_the_callers() {
    for (refused, started_panics, expected) in [
        (Some(0), false, "worker 0 panicked: no handler for you"),
        (Some(1), false, "worker 1 panicked: no handler for you"),
        (None, true, "not like this"),
    ] {
        let (handles, handle) = std::sync::mpsc::channel();
        let listening = Server::listen("127.0.0.1:0").unwrap().workers(2);
        let running = std::thread::spawn(move || {
            listening.run_blocking(handler_refusing(refused), |handle| {
                handles.send(handle).unwrap();
                assert!(!started_panics, "not like this");
            })
        });
        assert_eq!(panic_text(&*running.join().unwrap_err()), expected);
        let handle: stoop::ServerHandle = handle.recv().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::time::timeout(seconds(5), handle.ended()).await.unwrap() });
    }
}

#[tokio::test]
async fn a_server_goes_on_without_its_handle() {
    let server = listen(ServerLimits::default(), slow);
    let mut peer = dial(&server).await;
    drop(server);
    for _ in 0..3 {
        peer.send(GET).await;
        assert_eq!(peer.response().await.unwrap().status, 200);
    }
}
