//! Behaviours that replace the TLS handshake. They run on the bare connection.

use super::behaviour::Behaviour;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::log::EntryEnd;

/// A fatal alert, handshake_failure: RFC 8446 §5.1 and §6.
const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 40];

pub(super) async fn instead<S: ByteStream>(
    behaviour: &Behaviour,
    connection: &mut OriginConnection<S>,
) -> Result<(), Disconnected> {
    if *behaviour == Behaviour::TlsHang {
        return Err(connection.hang().await);
    }
    connection.discard_first().await?;
    match behaviour {
        Behaviour::TlsAlert => connection.put(ALERT),
        Behaviour::TlsGarbage => {
            connection
                .put(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        }
        _ => {}
    }
    connection.finish(EntryEnd::PlannedFault).await
}
