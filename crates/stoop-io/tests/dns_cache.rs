//! The cache of a resolver, and lookups that several callers share.
#![cfg(feature = "dns")]

mod dns_support;

use std::net::IpAddr;
use std::time::Duration;

use dns_support::{A, AAAA, ScriptedReply, TestServer, ips};
use stoop_io::{DnsErrorKind, Resolver, ResolverBuilder};

const MS: Duration = Duration::from_millis(1);

fn asking(server: &TestServer) -> ResolverBuilder {
    Resolver::builder().hosts(false).servers(&[server.address])
}

/// A server whose responses have a TTL of `ttl` seconds.
fn with_ttl(ttl: u32) -> TestServer {
    TestServer::start(move |_| ScriptedReply::Addresses(ips(&["10.0.0.1", "fd00::1"]), ttl))
}

/// Lets `seconds` go by on the tests' clock.
async fn pass(seconds: u64) {
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(seconds)).await;
    tokio::time::resume();
}

#[tokio::test]
async fn a_result_is_remembered_for_its_ttl() {
    let server = with_ttl(60);
    let resolver = asking(&server).build().unwrap();
    for _ in 0..3 {
        resolver.lookup("a.example").await.unwrap();
    }
    assert_eq!(server.asked("a.example", A), 1);
    pass(58).await;
    resolver.lookup("A.Example.").await.unwrap();
    assert_eq!(server.asked("a.example", A), 1);
    pass(3).await;
    assert!(resolver.known("a.example").is_none());
    resolver.lookup("a.example").await.unwrap();
    assert_eq!(server.asked("a.example", A), 2);
}

#[tokio::test]
async fn a_result_is_remembered_for_an_hour_at_most() {
    let server = with_ttl(u32::MAX >> 1);
    let resolver = asking(&server).build().unwrap();
    resolver.lookup("a.example").await.unwrap();
    pass(3_590).await;
    assert!(resolver.known("a.example").is_some());
    pass(20).await;
    assert!(resolver.known("a.example").is_none());
}

#[tokio::test]
async fn a_result_is_remembered_for_a_second_at_least() {
    let server = with_ttl(0);
    let resolver = asking(&server).build().unwrap();
    resolver.lookup("a.example").await.unwrap();
    resolver.lookup("a.example").await.unwrap();
    assert_eq!(server.asked("a.example", A), 1);
    pass(1).await;
    resolver.lookup("a.example").await.unwrap();
    assert_eq!(server.asked("a.example", A), 2);
}

#[tokio::test]
async fn a_denial_is_remembered_for_ten_seconds_and_a_failure_for_one() {
    for (reply, kind, seconds) in [
        (ScriptedReply::NxDomain, DnsErrorKind::NxDomain, 10),
        (ScriptedReply::NoData, DnsErrorKind::NoRecords, 10),
        (ScriptedReply::Code(2), DnsErrorKind::ServFail, 1),
    ] {
        let server = TestServer::start(move |_| reply.clone());
        let resolver = asking(&server).build().unwrap();
        assert_eq!(resolver.lookup("a.example").await.unwrap_err().kind(), kind);
        assert_eq!(resolver.known("a.example").unwrap().unwrap_err().kind(), kind);
        if seconds > 1 {
            pass(seconds - 1).await;
            assert!(resolver.known("a.example").is_some(), "{kind:?} is remembered");
        }
        pass(1).await;
        assert!(resolver.known("a.example").is_none(), "{kind:?} is forgotten");
    }
}

