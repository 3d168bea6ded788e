//! Invariant: whatever bytes a server's machine of HTTP/2 is given, and however it is driven, it
//! - does not panic, reads to the end or stops, and consumes no more than there is;
//! - comes to the same result however the bytes are cut;
//! - keeps no more than its limits allow, and says no more than a few times what it was observed, nor more
//!   content than its peer allows;
//! - if the connection breaks, says why with its last frame, has no streams, and does nothing more.

use super::h2_end::FuzzedEnd;
use super::h2_rules;
use super::h2_wire::{expanded, greeting};

/// More is only more of the same.
const INPUT_MAX: usize = 4_096;

/// The first three bytes choose limits, how the machine is driven, and pieces; then come bytes from
/// clients.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [choice, schedule, seed, input @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    let mut wire = if choice & 128 == 0 { greeting(true) } else { Vec::new() };
    wire.extend(expanded(input));
    h2_rules::check(|| FuzzedEnd::server(*choice, *schedule), &wire, *seed);
}
