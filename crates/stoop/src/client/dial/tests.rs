//! Addresses that answer, refuse and say nothing. The clock is paused.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::*;
use crate::client::deadlines::Due;
use crate::client::observe::{Observers, RequestObserver};
use crate::limits::ClientTime;
use crate::request::{Request, RequestDeadlines};

/// What becomes of an attempt, and when: by the last part of the address.
#[derive(Clone, Copy)]
enum Fate {
    Answers(u64),
    Refuses(u64),
    Starves,
    NoRoute,
    /// An IPv6 address, on a machine without IPv6.
    NoIpv6,
    Silent,
}

use Fate::{Answers, NoIpv6, NoRoute, Refuses, Silent, Starves};

#[derive(Default)]
struct Seen {
    tried: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
}

/// Counts an attempt while it is under way.
struct UnderWay<'a>(&'a Seen);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.now.fetch_sub(1, Relaxed);
    }
}

/// Which address won, or why none did; after how many ms, and what was seen.
async fn race(fates: &[Fate], connect: Option<Duration>) -> (Result<u8, Error>, u128, Seen) {
    let address = |(n, fate): (usize, &Fate)| match fate {
        NoIpv6 => IpAddr::from([0, 0, 0, 0, 0, 0, 0, n as u16]),
        _ => IpAddr::from([127, 0, 0, n as u8]),
    };
    let addresses: Vec<IpAddr> = fates.iter().enumerate().map(address).collect();
    let (seen, begun) = (Seen::default(), Instant::now());
    let attempt = async |address: SocketAddr| {
        let number = match address.ip() {
            IpAddr::V4(ip) => ip.octets()[3],
            IpAddr::V6(ip) => ip.octets()[15],
        };
        seen.tried.fetch_add(1, Relaxed);
        seen.most.fetch_max(seen.now.fetch_add(1, Relaxed) + 1, Relaxed);
        let _under_way = UnderWay(&seen);
        match fates[usize::from(number)] {
            Answers(after) => {
                sleep(Duration::from_millis(after)).await;
                Ok(number)
            }
            Refuses(after) => {
                sleep(Duration::from_millis(after)).await;
                Err(io::Error::from_raw_os_error(111))
            }
            Starves => Err(io::Error::from_raw_os_error(24)),
            NoIpv6 => Err(io::Error::from_raw_os_error(99)),
            NoRoute => Err(io::Error::from(io::ErrorKind::NetworkUnreachable)),
            Silent => std::future::pending().await,
        }
    };
    let time = ClientTime { connect, ..ClientTime::default() };
    let observer = RequestObserver::new(&Observers::default(), &Request::get("/").unwrap());
    let terms = ConnectLimits {
        time: &time,
        due: Due::new(RequestDeadlines::Endless, &time, stoop_io::now()),
        setup_by: None,
        public_only: None,
        observer: &observer,
        #[cfg(feature = "proxy")]
        via: None,
    };
    let won = first_of(&addresses, 80, terms, attempt).await;
    let took = begun.elapsed().as_millis();
    assert_eq!(seen.now.load(Relaxed), 0, "the others are dropped");
    (won, took, seen)
}

const LIMIT: Option<Duration> = Some(Duration::from_secs(5));

async fn winner(fates: &[Fate]) -> (u8, u128) {
    let (won, took, _) = race(fates, LIMIT).await;
    (won.unwrap(), took)
}

#[tokio::test(start_paused = true)]
async fn a_second_address_waited_for_half_the_time_to_connect() {
    assert_eq!(winner(&[Silent, Answers(10)]).await, (1, 260));
    assert_eq!(winner(&[Silent, Silent, Answers(10)]).await, (2, 510));
}

#[tokio::test(start_paused = true)]
async fn the_first_to_connect_wins_and_those_in_front_have_their_time() {
    assert_eq!(winner(&[Answers(200), Answers(0)]).await, (0, 200));
    assert_eq!(winner(&[Answers(300), Answers(100)]).await, (0, 300));
    assert_eq!(winner(&[Answers(400), Answers(100)]).await, (1, 350));
    let (_, _, seen) = race(&[Answers(200), Answers(0)], LIMIT).await;
    assert_eq!(seen.tried.load(Relaxed), 1, "no other address is tried");
}