#[tokio::test]
async fn the_bounds_of_the_cache_can_be_set() {
    let seconds = Duration::from_secs;
    for (server, builder_of, lives) in [
        (with_ttl(0), ResolverBuilder::cache_ttl_min as fn(_, _) -> _, 30),
        (with_ttl(60), ResolverBuilder::cache_ttl_max, 30),
        (
            TestServer::start(|_| ScriptedReply::NxDomain),
            ResolverBuilder::cache_negative_ttl_max,
            30,
        ),
    ] {
        let resolver = builder_of(asking(&server), seconds(lives)).build().unwrap();
        let _ = resolver.lookup("a.example").await;
        pass(lives - 1).await;
        assert!(resolver.known("a.example").is_some());
        pass(1).await;
        assert!(resolver.known("a.example").is_none());
    }
    // Whatever is set, no clock overflows, and a longest time shorter than the least one holds.
    let server = with_ttl(60);
    let builder = asking(&server).cache_ttl_min(Duration::MAX).cache_ttl_max(Duration::MAX);
    assert!(builder.clone().build().unwrap().lookup("a.example").await.is_ok());
    let resolver = builder.cache_ttl_max(seconds(5)).build().unwrap();
    assert!(resolver.lookup("a.example").await.is_ok());
    pass(5).await;
    assert!(resolver.known("a.example").is_none());
}

#[tokio::test]
async fn many_lookups_of_a_name_at_once_send_one_query() {
    let server = TestServer::start(|_| {
        ScriptedReply::After(50 * MS, ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60).into())
    });
    let resolver = asking(&server).build().unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.lookup("a.example").await.unwrap() });
    }
    while let Some(found) = asking.join_next().await {
        assert_eq!(found.unwrap()[..], ips(&["10.0.0.1"]));
    }
    assert_eq!((server.asked("a.example", A), server.asked("a.example", AAAA)), (1, 1));
}

#[tokio::test]
async fn the_first_lookup_may_be_dropped_while_others_wait() {
    let server = TestServer::start(|_| {
        ScriptedReply::After(100 * MS, ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60).into())
    });
    let resolver = asking(&server).build().unwrap();
    let (first, second) = (resolver.clone(), resolver.clone());
    let first = tokio::spawn(async move { first.lookup("a.example").await });
    tokio::task::yield_now().await;
    let second = tokio::spawn(async move { second.lookup("a.example").await });
    tokio::time::sleep(30 * MS).await;
    first.abort();
    assert_eq!(second.await.unwrap().unwrap()[..], ips(&["10.0.0.1"]));
    assert_eq!(server.asked("a.example", A), 1);
}

#[tokio::test]
async fn a_lookup_after_all_were_dropped_starts_again() {
    let server = TestServer::start(|_| ScriptedReply::Silence);
    let resolver = asking(&server).query_timeout(Duration::from_secs(60)).build().unwrap();
    for n in 1..=3 {
        let looked = tokio::time::timeout(50 * MS, resolver.lookup("a.example")).await;
        assert!(looked.is_err());
        tokio::time::sleep(20 * MS).await;
        assert_eq!(server.asked("a.example", A), n);
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

/// Drives a runtime for a while.
fn drive(runtime: &tokio::runtime::Runtime, time: Duration) {
    runtime.block_on(async { tokio::time::sleep(time).await });
}

/// A server that takes 100 ms, and a lookup of it that two runtimes wait for. The first, which
/// started it, is not driven any more.
#[allow(clippy::type_complexity)]
fn shared_lookup() -> (
    TestServer,
    Resolver,
    [tokio::runtime::Runtime; 2],
    tokio::task::JoinHandle<Result<stoop_io::Addresses, stoop_io::DnsError>>,
) {
    let server = TestServer::start(|_| {
        ScriptedReply::After(100 * MS, ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60).into())
    });
    let resolver = asking(&server).build().unwrap();
    let (one, other) = (runtime(), runtime());
    let asked = resolver.clone();
    one.spawn(async move { asked.lookup("a.example").await });
    drive(&one, 20 * MS);
    let asked = resolver.clone();
    let found = other.spawn(async move { asked.lookup("a.example").await });
    drive(&other, 20 * MS);
    assert_eq!(server.asked("a.example", A), 1, "they share it");
    (server, resolver, [one, other], found)
}

#[test]
fn a_runtime_that_ends_does_not_end_lookups_on_another() {
    let (server, resolver, [one, other], found) = shared_lookup();
    drop(one);
    assert_eq!(other.block_on(found).unwrap().unwrap()[..], ips(&["10.0.0.1"]));
    assert_eq!(server.asked("a.example", A), 2);
    drop(other);
    assert!(runtime().block_on(resolver.lookup("b.example")).is_ok());
}

#[test]
fn a_runtime_that_is_not_driven_does_not_delay_another() {
    let (server, _, [one, other], found) = shared_lookup();
    assert_eq!(other.block_on(found).unwrap().unwrap()[..], ips(&["10.0.0.1"]));
    assert_eq!(server.asked("a.example", A), 2);
    // It goes on where it stood, and learns the same.
    drive(&one, MS);
}

#[tokio::test]
async fn queries_under_way_are_bounded() {
    let server = TestServer::start(|_| {
        ScriptedReply::After(5 * MS, ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60).into())
    });
    let resolver = asking(&server).queries_max(10).build().unwrap();
    let mut asking = tokio::task::JoinSet::new();
    for n in 0..100 {
        let resolver = resolver.clone();
        asking.spawn(async move { resolver.lookup(&format!("{n}.example")).await });
    }
    while let Some(found) = asking.join_next().await {
        found.unwrap().unwrap();
    }
    assert_eq!(server.questions().len(), 200);
    assert_eq!(server.open_max(), 10);
}

