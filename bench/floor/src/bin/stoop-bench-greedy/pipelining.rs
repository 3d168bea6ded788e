//! HTTP/1.1: one thread sends requests as long as the socket takes them, and another reads responses.
//!
//! The sockets' buffers limit the number of outstanding requests to thousands, since the server is the
//! slower side. The kernel stops the sender, which never waits for a response.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use stoop_bench_floor::count::{BODY, Counter};
use stoop_bench_floor::sys;

use crate::GreedyCounts;

/// The requests in one write.
const BURST: usize = 64;
const RECEIVE_BYTES: usize = 64 * 1024;

/// Sends and reads until the server ends the connection.
pub(crate) fn run(address: SocketAddr, counts: &GreedyCounts) -> io::Result<()> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    let burst = format!("GET /spin HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(BURST);
    thread::scope(|scope| {
        scope.spawn(|| {
            sys::lower_priority();
            read(&connection, counts);
            // The sender may be waiting for a server that has ended the connection.
            let _ = connection.shutdown(Shutdown::Both);
        });
        while (&connection).write_all(burst.as_bytes()).is_ok() {}
    });
    Ok(())
}

fn read(mut connection: &TcpStream, counts: &GreedyCounts) {
    let (mut counter, mut received) = (Counter::default(), vec![0; RECEIVE_BYTES]);
    while let Ok(count @ 1..) = connection.read(&mut received) {
        counts.add(counter.count(BODY, &received[..count]));
    }
}
