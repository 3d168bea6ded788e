//! ntex as a server, with the settings that make it fastest and keep the comparison fair.
//!
//! It uses its own runtime neon on io_uring, one worker, and `HttpService` rather than its web framework:
//! the service is a plain function. The limit for a request's head is off, as it is for hyper, and
//! an idle connection is kept for 75 s and not 5.

use std::error::Error;
use std::io;
use std::rc::Rc;
use std::sync::LazyLock;
use std::task::{Context, Poll};

use ntex::http::body::{Body, BodySize, MessageBody};
use ntex::http::{HttpService, HttpServiceConfig, Method, Request, Response};
use ntex::time::Seconds;
use ntex::util::Bytes;
use ntex::{SharedCfg, server};
use stoop_bench_peer::{Arguments, HELLO, HTTP1, PIECE_BYTES};

const NAME: &str = "bench";

/// The agreed text, as a static slice, which is the only form that ntex's `Bytes` share without a copy.
static TEXT: LazyLock<&[u8]> = LazyLock::new(|| stoop_bench_peer::text(1 << 20).to_vec().leak());

#[ntex::main]
async fn main() -> io::Result<()> {
    let arguments = Arguments::of_process("ntex");
    let http = HttpServiceConfig::new()
        .set_keepalive_timeout(Seconds(75))
        .set_client_timeout(Seconds::ZERO);
    let server = server::build().workers(1).backlog(4096);
    let server = match arguments.tls {
        None => server.bind(NAME, arguments.listen, async |_| HttpService::h1(answer))?,
        Some((certificate, key)) => {
            let tls = stoop_bench_peer::config(&certificate, &key, HTTP1)?;
            server.bind(NAME, arguments.listen, async move |_| {
                HttpService::h1(answer).rustls(tls.clone())
            })?
        }
    };
    server.config(NAME, SharedCfg::new(NAME).add(http)).run().await
}

async fn answer(mut request: Request) -> io::Result<Response> {
    if request.method() == Method::POST {
        let mut content = request.take_payload();
        while let Some(piece) = content.recv().await {
            piece.map_err(|error| io::Error::other(error.to_string()))?;
        }
    }
    Ok(match request.path() {
        "/820" => plain(Body::Bytes(Bytes::from_static(&TEXT[..820]))),
        "/1m" => plain(Body::Bytes(Bytes::from_static(&TEXT))),
        "/stream" => plain(Body::Message(Box::new(TextPieces(&TEXT)))),
        _ => plain(Body::Bytes(Bytes::from_static(HELLO))),
    })
}

fn plain(content: Body) -> Response {
    Response::Ok().header("content-type", "text/plain").body(content)
}

/// A body of the agreed text in pieces.
struct TextPieces(&'static [u8]);

impl MessageBody for TextPieces {
    fn size(&self) -> BodySize {
        BodySize::Stream
    }

    fn poll_next_chunk(
        &mut self,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Rc<dyn Error>>>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        let (piece, rest) = self.0.split_at(PIECE_BYTES.min(self.0.len()));
        self.0 = rest;
        Poll::Ready(Some(Ok(Bytes::from_static(piece))))
    }
}
