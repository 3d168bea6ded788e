//! A load that the fastest server cannot outrun: the floor's counterpart.
//!
//! wrk parses every answer and takes its time, which costs more than the floor spends on answering;
//! a server that waits for wrk pays for falling asleep and waking up instead of for requests. This
//! one counts answers by the body that all contenders send, and measures no latency.
//!
//! The pattern of system calls: epoll_wait, then for each readable socket one recv and one send.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use std::time::{Duration, Instant};

use stoop_bench_floor::count::{BODY, Counter};
use stoop_bench_floor::sys::{self, Epoll};

const USAGE: &str = "usage: stoop-bench-load ADDR CONNECTIONS SECONDS [DEPTH FIELDS-FILE]";
const RECEIVE_BYTES: usize = 64 * 1024;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let load = Load::parse(&words).unwrap_or_else(|problem| {
        eprintln!("load: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match load.run() {
        Ok(Seen { answers, elapsed, errors, reconnects }) => println!(
            "summary requests={answers} duration_us={} errors={errors} reconnects={reconnects}",
            elapsed.as_micros()
        ),
        Err(error) => {
            eprintln!("load: {error}; does a server listen at {}?", load.address);
            std::process::exit(1);
        }
    }
}

struct Load {
    address: SocketAddr,
    connections: usize,
    duration: Duration,
    /// Requests sent at once on a connection, and answered before the next are.
    depth: usize,
    burst: Vec<u8>,
}

struct Seen {
    answers: u64,
    elapsed: Duration,
    /// Bursts that were answered in part when the server closed.
    errors: u64,
    /// Connections opened again because the server closed: some limit how much they do on one.
    reconnects: u64,
}

/// A connection and how many answers it still has to bring.
struct Connection {
    stream: TcpStream,
    counter: Counter,
    outstanding: usize,
}

impl Load {
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

    fn run(&self) -> io::Result<Seen> {
        let mut epoll = Epoll::new()?;
        // By descriptor, which the kernel keeps small and dense.
        let mut connections: Vec<Option<Connection>> = Vec::new();
        for _ in 0..self.connections {
            self.open(&epoll, &mut connections)?;
        }
        let mut received = vec![0; RECEIVE_BYTES];
        let mut seen = Seen { answers: 0, elapsed: Duration::ZERO, errors: 0, reconnects: 0 };
        let started = Instant::now();
        while seen.elapsed < self.duration {
            epoll.wait(100)?;
            for index in 0..epoll.ready() {
                let fd = epoll.fd(index);
                let Some(Some(connection)) = connections.get_mut(fd as usize) else { continue };
                let outstanding = connection.outstanding;
                match connection.advance(self, &mut received) {
                    Ok(answers) => seen.answers += answers as u64,
                    Err(()) => {
                        seen.reconnects += 1;
                        seen.errors += u64::from(outstanding < self.depth);
                        self.reopen(fd, &epoll, &mut connections)?;
                    }
                }
            }
            seen.elapsed = started.elapsed();
        }
        Ok(seen)
    }

    fn open(&self, epoll: &Epoll, connections: &mut Vec<Option<Connection>>) -> io::Result<()> {
        let stream = TcpStream::connect(self.address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        let fd = stream.as_raw_fd();
        epoll.watch(fd)?;
        if !sys::send_all(fd, &self.burst) {
            return Err(io::Error::last_os_error());
        }
        let index = fd as usize;
        if connections.len() <= index {
            connections.resize_with(index + 1, || None);
        }
        let outstanding = self.depth;
        connections[index] = Some(Connection { stream, counter: Counter::default(), outstanding });
        Ok(())
    }

    fn reopen(
        &self,
        fd: RawFd,
        epoll: &Epoll,
        connections: &mut Vec<Option<Connection>>,
    ) -> io::Result<()> {
        connections[fd as usize] = None;
        self.open(epoll, connections)
    }
}

impl Connection {
    /// Takes what has arrived, and asks again once everything is answered. An error when the
    /// connection is over.
    fn advance(&mut self, load: &Load, received: &mut [u8]) -> Result<usize, ()> {
        let fd = self.stream.as_raw_fd();
        let mut answers = 0;
        loop {
            let count = match sys::recv(fd, received) {
                Ok(None) => return Ok(answers),
                Ok(Some(0)) | Err(_) => return Err(()),
                Ok(Some(count)) => count,
            };
            let found = self.counter.count(BODY, &received[..count]);
            answers += found;
            self.outstanding = self.outstanding.saturating_sub(found);
            if self.outstanding == 0 {
                if !sys::send_all(fd, &load.burst) {
                    return Err(());
                }
                self.outstanding = load.depth;
            }
            if count < received.len() {
                return Ok(answers);
            }
        }
    }
}
