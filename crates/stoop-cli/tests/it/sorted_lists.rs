//! Lists that are sorted by host, whose first host answers 503 alone.

use std::net::Ipv4Addr;

use crate::server::Server;
use crate::stoop::{run, stoop};

/// How many URLs of hosts that are to wait each core holds, and the list is read on meanwhile.
const HELD_MAX: usize = 65_536;

/// The codes of a run, in their order, over so many URLs of a host that answers 503, and behind them 100 of another.
fn codes(busy: usize, options: &str) -> Vec<String> {
    let (first, second) = (Server::on(Ipv4Addr::new(127, 0, 12, 1)), Server::start());
    let of = |server: &Server, path: &str, count: usize| {
        (0..count).map(|n| server.url(&format!("{path}?{n}")) + "\n").collect::<String>()
    };
    let list = of(&first, "/status/503", busy) + &of(&second, "/ok/1", 100);
    let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), list);
    assert!(first.requests() <= 32, "{} requests", first.requests());
    let codes: Vec<_> = ran.lines().into_iter().map(|line| line.code).collect();
    let count = |code: &str| codes.iter().filter(|of| *of == code).count();
    assert_eq!((codes.len(), count("200")), (busy + 100, 100));
    assert_eq!(count("503") + count("host_suspended"), busy);
    codes
}

#[test]
fn the_urls_of_others_are_fetched_while_as_many_wait_as_may() {
    let codes = codes(HELD_MAX - 1000, "--host-overload-max 10");
    let last_answered = codes.iter().rposition(|code| code == "200").expect("100 of them");
    let first_given_up = codes.iter().position(|code| code == "host_suspended");
    assert!(Some(last_answered) < first_given_up, "{last_answered}, {first_given_up:?}");
}

#[test]
fn those_behind_more_are_fetched_once_the_host_is_given_up() {
    codes(2 * HELD_MAX, "--host-overload-max 1");
}
