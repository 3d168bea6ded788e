//! The messages that a WebSocket server must send back.

use std::net::SocketAddr;

use anyhow::{Context, Result, bail};

use crate::exchange::{ServerConnector, Session, SessionKind};
use crate::paths;
use crate::websocket::{BINARY, PING, PONG, TEXT};

/// Lengths of messages on both sides of each form of a length, and those of the works.
const CHECKED_BYTES: [usize; 6] = [1, 16, 125, 126, 16 * 1024, 1 << 16];

/// Checks that the server at `address` sends messages of many lengths back, and answers a Ping.
pub(crate) fn check(address: SocketAddr) -> Result<()> {
    let connector = ServerConnector::new(None, SessionKind::WebSocket)?;
    let Session::WebSocket(mut client) = connector.session(connector.connect(address)?)? else {
        bail!("another session than the one that was asked for");
    };
    for bytes in CHECKED_BYTES {
        client.exchange(BINARY, BINARY, &paths::text(bytes))?;
        client.exchange(TEXT, TEXT, &paths::text(bytes))?;
    }
    client.exchange(PING, PONG, b"still there").context("a Ping")
}
