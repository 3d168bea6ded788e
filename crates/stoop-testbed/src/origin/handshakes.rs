//! What comes instead of a TLS handshake. These run on the bare connection.

use super::behaviour::Behaviour;
use crate::log::Ended;
use crate::wire::{Gone, Stream, Wire};

/// A fatal alert, handshake_failure: RFC 8446 §5.1 and §6.
const ALERT: &[u8] = &[21, 3, 3, 0, 2, 2, 40];

pub(super) async fn instead<S: Stream>(
    behaviour: &Behaviour,
    wire: &mut Wire<S>,
) -> Result<(), Gone> {
    if *behaviour == Behaviour::TlsHang {
        return Err(wire.hang().await);
    }
    wire.swallow().await?;
    match behaviour {
        Behaviour::TlsAlert => wire.put(ALERT),
        Behaviour::TlsGarbage => {
            wire.put(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
        }
        _ => {}
    }
    wire.finish(Ended::PlannedFault).await
}
