//! The results of a resolver for every response that servers give, and for none.
#![cfg(feature = "dns")]

mod dns_support;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use dns_support::{A, AAAA, ScriptedReply, TestServer, ips};
use stoop_io::{DnsError, DnsErrorKind, Families, Resolver, ResolverBuilder};

const MS: Duration = Duration::from_millis(1);

fn asking(server: &TestServer) -> ResolverBuilder {
    Resolver::builder().hosts(false).servers(&[server.address])
}

async fn error(server: &TestServer, name: &str) -> DnsError {
    let resolver = asking(server).query_timeout(100 * MS).attempts(2).build().unwrap();
    resolver.lookup(name).await.unwrap_err()
}

fn sorted(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut addresses = addresses.to_vec();
    addresses.sort();
    addresses
}

#[tokio::test]
async fn both_families_are_asked_for_and_alternate() {
    let all = ips(&["10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"]);
    let server = TestServer::start(move |_| ScriptedReply::Addresses(all.clone(), 60));
    let found = asking(&server).build().unwrap().lookup("a.example").await.unwrap();
    assert_eq!(sorted(&found), ips(&["10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2"]));
    assert_ne!(found[0].is_ipv4(), found[1].is_ipv4(), "{found:?}");
    assert_ne!(found[1].is_ipv4(), found[2].is_ipv4(), "{found:?}");
    assert_eq!((server.asked("a.example", A), server.asked("a.example", AAAA)), (1, 1));
}

#[tokio::test]
async fn one_family_alone_can_be_asked_for() {
    let server = TestServer::start(|_| ScriptedReply::Addresses(ips(&["10.0.0.1", "fd00::1"]), 60));
    let only = |families| asking(&server).families(families).build().unwrap();
    assert_eq!(only(Families::V4).lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    assert_eq!(server.asked("a.example", AAAA), 0);
    assert_eq!(only(Families::V6).lookup("a.example").await.unwrap()[..], ips(&["fd00::1"]));
    assert_eq!(server.asked("a.example", A), 1);
}

#[tokio::test]
async fn a_server_is_not_asked_for_addresses_and_localhost() {
    let server = TestServer::start(|_| ScriptedReply::Silence);
    let resolver = asking(&server).build().unwrap();
    assert_eq!(resolver.lookup("127.0.0.1").await.unwrap()[..], ips(&["127.0.0.1"]));
    assert_eq!(resolver.lookup("[fd00::1]").await.unwrap()[..], ips(&["fd00::1"]));
    assert_eq!(resolver.lookup("LocalHost").await.unwrap()[..], ips(&["127.0.0.1", "::1"]));
    let error = resolver.lookup("not a name").await.unwrap_err();
    assert_eq!(error.kind(), DnsErrorKind::InvalidName);
    assert_eq!(server.questions(), []);
}

#[tokio::test]
async fn the_hosts_file_comes_before_the_servers() {
    let file = std::env::temp_dir().join(format!("stoop-io-{}-hosts", std::process::id()));
    std::fs::write(&file, "10.9.9.9 In.Example # ours\n").unwrap();
    let server = TestServer::start(|_| ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60));
    let built = asking(&server).hosts_file(&file).build();
    std::fs::remove_file(&file).unwrap();
    let resolver = built.unwrap();
    assert_eq!(resolver.lookup("in.example.").await.unwrap()[..], ips(&["10.9.9.9"]));
    assert_eq!(resolver.lookup("out.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    let error = asking(&server).hosts_file("/nowhere/hosts").build().unwrap_err();
    assert!(error.to_string().contains("/nowhere/hosts"), "{error}");
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_nxdomain() {
    let server = TestServer::start(|_| ScriptedReply::NxDomain);
    let error = error(&server, "a.example").await;
    assert_eq!(error.kind(), DnsErrorKind::NxDomain);
    let text = error.to_string();
    assert!(text.contains("a.example") && text.contains(&server.address.to_string()), "{text}");
}

#[tokio::test]
async fn a_name_without_addresses_is_no_records() {
    let server = TestServer::start(|_| ScriptedReply::NoData);
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::NoRecords);
}

#[tokio::test]
async fn a_server_that_fails_is_servfail() {
    let server = TestServer::start(|_| ScriptedReply::Code(2));
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::ServFail);
    let server = TestServer::start(|_| ScriptedReply::Code(5));
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::Other);
}

