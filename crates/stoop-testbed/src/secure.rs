//! TLS on an accepted connection.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use stoop_io::{ServerTls, Stream, Tcp};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::log::Ended;
use crate::wire::Gone;

/// A client that does not finish its handshake is given up after this long.
const HANDSHAKE_MAX: Duration = Duration::from_secs(30);

/// Shakes hands.
pub(crate) async fn accept(
    tls: &ServerTls,
    stream: TcpStream,
    peer: SocketAddr,
) -> Result<Stream, Gone> {
    let mut session = tls.accept(Tcp::new(stream, peer)).map_err(|_| Gone(Ended::Failed))?;
    match timeout(HANDSHAKE_MAX, poll_fn(|cx| session.poll_handshake(cx))).await {
        Ok(Ok(())) => Ok(Stream::new(session)),
        Ok(Err(error)) => Err(io::Error::other(error).into()),
        Err(_) => Err(Gone(Ended::TimedOut)),
    }
}
