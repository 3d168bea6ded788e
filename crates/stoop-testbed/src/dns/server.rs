//! The DNS server: UDP and TCP on one port of 127.0.0.1.

use std::fmt;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UdpSocket};
use tokio::sync::Semaphore;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::forgery::ForgedMessage;
use super::message::{DnsQuery, DnsResponse};
use super::records::{Records, Zone};
use crate::log::{EntryKind, Log, LogEntry};
use crate::origin::{ACCEPT_PAUSE, Reach, listen};
use crate::stats::{Counters, Stats};

/// Slow UDP responses under way at most; others are dropped.
const SLOW_MAX: usize = 1_024;

/// TCP connections at most; others wait.
const CONNECTIONS_MAX: usize = 256;

/// A TCP connection without a query is closed after this long.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Bytes of the receive buffer: a thousand queries may wait, if the kernel allows so much.
const RECEIVE_BUFFER_BYTES: usize = 4 << 20;

/// Ports that are tried, because one that is free for TCP need not be free for UDP.
const PORTS_TRIED: usize = 16;

/// A DNS server on 127.0.0.1, by UDP and TCP, that answers as its records say.
///
/// It runs on the runtime it was started on and ends when it is dropped.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> std::io::Result<()> {
/// use stoop_testbed::{DnsServer, DnsAnswer, Records};
///
/// let records = Records::default().with("big.test", DnsAnswer::many(500, 60));
/// let server = DnsServer::start(records).await?;
/// println!("ask {}", server.address());
/// # Ok(())
/// # }
/// ```
pub struct DnsServer {
    address: SocketAddr,
    log: Log,
    counters: Counters,
    tasks: [JoinHandle<()>; 2],
}

impl DnsServer {
    /// Starts a server for these records, on a free port.
    ///
    /// # Errors
    /// If no socket can be had.
    pub async fn start(records: Records) -> io::Result<Self> {
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        Self::serve(records, any, Log::memory(), Counters::default()).await
    }

    pub(crate) async fn serve(
        zone: impl Zone,
        address: SocketAddr,
        log: Log,
        counters: Counters,
    ) -> io::Result<Self> {
        let (udp, tcp) = bind(address).await?;
        let address = udp.local_addr()?;
        let shared = Arc::new(DnsShared { zone, log: log.clone(), counters: counters.clone() });
        let tasks =
            [tokio::spawn(over_udp(udp, shared.clone())), tokio::spawn(over_tcp(tcp, shared))];
        Ok(Self { address, log, counters, tasks })
    }

    /// Where it listens, for UDP and TCP.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The queries that were received: see [`LogEntry`].
    pub fn log(&self) -> Vec<LogEntry> {
        self.log.entries()
    }

    /// The counters of the queries.
    pub fn stats(&self) -> Stats {
        self.counters.read()
    }
}

impl Drop for DnsServer {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl fmt::Debug for DnsServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DnsServer").field("address", &self.address).finish_non_exhaustive()
    }
}

