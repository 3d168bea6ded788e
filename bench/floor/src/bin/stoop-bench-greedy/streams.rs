//! HTTP/2: keeps as many streams open as the server allows.
//!
//! One thread is enough: it sends as many requests as were answered just before, for which the server has
//! room, so that it never waits for a write while responses wait to be read.

use std::io::{self, BufReader, Write};
use std::net::{SocketAddr, TcpStream};

use stoop_bench_floor::frames::{self, Frame};

use crate::GreedyCounts;

const PATH: &str = "/spin";
/// The limit of streams where the server has none.
const DEFAULT_STREAMS: u32 = 256;
const RECEIVE_BYTES: usize = 64 * 1024;

/// Sends and reads until the server ends the connection.
pub(crate) fn run(address: SocketAddr, counts: &GreedyCounts) -> io::Result<()> {
    let mut connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    connection.write_all(&frames::opening())?;
    let mut received = BufReader::with_capacity(RECEIVE_BYTES, connection.try_clone()?);
    let mut output = Vec::new();
    let (mut allowed, mut open, mut next) = (0, 0, 1);
    loop {
        let frame = Frame::read(&mut received)?;
        if frame.kind == frames::SETTINGS && allowed == 0 {
            allowed = frame.setting(frames::CONCURRENT_STREAMS_MAX).unwrap_or(DEFAULT_STREAMS);
        }
        output.extend(frame.reply().into_iter().flatten());
        if frame.kind == frames::GOAWAY {
            return Ok(());
        }
        if frame.ends_stream() {
            open -= 1;
            counts.add(usize::from(frame.kind != frames::RST_STREAM));
        }
        // Replies and requests for all frames that were received together are sent together.
        if received.buffer().is_empty() {
            while open < allowed {
                output.extend(frames::get(next, PATH));
                (open, next) = (open + 1, next + 2);
            }
            connection.write_all(&output)?;
            output.clear();
        }
    }
}
