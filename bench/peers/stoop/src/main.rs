//! stoop as a server: its public API with default limits and deadlines, except the number of connections.
//! It takes as many as the process has descriptors for, as the others do, and not four fifths of that. For
//! the small GET it does the same as the example `hello`.
//!
//! It has one worker, on the caller's thread. A request whose response is available at once needs no
//! future; stoop adds `Date` and `content-length`. With `--websocket` it does the same as the example `echo`, without
//! compression, which is off by default.

use std::error::Error;
use std::pin::Pin;

use stoop::rt::UpgradedStream;
use stoop::{
    Answer, Body, Handler, IntoResponse, Request, Response, Server, ServerLimits, ServerTls,
    Versions,
};
use stoop_bench_peer::{Arguments, EndlessBody, HELLO, TextPieces, spin, text};
use stoop_websocket::{Error as WebSocketError, ServerHandshake, WebSocket};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::of_process("stoop");
    let mut limits = ServerLimits::default();
    limits.connections_max = usize::MAX;
    let mut server = Server::listen(arguments.listen)?.workers(1).limits(limits);
    if let Some((certificate, key)) = arguments.tls {
        server = server.tls(ServerTls::builder().certificate_files(certificate, key).build()?);
    }
    // By default it speaks both versions; a load without HTTP/2 should fail here.
    if arguments.http2 {
        server = server.versions(Versions::Http2);
    }
    if arguments.websocket {
        let handshake = ServerHandshake::new();
        let echo = move |request: Request| -> Response {
            handshake.accept(&request, |socket| async move {
                // The load counts connections that break.
                let _ = send_back(socket).await;
            })
        };
        server.run_blocking(echo, |_| {})?;
    } else {
        server.run_blocking(Paths, |_| {})?;
    }
    Ok(())
}

async fn send_back(mut socket: WebSocket<UpgradedStream>) -> Result<(), WebSocketError> {
    while let Some(message) = socket.recv().await? {
        // Answers to messages that came together leave together.
        socket.feed(message).await?;
    }
    Ok(())
}

#[derive(Clone)]
struct Paths;

impl Handler for Paths {
    type Body = Body;
    type Output = Response;
    type Future = Pin<Box<dyn Future<Output = Response>>>;

    fn call(&self, request: Request) -> Answer<Self::Future, Body> {
        if request.method() == "POST" {
            return Answer::Later(Box::pin(async { sink(request).await.into_response() }));
        }
        Answer::Now(match request.path() {
            "/820" => Response::from_text(text(820)),
            "/1m" => Response::from_text(text(1 << 20)),
            "/stream" => streamed(Body::stream(TextPieces::new())).into_response(),
            "/drip" => streamed(Body::stream(EndlessBody)).into_response(),
            "/spin" => {
                spin();
                Response::from_text(HELLO)
            }
            _ => Response::from_text(HELLO),
        })
    }
}

fn streamed(content: Body) -> Result<Response, stoop::Error> {
    Ok(Response::new(content).with_field("content-type", "text/plain")?)
}

async fn sink(request: Request) -> Result<Response, stoop::Error> {
    request.into_body().for_each(|_| ()).await?;
    Ok(Response::from_text(HELLO))
}
