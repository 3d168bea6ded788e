//! Two machines of HTTP/2 that talk to each other: whatever they are asked to say, in whatever order,
//! however their bytes are cut, and whoever gives up what, every exchange ends once at either end,
//! what was read is what was said, neither ever sends more than it may, and when all is over nothing
//! is left of it, in the windows least of all.

mod ledger;
mod net;
mod side;

use http::Method;
use stoop_proto::Fields;
use stoop_proto::h2::Reset;
use stoop_test::pair::Exchange;
use stoop_test::random::Random;

use self::net::Net;
use super::{round_trip, rounds};

/// How an exchange ended, at one end.
#[derive(Clone, Debug, PartialEq)]
enum Ended {
    /// Both messages were said and read to their ends.
    Well,
    /// It was given up here.
    GivenUp,
    /// It was given up by the other end.
    Reset(Reset),
}

#[test]
fn every_exchange_ends_once_and_leaves_nothing() {
    rounds(150, |random| {
        let exchanges: Vec<_> = (0..1 + random.below(40)).map(|n| exchange(n, random)).collect();
        let mut net = Net::new(random);
        net.run(&exchanges, random);
        net.check_what_is_left();
        for (n, exchange) in exchanges.iter().enumerate().take(net.opened()) {
            check(n, exchange, &net);
        }
    });
}

/// An exchange whose request says its number.
fn exchange(number: usize, random: &mut Random) -> Exchange {
    let mut exchange = round_trip::exchange(random);
    exchange.request.fields_mut().set("x-number", number.to_string().as_bytes()).unwrap();
    if random.one_in(3) {
        let priority =
            format!("u={}{}", random.below(9), if random.one_in(2) { ", i" } else { "" });
        exchange.request.fields_mut().set("priority", priority.as_bytes()).unwrap();
    }
    exchange
}

fn check(number: usize, exchange: &Exchange, net: &Net) {
    let (asked, answered) = (net.client.seen(number), net.server.seen(number));
    if let Some(heard) = answered {
        assert_eq!(fields(heard.fields.as_ref().unwrap()), fields(exchange.request.fields()));
        let said = exchange.request_body.pieces.concat();
        assert!(said.starts_with(&heard.content));
        if heard.is_ended {
            assert_eq!(heard.content.len(), said.len());
            let body = &exchange.request_body;
            check_trailers(
                heard.trailers.as_ref(),
                body.trailers.as_ref().filter(|_| !is_bare(body)),
            );
        }
    }
    let read = asked.expect("it was asked");
    let has_content = *exchange.request.method() != Method::HEAD
        && !matches!(exchange.status.as_u16(), 204 | 205 | 304);
    let said = if has_content { exchange.response_body.pieces.concat() } else { Vec::new() };
    assert!(said.starts_with(&read.content));
    if let Some(head) = &read.fields {
        assert_eq!(read.status, Some(exchange.status));
        assert_eq!(fields(head), fields(&exchange.fields));
    }
    if read.is_ended {
        assert_eq!(read.content.len(), said.len());
        let body = &exchange.response_body;
        let may_trail = has_content && !is_bare(body);
        check_trailers(read.trailers.as_ref(), body.trailers.as_ref().filter(|_| may_trail));
    }
    if read.ended == Some(Ended::Well) {
        assert!(read.is_ended && read.fields.is_some());
    }
}

/// Whether the head is all of a message, so that no trailers can follow.
fn is_bare(body: &stoop_test::pair::Body) -> bool {
    body.is_announced && body.pieces.concat().is_empty()
}

fn check_trailers(read: Option<&Fields>, said: Option<&Fields>) {
    let said = said.filter(|said| !said.is_empty());
    assert_eq!(read.map(fields), said.map(fields));
}

/// The fields that are not the machine's; over HTTP/2 names are in lower case.
fn fields(fields: &Fields) -> Vec<(String, Vec<u8>)> {
    let ours = ["content-length", "transfer-encoding", "connection", "host"];
    let theirs = fields.iter().filter(|field| !ours.iter().any(|name| field.is(name)));
    theirs.map(|field| (field.name().to_ascii_lowercase(), field.value().to_vec())).collect()
}
