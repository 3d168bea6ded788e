//! The bystander: one ordinary request at a time, over a connection of its own.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use stoop_bench_floor::count::{BODY, Counter};
use stoop_bench_floor::frames::{self, Frame};

const PATH: &str = "/";
/// From one answer to the next request, so that requests come at any moment of the server's turns.
const PAUSE: Duration = Duration::from_millis(1);
/// What is not answered within it counts as answered then, and as an error.
const PATIENCE: Duration = Duration::from_secs(10);

#[derive(Clone, Copy)]
pub(crate) enum HttpVersion {
    Http1,
    Http2,
}

pub(crate) struct Bystander {
    address: SocketAddr,
    version: HttpVersion,
    connection: TcpStream,
    /// Over HTTP/2, that of the last request.
    stream: u32,
    /// Requests without an answer.
    pub(crate) errors: u64,
}

/// Latencies, each as it was measured.
#[derive(Default)]
pub(crate) struct BystanderLatencies(Vec<Duration>);

impl Bystander {
    pub(crate) fn connect(address: SocketAddr, version: HttpVersion) -> io::Result<Self> {
        let connection = connect(address, version)?;
        Ok(Self { address, version, connection, stream: 0, errors: 0 })
    }

    /// Asks again and again. It goes on over another connection where the server ended this one.
    pub(crate) fn ask_for(&mut self, duration: Duration) -> BystanderLatencies {
        let mut seen = BystanderLatencies::default();
        let begun = Instant::now();
        while begun.elapsed() < duration {
            thread::sleep(PAUSE);
            let asked = Instant::now();
            if self.ask().is_err() {
                self.errors += 1;
                match connect(self.address, self.version) {
                    Ok(connection) => (self.connection, self.stream) = (connection, 0),
                    Err(_) => continue,
                }
            }
            seen.0.push(asked.elapsed());
        }
        seen
    }

    fn ask(&mut self) -> io::Result<()> {
        match self.version {
            HttpVersion::Http1 => self.ask_http1(),
            HttpVersion::Http2 => self.ask_http2(),
        }
    }

    fn ask_http1(&mut self) -> io::Result<()> {
        let request = format!("GET {PATH} HTTP/1.1\r\nHost: {}\r\n\r\n", self.address);
        self.connection.write_all(request.as_bytes())?;
        let (mut counter, mut received) = (Counter::default(), [0; 1024]);
        loop {
            let count = self.connection.read(&mut received)?;
            if count == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if counter.count(BODY, &received[..count]) > 0 {
                return Ok(());
            }
        }
    }

    fn ask_http2(&mut self) -> io::Result<()> {
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
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.set_nodelay(true)?;
    connection.set_read_timeout(Some(PATIENCE))?;
    connection.set_write_timeout(Some(PATIENCE))?;
    if matches!(version, HttpVersion::Http2) {
        connection.write_all(&frames::opening())?;
    }
    Ok(connection)
}

impl BystanderLatencies {
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The latency that this share of all stayed within, in microseconds; zero of none.
    pub(crate) fn within(&mut self, share: f64) -> u128 {
        self.0.sort_unstable();
        let place = (self.0.len() as f64 * share).ceil() as usize;
        let latency = place.checked_sub(1).and_then(|place| self.0.get(place));
        latency.map_or(0, Duration::as_micros)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_of_all_stays_within() {
        assert_eq!(BystanderLatencies::default().within(0.5), 0);
        let mut seen = BystanderLatencies((1..=200).rev().map(Duration::from_micros).collect());
        assert_eq!([0.5, 0.99, 1.0].map(|share| seen.within(share)), [100, 198, 200]);
    }
}
