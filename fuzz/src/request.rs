//! Invariant: whatever bytes arrive, a server
//! - does not panic, and consumes no more than there is;
//! - tells the same, and answers the same, however the bytes were cut;
//! - after a violation reads nothing, and has nothing more to send;
//! - validates a buffered body with the result that reading it then has.

use http::StatusCode;
use stoop_proto::h1::{Event, Server};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseParts, Violation};

/// Two bytes choose limits and cuts, the others arrive.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [choice, seed, wire @ ..] = data else { return };
    let wire = super::settled(wire);
    let limits = super::limits(*choice);
    let whole = serve(&[&wire], &limits);
    let pieces = serve(&super::cut(&wire, *seed), &limits);
    assert_eq!(whole.observed, pieces.observed);
    assert_eq!(whole.said, pieces.said);
}

#[derive(Default)]
struct Served {
    observed: Vec<ServedEvent>,
    said: Vec<u8>,
}

#[derive(Debug, PartialEq)]
enum ServedEvent {
    Head(RequestHead),
    Content(Vec<u8>),
    End(String),
    Violation(Violation),
}

fn serve(pieces: &[&[u8]], limits: &Limits) -> Served {
    let (mut served, mut server, mut head) = Default::default();
    let mut buffer = Vec::new();
    for piece in pieces {
        buffer.extend_from_slice(piece);
        while receive(&mut server, &mut head, &mut buffer, limits, &mut served) {}
    }
    served
}

/// Whether there may be more to receive.
fn receive(
    server: &mut Server,
    head: &mut RequestHead,
    buffer: &mut Vec<u8>,
    limits: &Limits,
    served: &mut Served,
) -> bool {
    let received = server.receive(buffer, head, limits);
    let consumed = received.consumed;
    assert!(consumed <= buffer.len());
    if let Some(ServedEvent::Violation(_)) = served.observed.last() {
        assert_eq!((consumed, received.event), (0, Event::Paused));
        return false;
    }
    match received.event {
        Event::NeedMore | Event::Paused => {
            buffer.drain(..consumed);
            return false;
        }
        Event::Head { end } => {
            buffer.drain(..consumed);
            served.observed.push(ServedEvent::Head(head.clone()));
            if end {
                respond(server, served);
            } else if let Err(violation) = server.validate_buffered_body(buffer, limits) {
                violation_in_buffer(server, head, buffer, limits, violation, served);
            }
            return true;
        }
        Event::Data(span) => {
            assert!(!span.is_empty() && span.end <= consumed);
            match served.observed.last_mut() {
                Some(ServedEvent::Content(content)) => content.extend_from_slice(&buffer[span]),
                _ => served.observed.push(ServedEvent::Content(buffer[span].to_vec())),
            }
        }
        Event::End { trailers } => {
            let section = server.take_trailers();
            assert_eq!(section.is_some(), trailers);
            served.observed.push(ServedEvent::End(format!("{section:?}")));
            respond(server, served);
        }
        Event::Violation(violation) => {
            served.observed.push(ServedEvent::Violation(violation));
            assert!(server.refuse(violation, None, &mut served.said));
            assert!(server.is_sent() && !server.is_receiving());
        }
        Event::Interim | Event::Tunnel | Event::Closed => panic!("{:?}", received.event),
    }
    buffer.drain(..consumed);
    true
}

/// The violation must come, with these bytes and no others.
fn violation_in_buffer(
    server: &mut Server,
    head: &mut RequestHead,
    buffer: &mut Vec<u8>,
    limits: &Limits,
    violation: Violation,
    served: &mut Served,
) {
    while receive(server, head, buffer, limits, served) {
        match served.observed.last() {
            Some(ServedEvent::Violation(came)) => {
                assert_eq!(*came, violation);
                return;
            }
            Some(ServedEvent::Content(_)) => {}
            observed => panic!("{violation:?} was violation_in_buffer, {observed:?} came"),
        }
    }
    panic!("{violation:?} was violation_in_buffer and did not come");
}

fn respond(server: &mut Server, served: &mut Served) {
    let answer = server.answer();
    let status = match answer.may_switch() {
        true => StatusCode::NOT_IMPLEMENTED,
        false => StatusCode::OK,
    };
    let (parts, out) = (ResponseParts::new(status), &mut served.said);
    server.respond(answer, &parts, BodySize::Exact(0), out).expect("a response is due");
    server.finish(None, out).expect("it has no content");
}
