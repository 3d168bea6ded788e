//! tokio-tungstenite as a server that sends messages back, with the settings that make it fastest and keep the
//! comparison fair.
//!
//! One worker: a current-thread runtime. It does the handshake itself (`accept_async`), without an HTTP server before
//! it. Its buffer for reading has 128 KiB by default, which is allocated for each connection; `--lean` makes it 4 KiB,
//! as its documentation says for many connections. Every socket has TCP_NODELAY. It has neither compression nor time
//! limits.

use std::io;

use futures_util::{SinkExt, StreamExt};
use stoop_bench_peer::Arguments;
use tokio::net::TcpStream;
use tokio_tungstenite::accept_async_with_config;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

/// The buffer for reading with `--lean`.
const LEAN_READ_BYTES: usize = 4 * 1024;

fn main() {
    let arguments = Arguments::of_process("tungstenite");
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    if let Err(error) = outcome {
        eprintln!("tungstenite: {error}; is the address free?");
        std::process::exit(1);
    }
}

async fn serve(arguments: Arguments) -> io::Result<()> {
    let mut config = WebSocketConfig::default();
    if arguments.lean {
        config = config.read_buffer_size(LEAN_READ_BYTES);
    }
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    loop {
        let Some(stream) = stoop_bench_peer::accept(&listener).await else { continue };
        tokio::spawn(async move {
            // The load counts connections that break.
            let _ = send_back(stream, config).await;
        });
    }
}

async fn send_back(stream: TcpStream, config: WebSocketConfig) -> Result<(), Error> {
    let mut socket = accept_async_with_config(stream, Some(config)).await?;
    while let Some(message) = socket.next().await {
        let message = message?;
        // It answers Pings and closes itself.
        if message.is_binary() || message.is_text() {
            socket.send(message).await?;
        }
    }
    Ok(())
}
