//! A load that keeps even the fastest server busy.
//!
//! wrk parses every response and measures it, which costs more than the floor spends on answering; a
//! server that waits for wrk spends time on falling asleep and waking up instead of on requests. This load
//! counts responses by the body that all contenders send. A latency is that of a burst: from its sending to
//! its last response. Nothing is sent before all connections are open, so that opening them is part of
//! neither the latencies nor the time.
//!
//! The pattern of system calls: epoll_wait, then for each readable socket one recv and one send.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use stoop_bench_floor::count::{BODY, Counter};
use stoop_bench_floor::latency::Latencies;
use stoop_bench_floor::sys::{self, Epoll};

const USAGE: &str = "usage: stoop-bench-load ADDR CONNECTIONS SECONDS [DEPTH FIELDS-FILE]";
const RECEIVE_BYTES: usize = 64 * 1024;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let load = LoadOptions::parse(&words).unwrap_or_else(|problem| {
        eprintln!("load: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match load.run() {
        Ok(counts) => println!("{}", counts.summary()),
        Err(error) => {
            eprintln!("load: {error}; does a server listen at {}?", load.address);
            std::process::exit(1);
        }
    }
}

/// The options of a run.
struct LoadOptions {
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    /// How many requests are sent at once on a connection, and answered before the next ones.
    depth: usize,
    burst: Vec<u8>,
}

/// The counts of a run.
#[derive(Default)]
struct LoadCounts {
    responses: u64,
    elapsed: Duration,
    /// Connections that received a response.
    answered: u64,
    latencies: Latencies,
    /// Bursts that were answered only in part when the server closed the connection.
    errors: u64,
    /// Connections that were opened again because the server closed them, as some do after many requests.
    reconnects: u64,
}

impl LoadCounts {
    fn summary(&self) -> String {
        let [p50, p99, p999] = [0.5, 0.99, 0.999].map(|share| self.latencies.quantile(share));
        let Self { responses, elapsed, answered, errors, reconnects, .. } = self;
        format!(
            "summary requests={responses} duration_us={} errors={errors} reconnects={reconnects} \
             answered={answered} p50_us={p50} p99_us={p99} p999_us={p999}",
            elapsed.as_micros()
        )
    }
}

/// A connection, and how many responses are outstanding on it.
struct LoadConnection {
    stream: TcpStream,
    counter: Counter,
    outstanding: usize,
    sent: Instant,
    is_answered: bool,
}

impl LoadOptions {
    fn parse(words: &[String]) -> Result<Self, String> {
        let (address, connections, seconds, depth, fields) = match words {
            [address, connections, seconds] => (address, connections, seconds, "1", None),
            [address, connections, seconds, depth, file] => {
                (address, connections, seconds, depth.as_str(), Some(file))
            }
            _ => return Err("three or five arguments are needed".into()),
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        let fields = match fields {
            Some(file) => {
                std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?
            }
            None => format!("Host: {address}\n"),
        };
        let fields: String = fields.lines().map(|line| format!("{line}\r\n")).collect();
        let depth = number(depth)?;
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            connections: number(connections)?,
            duration: Duration::from_secs(number(seconds)? as u64),
            depth,
            burst: format!("GET / HTTP/1.1\r\n{fields}\r\n").repeat(depth).into_bytes(),
        })
    }

    fn run(&self) -> io::Result<LoadCounts> {
        let mut epoll = Epoll::new()?;
        // Indexed by descriptor, which the kernel keeps small and dense.
        let mut connections: Vec<Option<LoadConnection>> = Vec::new();
        for _ in 0..self.connections {
            self.open(false, &epoll, &mut connections)?;
        }
        let mut received = vec![0; RECEIVE_BYTES];
        let mut counts = LoadCounts::default();
        let started = Instant::now();
        for connection in connections.iter_mut().flatten() {
            connection.send_first(self)?;
        }
        while counts.elapsed < self.duration {
            epoll.wait(100)?;
            for index in 0..epoll.ready() {
                let fd = epoll.fd(index);
                let Some(Some(connection)) = connections.get_mut(fd as usize) else { continue };
                let outstanding = connection.outstanding;
                let is_ending = epoll.is_ending(index);
                match connection.advance(self, is_ending, &mut received, &mut counts) {
                    Ok(()) => {}
                    Err(()) => {
                        counts.reconnects += 1;
                        counts.errors += u64::from(outstanding < self.depth);
                        self.reopen(fd, &epoll, &mut connections)?.send_first(self)?;
                    }
                }
            }
            counts.elapsed = started.elapsed();
        }
        Ok(counts)
    }

    /// Opens a connection. With `is_answered` it replaces one that was counted as answered already.
    fn open<'a>(
        &self,
        is_answered: bool,
        epoll: &Epoll,
        connections: &'a mut Vec<Option<LoadConnection>>,
    ) -> io::Result<&'a mut LoadConnection> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let fd = stream.as_raw_fd();
        epoll.watch(fd)?;
        let index = fd as usize;
        if connections.len() <= index {
            connections.resize_with(index + 1, || None);
        }
        let outstanding = self.depth;
        let (counter, sent) = (Counter::default(), Instant::now());
        let connection = LoadConnection { stream, counter, outstanding, sent, is_answered };
        Ok(connections[index].insert(connection))
    }

    fn reopen<'a>(
        &self,
        fd: RawFd,
        epoll: &Epoll,
        connections: &'a mut Vec<Option<LoadConnection>>,
    ) -> io::Result<&'a mut LoadConnection> {
        let closed = connections[fd as usize].take();
        let is_answered = closed.is_some_and(|closed| closed.is_answered);
        self.open(is_answered, epoll, connections)
    }
}

impl LoadConnection {
    /// Sends the first burst. If the peer has closed already, the next receive reports it.
    fn send_first(&mut self, load: &LoadOptions) -> io::Result<()> {
        self.sent = Instant::now();
        let sent = sys::send_all(self.stream.as_raw_fd(), &load.burst);
        let is_closed = || {
            let error = io::Error::last_os_error();
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        };
        if sent || is_closed() { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Counts the responses that have arrived, and sends the next burst when all are. An error when the
    /// connection has ended.
    fn advance(
        &mut self,
        load: &LoadOptions,
        is_ending: bool,
        received: &mut [u8],
        counts: &mut LoadCounts,
    ) -> Result<(), ()> {
        let fd = self.stream.as_raw_fd();
        loop {
            let count = match sys::recv(fd, received) {
                Ok(None) => return Ok(()),
                Ok(Some(0)) | Err(_) => return Err(()),
                Ok(Some(count)) => count,
            };
            let responses = self.counter.count(BODY, &received[..count]);
            counts.responses += responses as u64;
            self.outstanding = self.outstanding.saturating_sub(responses);
            if responses > 0 && !std::mem::replace(&mut self.is_answered, true) {
                counts.answered += 1;
            }
            if self.outstanding == 0 {
                let now = Instant::now();
                counts.latencies.add(now - std::mem::replace(&mut self.sent, now));
                if !sys::send_all(fd, &load.burst) {
                    return Err(());
                }
                self.outstanding = load.depth;
            }
            if count < received.len() && !is_ending {
                return Ok(());
            }
        }
    }
}
