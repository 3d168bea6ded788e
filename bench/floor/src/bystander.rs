//! The bystander: sends one ordinary request at a time on its own connection.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use crate::count::{BODY, Counter};
use crate::frames::{self, Frame};

const PATH: &str = "/";
const CLOSE: &[u8] = b"connection: close";
/// The time from a response to the next request, so that requests come at any moment of the server's turns.
const PAUSE: Duration = Duration::from_millis(1);
/// A request without a response in this time counts as an error with this latency.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);

/// The version of HTTP that the bystander speaks.
#[derive(Clone, Copy)]
pub enum HttpVersion {
    Http1,
    Http2,
}

/// The connection of the bystander.
pub struct Bystander {
    address: SocketAddr,
    version: HttpVersion,
    connection: TcpStream,
    /// The stream of the last request over HTTP/2.
    stream: u32,
    /// Whether the server has said that it closes the connection, as some do after many requests.
    is_closing: bool,
    /// Requests without a response.
    pub errors: u64,
}

/// The latencies of the bystander, in the order of measurement.
#[derive(Default)]
pub struct BystanderLatencies(Vec<Duration>);

impl Bystander {
    /// Opens the connection.
    pub fn connect(address: SocketAddr, version: HttpVersion) -> io::Result<Self> {
        let connection = connect(address, version)?;
        Ok(Self { address, version, connection, stream: 0, is_closing: false, errors: 0 })
    }

    /// Sends requests for `duration`. If the server ends the connection, it opens another.
    pub fn send_for(&mut self, duration: Duration) -> BystanderLatencies {
        let mut latencies = BystanderLatencies::default();
        let began = Instant::now();
        while began.elapsed() < duration {
            thread::sleep(PAUSE);
            // If this fails, the request does.
            if std::mem::take(&mut self.is_closing)
                && let Ok(connection) = connect(self.address, self.version)
            {
                self.connection = connection;
            }
            let sent = Instant::now();
            if self.request().is_err() {
                self.errors += 1;
                match connect(self.address, self.version) {
                    Ok(connection) => (self.connection, self.stream) = (connection, 0),
                    Err(_) => continue,
                }
            }
            latencies.0.push(sent.elapsed());
        }
        latencies
    }

    fn request(&mut self) -> io::Result<()> {
        match self.version {
            HttpVersion::Http1 => self.request_http1(),
            HttpVersion::Http2 => self.request_http2(),
        }
    }

    fn request_http1(&mut self) -> io::Result<()> {
        let request = format!("GET {PATH} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        self.connection.write_all(request.as_bytes())?;
        let (mut counter, mut received) = (Counter::default(), [0; 1024]);
        loop {
            let count = self.connection.read(&mut received)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            let is_close = |line: &[u8]| line.eq_ignore_ascii_case(CLOSE);
            let mut lines = received[..count].split(|byte| *byte == b'\n');
            self.is_closing |= lines.any(|line| is_close(line.trim_ascii()));
            if counter.count(BODY, &received[..count]) > 0 {
                return Ok(());
            }
        }
    }

    fn request_http2(&mut self) -> io::Result<()> {
        self.stream = if self.stream == 0 { 1 } else { self.stream + 2 };
        self.connection.write_all(&frames::get(self.stream, PATH))?;
        loop {
            let frame = Frame::read(&mut self.connection)?;
            if let Some(reply) = frame.reply() {
                self.connection.write_all(&reply)?;
            }
            match frame.kind {
                frames::RST_STREAM | frames::GOAWAY => return Err(io::ErrorKind::Other.into()),
                _ if frame.stream == self.stream && frame.ends_stream() => return Ok(()),
                _ => {}
            }
        }
    }
}

fn connect(address: SocketAddr, version: HttpVersion) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect_timeout(&address, RESPONSE_TIMEOUT)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(RESPONSE_TIMEOUT))?;
    connection.set_write_timeout(Some(RESPONSE_TIMEOUT))?;
    if matches!(version, HttpVersion::Http2) {
        connection.write_all(&frames::opening())?;
    }
    Ok(connection)
}

impl BystanderLatencies {
    /// Adds the later ones.
    pub fn extend(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// The number of latencies.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// The quantile of `share` in microseconds; 0 if there are no latencies.
    pub fn quantile(&mut self, share: f64) -> u128 {
        self.0.sort_unstable();
        let rank = (self.0.len() as f64 * share).ceil() as usize;
        let latency = rank.checked_sub(1).and_then(|index| self.0.get(index));
        latency.map_or(0, Duration::as_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_200_latencies_are_exact() {
        assert_eq!(BystanderLatencies::default().quantile(0.5), 0);
        let mut latencies =
            BystanderLatencies((1..=200).rev().map(Duration::from_micros).collect());
        assert_eq!([0.5, 0.99, 1.0].map(|share| latencies.quantile(share)), [100, 198, 200]);
    }
}
