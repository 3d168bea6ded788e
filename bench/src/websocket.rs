//! A small WebSocket client for one message at a time (RFC 6455).
//!
//! It writes its frames byte by byte, so that no code of this project is used to check it.

use std::io::{Read, Write};

use anyhow::{Context, Result, bail, ensure};

/// The example of RFC 6455 §1.3: a key, and the answer to it.
const KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
const ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";
const HEAD_BYTES_MAX: usize = 4096;

/// The last frame of a message, and opcodes (RFC 6455 §5.2).
const FIN: u8 = 0x80;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
pub(crate) const PING: u8 = 9;
pub(crate) const PONG: u8 = 10;

const MASKED: u8 = 0x80;
const MASK: [u8; 4] = [0x37, 0xfa, 0x21, 0x3d];
/// Values of the seven bits of a length that stand for 16 and 64 bits behind them.
const LENGTH_16: u8 = 126;
const LENGTH_64: u8 = 127;

/// A connection on which the handshake is done.
pub(crate) struct WebSocketClient<C> {
    connection: C,
}

impl<C: Read + Write> WebSocketClient<C> {
    /// Does the handshake.
    pub(crate) fn open(mut connection: C) -> Result<Self> {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
             Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {KEY}\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).context("cannot send the handshake")?;
        let (mut head, mut byte) = (Vec::new(), [0]);
        while !head.ends_with(b"\r\n\r\n") {
            ensure!(head.len() < HEAD_BYTES_MAX, "the head of the response does not end");
            connection.read_exact(&mut byte).context("no response to the handshake")?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head);
        let accept =
            head.lines().filter_map(|line| line.split_once(':')).find_map(|(name, value)| {
                name.eq_ignore_ascii_case("sec-websocket-accept").then_some(value.trim())
            });
        let is_accepted = head.starts_with("HTTP/1.1 101 ") && accept == Some(ACCEPT);
        ensure!(is_accepted, "not the answer to the handshake: {head:?}");
        Ok(Self { connection })
    }

    /// Sends a binary message; an error unless it comes back.
    pub(crate) fn echo(&mut self, payload: &[u8]) -> Result<()> {
        self.exchange(BINARY, BINARY, payload)
    }

    /// Sends a frame of one type; an error unless one of another type with the same payload comes back.
    pub(crate) fn exchange(&mut self, sent: u8, expected: u8, payload: &[u8]) -> Result<()> {
        let bytes = payload.len();
        self.connection
            .write_all(&frame(sent, payload))
            .and_then(|()| self.connection.flush())
            .with_context(|| format!("cannot send a frame of {bytes} bytes"))?;
        let (first, received) =
            self.read().with_context(|| format!("no answer to a frame of {bytes} bytes"))?;
        ensure!(first == FIN | expected, "a frame that begins with {first:#x}");
        ensure!(received == payload, "other content than the {bytes} bytes that were sent");
        Ok(())
    }

    /// Reads a frame: its first byte, and its payload.
    fn read(&mut self) -> Result<(u8, Vec<u8>)> {
        let mut start = [0; 2];
        self.connection.read_exact(&mut start)?;
        let [first, length] = start;
        let length = match length {
            LENGTH_16 => {
                let mut length = [0; 2];
                self.connection.read_exact(&mut length)?;
                u16::from_be_bytes(length).into()
            }
            LENGTH_64 => {
                let mut length = [0; 8];
                self.connection.read_exact(&mut length)?;
                u64::from_be_bytes(length)
            }
            masked if masked & MASKED != 0 => bail!("a server must not mask its frames"),
            length => length.into(),
        };
        ensure!(length <= 1 << 20, "a frame of {length} bytes");
        let mut payload = vec![0; length as usize];
        self.connection.read_exact(&mut payload)?;
        Ok((first, payload))
    }
}

/// The bytes of a frame, with a mask.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![FIN | opcode];
    match payload.len() {
        length @ ..126 => bytes.push(MASKED | length as u8),
        length @ ..65_536 => {
            bytes.push(MASKED | LENGTH_16);
            bytes.extend((length as u16).to_be_bytes());
        }
        length => {
            bytes.push(MASKED | LENGTH_64);
            bytes.extend((length as u64).to_be_bytes());
        }
    }
    bytes.extend(MASK);
    bytes.extend(payload.iter().zip(MASK.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server whose bytes are known before, and which takes any.
    struct Scripted<'a>(&'a [u8], Vec<u8>);

    impl Read for Scripted<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            self.0.read(into)
        }
    }

    impl Write for Scripted<'_> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.1.write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn the_frame_of_the_rfc_is_written() {
        // RFC 6455 §5.7.
        let hello = [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58];
        assert_eq!(frame(TEXT, b"Hello"), hello);
        assert_eq!(frame(BINARY, &[0; 126])[..4], [0x82, 0xfe, 0, 126]);
        assert_eq!(frame(BINARY, &[0; 65_536])[..10], [0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn a_message_that_comes_back_is_accepted_and_any_other_refused() {
        let mut client = WebSocketClient { connection: Scripted(b"\x82\x02hi\x82\x02ho", vec![]) };
        client.echo(b"hi").unwrap();
        assert!(client.echo(b"hi").is_err());
        assert!(client.echo(b"hi").is_err(), "the end");
    }

    #[test]
    fn a_handshake_needs_the_right_answer_to_its_key() {
        let answer = |accept: &str| {
            let head = format!(
                "HTTP/1.1 101 Switching Protocols\r\nsec-websocket-accept: {accept}\r\n\r\n"
            );
            WebSocketClient::open(Scripted(head.as_bytes(), Vec::new())).is_ok()
        };
        assert!(answer(ACCEPT));
        assert!(!answer(KEY));
    }
}
