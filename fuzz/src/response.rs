//! Invariant: whatever bytes arrive in answer to a request, a client
//! - does not panic, and consumes no more than there is;
//! - tells the same however the bytes were cut;
//! - after a violation reads nothing, and is not used again;
//! - is used again only if the response was complete, and both ends said or implied that it may.

use http::Method;
use stoop_proto::h1::{Client, Event};
use stoop_proto::{BodySize, Limits, RequestHead, ResponseHead, Violation};

/// Three bytes choose limits, cuts and the request, the others arrive.
///
/// # Panics
/// If the invariant does not hold.
pub fn check(data: &[u8]) {
    let [choice, seed, request, wire @ ..] = data else { return };
    let wire = super::settled(wire);
    let limits = super::limits(choice | 1);
    let whole = read(sent(*request), &[&wire], &limits);
    let pieces = read(sent(*request), &super::cut(&wire, *seed), &limits);
    assert_eq!(whole, pieces);
}

#[derive(Debug, PartialEq)]
enum ObservedResponse {
    Interim(ResponseHead),
    Head(ResponseHead),
    Content(Vec<u8>),
    End(String),
    Tunnel,
    Violation(Violation),
}

fn sent(choice: u8) -> Client {
    let (method, target) = match choice & 3 {
        0 => (Method::GET, "/"),
        1 => (Method::HEAD, "/"),
        2 => (Method::CONNECT, "a:1"),
        _ => (Method::POST, "/"),
    };
    let mut head = RequestHead::new(method, target).expect("the target fits");
    head.fields_mut().push("host", b"a").expect("it is a field");
    if choice & 4 != 0 {
        head.fields_mut().push("upgrade", b"x").expect("it is a field");
    }
    if choice & 8 != 0 {
        head.fields_mut().push("connection", b"close").expect("it is a field");
    }
    let mut client = Client::new();
    client.send(&head, BodySize::Exact(0), &mut Vec::new()).expect("the client is fresh");
    if choice & 16 == 0 {
        client.finish(None, &mut Vec::new()).expect("there is no content");
    }
    client
}

fn read(
    mut client: Client,
    pieces: &[&[u8]],
    limits: &Limits,
) -> (Vec<ObservedResponse>, bool, Vec<u8>) {
    let (mut observed, mut buffer, mut head) = (Vec::new(), Vec::new(), ResponseHead::default());
    for piece in pieces {
        buffer.extend_from_slice(piece);
        while !is_over(&observed)
            && receive(&mut client, &mut head, &mut buffer, limits, &mut observed)
        {}
    }
    let is_reusable = client.is_reusable();
    match observed.last() {
        Some(ObservedResponse::Violation(_)) => {
            let again = client.receive(b"HTTP/1.1 200 OK\r\n\r\n", &mut head, limits);
            assert_eq!((again.consumed, again.event), (0, Event::Paused));
            assert!(!is_reusable);
            buffer.clear();
        }
        Some(ObservedResponse::End(_)) => assert!(!client.is_receiving()),
        _ => assert!(!is_reusable),
    }
    (observed, is_reusable, buffer)
}

fn is_over(observed: &[ObservedResponse]) -> bool {
    matches!(
        observed.last(),
        Some(ObservedResponse::End(_) | ObservedResponse::Tunnel | ObservedResponse::Violation(_))
    )
}

/// Whether there may be more to receive.
fn receive(
    client: &mut Client,
    head: &mut ResponseHead,
    buffer: &mut Vec<u8>,
    limits: &Limits,
    observed: &mut Vec<ObservedResponse>,
) -> bool {
    let received = client.receive(buffer, head, limits);
    let consumed = received.consumed;
    assert!(consumed <= buffer.len());
    match received.event {
        Event::NeedMore => {
            buffer.drain(..consumed);
            return false;
        }
        Event::Interim => observed.push(ObservedResponse::Interim(head.clone())),
        Event::Head { end } => {
            observed.push(ObservedResponse::Head(head.clone()));
            if end {
                observed.push(ObservedResponse::End(String::new()));
            }
        }
        Event::Data(span) => {
            assert!(!span.is_empty() && span.end <= consumed);
            match observed.last_mut() {
                Some(ObservedResponse::Content(content)) => {
                    content.extend_from_slice(&buffer[span])
                }
                _ => observed.push(ObservedResponse::Content(buffer[span].to_vec())),
            }
        }
        Event::End { trailers } => {
            let section = client.take_trailers();
            assert_eq!(section.is_some(), trailers);
            observed.push(ObservedResponse::End(format!("{section:?}")));
        }
        Event::Tunnel => observed.push(ObservedResponse::Tunnel),
        Event::Violation(violation) => observed.push(ObservedResponse::Violation(violation)),
        Event::Paused | Event::Closed => panic!("{:?}", received.event),
    }
    buffer.drain(..consumed);
    true
}
