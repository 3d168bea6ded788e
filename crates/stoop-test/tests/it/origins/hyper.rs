//! A server of hyper in a thread of its own, whose end closes all its connections.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::{Shutdown, SocketAddrV4, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::thread::{self, JoinHandle};

use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use socket2::SockRef;
use stoop::{Body, ServerTls};
use stoop_io::{AnyTransport, Stream, Tcp};
use stoop_proto::Fields;
use tokio::sync::oneshot;

use super::{big, large};

/// A running server, which ends when it is dropped.
pub(super) struct HyperServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl HyperServer {
    pub(super) fn start(address: SocketAddrV4, tls: Option<ServerTls>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.unwrap().block_on(async {
                tokio::spawn(serve(listener, tls));
                let _ = stopped.await;
            });
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for HyperServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Ends a connection when it is dropped. Closing alone does not while a program that another test starts has inherited
/// the descriptor, which it has until it calls `exec`.
struct SocketEnd(OwnedFd);

impl Drop for SocketEnd {
    fn drop(&mut self) {
        let _ = SockRef::from(&self.0).shutdown(Shutdown::Both);
    }
}

async fn serve(listener: TcpListener, tls: Option<ServerTls>) {
    let listener = tokio::net::TcpListener::from_std(listener).unwrap();
    loop {
        let (stream, from) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        let end = SocketEnd(stream.as_fd().try_clone_to_owned().unwrap());
        let tcp = Tcp::new(stream, from);
        let tls = tls.clone();
        tokio::spawn(async move {
            let _end = end;
            let mut io: AnyTransport = match tls {
                Some(tls) => tls.accept(tcp).unwrap().into(),
                None => tcp.into(),
            };
            if poll_fn(|cx| io.poll_handshake(cx)).await.is_ok() {
                let http2 = http2::Builder::new(TokioExecutor::new());
                let io = TokioIo::new(Stream::new(io));
                let _ = http2.serve_connection(io, service_fn(answer)).await;
            }
        });
    }
}

async fn answer(request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let is_head = request.method() == Method::HEAD;
    let (status, body) = match request.uri().path() {
        "/" => (StatusCode::OK, Body::from("hello")),
        "/big" => (StatusCode::OK, Body::from(big())),
        "/large" => (StatusCode::OK, Body::from(large())),
        "/echo" => (StatusCode::OK, Body::stream(request.into_body())),
        "/trailers" => (StatusCode::OK, with_trailers()),
        _ => (StatusCode::NOT_FOUND, Body::from("no")),
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    // hyper sends the content that it is given, also to HEAD.
    if is_head && let Some(len) = response.body().len() {
        response.headers_mut().insert("content-length", len.into());
        *response.body_mut() = Body::empty();
    }
    Ok(response)
}

fn with_trailers() -> Body {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        let mut trailers = Fields::new();
        trailers.push("x-sum", b"5").unwrap();
        sender.send("hello").await?;
        sender.trailers(&trailers).await
    });
    body
}
