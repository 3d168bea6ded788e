//! Origins whose connections look reusable for longer than they are.

use std::time::Duration;

use super::context::Then;
use crate::answer::{self, Answer};
use crate::log::Ended;
use crate::request::Request;
use crate::wire::{Gone, Stream, Wire};

/// Answers without a word about closing, and then does close. A request that is under way in that
/// moment finds the connection closed or reset, and was not processed.
pub(super) async fn stale<S: Stream>(
    wire: &mut Wire<S>,
    request: &Request,
    after: Duration,
) -> Result<Then, Gone> {
    answer::send(wire, request, &Answer::ok(100)).await?;
    wire.line.end(Ended::Complete);
    tokio::time::sleep(after).await;
    Ok(Then::Drop(Ended::Complete))
}
