//! Servers whose connections end in unusual ways: half-closed, and over TLS without close_notify.

use std::io;
use std::net::SocketAddr;

use stoop_io::{AnyTransport, ServerTls, Stream, Tcp};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::http2::linger;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, world!";
const UNTIL_CLOSE: &[u8] = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nHello, world!";

/// How the connection ends behind a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The server ends its direction without a response, and goes on reading.
    HalfCloseUnanswered,
    /// The same behind a complete response that announces no close.
    HalfCloseAnswered,
    /// TLS: a complete response with a length, and the end without close_notify.
    NoCloseNotify,
    /// TLS: a response up to the end of the connection, which comes without close_notify.
    NoCloseNotifyUntilClose,
}

impl End {
    /// All of them, with their names and the outcomes that a client may have.
    pub(super) const ALL: &[(Self, &'static str, &'static [&'static str])] = &[
        (Self::HalfCloseUnanswered, "half-close-unanswered", &["closed_early@wait"]),
        (Self::HalfCloseAnswered, "half-close-answered", &["200"]),
        (Self::NoCloseNotify, "no-close-notify", &["200"]),
        (Self::NoCloseNotifyUntilClose, "no-close-notify-until-close", &["closed_early@receive"]),
    ];

    pub(super) fn is_tls(self) -> bool {
        matches!(self, Self::NoCloseNotify | Self::NoCloseNotifyUntilClose)
    }
}

/// Starts the server; with this certificate, if it speaks TLS.
pub(super) async fn start(end: End, tls: &ServerTls) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let tls = end.is_tls().then(|| tls.clone());
    tokio::spawn(async move {
        while let Ok((stream, peer)) = listener.accept().await {
            match &tls {
                None => drop(tokio::spawn(answer(stream, end))),
                Some(tls) => {
                    let accepted = tls.accept(AnyTransport::from(Tcp::new(stream, peer)));
                    let Ok(accepted) = accepted else { continue };
                    tokio::spawn(answer_secure(Stream::new(accepted), end));
                }
            }
        }
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream, end: End) -> io::Result<()> {
    read_head(&mut stream).await?;
    if end == End::HalfCloseAnswered {
        stream.write_all(ANSWER).await?;
    }
    linger(stream).await
}

/// Dropping a session closes its connection without close_notify.
async fn answer_secure(mut stream: Stream, end: End) -> io::Result<()> {
    read_head(&mut stream).await?;
    let answer = if end == End::NoCloseNotify { ANSWER } else { UNTIL_CLOSE };
    stream.write_all(answer).await?;
    stream.flush().await
}

async fn read_head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<()> {
    let mut input = Vec::new();
    while !input.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut input).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(())
}