async fn bind(address: SocketAddr) -> io::Result<(UdpSocket, TcpListener)> {
    let SocketAddr::V4(address) = address else { return Err(not_loopback()) };
    if !address.ip().is_loopback() {
        return Err(not_loopback());
    }
    for _ in 1..PORTS_TRIED {
        let udp = UdpSocket::bind(address).await?;
        // As much as the kernel allows; where it allows less, that is what there is.
        let _ = socket2::SockRef::from(&udp).set_recv_buffer_size(RECEIVE_BUFFER_BYTES);
        match listen(Reach::Address(*address.ip()), udp.local_addr()?.port()) {
            Ok(tcp) => return Ok((udp, tcp)),
            Err(_) if address.port() == 0 => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

fn not_loopback() -> io::Error {
    let why = "a testbed's name server listens on 127.0.0.0/8 only";
    io::Error::new(io::ErrorKind::InvalidInput, why)
}

struct DnsShared<Z> {
    zone: Z,
    log: Log,
    counters: Counters,
}

/// A response that is to be sent, and its delay.
struct PendingResponse {
    /// What is sent at once, before it.
    forged: Vec<ForgedMessage>,
    bytes: Option<Vec<u8>>,
    delay: Duration,
}

impl<Z: Zone> DnsShared<Z> {
    /// Answers a query and logs it. `None` for what is no query.
    fn answer(&self, query: &[u8], udp: bool) -> Option<PendingResponse> {
        let begin = self.log.now();
        let question = DnsQuery::read(query)?;
        self.counters.dns_query();
        let (answer, url) = self.zone.answer(&question.name);
        let response = question.respond(&answer, udp);
        let mut entry = self.log.mark(EntryKind::Dns);
        entry.url = url;
        entry.target = question.kind();
        entry.host = question.name;
        (entry.accepted, entry.begin) = (begin, begin);
        entry.end = self.log.now() + response.delay;
        entry.sent = response.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64);
        entry.ended = response.ended;
        self.log.add(entry);
        let DnsResponse { forged, bytes, delay, .. } = response;
        Some(PendingResponse { forged, bytes, delay })
    }
}

async fn over_udp<Z: Zone>(socket: UdpSocket, shared: Arc<DnsShared<Z>>) {
    let socket = Arc::new(socket);
    let mut slow = JoinSet::new();
    let mut buffer = [0; 4096];
    loop {
        while slow.try_join_next().is_some() {}
        // An ICMP error of an earlier answer may be reported here: it is no reason to stop.
        let Ok((length, client)) = socket.recv_from(&mut buffer).await else { continue };
        let Some(due) = shared.answer(&buffer[..length], true) else { continue };
        for forged in &due.forged {
            send_forged(&socket, forged, client).await;
        }
        let Some(bytes) = due.bytes else { continue };
        if due.delay.is_zero() {
            let _ = socket.send_to(&bytes, client).await;
        } else if slow.len() < SLOW_MAX {
            let socket = socket.clone();
            slow.spawn(async move {
                tokio::time::sleep(due.delay).await;
                let _ = socket.send_to(&bytes, client).await;
            });
        }
    }
}

async fn over_tcp<Z: Zone>(listener: TcpListener, shared: Arc<DnsShared<Z>>) {
    let mut connections = JoinSet::new();
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    loop {
        while connections.try_join_next().is_some() {}
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        let shared = shared.clone();
        connections.spawn(async move {
            // How a client of the name server disconnects does not matter.
            let _ = serve_tcp(stream, &shared).await;
            drop(permit);
        });
    }
}

/// Messages over TCP have their length in front: RFC 1035 §4.2.2.
async fn serve_tcp<Z: Zone>(mut stream: TcpStream, shared: &DnsShared<Z>) -> io::Result<()> {
    loop {
        let length = timeout(IDLE_MAX, stream.read_u16()).await??;
        let mut query = vec![0; length.into()];
        timeout(IDLE_MAX, stream.read_exact(&mut query)).await??;
        let Some(due) = shared.answer(&query, false) else { return Ok(()) };
        for forged in due.forged {
            write_message(&mut stream, &forged.bytes).await?;
        }
        tokio::time::sleep(due.delay).await;
        if let Some(bytes) = due.bytes {
            write_message(&mut stream, &bytes).await?;
        }
    }
}

async fn write_message(stream: &mut TcpStream, bytes: &[u8]) -> io::Result<()> {
    let length = u16::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_be_bytes()[..], bytes].concat()).await
}

/// Sends a forged message. Whether it arrives is not known, as with any datagram.
async fn send_forged(socket: &UdpSocket, forged: &ForgedMessage, client: SocketAddr) {
    if !forged.other_port {
        let _ = socket.send_to(&forged.bytes, client).await;
    } else if let Ok(other) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await {
        let _ = other.send_to(&forged.bytes, client).await;
    }
}
