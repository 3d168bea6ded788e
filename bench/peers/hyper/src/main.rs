//! hyper as a server, with the settings that make it fastest and keep the comparison fair.
//!
//! One worker: a current-thread runtime, so no lock is contended and no task migrates. The service
//! is a plain function with an unboxed future and an unboxed body, `pipeline_flush(true)` gathers
//! the responses of a pipelined burst into one write, and every socket has TCP_NODELAY. hyper adds
//! `content-length` and `date` itself.
//!
//! hyper's time limit for a request's head is off unless a timer is installed. That is its default
//! and its fastest form, so it is used here too; `--header-timeout SECONDS` turns it on, for a comparison
//! with servers whose limits are always on.
//!
//! With `pipeline_flush` nothing is sent while another request is there, or more content, so that a client
//! that always has one outstanding is never answered. `--flush` turns it off, which is hyper's default.
//!
//! Over HTTP/2 (`--http2`) it has its default windows and frames, which are large enough for this machine:
//! 1 MiB for each stream and for the connection. Each request is a task of the same runtime.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt, Either, Full};
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::rt::{Read, Write};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Method, Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use stoop_bench_peer::{Arguments, EndlessBody, HELLO, HTTP1, HTTP2, TextPieces, spin, text};

type ResponseBody = Either<Full<Bytes>, Either<TextPieces, EndlessBody>>;

fn main() {
    let arguments = Arguments::of_process("hyper");
    let outcome = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .and_then(|runtime| runtime.block_on(serve(arguments)));
    if let Err(error) = outcome {
        eprintln!("hyper: {error}; is the address free, and are CERT and KEY readable PEM files?");
        std::process::exit(1);
    }
}

#[derive(Clone)]
enum Http {
    One(http1::Builder),
    Two(http2::Builder<TokioExecutor>),
}

async fn serve(arguments: Arguments) -> io::Result<()> {
    let (http, version) = match arguments.http2 {
        true => (Http::Two(http2::Builder::new(TokioExecutor::new())), HTTP2),
        false => (Http::One(http1(&arguments)), HTTP1),
    };
    let acceptor = match &arguments.tls {
        Some((certificate, key)) => Some(stoop_bench_peer::acceptor(certificate, key, version)?),
        None => None,
    };
    let listener = stoop_bench_peer::listen(arguments.listen)?;
    loop {
        let Some(stream) = stoop_bench_peer::accept(&listener).await else { continue };
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

fn http1(arguments: &Arguments) -> http1::Builder {
    let mut http = http1::Builder::new();
    http.pipeline_flush(!arguments.flush);
    if let Some(limit) = arguments.header_timeout {
        http.timer(TokioTimer::new()).header_read_timeout(limit);
    }
    http
}

async fn serve_connection<I>(http: Http, io: I)
where
    I: Read + Write + Unpin,
{
    // The load generator counts connections that break.
    let _ = match http {
        Http::One(http) => http.serve_connection(io, service_fn(answer)).await,
        Http::Two(http) => http.serve_connection(io, service_fn(answer)).await,
    };
}

async fn answer(request: Request<Incoming>) -> hyper::Result<Response<ResponseBody>> {
    if request.method() == Method::POST {
        return sink(request.into_body()).await;
    }
    Ok(match request.uri().path() {
        "/820" => whole(text(820)),
        "/1m" => whole(text(1 << 20)),
        "/stream" => plain(Either::Right(Either::Left(TextPieces::new()))),
        "/drip" => plain(Either::Right(Either::Right(EndlessBody))),
        "/spin" => {
            spin();
            whole(Bytes::from_static(HELLO))
        }
        _ => whole(Bytes::from_static(HELLO)),
    })
}

async fn sink(mut content: Incoming) -> hyper::Result<Response<ResponseBody>> {
    while let Some(frame) = content.frame().await {
        frame?;
    }
    Ok(whole(Bytes::from_static(HELLO)))
}

fn whole(bytes: Bytes) -> Response<ResponseBody> {
    plain(Either::Left(Full::new(bytes)))
}

fn plain(content: ResponseBody) -> Response<ResponseBody> {
    let mut response = Response::new(content);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
