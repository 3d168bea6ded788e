//! fastwebsockets as a server that sends messages back, as its own example `echo_server` does, with the settings that
//! make it fastest and keep the comparison fair.
//!
//! One worker: a current-thread runtime. hyper does the handshake, `FragmentCollector` makes messages of frames, and a
//! connection's task is not interrupted for others (`unconstrained`). Every socket has TCP_NODELAY. It has neither
//! compression nor time limits.

use std::io;

use bytes::Bytes;
use fastwebsockets::upgrade::{self, UpgradeFut};
use fastwebsockets::{FragmentCollector, OpCode, WebSocketError};
use http_body_util::Empty;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use stoop_bench_peer::Arguments;

fn main() {
    let arguments = Arguments::of_process("fastwebsockets");
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    if let Err(error) = outcome {
        eprintln!("fastwebsockets: {error}; is the address free?");
        std::process::exit(1);
    }
}

async fn serve(arguments: Arguments) -> io::Result<()> {
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    loop {
        let Some(stream) = stoop_bench_peer::accept(&listener).await else { continue };
        tokio::spawn(async move {
            let connection =
                http1::Builder::new().serve_connection(TokioIo::new(stream), service_fn(upgraded));
            // The load counts connections that break.
            let _ = connection.with_upgrades().await;
        });
    }
}

async fn upgraded(
    mut request: Request<Incoming>,
) -> Result<Response<Empty<Bytes>>, WebSocketError> {
    let (response, upgrade) = upgrade::upgrade(&mut request)?;
    tokio::spawn(tokio::task::unconstrained(async move {
        let _ = send_back(upgrade).await;
    }));
    Ok(response)
}

async fn send_back(upgrade: UpgradeFut) -> Result<(), WebSocketError> {
    let mut socket = FragmentCollector::new(upgrade.await?);
    loop {
        let frame = socket.read_frame().await?;
        match frame.opcode {
            OpCode::Close => return Ok(()),
            OpCode::Text | OpCode::Binary => socket.write_frame(frame).await?,
            _ => {}
        }
    }
}
