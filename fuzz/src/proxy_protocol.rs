//! Invariant: of whatever comes at the front of a connection from a proxy, a server reads a header of the PROXY protocol
//! exactly where the reader below finds one, which follows the specification over all of the input: the same client, the
//! same end, or a connection that is closed without a word; however the input is cut.

use std::cell::RefCell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use stoop::{Binding, ProxyProtocol, Request, Server, ServerHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::runtime::Runtime;

use super::cut;

/// A header may have 4,096 bytes.
const INPUT_MAX: usize = 4_200;
const HEADER_BYTES_MAX: usize = 4_096;
const LINE_BYTES_MAX: usize = 107;

const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// What comes behind the input.
const REQUEST: &[u8] = b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n";

/// A server behind proxies on a Unix socket of this thread's own.
struct ServerBehindProxies {
    runtime: Runtime,
    server: ServerHandle,
    path: PathBuf,
}

thread_local! {
    static SERVER: ServerBehindProxies = ServerBehindProxies::new();
    /// The addresses that the handler has seen.
    static SEEN: RefCell<Vec<Option<SocketAddr>>> = const { RefCell::new(Vec::new()) };
}

impl ServerBehindProxies {
    fn new() -> Self {
        let (runtime, path) = (super::runtime(), super::temporary("proxy"));
        let binding = Binding::new(path.as_path()).expect("a path");
        let binding = binding.proxy_protocol(ProxyProtocol::from_networks([]));
        let note = |request: Request| {
            SEEN.with_borrow_mut(|seen| seen.push(request.remote_address()));
            "seen"
        };
        let entered = runtime.enter();
        let server = Server::listen(binding).expect("a place").run_here(note).expect("it listens");
        drop(entered);
        Self { runtime, server, path }
    }

    /// Sends these pieces. Returns what is received, whether the connection was refused, and which clients were seen.
    fn send(&self, pieces: &[&[u8]]) -> (Vec<u8>, bool, Vec<Option<SocketAddr>>) {
        let before = self.server.proxy_refusals();
        let received = self.runtime.block_on(async {
            let mut stream = UnixStream::connect(&self.path).await.expect("it accepts");
            for piece in pieces {
                // It may have been closed meanwhile.
                let _ = stream.write_all(piece).await;
                tokio::task::yield_now().await;
            }
            let _ = stream.shutdown().await;
            let mut received = Vec::new();
            let _ = stream.read_to_end(&mut received).await;
            received
        });
        (received, self.server.proxy_refusals() > before, SEEN.take())
    }
}

impl Drop for ServerBehindProxies {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The first byte chooses the pieces, the others come first on the connection.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [seed, front @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    let wire = [front, REQUEST].concat();
    let found = header(&wire);
    SERVER.with(|server| {
        for pieces in [vec![&wire[..]], cut(&wire, seed | 1)] {
            let (received, is_refused, seen) = server.send(&pieces);
            assert_eq!(is_refused, found.is_none(), "{:?}", received.escape_ascii());
            match found {
                None => assert!(received.is_empty() && seen.is_empty(), "without a word"),
                Some((bytes, client)) if wire[bytes..] == *REQUEST => {
                    assert_eq!(seen, [client]);
                }
                // Whatever else it is, it is a matter of HTTP.
                Some(_) => {}
            }
        }
    });
}

/// The bytes of the header and the client that it names, if it names one.
fn header(wire: &[u8]) -> Option<(usize, Option<SocketAddr>)> {
    match wire.starts_with(SIGNATURE) {
        true => version_2(wire),
        false => version_1(wire),
    }
}

/// §2.1
fn version_1(wire: &[u8]) -> Option<(usize, Option<SocketAddr>)> {
    let end = wire.windows(2).position(|two| two == b"\r\n")?;
    let line = std::str::from_utf8(&wire[..end]).ok()?.strip_prefix("PROXY ")?;
    if end + 2 > LINE_BYTES_MAX || !line.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return None;
    }
    if line == "UNKNOWN" || line.starts_with("UNKNOWN ") {
        return Some((end + 2, None));
    }
    let words: Vec<&str> = line.split(' ').collect();
    let [family, source, destination, source_port, destination_port] = words[..] else {
        return None;
    };
    let address = |word: &str| -> Option<IpAddr> {
        let address: IpAddr = word.parse().ok()?;
        (address.is_ipv4() == (family == "TCP4")).then_some(address)
    };
    let port = |word: &str| word.parse::<u16>().ok().filter(|port| port.to_string() == word);
    let is_known = matches!(family, "TCP4" | "TCP6");
    let (ip, _) = (address(source).filter(|_| is_known)?, address(destination)?);
    let (port, _) = (port(source_port)?, port(destination_port)?);
    Some((end + 2, Some(SocketAddr::new(ip.to_canonical(), port))))
}

/// §2.2
fn version_2(wire: &[u8]) -> Option<(usize, Option<SocketAddr>)> {
    let (command, family) = (*wire.get(12)?, *wire.get(13)?);
    let length = u16::from_be_bytes([*wire.get(14)?, *wire.get(15)?]);
    let bytes = 16 + usize::from(length);
    let header = wire.get(..bytes).filter(|_| bytes <= HEADER_BYTES_MAX)?;
    match command {
        0x20 => return Some((bytes, None)),
        0x21 => {}
        _ => return None,
    }
    let of_addresses = match family {
        0x11 | 0x12 => 12,
        0x21 | 0x22 => 36,
        0x31 | 0x32 => 216,
        // UNSPEC is the family, the protocol, or both.
        0x00..=0x02 | 0x10 | 0x20 | 0x30 => return Some((bytes, None)),
        _ => return None,
    };
    let addresses = header.get(16..16 + of_addresses)?;
    if !has_sound_values(header, 16 + of_addresses) {
        return None;
    }
    let port = |at: usize| u16::from_be_bytes([addresses[at], addresses[at + 1]]);
    let client = match family {
        0x11 => {
            let ip: [u8; 4] = addresses[..4].try_into().ok()?;
            Some(SocketAddr::new(Ipv4Addr::from(ip).into(), port(8)))
        }
        0x21 => {
            let ip: [u8; 16] = addresses[..16].try_into().ok()?;
            Some(SocketAddr::new(Ipv6Addr::from(ip).to_canonical(), port(32)))
        }
        _ => None,
    };
    Some((bytes, client))
}

/// Type, length, value: from `at` to the end of the header, and with the right checksum where there is one (§2.2.1).
fn has_sound_values(header: &[u8], mut at: usize) -> bool {
    while at < header.len() {
        let Some([kind, high, low]) = header.get(at..at + 3) else { return false };
        let end = at + 3 + usize::from(u16::from_be_bytes([*high, *low]));
        let Some(value) = header.get(at + 3..end) else { return false };
        if *kind == 3 {
            let mut zeroed = header.to_vec();
            zeroed[at + 3..end].fill(0);
            if value != crc32c(&zeroed).to_be_bytes() {
                return false;
            }
        }
        at = end;
    }
    true
}

/// RFC 3720 §B.4, from the highest power down: bytes and the result are reflected.
fn crc32c(bytes: &[u8]) -> u32 {
    let mut remainder = u32::MAX;
    for byte in bytes {
        remainder ^= u32::from(byte.reverse_bits()) << 24;
        for _ in 0..8 {
            let carry = remainder >> 31 == 1;
            remainder = (remainder << 1) ^ if carry { 0x1edc_6f41 } else { 0 };
        }
    }
    !remainder.reverse_bits()
}
