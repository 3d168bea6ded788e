//! A server in a few lines: `Hello, world!` for every method and path.
//!
//! `/echo` streams the request's content back, `/body` reads it whole and answers its length.
//!
//! ```text
//! cargo run --release -p stoop --example hello -- --listen 127.0.0.1:8080 --workers 1
//! cargo run --release -p stoop --example hello -- --listen 127.0.0.1:8443 --tls cert.pem key.pem
//! cargo run --release -p stoop --example hello -- --http2      # nothing but HTTP/2
//! ```

use std::error::Error;
use std::num::NonZeroUsize;

use stoop::{Request, Response, Server, Versions};

const USAGE: &str =
    "usage: hello [--listen ADDR] [--workers N] [--tls CERT KEY] [--http2 | --http1.1]";

/// Content that `/body` reads at most: 64 MiB.
const BODY_MAX: usize = 64 << 20;

async fn echo(request: Request) -> Response {
    Response::new(request.into_body())
}

async fn body(request: Request) -> Result<Response, stoop::Error> {
    let content = request.into_body().bytes(BODY_MAX).await?;
    Ok(Response::from_text(format!("{}\n", content.len())))
}

/// Chooses by path. `hello` is answered without a future: nothing needs to be kept for it.
#[derive(Clone)]
struct Hello;

impl stoop::Handler for Hello {
    type Body = stoop::Body;
    type Output = Response;
    type Future = std::pin::Pin<Box<dyn Future<Output = Response>>>;

    fn call(&self, request: Request) -> stoop::Answer<Self::Future, stoop::Body> {
        match request.path() {
            "/echo" => stoop::Answer::Later(Box::pin(echo(request))),
            "/body" => stoop::Answer::Later(Box::pin(async {
                stoop::IntoResponse::into_response(body(request).await)
            })),
            _ => stoop::Answer::Now(Response::from_text("Hello, world!")),
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut listen, mut workers, mut tls) = (String::from("127.0.0.1:8080"), None, None);
    let mut versions = Versions::All;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--listen" => listen = value()?,
            "--workers" => {
                let count = value()?.parse::<NonZeroUsize>();
                workers = Some(count.map_err(|_| "--workers needs a number, 1 at least")?);
            }
            "--tls" => tls = Some((value()?, value()?)),
            "--http2" => versions = Versions::Http2,
            "--http1.1" => versions = Versions::Http1,
            _ => return Err(USAGE.into()),
        }
    }
    let mut server = Server::listen(listen.as_str())?.versions(versions);
    if let Some(workers) = workers {
        server = server.workers(workers.get());
    }
    if let Some((certificate, key)) = tls {
        server =
            server.tls(stoop::ServerTls::builder().certificate_files(certificate, key).build()?);
    }
    server.run_blocking(Hello, |running| println!("listening on {}", running.endpoint()))?;
    Ok(())
}
