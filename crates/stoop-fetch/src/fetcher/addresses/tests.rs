//! What a finder makes of the responses of a name server.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use super::*;
use crate::addresses::Found;

const FOUR: Ipv4Addr = Ipv4Addr::new(127, 0, 7, 1);
const SIX: Ipv6Addr = Ipv6Addr::LOCALHOST;

/// Queries for addresses of IPv4 and of IPv6, by their types (RFC 1035 §3.2.2, RFC 3596 §2.1).
const A: u16 = 1;
const AAAA: u16 = 28;

/// A name server that answers by what is the first label of a name:
///
/// - `four` has an address of IPv4, and `late` those of both families, that of IPv4 once the test lets it
/// - `empty` has none, and exists; `gone` does not
/// - `fails` and `refused` are SERVFAIL and REFUSED
/// - `silent` has no response
struct NameServer {
    address: SocketAddr,
    late: Arc<(Mutex<bool>, Condvar)>,
}

impl NameServer {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let address = socket.local_addr().expect("bound");
        let late = Arc::<(Mutex<bool>, Condvar)>::default();
        let server = Self { address, late: Arc::clone(&late) };
        thread::spawn(move || {
            let mut buffer = [0; 1500];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let query = buffer[..length].to_vec();
                let (socket, late) = (socket.try_clone().expect("a descriptor"), Arc::clone(&late));
                thread::spawn(move || answer(&query, &socket, from, &late));
            }
        });
        server
    }

    /// Lets the addresses of IPv4 come that are late.
    fn release(&self) {
        *self.late.0.lock().expect("no panic") = true;
        self.late.1.notify_all();
    }

    fn finder(&self) -> Arc<AddressFinder> {
        let resolver = Resolver::builder().servers(&[self.address]).hosts(false);
        let resolver = resolver.query_timeout(Duration::from_secs(1)).attempts(1);
        let resolver = resolver.build().expect("no file");
        finder_of(Client::builder().resolver(resolver))
    }
}

/// Answers a query (RFC 1035 §4.1).
fn answer(query: &[u8], socket: &UdpSocket, to: SocketAddr, late: &(Mutex<bool>, Condvar)) {
    let question = &query[12..];
    let end = question.iter().position(|byte| *byte == 0).expect("the root's label") + 5;
    let question = &question[..end];
    let kind = u16::from_be_bytes([question[end - 4], question[end - 3]]);
    let label = &question[1..1 + usize::from(question[0])];
    if label == b"late" && kind == A {
        let released = late.0.lock().expect("no panic");
        drop(late.1.wait_while(released, |released| !*released).expect("no panic"));
    }
    let (code, has_addresses) = match label {
        b"late" => (0, true),
        b"four" => (0, kind == A),
        b"empty" => (0, false),
        b"fails" => (2, false),
        b"gone" => (3, false),
        b"refused" => (5, false),
        _ => return,
    };
    let mut response = query[..2].to_vec();
    response.extend([0x81, 0x80 | code, 0, 1, 0, u8::from(has_addresses), 0, 0, 0, 0]);
    response.extend(question);
    if has_addresses {
        // A pointer to the name in the question, the type, the class, and a TTL of 1 s.
        response.extend([0xc0, 12, 0, kind as u8, 0, 1, 0, 0, 0, 1]);
        match kind {
            A => response.extend([&[0, 4][..], &FOUR.octets()].concat()),
            AAAA => response.extend([&[0, 16][..], &SIX.octets()].concat()),
            other => panic!("no type of addresses: {other}"),
        }
    }
    let _ = socket.send_to(&response, to);
}

fn finder_of(client: stoop::ClientBuilder) -> Arc<AddressFinder> {
    Arc::new(finder(client.build().expect("a client")))
}

