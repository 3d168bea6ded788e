//! WebSockets between our server and our client over sockets, in each version and with TLS, and with tungstenite.
//!
//! The protocol itself is tested in its crate.

mod tungstenite;
mod versions;

use stoop::rt::UpgradedStream;
use stoop::{Request, Response, ServerLimits};
use stoop_websocket::{Deflate, Error, ServerHandshake, WebSocket};

/// Server limits that allow WebSockets over HTTP/2.
fn limits() -> ServerLimits {
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    limits
}

/// A handler that sends every message back, and answers `/` without WebSocket.
fn echo(request: Request) -> Response {
    if request.path() == "/" {
        return Response::from_text("a page");
    }
    let handshake = ServerHandshake::new().protocols(["echo"]).deflate(Deflate::default());
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