#[tokio::test]
async fn a_silent_server_is_a_timeout() {
    let server = TestServer::start(|_| ScriptedReply::Silence);
    let started = Instant::now();
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::Timeout);
    let took = started.elapsed();
    assert!(took >= 190 * MS && took < 400 * MS, "two attempts of 100 ms took {took:?}");
    assert_eq!(server.asked("a.example", A), 2);
}

#[tokio::test]
async fn an_unreachable_server_is_an_error_at_once() {
    let unbound = std::net::UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let started = Instant::now();
    let resolver = Resolver::builder().hosts(false).servers(&[unbound]).build().unwrap();
    let error = resolver.lookup("a.example").await.unwrap_err();
    assert_eq!(error.kind(), DnsErrorKind::Other, "{error}");
    assert!(started.elapsed() < 1_000 * MS, "the kernel reports it at once");
    let error = Resolver::with_servers(&[]).lookup("a.example").await.unwrap_err();
    assert_eq!(error.kind(), DnsErrorKind::Other, "{error}");
}

#[tokio::test]
async fn a_second_server_answers_for_one_that_fails_or_is_silent() {
    for silent in [false, true] {
        let first =
            TestServer::start(
                move |_| if silent { ScriptedReply::Silence } else { ScriptedReply::Code(2) },
            );
        let second = TestServer::start(|_| ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60));
        let servers = [first.address, second.address];
        let builder = Resolver::builder().hosts(false).servers(&servers);
        let resolver = builder.query_timeout(100 * MS).build().unwrap();
        assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    }
}

#[tokio::test]
async fn a_response_to_another_question_is_ignored() {
    let server = TestServer::start(|_| ScriptedReply::Forged);
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::Timeout);
}

#[tokio::test]
async fn an_alias_is_followed() {
    let server = TestServer::start(|_| ScriptedReply::Alias("b.example", ips(&["10.0.0.1"]), 60));
    let resolver = asking(&server).build().unwrap();
    assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
}

#[tokio::test]
async fn an_alias_whose_target_is_left_out_is_asked_for() {
    let server = TestServer::start(|question| match question.name.as_str() {
        "a.example" => ScriptedReply::Alias("b.example", vec![], 60),
        "b.example" => ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60),
        _ => ScriptedReply::NxDomain,
    });
    let resolver = asking(&server).build().unwrap();
    assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
}

#[tokio::test]
async fn aliases_in_a_circle_are_an_error() {
    let server = TestServer::start(|question| match question.name.as_str() {
        "a.example" => ScriptedReply::Alias("b.example", vec![], 60),
        _ => ScriptedReply::Alias("a.example", vec![], 60),
    });
    let error = error(&server, "a.example").await;
    assert_eq!(error.kind(), DnsErrorKind::Other);
    assert!(error.to_string().contains("circle"), "{error}");
    assert!(server.questions().len() <= 20);
}

#[tokio::test]
async fn a_query_that_was_lost_is_repeated_soon() {
    let lost = std::sync::atomic::AtomicBool::new(false);
    let server = TestServer::start(move |question| {
        if question.record == A && !lost.swap(true, std::sync::atomic::Ordering::SeqCst) {
            return ScriptedReply::Silence;
        }
        ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60)
    });
    let started = Instant::now();
    let resolver = asking(&server).build().unwrap();
    assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    let took = started.elapsed();
    assert!(took >= 500 * MS && took < 900 * MS, "took {took:?}");
}

#[tokio::test]
async fn a_server_without_edns_is_asked_without_it() {
    let server = TestServer::start(|question| {
        if question.extended {
            ScriptedReply::Code(1)
        } else {
            ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60)
        }
    });
    let resolver = asking(&server).build().unwrap();
    assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
}

