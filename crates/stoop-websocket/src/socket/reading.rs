//! What a machine is given at once.

use crate::machine::{Machine, Received};
use crate::socket::turn::Turn;

/// Bytes that are decompressed in one step of a turn, into a thousand times as many at worst.
const COMPRESSED_STEP_BYTES: usize = 4 * 1024;

/// Reads up to the first event, or as far as the turn goes where much may be decompressed.
#[inline]
pub(crate) fn receive(machine: &mut Machine, turn: &mut Turn, input: &mut [u8]) -> Received {
    match machine.may_inflate() {
        true => receive_in_steps(machine, turn, input),
        false => machine.receive(input),
    }
}

fn receive_in_steps(machine: &mut Machine, turn: &mut Turn, input: &mut [u8]) -> Received {
    let mut consumed = 0;
    loop {
        let rest = &mut input[consumed..];
        let len = rest.len().min(COMPRESSED_STEP_BYTES);
        let is_last = len == rest.len();
        let received = machine.receive(&mut rest[..len]);
        consumed += received.consumed;
        if received.event.is_some() || is_last || turn.long_step() {
            return Received { consumed, event: received.event };
        }
    }
}
