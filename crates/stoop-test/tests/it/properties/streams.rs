//! Random exchanges between the HTTP/2 machines of a client and a server, in random order, with bytes cut
//! at random and streams reset by either. Every exchange ends once at each peer, what was received is
//! what was sent, no peer sends more than the windows allow, and at the end no stream, content or window
//! is left over.

mod ledger;
mod peer;
mod peers;

use http::Method;
use stoop_proto::Fields;
use stoop_proto::h2::ResetReason;
use stoop_test::pair::PlannedExchange;
use stoop_test::random::Random;

use self::peers::Peers;
use super::{round_trip, rounds};

/// How an exchange ended at one of the peers.
#[derive(Clone, Debug, PartialEq)]
enum ExchangeEnd {
    /// Both messages were sent and received to their ends.
    Complete,
    /// This peer reset the stream.
    ResetHere,
    /// The other peer reset the stream.
    ResetByPeer(ResetReason),
}

#[test]
fn every_exchange_ends_once_and_leaves_nothing() {
    rounds(150, |random| {
        let exchanges: Vec<_> = (0..1 + random.below(40)).map(|n| exchange(n, random)).collect();
        let mut peers = Peers::new(random);
        peers.run(&exchanges, random);
        peers.assert_nothing_left();
        for (n, exchange) in exchanges.iter().enumerate().take(peers.started()) {
            check(n, exchange, &peers);
        }
    });
}

/// A random exchange, whose request has its number in a field.
fn exchange(number: usize, random: &mut Random) -> PlannedExchange {
    let mut exchange = round_trip::exchange(random);
    exchange.request.fields_mut().set("x-number", number.to_string().as_bytes()).unwrap();
    if random.one_in(3) {
        let priority =
            format!("u={}{}", random.below(9), if random.one_in(2) { ", i" } else { "" });
        exchange.request.fields_mut().set("priority", priority.as_bytes()).unwrap();
    }
    exchange
}

/// Checks what both peers received of an exchange.
fn check(number: usize, exchange: &PlannedExchange, peers: &Peers) {
    if let Some(request) = peers.server.received(number) {
        assert_eq!(
            callers_fields(request.fields.as_ref().unwrap()),
            callers_fields(exchange.request.fields())
        );
        let sent = exchange.request_body.pieces.concat();
        assert!(sent.starts_with(&request.content));
        if request.is_ended {
            assert_eq!(request.content.len(), sent.len());
            let body = &exchange.request_body;
            check_trailers(
                request.trailers.as_ref(),
                body.trailers.as_ref().filter(|_| !is_bare(body)),
            );
        }
    }
    let response = peers.client.received(number).expect("the request was sent");
    let has_content = *exchange.request.method() != Method::HEAD
        && !matches!(exchange.status.as_u16(), 204 | 205 | 304);
    let sent = if has_content { exchange.response_body.pieces.concat() } else { Vec::new() };
    assert!(sent.starts_with(&response.content));
    if let Some(head) = &response.fields {
        assert_eq!(response.status, Some(exchange.status));
        assert_eq!(callers_fields(head), callers_fields(&exchange.fields));
    }
    if response.is_ended {
        assert_eq!(response.content.len(), sent.len());
        let body = &exchange.response_body;
        let may_trail = has_content && !is_bare(body);
        check_trailers(response.trailers.as_ref(), body.trailers.as_ref().filter(|_| may_trail));
    }
    if response.ended == Some(ExchangeEnd::Complete) {
        assert!(response.is_ended && response.fields.is_some());
    }
}

/// Whether the head is all of a message, so that no trailers can follow.
fn is_bare(body: &stoop_test::pair::PlannedBody) -> bool {
    body.is_announced && body.pieces.concat().is_empty()
}

fn check_trailers(received: Option<&Fields>, sent: Option<&Fields>) {
    let sent = sent.filter(|sent| !sent.is_empty());
    assert_eq!(received.map(callers_fields), sent.map(callers_fields));
}

/// The fields that the machine does not set itself; over HTTP/2 names are in lower case.
fn callers_fields(fields: &Fields) -> Vec<(String, Vec<u8>)> {
    let ours = ["content-length", "transfer-encoding", "connection", "host"];
    let theirs = fields.iter().filter(|field| !ours.iter().any(|name| field.is(name)));
    theirs.map(|field| (field.name().to_ascii_lowercase(), field.value().to_vec())).collect()
}