#[tokio::test]
async fn an_incomplete_name_is_completed() {
    let server = TestServer::start(|question| match question.name.as_str() {
        "host.b.example" => ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60),
        "svc.ns.a.example" => ScriptedReply::Addresses(ips(&["10.0.0.2"]), 60),
        "host" => ScriptedReply::Addresses(ips(&["10.0.0.3"]), 60),
        _ => ScriptedReply::NxDomain,
    });
    let resolver = asking(&server).search(["a.example", "b.example."], 2).build().unwrap();
    assert_eq!(resolver.lookup("host").await.unwrap()[..], ips(&["10.0.0.1"]));
    assert_eq!(resolver.lookup("host.").await.unwrap()[..], ips(&["10.0.0.3"]));
    assert_eq!(resolver.lookup("svc.ns").await.unwrap()[..], ips(&["10.0.0.2"]));
    let error = resolver.lookup("x.y.z").await.unwrap_err();
    assert_eq!(error.kind(), DnsErrorKind::NxDomain);
    let asked: Vec<_> = server.questions().into_iter().filter(|q| q.record == A).collect();
    let names: Vec<_> = asked.iter().map(|question| question.name.as_str()).collect();
    assert_eq!(
        names,
        ["host.a.example", "host.b.example", "host", "svc.ns", "svc.ns.a.example", "x.y.z"]
    );
}

#[tokio::test]
async fn a_slow_aaaa_does_not_hold_up_a_fast_a() {
    let server = TestServer::start(|question| {
        let answer = ScriptedReply::Addresses(ips(&["10.0.0.1", "fd00::1"]), 60);
        if question.record == A { answer } else { ScriptedReply::After(200 * MS, answer.into()) }
    });
    let resolver = asking(&server).build().unwrap();
    let started = Instant::now();
    assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    let took = started.elapsed();
    assert!(took >= 50 * MS && took < 150 * MS, "the resolution delay took {took:?}");
    // What comes late is remembered.
    tokio::time::sleep(300 * MS).await;
    let known = resolver.known("a.example").unwrap().unwrap();
    assert_eq!(sorted(&known), ips(&["10.0.0.1", "fd00::1"]));
}

#[tokio::test]
async fn a_silent_or_wrong_aaaa_response_does_not_spoil_an_a() {
    for reply in [
        ScriptedReply::Silence,
        ScriptedReply::NxDomain,
        ScriptedReply::Code(2),
        ScriptedReply::NoData,
    ] {
        let server = TestServer::start(move |question| {
            if question.record == AAAA {
                return reply.clone();
            }
            ScriptedReply::After(20 * MS, ScriptedReply::Addresses(ips(&["10.0.0.1"]), 60).into())
        });
        let resolver = asking(&server).build().unwrap();
        assert_eq!(resolver.lookup("a.example").await.unwrap()[..], ips(&["10.0.0.1"]));
    }
}

#[tokio::test]
async fn a_name_that_does_not_exist_is_not_asked_for_twice_over() {
    let server = TestServer::start(|question| {
        if question.record == A { ScriptedReply::NxDomain } else { ScriptedReply::Silence }
    });
    let started = Instant::now();
    assert_eq!(error(&server, "a.example").await.kind(), DnsErrorKind::NxDomain);
    assert!(started.elapsed() < 90 * MS, "the silent AAAA was waited for");
}

#[tokio::test]
async fn a_response_of_500_records_comes_by_tcp_and_32_are_used() {
    let many: Vec<IpAddr> = (0..500u32).map(|n| (0x0a00_0000 + n).to_be_bytes().into()).collect();
    let server = TestServer::start(move |question| {
        if question.tcp {
            ScriptedReply::Addresses(many.clone(), 60)
        } else {
            ScriptedReply::Truncated
        }
    });
    let found = asking(&server).build().unwrap().lookup("a.example").await.unwrap();
    assert_eq!(found.len(), 32);
    assert!(server.questions().iter().any(|question| question.tcp));
}
