//! hyper as a server, in its strongest fair form.
//!
//! One worker: a current-thread runtime, so no lock is contended and no task migrates. The service
//! is a plain function with an unboxed future and an unboxed body, `pipeline_flush(true)` gathers
//! the answers of a pipelined burst into one write, and every socket has TCP_NODELAY. hyper adds
//! `content-length` and `date` itself.
//!
//! hyper's time limit for a request's head is off unless a timer is installed. That is its default
//! and its fastest form, so it is ours too; `--header-timeout SECONDS` turns it on, which is the
//! like-for-like comparison with servers whose limits are always on.

mod arguments;
mod tls;

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use arguments::Arguments;
use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};

fn main() {
    let arguments = Arguments::parse(std::env::args().skip(1)).unwrap_or_else(|problem| {
        eprintln!("hyper: {problem}\n{}", arguments::USAGE);
        std::process::exit(2);
    });
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    if let Err(error) = outcome {
        eprintln!("hyper: {error}; is the address free, and are CERT and KEY readable PEM files?");
        std::process::exit(1);
    }
}

async fn serve(arguments: Arguments) -> io::Result<()> {
    let mut http = http1::Builder::new();
    http.pipeline_flush(true);
    if let Some(seconds) = arguments.header_timeout_s {
        http.timer(TokioTimer::new()).header_read_timeout(Duration::from_secs(seconds));
    }
    let acceptor = match &arguments.tls {
        Some((certificate, key)) => Some(tls::acceptor(certificate, key)?),
        None => None,
    };
    let listener = TcpListener::bind(arguments.listen).await?;
    loop {
        let Some(stream) = accept(&listener).await else { continue };
        let http = http.clone();
        match acceptor.clone() {
            None => {
                tokio::spawn(serve_connection(http, TokioIo::new(stream)));
            }
            Some(acceptor) => {
                tokio::spawn(async move {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        serve_connection(http, TokioIo::new(stream)).await;
                    }
                });
            }
        }
    }
}

/// The next connection, or nothing when this one could not be had: a peer that left early, or a
/// moment without descriptors, must not end the server.
async fn accept(listener: &TcpListener) -> Option<TcpStream> {
    match listener.accept().await {
        Ok((stream, _)) => stream.set_nodelay(true).is_ok().then_some(stream),
        Err(_) => {
            tokio::time::sleep(Duration::from_millis(10)).await;
            None
        }
    }
}

async fn serve_connection<I>(http: http1::Builder, io: I)
where
    I: Read + Write + Unpin,
{
    // A connection that breaks is the load's business; the load generator counts it.
    let _ = http.serve_connection(io, service_fn(hello)).await;
}

async fn hello(_: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"Hello, world!")));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    Ok(response)
}
