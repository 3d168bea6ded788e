//! The slow clients: each does something once a second, and waits for its end.

use std::io::{self, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stoop_bench_floor::sys::{self, Epoll};

/// The time between two bytes of a client.
const PERIOD: Duration = Duration::from_secs(1);
/// The time between two looks at those whose turn it is: nine of 9,000 then act at once.
const TICK: Duration = Duration::from_millis(1);
/// Beside a backlog of this many, connecting waits for the server.
const OPENED_AT_ONCE: usize = 500;
const PAUSE: Duration = Duration::from_millis(5);

const HEAD: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ";
const REQUEST: &[u8] = b"GET /1m HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const TIMED_OUT: &[u8] = b"HTTP/1.1 408 ";
const RECEIVE_BUFFER_BYTES: i32 = 4 * 1024;
const SEGMENT_BYTES: i32 = 536;
const RECEIVE_BYTES: usize = 4 * 1024;

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum SlowKind {
    /// Sends a head, one byte a second.
    Heads,
    /// Reads a response, one byte a second.
    Responses,
}

/// How many clients have ended in which way, and when.
#[derive(Default)]
pub(crate) struct SlowCounts {
    opened: AtomicUsize,
    /// By an answer of 408, and then the end of the connection.
    timed_out: AtomicU64,
    /// By the end of the connection, without an answer, or within one.
    closed: AtomicU64,
    reset: AtomicU64,
    /// By another answer.
    other: AtomicU64,
    /// From the first byte of a client to its end, the shortest and the longest time, in microseconds.
    first_us: AtomicU64,
    last_us: AtomicU64,
}

impl SlowCounts {
    pub(crate) fn opened(&self) -> usize {
        self.opened.load(Ordering::Relaxed)
    }

    fn ended(&self) -> u64 {
        let counts = [&self.timed_out, &self.closed, &self.reset, &self.other];
        counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }

    /// The words of a summary.
    pub(crate) fn summary(&self, clients: usize) -> String {
        let left = clients as u64 - self.ended();
        let [timed_out, closed, reset, other, first, last] = [
            &self.timed_out,
            &self.closed,
            &self.reset,
            &self.other,
            &self.first_us,
            &self.last_us,
        ]
        .map(|count| count.load(Ordering::Relaxed));
        format!(
            "timed_out={timed_out} closed={closed} reset={reset} other={other} left={left} \
             first_end_us={first} last_end_us={last}"
        )
    }

    fn note(&self, count: &AtomicU64, lived: Duration) {
        count.fetch_add(1, Ordering::Relaxed);
        let lived = lived.as_micros() as u64;
        let first = self.first_us.load(Ordering::Relaxed);
        if first == 0 || lived < first {
            self.first_us.store(lived, Ordering::Relaxed);
        }
        self.last_us.fetch_max(lived, Ordering::Relaxed);
    }
}

/// A client that has not ended.
struct SlowClient {
    stream: TcpStream,
    began: Instant,
    /// How many bytes of its head it has sent.
    sent: usize,
    /// The beginning of the answer that it did not ask for.
    answer: Vec<u8>,
}

/// All clients of a run.
pub(crate) struct SlowClients {
    address: SocketAddrV4,
    kind: SlowKind,
    count: usize,
    counts: Arc<SlowCounts>,
}

impl SlowClients {
    pub(crate) fn new(
        address: SocketAddrV4,
        kind: SlowKind,
        count: usize,
        counts: Arc<SlowCounts>,
    ) -> Self {
        Self { address, kind, count, counts }
    }

    /// Opens all of them, and goes on until the server has ended all.
    pub(crate) fn run(self) -> io::Result<()> {
        sys::lower_priority();
        let mut epoll = Epoll::new()?;
        // Indexed by descriptor, which the kernel keeps small and dense.
        let mut clients: Vec<Option<SlowClient>> = Vec::new();
        for number in 0..self.count {
            let client = self.open()?;
            let fd = client.stream.as_raw_fd();
            epoll.watch(fd)?;
            clients.resize_with(clients.len().max(fd as usize + 1), || None);
            clients[fd as usize] = Some(client);
            self.counts.opened.fetch_add(1, Ordering::Relaxed);
            if number % OPENED_AT_ONCE == OPENED_AT_ONCE - 1 {
                thread::sleep(PAUSE);
            }
        }
        let started = Instant::now();
        let mut next = 0;
        while self.counts.ended() < self.count as u64 {
            epoll.wait(TICK.as_millis() as i32)?;
            for index in 0..epoll.ready() {
                let fd = epoll.fd(index) as usize;
                self.look(&mut clients[fd], epoll.is_ending(index));
            }
            // All of them have a turn in each period, spread over it.
            let due = started.elapsed().as_secs_f64() / PERIOD.as_secs_f64() * clients.len() as f64;
            while next < due as usize {
                let index = next % clients.len();
                self.act(&mut clients[index]);
                next += 1;
            }
        }
        Ok(())
    }

    fn open(&self) -> io::Result<SlowClient> {
        let mut stream = match self.kind {
            SlowKind::Heads => TcpStream::connect(self.address)?,
            SlowKind::Responses => {
                sys::connect_with_small_buffer(self.address, RECEIVE_BUFFER_BYTES, SEGMENT_BYTES)?
            }
        };
        stream.set_nodelay(true)?;
        let first: &[u8] = match self.kind {
            SlowKind::Heads => &HEAD[..1],
            SlowKind::Responses => REQUEST,
        };
        stream.write_all(first)?;
        stream.set_nonblocking(true)?;
        Ok(SlowClient { stream, began: Instant::now(), sent: 1, answer: Vec::new() })
    }

    /// Sends or reads a byte.
    fn act(&self, slot: &mut Option<SlowClient>) {
        let Some(client) = slot else { return };
        let fd = client.stream.as_raw_fd();
        match self.kind {
            SlowKind::Heads => {
                // The end is an event of its own.
                let byte = HEAD.get(client.sent).unwrap_or(&b'x');
                client.sent += 1;
                sys::send_all(fd, &[*byte]);
            }
            SlowKind::Responses => drop(sys::recv(fd, &mut [0])),
        }
    }

    /// Looks at what has come, and at whether that is the end.
    fn look(&self, slot: &mut Option<SlowClient>, is_ending: bool) {
        let Some(client) = slot else { return };
        let lived = client.began.elapsed();
        let counts = &*self.counts;
        let count = match self.kind {
            SlowKind::Heads => match client.read_answer() {
                None => return,
                Some(Err(_)) if client.answer.is_empty() => &counts.reset,
                Some(Ok(())) if client.answer.is_empty() => &counts.closed,
                Some(_) if client.answer.starts_with(TIMED_OUT) => &counts.timed_out,
                Some(_) => &counts.other,
            },
            // Content before it stays unread.
            SlowKind::Responses if !is_ending => return,
            SlowKind::Responses => match client.stream.take_error() {
                Ok(None) => &counts.closed,
                Ok(Some(_)) | Err(_) => &counts.reset,
            },
        };
        counts.note(count, lived);
        *slot = None;
    }
}

impl SlowClient {
    /// Reads what has come; none if the connection goes on.
    fn read_answer(&mut self) -> Option<io::Result<()>> {
        let mut received = [0; RECEIVE_BYTES];
        loop {
            match sys::recv(self.stream.as_raw_fd(), &mut received) {
                Ok(None) => return None,
                Ok(Some(0)) => return Some(Ok(())),
                Ok(Some(count)) => self.answer.extend(&received[..count]),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}
