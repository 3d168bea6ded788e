//! WebSockets between our server and our client over sockets, in each version and with TLS, and with tungstenite.
//!
//! The protocol itself is tested in its crate.

mod router;
mod slow;
mod tungstenite;
mod versions;

use stoop::rt::UpgradedStream;
use stoop::{Request, Response, ServerLimits};
use stoop_websocket::{Deflate, Error, Limits, ServerHandshake, WebSocket};

/// Server limits that allow WebSockets over HTTP/2.
fn limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    limits
}

/// Limits of a connection for compressed messages of some megabytes.
fn message_limits() -> Limits {
    let mut limits = Limits::default();
    limits.inflated_message_bytes_max = 4 << 20;
    limits
}

/// A handler that sends every message back, and answers `/` without WebSocket.
fn echo(request: Request) -> Response {
    if request.path() == "/" {
        return Response::from_text("a page");
    }
    let handshake = ServerHandshake::new().protocols(["echo"]).deflate(Deflate::default());
    let handshake = handshake.limits(message_limits());
    handshake.accept(&request, |socket| async move {
        let _ = send_back(socket).await;
    })
}

async fn send_back(mut socket: WebSocket<UpgradedStream>) -> Result<(), Error> {
    while let Some(message) = socket.recv().await? {
        socket.feed(message).await?;
    }
    Ok(())
}
