//! Reads the server name in a ClientHello, where all hosts share one address.

use std::time::Duration;

use tokio::io::Interest;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep};

/// How long a ClientHello is waited for.
const HELLO_WAIT_MAX: Duration = Duration::from_secs(10);

/// Bytes of a ClientHello that are looked at: one record.
const HELLO_BYTES_MAX: usize = 16 * 1024;

/// The time between two looks at a ClientHello that is incomplete.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(2);

/// The server name that the client asks for, read without consuming a byte; `None` if it names none,
/// goes away, or speaks no TLS.
pub(super) async fn peek(stream: &TcpStream) -> Option<String> {
    let mut bytes = vec![0; HELLO_BYTES_MAX];
    let until = Instant::now() + HELLO_WAIT_MAX;
    let mut seen = 0;
    while Instant::now() < until {
        let ready = stream.ready(Interest::READABLE).await.ok()?;
        let length = stream.peek(&mut bytes).await.ok()?;
        if length == 0 {
            return None;
        }
        let whole =
            bytes[..length].get(3..5).map(|l| 5 + usize::from(l[0]) * 256 + usize::from(l[1]));
        if length > seen && whole.is_some_and(|whole| length >= whole) {
            return server_name(&bytes[..length]);
        }
        if length == seen && ready.is_read_closed() {
            return None;
        }
        seen = length;
        sleep(LOOK_AGAIN_AFTER).await;
    }
    None
}

/// The name in the extension server_name: RFC 8446 §4.1.2 and RFC 6066 §3.
fn server_name(record: &[u8]) -> Option<String> {
    let mut record = TlsReader(record);
    let [22, _, _] = record.take(3)? else { return None };
    let mut handshake = TlsReader(record.vector(2)?);
    let [1, ..] = handshake.take(4)? else { return None };
    let _version_and_random = handshake.take(2 + 32)?;
    let _session = handshake.vector(1)?;
    let _ciphers = handshake.vector(2)?;
    let _compressions = handshake.vector(1)?;
    let mut extensions = TlsReader(handshake.vector(2)?);
    loop {
        let kind = extensions.take(2)?;
        let mut body = TlsReader(extensions.vector(2)?);
        if kind == [0, 0] {
            let mut names = TlsReader(body.vector(2)?);
            let [0] = names.take(1)? else { return None };
            let name = std::str::from_utf8(names.vector(2)?).ok()?;
            return Some(name.to_ascii_lowercase());
        }
    }
}

/// Reads the vectors of a TLS message.
struct TlsReader<'a>(&'a [u8]);

impl<'a> TlsReader<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    /// A vector with its length in front, in so many bytes.
    fn vector(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let length = self.take(bytes)?.iter().fold(0, |n, byte| n * 256 + usize::from(*byte));
        self.take(length)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// A ClientHello with one cipher and these extensions.
    fn hello(extensions: &[u8]) -> Vec<u8> {
        let length = |bytes: &[u8]| (bytes.len() as u16).to_be_bytes();
        let body = [
            &[3, 3][..],
            &[7; 32],
            &[0],
            &[0, 2, 0x13, 0x01],
            &[1, 0],
            &length(extensions),
            extensions,
        ]
        .concat();
        let handshake = [&[1, 0][..], &length(&body), &body].concat();
        [&[22, 3, 1][..], &length(&handshake), &handshake].concat()
    }

    #[test]
    fn the_name_is_found_behind_other_extensions() {
        let other = [0, 10, 0, 4, 0, 2, 0, 29];
        let name = [&[0, 0, 0, 11, 0, 9, 0, 0, 6][..], b"H1.org"].concat();
        let both = hello(&[&other[..], &name].concat());
        assert_eq!(server_name(&both).as_deref(), Some("h1.org"));
        assert_eq!(server_name(&hello(&other)), None);
        for cut in 0..both.len() {
            assert_eq!(server_name(&both[..cut]), None);
        }
        assert_eq!(server_name(b"GET / HTTP/1.1\r\n\r\n"), None);
    }

    #[tokio::test]
    async fn a_client_that_closes_within_its_hello_is_not_waited_for() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let half = &hello(&[])[..20];
        let mut client = TcpStream::connect(address).await.unwrap();
        client.write_all(half).await.unwrap();
        let (server, _) = listener.accept().await.unwrap();
        let begin = Instant::now();
        let (name, ()) = tokio::join!(peek(&server), async {
            sleep(20 * LOOK_AGAIN_AFTER).await;
            drop(client);
        });
        assert_eq!(name, None);
        assert!(begin.elapsed() < HELLO_WAIT_MAX / 2, "{:?}", begin.elapsed());
    }
}
