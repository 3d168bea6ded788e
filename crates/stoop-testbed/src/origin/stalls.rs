//! Origins that take their time, or all of it.

use std::time::Duration;

use super::context::Then;
use crate::answer;
use crate::wire::{Gone, Stream, Wire};

/// A head that announces `body` bytes, at once.
async fn head<S: Stream>(wire: &mut Wire<S>, body: u64) -> Result<(), Gone> {
    answer::begin_head(wire, 200);
    answer::field(wire, "content-length", body);
    wire.put(b"\r\n");
    wire.flush().await
}

pub(super) async fn drip<S: Stream>(
    wire: &mut Wire<S>,
    body: u64,
    every: Duration,
) -> Result<Then, Gone> {
    head(wire, body).await?;
    for offset in 0..body {
        wire.pause(every).await?;
        wire.body(offset, 1).await?;
    }
    Ok(Then::Again)
}

pub(super) async fn drip_head<S: Stream>(
    wire: &mut Wire<S>,
    every: Duration,
) -> Result<Then, Gone> {
    answer::begin_head(wire, 200);
    wire.put(b"content-length: 0\r\n\r\n");
    for byte in std::mem::take(wire.out()) {
        wire.put(&[byte]);
        wire.flush().await?;
        wire.pause(every).await?;
    }
    Ok(Then::Again)
}

/// Announces 1,000 bytes and stops after `sent` of them.
pub(super) async fn hang_after<S: Stream>(wire: &mut Wire<S>, sent: u64) -> Result<Then, Gone> {
    head(wire, 1_000).await?;
    wire.body(0, sent).await?;
    let Gone(ended) = wire.hang().await;
    Ok(Then::Drop(ended))
}
