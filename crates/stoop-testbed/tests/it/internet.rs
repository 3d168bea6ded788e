//! The synthetic internet, fetched by a strict client.

use std::collections::{HashMap, HashSet};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use stoop_testbed::{
    Class, EntryEnd, HostAddresses, Internet, Log, Options, Plan, PlannedUrl, Spans, Stats,
};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::fetch::{Client, FetchOutcome};
use crate::raw::{ConnectionEnd, RawConnection};

/// Fetches these URLs, so many at once; outcomes in the same order.
pub(crate) async fn fetch_all(
    internet: &Internet,
    urls: impl IntoIterator<Item = PlannedUrl>,
    concurrency: usize,
    deadline: Duration,
) -> Vec<FetchOutcome> {
    let client = Arc::new(Client::new(internet.dns_addr(), internet.ca_pem(), deadline));
    let permits = Arc::new(Semaphore::new(concurrency));
    let mut tasks = JoinSet::new();
    for (index, url) in urls.into_iter().enumerate() {
        let permit = permits.clone().acquire_owned().await.unwrap();
        let client = client.clone();
        tasks.spawn(async move {
            let outcome = client.fetch(&url.text).await;
            drop(permit);
            (index, outcome)
        });
    }
    let mut outcomes = tasks.join_all().await;
    outcomes.sort_by_key(|(index, _)| *index);
    outcomes.into_iter().map(|(_, outcome)| outcome).collect()
}

pub(crate) fn assert_as_planned(urls: impl Iterator<Item = PlannedUrl>, outcomes: &[FetchOutcome]) {
    for (url, found) in urls.zip(outcomes) {
        // The client of these tests speaks nothing else.
        let expect = url.expect.over_http1();
        assert!(
            expect.result.is_met_by(&found.code, found.length),
            "{} {}: {:?} expected, {found:?} found",
            url.text,
            url.class,
            expect.result
        );
        if let Some(hops) = expect.hops {
            assert_eq!(found.hops, hops, "{} {}", url.text, url.class);
        }
        assert_eq!(found.code == "total_timeout", expect.until_deadline, "{}", url.text);
    }
}

/// Some URLs of every class: of the rarest all that a large plan has.
fn sample(plan: &Plan) -> Vec<PlannedUrl> {
    let mut seen = HashMap::new();
    let take = |url: &PlannedUrl| {
        let seen = seen.entry(url.class).or_insert(0);
        *seen += 1;
        *seen <= if url.class == Class::Success { 300 } else { 6 }
    };
    let urls: Vec<PlannedUrl> = plan.iter().filter(take).collect();
    let classes: HashSet<Class> = urls.iter().map(|url| url.class).collect();
    assert_eq!(classes.len(), Class::all().count());
    urls
}

/// Small bodies and short waits, but every class, and the log at the end.
async fn as_planned(addresses: HostAddresses) {
    let deadline = Duration::from_secs(2);
    let log = Log::memory();
    let plan = Internet::plan(11, 20_000).latency(0.05).body(0.1);
    let options = Options { log: log.clone(), addresses, ..Options::default() };
    let internet = Internet::start(plan, options).await.unwrap();
    assert_eq!(internet.is_shared(), addresses == HostAddresses::Shared);
    let urls = sample(internet.planned());
    let outcomes = fetch_all(&internet, urls.clone(), 60, deadline).await;
    assert_as_planned(urls.iter().cloned(), &outcomes);
    let plan = internet.planned().clone();
    let stats: Stats = internet.stop().await.unwrap();
    assert_eq!((stats.open, stats.strangers), (0, 0));
    assert!(stats.open_peak <= 60 + 20, "{stats:?}");

    let entries = log.entries();
    assert_eq!(log.lost(), 0);
    let mut spans = Spans::default();
    spans.extend(&entries);
    // Every URL leaves a sign, and none later than the client's deadline.
    let signs: HashSet<u64> = spans.iter().map(|(index, _)| index).collect();
    assert!(urls.iter().all(|url| signs.contains(&url.index)));
    let tolerance = Duration::from_millis(400);
    assert_eq!(spans.longer_than(deadline + tolerance).collect::<Vec<_>>(), []);
    // What stalls shows the whole deadline, where the server can see it at all.
    for (index, span) in spans.iter() {
        let url = plan.url(index).unwrap();
        let expect = url.expect.over_http1();
        let seen = expect.until_deadline && span.connected && expect.hops == Some(0);
        if seen {
            assert!(span.length() > deadline - tolerance, "{} {}: {span:?}", url.text, url.class);
        }
    }
    let sent: u64 = entries.iter().take(entries.len() - 1).map(|entry| entry.sent).sum();
    assert!(sent > stats.sent_bytes);
    assert!(entries.iter().all(|entry| entry.ended != EntryEnd::Failed));
}

#[tokio::test]
async fn every_class_of_url_ends_as_planned() {
    as_planned(HostAddresses::BestPossible).await;
}

/// What systems get where 127.0.0.0/8 is not all local.
#[tokio::test]
async fn every_class_of_url_ends_as_planned_at_one_address() {
    as_planned(HostAddresses::Shared).await;
}

#[tokio::test]
async fn ten_thousand_hosts_start_at_once() {
    let begin = Instant::now();
    let internet = Internet::start(Internet::plan(1, 10_000), Options::default()).await.unwrap();
    assert!(begin.elapsed() < Duration::from_millis(500), "{:?}", begin.elapsed());
    assert_eq!(internet.list().count(), 10_000);
    internet.stop().await.unwrap();
}

#[tokio::test]
async fn requests_for_other_hosts_are_misdirected() {
    let internet = Internet::start(Internet::plan(1, 100), Options::default()).await.unwrap();
    let port = internet.planned().ports().http;
    for host in ["h6.s1.stoop.test", "example.com", ""] {
        let mut connection = RawConnection::plain(([127, 1, 0, 5], port).into()).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nhost: {host}\r\n\r\n");
        connection.send(request.as_bytes()).await.unwrap();
        let (bytes, end) = connection.rest().await;
        assert!(bytes.starts_with(b"HTTP/1.1 421 "), "{host}");
        assert_eq!(end, ConnectionEnd::Closed);
    }
    // Names that no URL of the plan has are told so, wherever they come.
    let mut connection = RawConnection::plain(([127, 1, 0, 200], port).into()).await.unwrap();
    connection.send(b"GET / HTTP/1.1\r\nhost: h200.s1.stoop.test\r\n\r\n").await.unwrap();
    assert!(connection.rest().await.0.starts_with(b"HTTP/1.1 404 Not Found\r\n"));
}

#[tokio::test]
async fn connections_are_bounded() {
    let options = Options { connections_max: 2, ..Options::default() };
    let internet = Internet::start(Internet::plan(1, 100), options).await.unwrap();
    let address = (Ipv4Addr::new(127, 1, 0, 5), internet.planned().ports().http);
    let mut open = Vec::new();
    for _ in 0..5 {
        // The kernel accepts them; the testbed does so one after the other.
        open.push(TcpStream::connect(address).await.unwrap());
    }
    eventually(|| internet.stats().open == 2).await;
    open.clear();
    eventually(|| internet.stats().open == 0 && internet.stats().accepted == 5).await;
    assert_eq!(internet.stats().open_peak, 2);
}

/// Waits until it is so, as long as any test may take.
async fn eventually(is_so: impl Fn() -> bool) {
    for _ in 0..2_000 {
        if is_so() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to be so");
}
