//! axum as a server, with the settings that make it fastest and keep the comparison fair.
//!
//! Its router runs on hyper with the settings of the contender `hyper`: one current-thread runtime,
//! `pipeline_flush`, TCP_NODELAY. axum's own `serve` cannot turn `pipeline_flush` on. Routing, extractors
//! and boxed bodies are measured in addition to hyper.

use std::io;

use axum::Router;
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use stoop_bench_peer::{Arguments, HTTP1, HTTP2};

fn main() {
    let arguments = Arguments::of_process("axum");
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    if let Err(error) = outcome {
        eprintln!("axum: {error}; is the address free, and are CERT and KEY readable PEM files?");
        std::process::exit(1);
    }
}

async fn serve(arguments: Arguments) -> io::Result<()> {
    let service = TowerToHyperService::new(stoop_bench_axum::router());
    let is_http2 = arguments.http2;
    let version = if is_http2 { HTTP2 } else { HTTP1 };
    let acceptor = match &arguments.tls {
        Some((certificate, key)) => Some(stoop_bench_peer::acceptor(certificate, key, version)?),
        None => None,
    };
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    loop {
        let Some(stream) = stoop_bench_peer::accept(&listener).await else { continue };
        let service = service.clone();
        match acceptor.clone() {
            None => {
                tokio::spawn(serve_connection(is_http2, service, TokioIo::new(stream)));
            }
            Some(acceptor) => {
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(is_http2, service, TokioIo::new(stream)).await;
                    }
                });
            }
        }
    }
}

async fn serve_connection<I>(is_http2: bool, service: TowerToHyperService<Router>, io: I)
where
    I: Read + Write + Unpin + Send + 'static,
{
    // The load generator counts connections that break.
    let _ = match is_http2 {
        true => http2::Builder::new(TokioExecutor::new()).serve_connection(io, service).await,
        false => http1::Builder::new().pipeline_flush(true).serve_connection(io, service).await,
    };
}