/// What a lookup finds, and whether it is known a little more than a second later.
async fn found(finder: &Arc<AddressFinder>, host: &str) -> (Found, bool) {
    let server = format!("{host}:80");
    let found = finder.find(server.as_bytes(), format!("http://{host}/").as_bytes()).await;
    sleep(Duration::from_millis(1_100)).await;
    (found, finder.known(server.as_bytes()).is_some())
}

#[tokio::test]
async fn only_what_is_denied_is_taken_for_having_no_address() {
    let finder = NameServer::start().finder();
    let found = |host| found(&finder, host);
    let long = "long".repeat(20);
    let (four, empty, gone, fails, refused, silent, odd) = tokio::join!(
        found("four.test"),
        found("empty.test"),
        found("gone.test"),
        found("fails.test"),
        found("refused.test"),
        found("silent.test"),
        found(&long),
    );
    assert_eq!(four, (Found::Address(FOUR.into()), true));
    assert_eq!(empty, (Found::Nothing, true));
    assert_eq!(gone, (Found::Nothing, true));
    assert_eq!(odd, (Found::Nothing, true), "it is no name of a host");
    for failed in [fails, refused, silent] {
        assert_eq!(failed, (Found::Nothing, false), "it is asked for again after a second");
    }
}

#[tokio::test]
async fn addresses_that_may_not_be_connected_to_are_none() {
    let none = |_| false;
    let finder = finder_of(Client::builder().address_filter(none).resolve("a", [FOUR.into()]));
    assert_eq!(found(&finder, "a").await, (Found::Nothing, true));
    assert_eq!(found(&finder, "127.0.7.1").await, (Found::Nothing, true));
    let client = Client::builder().local_address(FOUR.into()).resolve("a", [SIX.into()]);
    assert_eq!(found(&finder_of(client), "a").await, (Found::Nothing, true));
    let finder = finder_of(Client::builder().unix_socket("/nowhere"));
    assert_eq!(found(&finder, "a").await, (Found::Nothing, true));
}

#[tokio::test]
async fn a_resolver_of_the_callers_is_asked_and_its_errors_are_failures() {
    let asked = Arc::new(Mutex::new(HashMap::<String, usize>::new()));
    let noted = Arc::clone(&asked);
    let resolver = move |host: String| {
        *noted.lock().expect("no panic").entry(host.clone()).or_default() += 1;
        async move {
            match &*host {
                "one" => Ok(vec![SIX.into(), FOUR.into()].into()),
                "none" => Ok(Vec::new().into()),
                _ => Err("a directory that is away"),
            }
        }
    };
    let finder = finder_of(Client::builder().custom_resolver(resolver));
    let (one, none, fails) =
        tokio::join!(found(&finder, "one"), found(&finder, "none"), found(&finder, "fails"));
    assert_eq!(one, (Found::Address(FOUR.into()), true));
    assert_eq!(none, (Found::Nothing, true));
    assert_eq!(fails, (Found::Nothing, false));
    let asked = asked.lock().expect("no panic");
    assert!(asked.len() == 3 && asked.values().all(|times| *times == 1), "{asked:?}");
}

/// A resolver tells addresses of IPv6 when those of IPv4 are late, and all are lower that come then.
#[tokio::test]
async fn an_address_of_ipv4_that_is_late_is_found_in_seconds() {
    let server = NameServer::start();
    let resolver = Resolver::builder().servers(&[server.address]).hosts(false);
    let finder = finder_of(Client::builder().resolver(resolver.build().expect("no file")));
    let find = || async {
        match finder.known(b"late.test:80") {
            Some(found) => found,
            None => finder.find(b"late.test:80", b"http://late.test/").await,
        }
    };
    assert_eq!(find().await, Found::Address(SIX.into()));
    server.release();
    let limit = Instant::now() + Duration::from_secs(60);
    while find().await != Found::Address(FOUR.into()) {
        assert!(Instant::now() < limit, "it is not asked for again");
        sleep(Duration::from_millis(50)).await;
    }
}