#[tokio::test]
async fn remembered_names_are_bounded() {
    let server = with_ttl(60);
    let resolver = asking(&server).cache_entries_max(20).build().unwrap();
    for n in 0..50 {
        resolver.lookup(&format!("n{n}.example")).await.unwrap();
    }
    let known = (0..50).filter(|n| resolver.known(&format!("n{n}.example")).is_some()).count();
    assert!((10..=20).contains(&known), "{known} are known");
    resolver.clear();
    assert!(resolver.known("n49.example").is_none());
    let nothing = asking(&server).cache_entries_max(0).build().unwrap();
    let found: Vec<IpAddr> = nothing.lookup("x.example").await.unwrap().to_vec();
    assert_eq!(found.len(), 2);
    assert!(nothing.known("x.example").is_none());
}

#[tokio::test]
async fn what_has_expired_is_given_out_while_it_is_looked_up_again() {
    let server = with_ttl(10);
    let resolver = asking(&server).cache_stale_max(Duration::from_secs(60)).build().unwrap();
    let first = resolver.lookup("a.example").await.unwrap();
    pass(30).await;
    assert!(resolver.known("a.example").is_none(), "it has expired");
    let begun = tokio::time::Instant::now();
    for _ in 0..5 {
        assert_eq!(resolver.lookup("a.example").await.unwrap(), first);
    }
    assert!(begun.elapsed() < 20 * MS, "no caller has waited");
    while resolver.known("a.example").is_none() {
        tokio::time::sleep(MS).await;
    }
    assert_eq!(server.asked("a.example", A), 2, "one lookup for all of them");
    // Later than that it is waited for.
    pass(100).await;
    resolver.lookup("a.example").await.unwrap();
    assert_eq!(server.asked("a.example", A), 3);
    let stats = resolver.stats();
    assert_eq!((stats.lookups, stats.failed, stats.remembered), (3, 0, 1));
    assert!(stats.stale >= 1 && stats.stale + stats.hits == 5, "{stats:?}");
}

#[tokio::test]
async fn a_name_that_is_looked_up_in_advance_is_known_later() {
    let server = with_ttl(60);
    let resolver = asking(&server).build().unwrap();
    for _ in 0..3 {
        resolver.prefetch("a.example");
    }
    resolver.prefetch("127.0.0.1");
    while resolver.known("a.example").is_none() {
        tokio::time::sleep(MS).await;
    }
    resolver.lookup("a.example").await.unwrap();
    assert_eq!(server.asked("a.example", A), 1);
    let stats = resolver.stats();
    assert_eq!((stats.lookups, stats.hits, stats.shared), (1, 1, 2));
}
