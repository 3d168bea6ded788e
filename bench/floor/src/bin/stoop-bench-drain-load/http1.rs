//! HTTP/1.1: one request at a time.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use stoop_bench_floor::count::{BODY, HEAD_END};

use crate::{Counts, Load, add};

const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
const LAST_REQUEST: &[u8] = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
const CLOSE: &[u8] = b"connection: close";
const RESPONSE_BYTES_MAX: usize = 4_096;

/// Sends requests, on a connection as long as it is kept.
pub(crate) fn keep(load: &Load) {
    while let Some(mut stream) = load.connect() {
        while !load.is_over() && exchange(&mut stream, REQUEST, &load.counts) {}
    }
}

/// Sends each request on a new connection, and waits for its end.
pub(crate) fn renew(load: &Load) {
    while let Some(mut stream) = load.connect() {
        let is_answered = exchange(&mut stream, LAST_REQUEST, &load.counts);
        if is_answered && stream.read(&mut [0]).is_err() {
            add(&load.counts.reset_after, 1);
        }
    }
}

/// Sends a request; whether it was answered, and another may follow.
fn exchange(stream: &mut TcpStream, request: &[u8], counts: &Counts) -> bool {
    add(&counts.sent, 1);
    if stream.write_all(request).is_err() {
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
    request == LAST_REQUEST || !says_close(&response)
}

fn says_close(response: &[u8]) -> bool {
    let mut lines = response.split(|byte| *byte == b'\n');
    lines.any(|line| line.trim_ascii().eq_ignore_ascii_case(CLOSE))
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

    #[test]
    fn a_connection_is_kept_unless_the_response_says_close() {
        assert!(says_close(b"HTTP/1.1 200 OK\r\nConnection: Close\r\n\r\n"));
        assert!(!says_close(b"HTTP/1.1 200 OK\r\nconnection: keep-alive\r\n\r\n"));
    }
}
