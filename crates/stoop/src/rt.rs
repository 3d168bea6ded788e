//! The runtime's own traits: upgraded connections as streams of tokio, and its streams as connections; and how long a task
//! works before others have their turn.
//!
//! No module of this crate has the name of another crate, so that a glob import hides none:
//!
//! ```
//! use stoop::*;
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let client = Client::builder().handler(|_: Request| "hello").build()?;
//!     let response = client.send(Request::new(http::Method::GET, "http://here/")?).await?;
//!     assert_eq!(response.status(), http::StatusCode::OK);
//!     Ok(())
//! }
//! ```

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use stoop_io::{Stream, Timer, from_io};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::client::{ClientBuilder, ConnectTarget, Connecting};
use crate::conn::tunnel::TunnelProgress;
use crate::error::BoxError;
use crate::handler::{Handler, IntoHandler};
use crate::limits::ServerLimits;
use crate::server::{Control, Core, Registration, ServerConnection};
use crate::upgrade::{Keep, Upgraded};
use crate::versions::Versions;

pub use crate::turn::{Turn, yield_turn};

/// A client whose connections are what `connect` makes, whatever URLs name: an end of a pipe, a
/// stream through a tunnel of another library. TLS is spoken over it for https.
///
/// ```
/// # async fn example() -> Result<(), stoop::Error> {
/// let connect = || {
///     let (ours, theirs) = tokio::io::duplex(64 * 1024);
///     tokio::spawn(async move { drop(theirs) }); // A server answers there.
///     ours
/// };
/// let client = stoop::rt::connections_from(stoop::Client::builder(), connect).build()?;
/// # Ok(()) }
/// ```
pub fn connections_from<I>(
    builder: ClientBuilder,
    connect: impl Fn() -> I + Send + Sync + 'static,
) -> ClientBuilder
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    builder.made_by(move |_| {
        let io = from_io(connect());
        Box::pin(async move { Ok(io) })
    })
}

/// A client whose connections are made by `connect`, which is told where each is to lead and by when: through
/// a proxy or a tunnel of another library, by a name service, or with socket options of one's own. TLS is spoken over
/// it for https.
///
/// The deadline is [`ClientTime::connect`](crate::ClientTime::connect), or that of the exchange if it is
/// nearer. An [`io::Error`] becomes an error in [`Phase::Connect`](crate::Phase::Connect) by its kind, an
/// [`Error`](crate::Error) is told as it is, and any other is
/// [`ConnectUnreachable`](crate::ErrorKind::ConnectUnreachable); all of them are its
/// [`source`](std::error::Error::source).
///
/// ```
/// # async fn example() -> Result<(), stoop::Error> {
/// use stoop::{Client, ConnectTarget};
/// use tokio::net::TcpStream;
///
/// // Whatever has the name `api.internal` is on this machine.
/// let connect = |target: ConnectTarget| async move {
///     let host = if target.host() == "api.internal" { "127.0.0.1" } else { target.host() };
///     TcpStream::connect((host, target.port())).await
/// };
/// let client = stoop::rt::connector(Client::builder(), connect).build()?;
/// # Ok(()) }
/// ```
pub fn connector<F, C, I, E>(builder: ClientBuilder, connect: F) -> ClientBuilder
where
    F: Fn(ConnectTarget) -> C + Send + Sync + 'static,
    C: Future<Output = Result<I, E>> + Send + 'static,
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    E: Into<BoxError>,
{
    builder.made_by(move |target| {
        let connecting = connect(target);
        let connecting: Connecting =
            Box::pin(async move { connecting.await.map(from_io).map_err(Into::into) });
        connecting
    })
}

/// Serves HTTP on one stream, however it came about, until the connection is over. The future is
/// `Send` exactly when the handler's future and body are.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use tokio::io::{AsyncReadExt, AsyncWriteExt};
///
/// let (mut client, server) = tokio::io::duplex(1024);
/// let hello = |_: stoop::Request| "hello";
/// tokio::spawn(stoop::rt::serve(server, hello, stoop::ServerLimits::default()));
/// client.write_all(b"GET / HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").await?;
/// let mut response = String::new();
/// client.read_to_string(&mut response).await?;
/// assert!(response.starts_with("HTTP/1.1 200 OK\r\n") && response.ends_with("\r\n\r\nhello"));
/// # Ok::<(), std::io::Error>(()) }).unwrap();
/// ```
pub fn serve<I, K, T>(io: I, handler: T, limits: ServerLimits) -> Serving<T::Handler>
where
    I: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    T: IntoHandler<K>,
{
    let control = Arc::new(Control::default());
    let core = Core::new(handler.into_handler(), Arc::new(limits), control, Versions::All);
    let registration = Registration::extra(core.control.clone());
    Serving(ServerConnection::new(from_io(io), core, Timer::precise(), registration, None))
}

/// A connection being served: see [`serve`].
pub struct Serving<H: Handler>(ServerConnection<H>);

impl<H: Handler> Future for Serving<H> {
    type Output = ();
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx)
    }
}

/// An upgraded connection as tokio reads and writes it.
///
/// ```no_run
/// # async fn example(upgraded: stoop::Upgraded) -> std::io::Result<()> {
/// use tokio::io::AsyncReadExt;
///
/// let mut stream = stoop::rt::stream(upgraded);
/// let mut first = [0; 16];
/// stream.read_exact(&mut first).await?;
/// # Ok(()) }
/// ```
pub struct UpgradedStream(
    Stream,
    #[expect(dead_code, reason = "held, not used")] Option<Keep>,
    Option<Arc<TunnelProgress>>,
);

/// Makes an upgraded connection a stream of tokio's. What the peer sent behind the head comes first.
pub fn stream(upgraded: Upgraded) -> UpgradedStream {
    UpgradedStream(Stream::new(upgraded.io), upgraded.keep, upgraded.tunnel)
}

impl UpgradedStream {
    /// How many of the bytes that were written its peer has not taken yet, as far as that is known: those that are
    /// held back as ciphertext, and over TCP on Linux those that the peer's kernel has not acknowledged.
    ///
    /// Of a tunnel over HTTP/2 these are the bytes that its connection has written up to the last of the tunnel's, as they were
    /// when this was called before: the task of the connection is woken to count them again.
    pub fn backlog(&self) -> usize {
        self.0.backlog() + self.2.as_ref().map_or(0, |tunnel| tunnel.backlog())
    }
}

impl AsyncRead for UpgradedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, into)
    }
}

impl AsyncWrite for UpgradedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(cx, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}
