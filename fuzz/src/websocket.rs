//! Invariant: whatever bytes arrive on a WebSocket, in either role, compressed or not,
//! - the events are the same whole, in pieces, and with payload that is read into its message;
//! - what is left without an event is less than a control frame;
//! - nothing follows a Close frame or a fault, and no message is larger than the limit;
//! - a message that was read reads the same when it is sent again;
//! - nothing panics.

use stoop_websocket::machine::{Event, Machine, Payload};
use stoop_websocket::{AgreedDeflate, Deflate, Limits};

use super::cut;

/// More is only more of the same.
const INPUT_MAX: usize = 4_000;

/// Bytes of the longest control frame, which has to be here as a whole.
const CONTROL_FRAME_BYTES_MAX: usize = 139;

/// The limit of a message, so that small inputs meet it.
const MESSAGE_BYTES_MAX: usize = 1_000;

/// The first byte chooses the role and the terms, the second the pieces. The frames follow.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [choice, pieces, wire @ ..] = &data[..data.len().min(INPUT_MAX)] else { return };
    let whole = read(&mut receiver(*choice), [wire].into_iter());
    let in_pieces = read(&mut receiver(*choice), cut(wire, *pieces).into_iter());
    assert_eq!(whole, in_pieces, "in pieces");
    assert_eq!(whole, read_directly(&mut receiver(*choice), wire), "read into the message");
    for (at, event) in whole.iter().enumerate() {
        match event {
            Event::Message(message) => {
                assert!(message.len() <= MESSAGE_BYTES_MAX);
                let mut wire = Vec::new();
                let sent = sender(*choice).send(message.kind(), message.as_bytes(), &mut wire);
                assert_eq!(sent, Ok(Payload::Written));
                let again = read(&mut receiver(*choice), [&wire[..]].into_iter());
                assert_eq!(again, std::slice::from_ref(event), "sent again");
            }
            Event::Ping(payload) | Event::Pong(payload) => assert!(payload.len() <= 125),
            Event::Close(_) | Event::Fault(_) => assert_eq!(at + 1, whole.len()),
        }
    }
}

/// The terms of both ends: the client's and the server's.
fn agreed(choice: u8) -> (Option<AgreedDeflate>, Option<AgreedDeflate>) {
    if choice & 2 == 0 {
        return (None, None);
    }
    let mut deflate = Deflate::default();
    deflate.client_context_takeover = choice & 4 != 0;
    deflate.server_context_takeover = choice & 4 != 0;
    deflate.message_bytes_min = 1;
    let offer = deflate.offer();
    let accepted = deflate.accept([offer.as_bytes()]);
    let (server, answer) = accepted.expect("a list").expect("an offer that it can accept");
    let client = deflate.verify([answer.as_bytes()]).expect("what was offered");
    (client, Some(server))
}

fn machine(is_client: bool, choice: u8) -> Machine {
    let mut limits = Limits::default();
    limits.message_bytes_max = MESSAGE_BYTES_MAX;
    let (client, server) = agreed(choice);
    match is_client {
        true => Machine::client(&limits, client, || [0x37, 0xfa, 0x21, 0x3d]),
        false => Machine::server(&limits, server),
    }
}

/// The end that reads the input.
fn receiver(choice: u8) -> Machine {
    machine(choice & 1 == 0, choice)
}

/// Its peer.
fn sender(choice: u8) -> Machine {
    machine(choice & 1 != 0, choice)
}

fn read<'a>(machine: &mut Machine, pieces: impl Iterator<Item = &'a [u8]>) -> Vec<Event> {
    let (mut events, mut input) = (Vec::new(), Vec::new());
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            let received = machine.receive(&mut input);
            input.drain(..received.consumed);
            let Some(event) = received.event else { break };
            events.push(event);
        }
        assert!(machine.has_received_all() || input.len() < CONTROL_FRAME_BYTES_MAX);
    }
    let mut out = Vec::new();
    machine.flush(&mut out);
    assert!(!machine.has_to_send());
    events
}

fn read_directly(machine: &mut Machine, mut wire: &[u8]) -> Vec<Event> {
    let (mut events, mut input) = (Vec::new(), Vec::new());
    while let Some((first, rest)) = wire.split_first() {
        if input.is_empty()
            && let Some((payload, missing)) = machine.direct()
        {
            let n = usize::try_from(missing).unwrap_or(usize::MAX).min(wire.len()).min(9);
            payload.extend_from_slice(&wire[..n]);
            wire = &wire[n..];
            events.extend(machine.filled(n));
            continue;
        }
        input.push(*first);
        wire = rest;
        let received = machine.receive(&mut input);
        input.drain(..received.consumed);
        events.extend(received.event);
    }
    events
}
