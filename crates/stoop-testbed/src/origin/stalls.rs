//! Behaviours that are slow, or stop sending.

use std::time::Duration;

use super::context::AfterResponse;
use crate::connection::{ByteStream, Disconnected, OriginConnection};
use crate::response;

/// A head that announces `body` bytes, at once.
async fn head<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    body: u64,
) -> Result<(), Disconnected> {
    response::begin_head(connection, 200);
    response::field(connection, "content-length", body);
    connection.put(b"\r\n");
    connection.flush().await
}

pub(super) async fn drip<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    body: u64,
    every: Duration,
) -> Result<AfterResponse, Disconnected> {
    head(connection, body).await?;
    for offset in 0..body {
        connection.pause(every).await?;
        connection.body(offset, 1).await?;
    }
    Ok(AfterResponse::Again)
}

pub(super) async fn drip_head<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    every: Duration,
) -> Result<AfterResponse, Disconnected> {
    response::begin_head(connection, 200);
    connection.put(b"content-length: 0\r\n\r\n");
    for byte in std::mem::take(connection.out()) {
        connection.put(&[byte]);
        connection.flush().await?;
        connection.pause(every).await?;
    }
    Ok(AfterResponse::Again)
}

/// Announces 1,000 bytes and stops after `sent` of them.
pub(super) async fn hang_after<S: ByteStream>(
    connection: &mut OriginConnection<S>,
    sent: u64,
) -> Result<AfterResponse, Disconnected> {
    head(connection, 1_000).await?;
    connection.body(0, sent).await?;
    let Disconnected(ended) = connection.hang().await;
    Ok(AfterResponse::Drop(ended))
}
