//! axum as a server, with the settings that make it fastest and keep the comparison fair.
//!
//! Its router runs on hyper with the settings of the contender `hyper`: one current-thread runtime,
//! `pipeline_flush`, TCP_NODELAY. axum's own `serve` cannot turn `pipeline_flush` on. Routing, extractors
//! and boxed bodies are measured in addition to hyper.

use std::io;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use axum::routing::{get, post};
use http_body_util::BodyExt;
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use stoop_bench_peer::{Arguments, HELLO, HTTP1, TextPieces, text};

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
    let router = Router::new()
        .route("/", get(async || plain(Bytes::from_static(HELLO))).post(sink))
        .route("/820", get(async || plain(text(820))))
        .route("/1m", get(async || plain(text(1 << 20))))
        .route("/stream", get(async || plain(Body::new(TextPieces::new()))))
        .route("/sink", post(sink));
    let service = TowerToHyperService::new(router);
    let acceptor = match &arguments.tls {
        Some((certificate, key)) => Some(stoop_bench_peer::acceptor(certificate, key, HTTP1)?),
        None => None,
    };
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    loop {
        let Some(stream) = stoop_bench_peer::accept(&listener).await else { continue };
        let service = service.clone();
        match acceptor.clone() {
            None => {
                tokio::spawn(serve_connection(service, TokioIo::new(stream)));
            }
            Some(acceptor) => {
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(service, TokioIo::new(stream)).await;
                    }
                });
            }
        }
    }
}

async fn serve_connection<I>(service: TowerToHyperService<Router>, io: I)
where
    I: Read + Write + Unpin + 'static,
{
    // The load generator counts connections that break.
    let _ = http1::Builder::new().pipeline_flush(true).serve_connection(io, service).await;
}

async fn sink(mut content: Body) -> Response {
    while let Some(Ok(_)) = content.frame().await {}
    plain(Bytes::from_static(HELLO))
}

fn plain(content: impl Into<Body>) -> Response {
    let mut response = Response::new(content.into());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
