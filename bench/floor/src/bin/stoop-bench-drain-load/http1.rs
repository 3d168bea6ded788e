//! HTTP/1.1: one request at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

use stoop_bench_floor::count::{BODY, HEAD_END};

use crate::{Counts, add, connect};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const CLOSE: &[u8] = b"connection: close";
const RESPONSE_BYTES_MAX: usize = 4_096;

/// Sends requests until the server takes no more connections.
pub(crate) fn keep(address: SocketAddr, counts: &Counts) {
    while let Some(mut stream) = connect(address, counts) {
        while exchange(&mut stream, counts) {}
    }
}

/// Sends one request; whether another may follow.
fn exchange(stream: &mut TcpStream, counts: &Counts) -> bool {
    add(&counts.sent, 1);
    if stream.write_all(REQUEST).is_err() {
        add(&counts.reset, 1);
        return false;
    }
    let mut response = Vec::new();
    let mut piece = [0; 1_024];
    while !is_complete(&response) {
        let count = match stream.read(&mut piece) {
            Ok(0) if response.is_empty() => &counts.closed,
            Ok(0) => &counts.broken,
            Ok(_) if response.len() > RESPONSE_BYTES_MAX => &counts.broken,
            Ok(count) => {
                response.extend(&piece[..count]);
                continue;
            }
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                &counts.hung
            }
            Err(_) if response.is_empty() => &counts.reset,
            Err(_) => &counts.broken,
        };
        add(count, 1);
        return false;
    }
    if !response.starts_with(b"HTTP/1.1 200 ") {
        add(&counts.broken, 1);
        return false;
    }
    add(&counts.answered, 1);
    let says_close = |line: &[u8]| line.eq_ignore_ascii_case(CLOSE);
    !response.split(|byte| *byte == b'\n').any(|line| says_close(line.trim_ascii()))
}

fn is_complete(response: &[u8]) -> bool {
    response.strip_suffix(BODY).is_some_and(|head| head.ends_with(HEAD_END))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_complete_with_its_content() {
        let response = b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\nHello, world!";
        assert!(is_complete(response));
        assert!((0..response.len()).all(|length| !is_complete(&response[..length])));
    }
}
