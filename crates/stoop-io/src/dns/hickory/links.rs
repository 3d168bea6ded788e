//! hickory's way to the servers: UDP sockets that are connected, one for each question.

use std::future::Future;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hickory_resolver::config::{ConnectionConfig, ProtocolConfig};
use hickory_resolver::net::NetError;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::runtime::{DnsUdpSocket, RuntimeProvider, TokioHandle, TokioTime};
use hickory_resolver::net::tcp::TcpClientStream;
use hickory_resolver::net::udp::UdpClientStream;
use hickory_resolver::net::xfer::DnsExchange;
use hickory_resolver::{ConnectionProvider, PoolContext};
use tokio::io::{Interest, ReadBuf};
use tokio::net::UdpSocket;

/// Makes connections to servers.
#[derive(Clone, Default)]
pub(super) struct Links(Sockets);

impl ConnectionProvider for Links {
    type Conn = DnsExchange<Sockets>;
    type FutureConn = Pin<Box<dyn Future<Output = Result<Self::Conn, NetError>> + Send>>;
    type RuntimeProvider = Sockets;

    fn new_connection(
        &self,
        ip: IpAddr,
        config: &ConnectionConfig,
        pool: &PoolContext,
    ) -> Result<Self::FutureConn, NetError> {
        let server = SocketAddr::new(ip, config.port);
        let sockets = self.0.clone();
        let limit = pool.options.timeout;
        match config.protocol {
            ProtocolConfig::Udp => {
                // Left to itself hickory repeats a question up to three times within the limit, each
                // time on one more socket. Repeating is left to its attempts, one after the other.
                let exchange = UdpClientStream::builder(server, sockets)
                    .with_timeout(Some(limit))
                    .with_os_port_selection(pool.options.os_port_selection)
                    .with_max_retries(1)
                    .exchange();
                Ok(Box::pin(std::future::ready(Ok(exchange))))
            }
            ProtocolConfig::Tcp => {
                let active = Some(pool.options.max_active_requests);
                Ok(Box::pin(TcpClientStream::exchange(server, None, limit, active, sockets)))
            }
            #[allow(unreachable_patterns)] // more protocols where other crates switch them on
            _ => Err(NetError::Message("only UDP and TCP are spoken")),
        }
    }

    fn runtime_provider(&self) -> &Sockets {
        &self.0
    }
}

/// Makes sockets and tasks on the runtime it is called on.
#[derive(Clone, Default)]
pub(super) struct Sockets(TokioRuntimeProvider);

impl RuntimeProvider for Sockets {
    type Handle = TokioHandle;
    type Timer = TokioTime;
    type Udp = Connected;
    type Tcp = <TokioRuntimeProvider as RuntimeProvider>::Tcp;

    fn create_handle(&self) -> TokioHandle {
        self.0.create_handle()
    }

    fn connect_tcp(
        &self,
        server: SocketAddr,
        local: Option<SocketAddr>,
        limit: Option<Duration>,
    ) -> Pin<Box<dyn Future<Output = io::Result<Self::Tcp>> + Send>> {
        self.0.connect_tcp(server, local, limit)
    }

    fn bind_udp(
        &self,
        local: SocketAddr,
        server: SocketAddr,
    ) -> Pin<Box<dyn Future<Output = io::Result<Connected>> + Send>> {
        Box::pin(async move {
            let socket = UdpSocket::bind(local).await?;
            socket.connect(server).await?;
            Ok(Connected { socket, server })
        })
    }
}

/// A UDP socket that hears only its server, also when there is none: an unconnected socket would
/// not be told that the port is closed, and wait.
pub(super) struct Connected {
    socket: UdpSocket,
    server: SocketAddr,
}

impl Connected {
    async fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = self.socket.ready(Interest::READABLE | Interest::ERROR).await?;
            if ready.is_error() {
                if let Some(error) = self.socket.take_error()? {
                    return Err(error);
                }
                let nothing = || Err::<(), _>(io::ErrorKind::WouldBlock.into());
                let _ = self.socket.try_io(Interest::ERROR, nothing);
            }
            match self.socket.try_recv(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                received => return received,
            }
        }
    }
}

type Boxed<'a, T> = Pin<Box<dyn Future<Output = io::Result<T>> + Send + 'a>>;

impl DnsUdpSocket for Connected {
    type Time = TokioTime;

    fn poll_recv_from(
        &self,
        cx: &mut Context<'_>,
        buffer: &mut [u8],
    ) -> Poll<io::Result<(usize, SocketAddr)>> {
        let mut buffer = ReadBuf::new(buffer);
        ready!(self.socket.poll_recv(cx, &mut buffer))?;
        Poll::Ready(Ok((buffer.filled().len(), self.server)))
    }

    /// A refusal (ICMP) makes no socket readable: polling for bytes alone would not see it.
    fn recv_from<'this, 'buffer, 'all>(
        &'this self,
        buffer: &'buffer mut [u8],
    ) -> Boxed<'all, (usize, SocketAddr)>
    where
        'this: 'all,
        'buffer: 'all,
        Self: 'all,
    {
        Box::pin(async { self.receive(buffer).await.map(|n| (n, self.server)) })
    }

    fn poll_send_to(
        &self,
        cx: &mut Context<'_>,
        bytes: &[u8],
        _server: SocketAddr,
    ) -> Poll<io::Result<usize>> {
        self.socket.poll_send(cx, bytes)
    }
}
