//! A load of WebSocket messages: each connection sends a message, and the next one when it has come back.
//!
//! Everything that a client may prepare is prepared: one masked frame is sent again and again, and an echo is
//! compared with the bytes that it must have, which costs less than parsing it. So the load is cheaper than
//! any server. A server must send each message back in one frame.
//!
//! The pattern of system calls: epoll_wait, then for each readable socket one recv and one send, or as many as the
//! message needs.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use stoop_bench_floor::latency::Latencies;
use stoop_bench_floor::sys::{self, Epoll};

const USAGE: &str = "usage: stoop-bench-websocket ADDR CONNECTIONS SECONDS BYTES";
const RECEIVE_BYTES: usize = 64 * 1024;
const HEAD_BYTES_MAX: usize = 4_096;
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The first byte of a frame that is a whole binary message, and the mask (RFC 6455 §5.2).
const BINARY: u8 = 0x82;
const MASKED: u8 = 0x80;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let load = WebSocketLoad::parse(&words).unwrap_or_else(|problem| {
        eprintln!("websocket: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match load.run() {
        Ok(summary) => println!("{summary}"),
        Err(error) => {
            eprintln!("websocket: {error}; does a server send messages back at {}?", load.address);
            std::process::exit(1);
        }
    }
}

/// The options of a run.
struct WebSocketLoad {
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    /// The frame that is sent, and the one that comes back.
    message: Vec<u8>,
    echo: Vec<u8>,
}

/// A connection, and how much of the outstanding echo has come.
struct LoadConnection {
    stream: TcpStream,
    received: usize,
    sent: Instant,
}

/// The counts of a run.
#[derive(Default)]
struct LoadCounts {
    echoes: u64,
    latencies: Latencies,
}

impl WebSocketLoad {
    fn parse(words: &[String]) -> Result<Self, String> {
        let [address, connections, seconds, bytes] = words else {
            return Err("four arguments are needed".into());
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        let bytes = number(bytes)?;
        if bytes > RECEIVE_BYTES {
            return Err(format!("messages have at most {RECEIVE_BYTES} bytes"));
        }
        let payload: Vec<u8> = (b'a'..=b'z').cycle().take(bytes).collect();
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            connections: number(connections)?,
            duration: Duration::from_secs(number(seconds)? as u64),
            message: frame(Some(MASK), &payload),
            echo: frame(None, &payload),
        })
    }

    fn run(&self) -> io::Result<String> {
        let mut epoll = Epoll::new()?;
        // Indexed by descriptor, which the kernel keeps small and dense.
        let mut connections: Vec<Option<LoadConnection>> = Vec::new();
        for _ in 0..self.connections {
            let connection = self.open()?;
            let fd = connection.stream.as_raw_fd();
            epoll.watch(fd)?;
            connections.resize_with(connections.len().max(fd as usize + 1), || None);
            connections[fd as usize] = Some(connection);
        }
        let mut received = vec![0; RECEIVE_BYTES];
        let (mut counts, started) = (LoadCounts::default(), Instant::now());
        for connection in connections.iter_mut().flatten() {
            connection.send(self)?;
        }
        while started.elapsed() < self.duration {
            epoll.wait(100)?;
            for index in 0..epoll.ready() {
                let fd = epoll.fd(index) as usize;
                let Some(Some(connection)) = connections.get_mut(fd) else { continue };
                connection.advance(self, &mut received, &mut counts)?;
            }
        }
        let elapsed = started.elapsed().as_micros();
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| counts.latencies.quantile(share));
        Ok(format!(
            "summary requests={} duration_us={elapsed} errors=0 p50_us={p50} p99_us={p99} p999_us={p999}",
            counts.echoes
        ))
    }

    /// Opens a connection, and does the handshake.
    fn open(&self) -> io::Result<LoadConnection> {
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(HANDSHAKE_TIMEOUT))?;
        let request = format!(
            "GET / HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
            self.address
        );
        stream.write_all(request.as_bytes())?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
            stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        if !head.starts_with(b"HTTP/1.1 101 ") {
            return Err(io::Error::other("the handshake was refused"));
        }
        stream.set_nonblocking(true)?;
        Ok(LoadConnection { stream, received: 0, sent: Instant::now() })
    }
}

impl LoadConnection {
    /// Sends a message. The echo of the one before has come, so the kernel has room for it as soon as the server
    /// reads.
    fn send(&mut self, load: &WebSocketLoad) -> io::Result<()> {
        self.sent = Instant::now();
        sys::send_whole(self.stream.as_raw_fd(), &load.message)
    }

    /// Receives what has come of an echo, and sends the next message when it is complete.
    fn advance(
        &mut self,
        load: &WebSocketLoad,
        received: &mut [u8],
        counts: &mut LoadCounts,
    ) -> io::Result<()> {
        // At each edge all that is there is read, since no other edge reports it.
        while let Some(count) = sys::recv(self.stream.as_raw_fd(), received)? {
            let rest = &load.echo[self.received..];
            if count == 0 {
                return Err(io::Error::other("the server closed a connection"));
            }
            if !rest.starts_with(&received[..count]) {
                return Err(io::Error::other(
                    "a message did not come back as it was, in one frame",
                ));
            }
            self.received += count;
            if self.received == load.echo.len() {
                counts.echoes += 1;
                counts.latencies.add(self.sent.elapsed());
                self.received = 0;
                return self.send(load);
            }
        }
        Ok(())
    }
}

/// The bytes of a frame that is a whole binary message.
fn frame(mask: Option<[u8; 4]>, payload: &[u8]) -> Vec<u8> {
    let masked = if mask.is_some() { MASKED } else { 0 };
    let mut bytes = vec![BINARY];
    match payload.len() {
        length @ ..126 => bytes.push(masked | length as u8),
        length @ ..65_536 => {
            bytes.push(masked | 126);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(masked | 127);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(mask.unwrap_or_default().iter().filter(|_| mask.is_some()));
    let mask = mask.unwrap_or_default();
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_those_of_the_rfc() {
        // RFC 6455 §5.7, of a binary message.
        let masked = [0x82, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(frame(Some(MASK), b"Hello"), masked);
        assert_eq!(frame(None, b"Hello"), *b"\x82\x05Hello");
        assert_eq!(frame(None, &[0; 256])[..4], [0x82, 0x7e, 1, 0]);
    }
}
