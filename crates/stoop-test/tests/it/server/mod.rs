//! The running server: requests as bytes, and the responses to them.
//!
//! Where time matters, the clock is paused and the connection is in memory. Where the kernel matters, the
//! connection is a socket.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use stoop::{Error, Request, Server, ServerHandle, ServerLimits};
use stoop_test::peer::RawPeer;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use crate::any_handler::IntoAny;

mod bounds;
mod certificates;
mod clients;
mod content;
mod detached;
mod disconnects;
mod drain_observed;
mod draining;
mod dropped;
mod events;
mod eviction;
mod failures;
mod files;
mod hand_over;
mod handlers;
mod http2;
mod interim;
mod late;
mod limit_rows;
mod listening;
mod observed;
mod panics;
mod per_address;
mod persistence;
mod pipelining;
mod process;
mod proxy_protocol;
mod refusals;
mod sent;
mod shedding;
mod slow_clients;
mod slowhttptest;
mod starved;
mod successor;
mod time;
mod tls;
mod tower;
mod tunnels;

/// A plain request.
const GET: &str = "GET / HTTP/1.1\r\nhost: here\r\n\r\n";

/// How many bytes a connection in memory holds in each direction.
const PIPE_BYTES: usize = 64 * 1024;

/// Connects in memory to a server with the default limits.
fn connect<K>(handler: impl IntoAny<K>) -> RawPeer<DuplexStream> {
    connect_with(ServerLimits::default(), handler).0
}

/// Connects in memory to a server with these limits. Returns also the task that serves the connection.
fn connect_with<K>(
    limits: ServerLimits,
    handler: impl IntoAny<K>,
) -> (RawPeer<DuplexStream>, JoinHandle<()>) {
    let (ours, theirs) = tokio::io::duplex(PIPE_BYTES);
    let task = tokio::spawn(stoop::rt::serve(theirs, handler.into_any(), limits));
    (RawPeer::new(ours), task)
}

/// Starts a server on a port of its own, on the runtime of the test.
fn listen<K>(limits: ServerLimits, handler: impl IntoAny<K>) -> ServerHandle {
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    server.run_here(handler.into_any()).unwrap()
}

/// Connects to a server over a socket.
async fn dial(server: &ServerHandle) -> RawPeer<TcpStream> {
    let stoop::Address::Inet(address) = server.endpoint().address() else { panic!("not TCP") };
    let stream = TcpStream::connect(address).await.unwrap();
    // Otherwise the kernel keeps small pieces until others are acknowledged, for as long as a paused clock runs on.
    stream.set_nodelay(true).unwrap();
    RawPeer::new(stream)
}

/// How long a server keeps a connection over which it is sent these bytes and nothing more. The clock is paused once
/// the server has the connection.
async fn kept_for(server: &ServerHandle, sent: &[u8]) -> Duration {
    let mut peer = dial(server).await;
    peer.send(sent).await;
    while server.connections() == 0 {
        sleep(Duration::from_millis(1)).await;
    }
    sleep(Duration::from_millis(20)).await;
    tokio::time::pause();
    let begin = Instant::now();
    let _ = peer.rest().await;
    let elapsed = begin.elapsed();
    tokio::time::resume();
    elapsed
}

/// Connects in memory to a server whose handler reads content and tells why it cannot.
fn connect_to_reader() -> (RawPeer<DuplexStream>, UnboundedReceiver<Error>) {
    let (told, tell) = unbounded_channel();
    let peer = connect(move |request: Request| {
        let told = told.clone();
        async move {
            let error = request.into_body().bytes(100).await.unwrap_err();
            told.send(error).unwrap();
            "not to be sent"
        }
    });
    (peer, tell)
}

/// A handler that answers `hello`.
fn hello(_: Request) -> &'static str {
    "hello"
}

/// Whole seconds.
const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Whether `time` has passed since that instant, and no more than the 50 ms that timers may be late.
fn has_passed(since: Instant, time: Duration) -> bool {
    let elapsed = since.elapsed();
    elapsed >= time && elapsed < time + time / 32 + Duration::from_millis(50)
}

/// A value that counts its drop, as one that a handler's future holds.
struct DropCounter(Arc<AtomicUsize>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}
