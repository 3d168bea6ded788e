//! Feeds machines with literal bytes, whole and in pieces.

use stoop_websocket::machine::{Event, Machine};
use stoop_websocket::{AgreedDeflate, Limits};

/// The masking key of the RFC's examples.
pub(crate) fn example_key() -> [u8; 4] {
    [0x37, 0xfa, 0x21, 0x3d]
}

pub(crate) fn server() -> Machine {
    Machine::server(&Limits::default(), None)
}

pub(crate) fn client() -> Machine {
    Machine::client(&Limits::default(), None, example_key)
}

pub(crate) fn deflating_client(agreed: AgreedDeflate) -> Machine {
    Machine::client(&Limits::default(), Some(agreed), example_key)
}

/// The events that `bytes` come to: the same whole, byte by byte, cut once at every place, and read into the
/// message where that is possible.
pub(crate) fn events(machine: impl Fn() -> Machine, bytes: &[u8]) -> Vec<Event> {
    let whole = fed(&mut machine(), &[bytes]);
    let singly: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(fed(&mut machine(), &singly), whole, "byte by byte");
    assert_eq!(fed_directly(&mut machine(), bytes), whole, "read into the message");
    let places = if bytes.len() < 2_000 { bytes.len() } else { 300 };
    for cut in 0..places {
        let (first, second) = bytes.split_at(cut);
        assert_eq!(fed(&mut machine(), &[first, second]), whole, "cut at {cut}");
    }
    whole
}

/// The events that pieces come to, of which each begins with what the one before left.
pub(crate) fn fed(machine: &mut Machine, pieces: &[&[u8]]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut input = Vec::new();
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            let received = machine.receive(&mut input);
            input.drain(..received.consumed);
            match received.event {
                Some(event) => events.push(event),
                None => break,
            }
        }
        assert!(machine.has_received_all() || input.len() < 139, "{} bytes are left", input.len());
    }
    events
}

/// As [`fed`] one byte after the other, but for payload that can be appended to its message.
fn fed_directly(machine: &mut Machine, mut bytes: &[u8]) -> Vec<Event> {
    let mut events = Vec::new();
    let mut input = Vec::new();
    while !bytes.is_empty() {
        if input.is_empty()
            && let Some((payload, missing)) = machine.direct()
        {
            let n = bytes.len().min(7).min(missing as usize);
            payload.extend_from_slice(&bytes[..n]);
            bytes = &bytes[n..];
            events.extend(machine.filled(n));
            continue;
        }
        input.push(bytes[0]);
        bytes = &bytes[1..];
        let received = machine.receive(&mut input);
        input.drain(..received.consumed);
        events.extend(received.event);
    }
    events
}

/// A frame of a client, masked with the key of the examples.
pub(crate) fn masked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = unmasked(first, payload);
    frame[1] |= 0x80;
    let start = frame.len() - payload.len();
    frame.splice(start..start, example_key());
    stoop_websocket::machine::mask(&mut frame[start + 4..], example_key());
    frame
}

/// A frame of a server.
pub(crate) fn unmasked(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        len @ 0..=125 => frame.push(len as u8),
        len @ 126..=0xFFFF => {
            frame.push(126);
            frame.extend((len as u16).to_be_bytes());
        }
        len => {
            frame.push(127);
            frame.extend((len as u64).to_be_bytes());
        }
    }
    frame.extend(payload);
    frame
}

/// What the machine itself sends.
pub(crate) fn flushed(machine: &mut Machine) -> Vec<u8> {
    let mut out = Vec::new();
    machine.flush(&mut out);
    out
}

pub(crate) fn message(text: &str) -> Event {
    Event::Message(text.into())
}

pub(crate) fn binary(bytes: &[u8]) -> Event {
    Event::Message(bytes.into())
}
