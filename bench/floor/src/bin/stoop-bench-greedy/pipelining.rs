//! HTTP/1.1: one thread sends requests for as long as the socket takes them, another reads answers.
//!
//! How many are outstanding is for the sockets' buffers to say: thousands, since the server is the
//! slower side. The kernel stops the sender, and never an answer that is missing.

use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::thread;

use stoop_bench_floor::count::{BODY, Counter};
use stoop_bench_floor::sys;

use crate::GreedyCounts;

/// Requests in one write.
const BURST: usize = 64;
const RECEIVE_BYTES: usize = 64 * 1024;

/// Until the server ends the connection.
pub(crate) fn run(address: SocketAddr, had: &GreedyCounts) -> io::Result<()> {
    let connection = TcpStream::connect(address)?;
    connection.set_nodelay(true)?;
    let burst = format!("GET /spin HTTP/1.1\r\nHost: {address}\r\n\r\n").repeat(BURST);
    thread::scope(|scope| {
        scope.spawn(|| {
            sys::give_way();
            read(&connection, had);
            // The sender may wait for a server that is gone.
            let _ = connection.shutdown(Shutdown::Both);
        });
        while (&connection).write_all(burst.as_bytes()).is_ok() {}
    });
    Ok(())
}

fn read(mut connection: &TcpStream, had: &GreedyCounts) {
    let (mut counter, mut received) = (Counter::default(), vec![0; RECEIVE_BYTES]);
    while let Ok(count @ 1..) = connection.read(&mut received) {
        had.add(counter.count(BODY, &received[..count]));
    }
}
