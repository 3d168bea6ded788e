//! Does the TLS handshake on an accepted connection.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use stoop_io::{ServerTls, Stream, Tcp};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::connection::Disconnected;
use crate::log::EntryEnd;

/// A client that does not finish its handshake is given up after this long.
const HANDSHAKE_MAX: Duration = Duration::from_secs(30);

/// Does the handshake.
pub(crate) async fn accept(
    tls: &ServerTls,
    stream: TcpStream,
    peer: SocketAddr,
) -> Result<Stream, Disconnected> {
    let mut session =
        tls.accept(Tcp::new(stream, peer)).map_err(|_| Disconnected(EntryEnd::Failed))?;
    match timeout(HANDSHAKE_MAX, poll_fn(|cx| session.poll_handshake(cx))).await {
        Ok(Ok(())) => Ok(Stream::new(session)),
        Ok(Err(error)) => Err(io::Error::other(error).into()),
        Err(_) => Err(Disconnected(EntryEnd::TimedOut)),
    }
}
