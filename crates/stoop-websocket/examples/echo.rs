//! Sends every message back: as a server, or as the client of servers that expect it, one after the other.
//!
//! ```text
//! cargo run --release -p stoop-websocket --example echo -- 127.0.0.1:9001 [--deflate] [--workers N]
//! cargo run --release -p stoop-websocket --example echo -- [--deflate] --connect ws://127.0.0.1:9001/ [URL]...
//! ```
//!
//! The server speaks HTTP/1.1 and HTTP/2, at `http://` too: it then says what the request is without.

use stoop::rt::UpgradedStream;
use stoop::{Client, Request, Response, Server, ServerLimits};
use stoop_websocket::{ClientHandshake, Deflate, Error, ServerHandshake, WebSocket};

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let mut address = "127.0.0.1:9001".to_owned();
    let mut workers = None;
    let mut deflate = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--deflate" => {
                let mut keeping = Deflate::default();
                keeping.server_context_takeover = true;
                keeping.client_context_takeover = true;
                deflate = Some(keeping);
            }
            "--workers" => {
                workers = Some(arguments.next().ok_or("--workers needs a number")?.parse()?);
            }
            "--connect" => return connect(deflate, arguments),
            _ => address = argument,
        }
    }
    let mut handshake = ServerHandshake::new();
    if let Some(deflate) = deflate {
        handshake = handshake.deflate(deflate);
    }
    let mut limits = ServerLimits::default();
    limits.wire.http2.extended_connect = true;
    let mut server = Server::listen(address.as_str())?.limits(limits);
    if let Some(workers) = workers {
        server = server.workers(workers);
    }
    let echo = move |request: Request| -> Response {
        handshake.accept(&request, |socket| async move {
            // The client knows what it did.
            let _ = send_back(socket).await;
        })
    };
    server.run_blocking(echo, |handle| println!("listening on {}", handle.endpoint()))?;
    Ok(())
}

/// Sends back what each of these servers sends, until it closes the connection.
#[tokio::main(flavor = "current_thread")]
async fn connect(
    deflate: Option<Deflate>,
    urls: impl Iterator<Item = String>,
) -> Result<(), AnyError> {
    let client = Client::new();
    let mut handshake = ClientHandshake::new();
    if let Some(deflate) = deflate {
        handshake = handshake.deflate(deflate);
    }
    for url in urls {
        let ended = match handshake.connect(&client, &url).await {
            Ok(socket) => send_back(socket).await.map_err(AnyError::from),
            Err(error) => Err(error.into()),
        };
        if let Err(error) = ended {
            println!("{url}: {error}");
        }
    }
    Ok(())
}

async fn send_back(mut socket: WebSocket<UpgradedStream>) -> Result<(), Error> {
    while let Some(message) = socket.recv().await? {
        // Answers to messages that came together leave together.
        socket.feed(message).await?;
    }
    Ok(())
}
