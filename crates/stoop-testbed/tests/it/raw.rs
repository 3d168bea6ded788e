//! One connection, literal bytes, and how it ended. Over TCP and TLS alike.

use std::io;
use std::net::SocketAddr;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use stoop_io::{ClientTls, FillResult, Output, Tcp, Transport};
use stoop_testbed::Origin;
use tokio::time::timeout;

/// How a connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionEnd {
    /// In order: FIN, and close_notify where there is TLS.
    Closed,
    /// RST.
    Reset,
    /// Not at all within the patience of the test.
    Open,
}

/// How long tests wait for bytes that do not come.
const PATIENCE: Duration = Duration::from_millis(700);

/// A connection, plain or not.
pub(crate) struct RawConnection {
    transport: Box<dyn Transport + Send>,
    out: Output,
}

impl RawConnection {
    pub(crate) async fn plain(address: SocketAddr) -> io::Result<Self> {
        let tcp = Tcp::connect(address).await?;
        Ok(Self { transport: Box::new(tcp), out: Output::default() })
    }

    /// Connects and shakes hands.
    pub(crate) async fn secure(
        address: SocketAddr,
        name: &str,
        tls: &ClientTls,
    ) -> io::Result<Self> {
        let mut tls = tls.connect(Tcp::connect(address).await?, name).map_err(io::Error::other)?;
        std::future::poll_fn(|cx| tls.poll_handshake(cx)).await.map_err(io::Error::other)?;
        Ok(Self { transport: Box::new(tls), out: Output::default() })
    }

    /// Connects to an origin the way its URL says.
    pub(crate) async fn to(origin: &Origin) -> io::Result<Self> {
        match origin.ca_pem() {
            None => Self::plain(origin.address()).await,
            Some(ca) => Self::secure(origin.address(), "127.0.0.1", &trusting(ca)).await,
        }
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.put(bytes);
        std::future::poll_fn(|cx| self.transport.poll_flush(cx, &mut self.out)).await
    }

    fn poll_some(&mut self, cx: &mut Context<'_>, into: &mut Vec<u8>) -> Poll<io::Result<bool>> {
        let more = ready!(self.transport.poll_fill(cx, 1 << 20))? != FillResult::End;
        let received = self.transport.received();
        let length = received.len();
        into.extend_from_slice(received);
        self.transport.consume(length);
        Poll::Ready(Ok(more))
    }

    /// Appends what comes next; false at the end.
    pub(crate) async fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<bool> {
        std::future::poll_fn(|cx| self.poll_some(cx, into)).await
    }

    /// Everything up to the end, or until nothing comes any more.
    pub(crate) async fn rest(&mut self) -> (Vec<u8>, ConnectionEnd) {
        let mut bytes = Vec::new();
        loop {
            match timeout(PATIENCE, self.receive(&mut bytes)).await {
                Err(_) => return (bytes, ConnectionEnd::Open),
                Ok(Ok(true)) => {}
                Ok(Ok(false)) => return (bytes, ConnectionEnd::Closed),
                Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionReset => {
                    return (bytes, ConnectionEnd::Reset);
                }
                Ok(Err(error)) => panic!("neither an end nor a reset: {error}"),
            }
        }
    }

    /// Exactly so many bytes.
    pub(crate) async fn exactly(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        while bytes.len() < length {
            assert!(self.receive(&mut bytes).await.unwrap(), "ended after {} bytes", bytes.len());
        }
        assert_eq!(bytes.len(), length, "more than expected");
        bytes
    }
}

/// A client's TLS that trusts this authority and no other.
pub(crate) fn trusting(ca_pem: &str) -> ClientTls {
    let builder = ClientTls::builder().ca_pem(ca_pem.as_bytes().to_vec());
    builder.platform_cas(false).build().unwrap()
}

/// An ordinary request.
pub(crate) const GET: &[u8] = b"GET / HTTP/1.1\r\nhost: test\r\n\r\n";

/// Sends one request, and returns everything that comes back and how that ended.
pub(crate) async fn ask(origin: &Origin, request: &[u8]) -> (Vec<u8>, ConnectionEnd) {
    let mut connection = RawConnection::to(origin).await.unwrap();
    connection.send(request).await.unwrap();
    connection.rest().await
}
