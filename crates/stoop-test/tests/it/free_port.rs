//! Ports for programs that are told where to listen.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// The ports that are given: below those that Linux gives to clients and to servers that ask for any (32768 and up),
/// so that no other test takes one before its program listens.
const FIRST: u16 = 12_000;
const COUNT: u32 = 20_000;

/// A port of 127.0.0.1 on which nothing listens now, and another one for each call.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    // Programs of tests that run at once begin at different ones.
    let begin = std::process::id().wrapping_mul(61);
    loop {
        let count = NEXT.fetch_add(1, Ordering::Relaxed);
        let port = FIRST + (begin.wrapping_add(count) % COUNT) as u16;
        if TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok() {
            return port;
        }
    }
}
