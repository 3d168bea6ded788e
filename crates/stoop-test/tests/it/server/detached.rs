//! Handlers that run on after their clients have left, where the limits allow it: over both versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Request, Response, ServerHandle, ServerLimits, Versions};
use stoop_proto::h2::ErrorCode;
use stoop_test::http2;
use tokio::net::TcpStream;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::{Instant, sleep};

use super::{DropCounter, dial, listen, seconds};

const VERSIONS: [Versions; 2] = [Versions::Http1, Versions::Http2];

/// A handler that waits for a permit, and what is known of its calls.
struct Calls {
    permits: Arc<Semaphore>,
    begun: mpsc::UnboundedReceiver<()>,
    finished: Arc<AtomicUsize>,
    dropped: Arc<AtomicUsize>,
}

impl Calls {
    async fn wait(&mut self, dropped: usize) {
        while self.dropped.load(Ordering::SeqCst) < dropped {
            sleep(Duration::from_millis(1)).await;
        }
    }

    fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }
}

fn start(limits: ServerLimits) -> (ServerHandle, Calls) {
    let (told, begun) = mpsc::unbounded_channel();
    let (permits, finished) = (Arc::new(Semaphore::new(0)), Arc::<AtomicUsize>::default());
    let dropped = Arc::<AtomicUsize>::default();
    let calls = Calls {
        permits: permits.clone(),
        begun,
        finished: finished.clone(),
        dropped: dropped.clone(),
    };
    let server = listen(limits, move |_: Request| {
        let held = DropCounter(dropped.clone());
        let (told, permits, finished) = (told.clone(), permits.clone(), finished.clone());
        async move {
            told.send(()).unwrap();
            permits.acquire().await.unwrap().forget();
            finished.fetch_add(1, Ordering::SeqCst);
            drop(held);
            Response::from_text("finished")
        }
    });
    (server, calls)
}

fn detaching(max: usize) -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.detached_handlers_max = max;
    limits
}

/// A client that asks once, and leaves as soon as the handler has begun.
async fn leave(server: &ServerHandle, calls: &mut Calls, versions: Versions) {
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    match versions {
        Versions::Http2 => {
            let stream = TcpStream::connect(address).await.unwrap();
            let mut client = http2::Client::new(stream).await;
            client.get("/").await;
            calls.begun.recv().await.unwrap();
        }
        _ => {
            let mut peer = dial(server).await;
            peer.send("GET / HTTP/1.1\r\nhost: a\r\n\r\n").await;
            calls.begun.recv().await.unwrap();
            peer.stream().set_zero_linger().unwrap();
        }
    }
}

async fn until(server: &ServerHandle, detached: usize) {
    while server.detached_handlers() != detached {
        sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test]
async fn by_default_a_handler_is_dropped_when_its_client_has_left() {
    for versions in VERSIONS {
        let (server, mut calls) = start(ServerLimits::default());
        leave(&server, &mut calls, versions).await;
        calls.wait(1).await;
        assert_eq!((calls.finished(), server.detached_handlers()), (0, 0), "{versions:?}");
        server.close().await;
    }
}

#[tokio::test]
async fn a_handler_runs_to_its_end_where_the_limits_say_so() {
    for versions in VERSIONS {
        let (server, mut calls) = start(detaching(1));
        leave(&server, &mut calls, versions).await;
        until(&server, 1).await;
        assert_eq!(server.connections(), 1, "it counts as a connection");
        // Beyond the limit it is as by default.
        leave(&server, &mut calls, versions).await;
        calls.wait(1).await;
        assert_eq!(calls.finished(), 0);
        calls.permits.add_permits(1);
        calls.wait(2).await;
        until(&server, 0).await;
        assert_eq!(calls.finished(), 1, "{versions:?}");
        assert_eq!(server.drain(seconds(5)).await, 0);
    }
}

/// RFC 9113 §5.4.2: one stream is given up, and the connection goes on.
#[tokio::test]
async fn the_handler_of_a_stream_that_is_reset_runs_to_its_end() {
    let (server, mut calls) = start(detaching(8));
    let stoop::Address::Inet(address) = *server.endpoint().address() else { panic!("not TCP") };
    let mut client = http2::Client::new(TcpStream::connect(address).await.unwrap()).await;
    let key = client.get("/").await;
    calls.begun.recv().await.unwrap();
    client.reset(key, ErrorCode::CANCEL).await;
    until(&server, 1).await;
    let next = client.get("/").await;
    calls.begun.recv().await.unwrap();
    calls.permits.add_permits(2);
    assert_eq!(client.response(next).await.body, b"finished");
    until(&server, 0).await;
    assert_eq!(calls.finished(), 2);
    server.close().await;
}

#[tokio::test]
async fn a_drain_waits_for_it_and_a_close_does_not() {
    for versions in VERSIONS {
        let (server, mut calls) = start(detaching(8));
        leave(&server, &mut calls, versions).await;
        until(&server, 1).await;
        let (drained, ()) = tokio::join!(server.drain(seconds(5)), async {
            sleep(Duration::from_millis(20)).await;
            calls.permits.add_permits(1);
        });
        assert_eq!((drained, calls.finished()), (0, 1), "{versions:?}");
        let (server, mut calls) = start(detaching(8));
        leave(&server, &mut calls, versions).await;
        until(&server, 1).await;
        assert_eq!(server.drain(Duration::from_millis(20)).await, 1, "{versions:?}");
        assert_eq!((calls.finished(), calls.dropped.load(Ordering::SeqCst)), (0, 1));
    }
}

#[tokio::test]
async fn it_has_the_time_of_a_handler_and_no_more() {
    for versions in VERSIONS {
        let mut limits = detaching(8);
        limits.time.handler = seconds(100);
        let (server, mut calls) = start(limits);
        leave(&server, &mut calls, versions).await;
        until(&server, 1).await;
        tokio::time::pause();
        let begin = Instant::now();
        calls.wait(1).await;
        let elapsed = begin.elapsed();
        tokio::time::resume();
        assert!(elapsed > seconds(95) && elapsed < seconds(102), "{elapsed:?}");
        assert_eq!(server.stats().timeouts.handler, 1, "{versions:?}");
        assert_eq!((calls.finished(), server.detached_handlers()), (0, 0), "{versions:?}");
        server.close().await;
    }
}
