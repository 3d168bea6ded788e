//! Clients that read an endless response slowly, so that the server's output never becomes empty: in small
//! reads at a steady rate, with a small receive buffer and small segments.
//!
//! The server's kernel sizes its send buffer by the bytes in flight. With these buffers they are so few
//! that a server can never send 64 KiB at once.
//!
//! Over HTTP/2 all windows have the largest size, so that TCP alone holds the server back. One thread has
//! all connections. Bytes after the head are counted and not parsed.

use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

use stoop_bench_floor::frames::{self, Frame};
use stoop_bench_floor::sys;

const USAGE: &str =
    "usage: stoop-bench-slow-reader ADDR READERS SECONDS BYTES-PER-SECOND [--http2]";

const PATH: &str = "/drip";
/// The length of one read.
const READ_BYTES: usize = 1_000;
const RECEIVE_BUFFER_BYTES: i32 = 4 * 1024;
const SEGMENT_BYTES: i32 = 536;
const HEAD_BYTES_MAX: usize = 4_096;
const READ_TIMEOUT: Duration = Duration::from_secs(10);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let readers = Readers::parse(&words).unwrap_or_else(|problem| {
        eprintln!("slow-reader: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match readers.run() {
        Ok(summary) => println!("{summary}"),
        Err(error) => {
            eprintln!("slow-reader: {error}; does a server listen at {}?", readers.address);
            std::process::exit(1);
        }
    }
}

/// The options of a run.
struct Readers {
    address: SocketAddrV4,
    count: usize,
    duration: Duration,
    /// The time from one read of a connection to its next.
    period: Duration,
    http2: bool,
}

impl Readers {
    fn parse(words: &[String]) -> Result<Self, String> {
        let (words, http2) = match words {
            [words @ .., last] if last == "--http2" => (words, true),
            words => (words, false),
        };
        let [address, count, seconds, rate] = words else {
            return Err("four arguments are needed".into());
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        let rate: u64 = number(rate)?;
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            count: number(count)? as usize,
            duration: Duration::from_secs(number(seconds)?),
            period: Duration::from_secs_f64(READ_BYTES as f64 / rate.max(1) as f64),
            http2,
        })
    }

    /// Returns the summary, with the bytes of the slowest reader. An error if the server ends a response.
    fn run(&self) -> io::Result<String> {
        let open = || self.open();
        let connections: Vec<TcpStream> =
            std::iter::repeat_with(open).take(self.count).collect::<io::Result<_>>()?;
        let mut bytes = vec![0_u64; self.count];
        let mut received = [0; READ_BYTES];
        let started = Instant::now();
        let mut next = started;
        while started.elapsed() < self.duration {
            for (connection, bytes) in connections.iter().zip(&mut bytes) {
                match sys::recv(connection.as_raw_fd(), &mut received)? {
                    Some(0) => {
                        return Err(io::Error::other("the server ended an endless response"));
                    }
                    Some(count) => *bytes += count as u64,
                    None => {}
                }
            }
            next += self.period;
            std::thread::sleep(next.saturating_duration_since(Instant::now()));
        }
        let elapsed = started.elapsed().as_micros();
        let all: u64 = bytes.iter().sum();
        let least = bytes.iter().min().unwrap_or(&0);
        Ok(format!(
            "summary requests={} duration_us={elapsed} bytes={all} least={least}",
            self.count
        ))
    }

    /// Opens a connection, and waits until its response has begun.
    fn open(&self) -> io::Result<TcpStream> {
        let connection =
            sys::connect_with_small_buffer(self.address, RECEIVE_BUFFER_BYTES, SEGMENT_BYTES)?;
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(READ_TIMEOUT))?;
        let is_ok =
            if self.http2 { request_http2(&connection)? } else { request_http1(&connection)? };
        if !is_ok {
            return Err(io::Error::other("a response that is not 200"));
        }
        connection.set_nonblocking(true)?;
        Ok(connection)
    }
}

/// Sends the request over HTTP/1.1; whether the response is 200.
fn request_http1(mut connection: &TcpStream) -> io::Result<bool> {
    connection.write_all(format!("GET {PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n").as_bytes())?;
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && head.len() < HEAD_BYTES_MAX {
        connection.read_exact(&mut byte)?;
        head.extend(byte);
    }
    Ok(head.starts_with(b"HTTP/1.1 200 "))
}

/// Sends the request over HTTP/2; whether the response is 200. The server needs no later frames: it has its
/// windows, and sends no pings.
fn request_http2(mut connection: &TcpStream) -> io::Result<bool> {
    connection.write_all(&[frames::opening(), frames::get(1, PATH)].concat())?;
    loop {
        let frame = Frame::read(&mut connection)?;
        if let Some(reply) = frame.reply() {
            connection.write_all(&reply)?;
        }
        if frame.kind == frames::HEADERS || frame.ends_stream() {
            return Ok(frame.is_200());
        }
    }
}
