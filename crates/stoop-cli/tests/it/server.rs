//! A server of raw bytes for tests: one thread a connection, and the path selects the response.
//!
//! `/ok/N` a body of N bytes, `/status/N`, `/delay/MS`, `/hang`, `/close` before any answer,
//! `/short` of its content-length, `/agent` the User-Agent.

use std::io::{BufRead, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

/// A server that runs until the test's process ends.
#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    requests: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
}

impl Server {
    pub(crate) fn start() -> Self {
        Self::on(Ipv4Addr::LOCALHOST)
    }

    /// The same at another address than 127.0.0.1.
    pub(crate) fn on(address: Ipv4Addr) -> Self {
        Self::at((address, 0).into())
    }

    /// The same at a port that was free before.
    pub(crate) fn at(address: SocketAddr) -> Self {
        let listener = TcpListener::bind(address).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let counts = Arc::new(Counts::default());
        let server = Self { address, counts: Arc::clone(&counts) };
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let counts = Arc::clone(&counts);
                thread::spawn(move || serve(stream, &counts));
            }
        });
        server
    }

    /// The URL of a path that starts with `/`.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn requests(&self) -> usize {
        self.counts.requests.load(SeqCst)
    }

    pub(crate) fn most_in_flight(&self) -> usize {
        self.counts.most_in_flight.load(SeqCst)
    }
}

/// Reads the next request without content, and returns its path; none at the end.
pub(crate) fn next_path(reader: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let path = line.split(' ').nth(1).expect("a request line").to_owned();
    while !line.trim().is_empty() {
        line.clear();
        reader.read_line(&mut line).ok()?;
    }
    Some(path)
}

/// An address on which no process listens.
pub(crate) fn refusing() -> SocketAddr {
    // Bound and never listening, so that no other process takes it while the tests run.
    static TAKEN: std::sync::OnceLock<std::net::UdpSocket> = std::sync::OnceLock::new();
    let taken = TAKEN.get_or_init(|| {
        // Where there is more than one loopback address: one that no other test listens on.
        let quiet = cfg!(target_os = "linux").then_some(Ipv4Addr::new(127, 0, 0, 77));
        let probe = TcpListener::bind((quiet.unwrap_or(Ipv4Addr::LOCALHOST), 0));
        let probe = probe.expect("a free port");
        std::net::UdpSocket::bind(probe.local_addr().expect("bound")).expect("the same for UDP")
    });
    taken.local_addr().expect("bound")
}

fn serve(mut stream: TcpStream, counts: &Counts) {
    let mut received = Vec::new();
    let mut piece = [0; 4096];
    loop {
        while let Some(end) = received.windows(4).position(|w| w == b"\r\n\r\n") {
            let head: Vec<u8> = received.drain(..end + 4).collect();
            let head = String::from_utf8_lossy(&head).into_owned();
            counts.requests.fetch_add(1, SeqCst);
            let now = counts.in_flight.fetch_add(1, SeqCst) + 1;
            counts.most_in_flight.fetch_max(now, SeqCst);
            let done = answer(&mut stream, &head, counts);
            if done.is_none() || head.to_ascii_lowercase().contains("connection: close") {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(n) if n > 0 => received.extend_from_slice(&piece[..n]),
            _ => return,
        }
    }
}

/// Answers one request; `None` closes the connection.
fn answer(stream: &mut TcpStream, head: &str, counts: &Counts) -> Option<()> {
    let path = head.split(' ').nth(1).expect("a request line");
    let mut parts = path.split(['/', '?']).skip(1);
    let kind = parts.next().unwrap_or_default();
    let number: usize = parts.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let (status, length, sent) = match kind {
        "status" => (number, 0, 0),
        "delay" => {
            thread::sleep(Duration::from_millis(number as u64));
            (200, 2, 2)
        }
        "hang" => {
            // Until the client gives up.
            let _ = stream.read(&mut [0]);
            counts.in_flight.fetch_sub(1, SeqCst);
            return None;
        }
        "close" => {
            counts.in_flight.fetch_sub(1, SeqCst);
            return None;
        }
        "short" => (200, 100, 10),
        "agent" => {
            let agent = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("user-agent").then_some(value)
            });
            let length = agent.unwrap_or_default().len();
            (200, length, length)
        }
        _ => (200, number, number),
    };
    let mut bytes = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\n\r\n").into_bytes();
    bytes.extend(vec![b'x'; sent]);
    // Answered from the client's point of view as soon as it is written.
    counts.in_flight.fetch_sub(1, SeqCst);
    stream.write_all(&bytes).ok()?;
    (sent == length).then_some(())
}