#[tokio::test(start_paused = true)]
async fn an_attempt_that_fails_begins_the_next_at_once() {
    assert_eq!(winner(&[Refuses(20), Refuses(30), Answers(0)]).await, (2, 50));
    // And the next one of all has its delay from then on.
    assert_eq!(winner(&[Refuses(100), Silent, Answers(0)]).await, (2, 350));
    // One that was beside it goes on.
    assert_eq!(winner(&[Answers(900), Refuses(10), Refuses(10)]).await, (0, 900));
}

#[tokio::test(start_paused = true)]
async fn four_attempts_run_at_a_time_and_no_more() {
    let fates = [&[Silent; 9][..], &[Answers(0)]].concat();
    let (won, took, seen) = race(&fates, LIMIT).await;
    assert_eq!((won.unwrap(), took), (9, 9 * 250));
    assert_eq!((seen.tried.load(Relaxed), seen.most.load(Relaxed)), (10, ATTEMPTS_MAX));
}

#[tokio::test(start_paused = true)]
async fn the_time_to_connect_is_that_of_all_addresses() {
    let (won, took, seen) = race(&[Silent, Refuses(0), Silent], LIMIT).await;
    let error = won.unwrap_err();
    assert_eq!((error.kind(), took), (ErrorKind::ConnectTimeout, 5_000));
    assert_eq!((seen.tried.load(Relaxed), seen.most.load(Relaxed)), (3, 2));
    let (won, took, _) = race(&[Silent, Answers(10)], Some(Duration::from_millis(100))).await;
    assert_eq!((won.unwrap_err().kind(), took), (ErrorKind::ConnectTimeout, 100));
}

#[tokio::test(start_paused = true)]
async fn of_several_addresses_only_the_last_was_named() {
    let (won, _, _) = race(&[Refuses(5), Refuses(0), Silent, Refuses(0)], LIMIT).await;
    let error = won.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the connection was not made in time: 127.0.0.0:80: Connection refused (os error 111); \
         127.0.0.1:80: Connection refused (os error 111); 127.0.0.3:80: Connection refused (os error \
         111); 127.0.0.2:80: no answer [connect_timeout, connect]"
    );
    let (won, _, _) = race(&[Refuses(5), Refuses(0)], LIMIT).await;
    let error = won.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the connection was refused: 127.0.0.0:80: Connection refused (os error 111); 127.0.0.1:80: \
         Connection refused (os error 111) [connect_refused, connect]"
    );
    assert_eq!(error.remote_address(), Some(([127, 0, 0, 1], 80).into()));
    let (won, _, _) = race(&[], LIMIT).await;
    assert_eq!(won.unwrap_err().kind(), ErrorKind::DnsOther);
}

/// A request that finds no descriptor waits for one, if it is told that this was the reason.
#[tokio::test(start_paused = true)]
async fn want_of_a_descriptor_is_said_before_all() {
    for fates in [[Starves, Refuses(0)], [Refuses(0), Starves]] {
        let (won, _, _) = race(&fates, LIMIT).await;
        assert_eq!(won.unwrap_err().kind(), ErrorKind::TooManyFiles);
    }
}

#[tokio::test(start_paused = true)]
async fn a_host_that_refuses_was_taken_for_a_want_of_ports_on_a_machine_without_ipv6() {
    for fates in [[Refuses(0), NoIpv6], [NoIpv6, Refuses(0)]] {
        let (won, _, _) = race(&fates, LIMIT).await;
        assert_eq!(won.unwrap_err().kind(), ErrorKind::ConnectRefused);
    }
    let (won, _, _) = race(&[NoIpv6, NoIpv6], LIMIT).await;
    assert_eq!(won.unwrap_err().kind(), ErrorKind::NoLocalPorts);
}

/// A machine without IPv6 has no route to half of a name's addresses, which says nothing of the server.
#[tokio::test(start_paused = true)]
async fn a_host_that_refuses_says_more_than_an_address_without_a_route() {
    for fates in [[Refuses(0), NoRoute], [NoRoute, Refuses(0)]] {
        let (won, _, _) = race(&fates, LIMIT).await;
        let error = won.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectRefused);
        assert!(error.to_string().contains("unreachable"), "{error}");
    }
    let (won, _, _) = race(&[NoRoute, NoRoute], LIMIT).await;
    assert_eq!(won.unwrap_err().kind(), ErrorKind::ConnectUnreachable);
}
