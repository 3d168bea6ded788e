//! The running server: what goes in as bytes, and what comes out.
//!
//! Where time matters the clock is paused and the connection is in memory; where the kernel does,
//! it is a socket.

use stoop::{Handler, IntoHandler, Server, ServerHandle, ServerLimits};
use stoop_test::peer::Peer;
use tokio::io::DuplexStream;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

mod bounds;
mod clients;
mod content;
mod disconnects;
mod draining;
mod handlers;
mod http2;
mod listening;
mod parting;
mod persistence;
mod pipelining;
mod refusals;
mod time;
mod tls;
mod tunnels;

/// A request that asks for nothing special.
const GET: &str = "GET / HTTP/1.1\r\nhost: here\r\n\r\n";

/// Bytes on their way in each direction of a connection in memory.
const PIPE: usize = 64 * 1024;

/// A connection in memory to a server with the default limits.
fn connect<K, T>(handler: T) -> Peer<DuplexStream>
where
    T: IntoHandler<K>,
    <T::Handler as Handler>::Future: Send,
    <T::Handler as Handler>::Body: Send,
    T::Handler: Send + Sync,
{
    connect_with(ServerLimits::default(), handler).0
}

/// The same with other limits, and the task that serves it.
fn connect_with<K, T>(limits: ServerLimits, handler: T) -> (Peer<DuplexStream>, JoinHandle<()>)
where
    T: IntoHandler<K>,
    <T::Handler as Handler>::Future: Send,
    <T::Handler as Handler>::Body: Send,
    T::Handler: Send + Sync,
{
    let (ours, theirs) = tokio::io::duplex(PIPE);
    let task = tokio::spawn(stoop::tokio::serve(theirs, handler, limits));
    (Peer::new(ours), task)
}

/// A server on a port of its own, on the runtime of the test.
fn listen<K, T>(limits: ServerLimits, handler: T) -> ServerHandle
where
    T: IntoHandler<K>,
    <T::Handler as Handler>::Future: Send,
    <T::Handler as Handler>::Body: Send,
    T::Handler: Send + Sync,
{
    let server = Server::listen("127.0.0.1:0").unwrap().limits(limits);
    server.run_here(handler).unwrap()
}

/// A connection to it over a socket.
async fn dial(server: &ServerHandle) -> Peer<TcpStream> {
    let stoop::Address::Inet(address) = server.endpoint().address() else { panic!("not TCP") };
    Peer::new(TcpStream::connect(address).await.unwrap())
}
