//! The DNS server: every answer, over UDP and TCP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use stoop_testbed::{DnsAnswer, DnsServer, EntryEnd, Records};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::resolve::{addresses, over_tcp, over_udp, query, with_edns};

const ONE: Ipv4Addr = Ipv4Addr::new(127, 1, 2, 3);

async fn serve(lookup: DnsAnswer) -> DnsServer {
    DnsServer::start(Records::default().with("a.test", lookup)).await.unwrap()
}

#[tokio::test]
async fn both_families_are_answered_over_udp_and_tcp() {
    let both = [IpAddr::from(ONE), Ipv6Addr::LOCALHOST.into()];
    let server = serve(DnsAnswer::addresses(both, 0)).await;
    // Names are compared without case, and given back as they came.
    let a = query("A.tEst.", RecordType::A);
    for answer in [
        over_udp(server.address(), &a).await.unwrap(),
        over_tcp(server.address(), &a).await.unwrap(),
    ] {
        assert_eq!(answer.metadata.response_code, ResponseCode::NoError);
        assert!(answer.metadata.authoritative && answer.metadata.recursion_desired);
        assert_eq!(addresses(&answer), [IpAddr::from(ONE)]);
        assert_eq!(answer.answers[0].ttl, 0);
        assert_eq!(answer.queries[0].name.to_string(), "A.tEst.");
    }
    let aaaa = over_udp(server.address(), &query("a.test.", RecordType::AAAA)).await.unwrap();
    assert_eq!(addresses(&aaaa), [IpAddr::from(Ipv6Addr::LOCALHOST)]);
    let lines = server.log();
    assert_eq!((lines.len(), server.stats().dns_queries), (3, 3));
    assert_eq!((lines[2].host.as_str(), lines[2].target.as_str()), ("a.test", "AAAA"));
}

#[tokio::test]
async fn a_negative_answer_can_be_cached() {
    let server = serve(DnsAnswer::addresses([ONE], 60)).await;
    for (name, kind, code, ended) in [
        ("a.test.", RecordType::AAAA, ResponseCode::NoError, EntryEnd::NoData),
        ("a.test.", RecordType::MX, ResponseCode::NoError, EntryEnd::NoData),
        ("b.test.", RecordType::A, ResponseCode::NXDomain, EntryEnd::NxDomain),
    ] {
        let answer = over_udp(server.address(), &query(name, kind)).await.unwrap();
        assert_eq!(answer.metadata.response_code, code);
        assert!(answer.answers.is_empty());
        assert_eq!(answer.authorities[0].record_type(), RecordType::SOA);
        assert_eq!(server.log().last().unwrap().ended, ended);
    }
}

#[tokio::test]
async fn failures_have_their_response_codes() {
    for (lookup, code) in [
        (DnsAnswer::ServFail, ResponseCode::ServFail),
        (DnsAnswer::Refused, ResponseCode::Refused),
        (DnsAnswer::NoData, ResponseCode::NoError),
    ] {
        let server = serve(lookup).await;
        let answer = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
        assert_eq!(answer.metadata.response_code, code);
        assert!(answer.answers.is_empty());
    }
}

#[tokio::test]
async fn a_silent_server_sends_nothing() {
    let server = serve(DnsAnswer::Silence).await;
    let a = query("a.test.", RecordType::A);
    let patience = Duration::from_millis(100);
    assert!(timeout(patience, over_udp(server.address(), &a)).await.is_err());
    assert!(timeout(patience, over_tcp(server.address(), &a)).await.is_err());
    assert!(server.log().iter().all(|line| line.ended == EntryEnd::Silent && line.sent == 0));
}

#[tokio::test]
async fn a_slow_answer_does_not_delay_others() {
    let delay = Duration::from_millis(150);
    let records = Records::default()
        .with("slow.test", DnsAnswer::addresses([ONE], 60).slow(delay))
        .with("fast.test", DnsAnswer::addresses([ONE], 60));
    let server = DnsServer::start(records).await.unwrap();
    let (slow, fast) = (query("slow.test.", RecordType::A), query("fast.test.", RecordType::A));
    let begin = Instant::now();
    let (slow, fast) = tokio::join!(
        async { (over_udp(server.address(), &slow).await.unwrap(), begin.elapsed()) },
        async { (over_udp(server.address(), &fast).await.unwrap(), begin.elapsed()) },
    );
    assert_eq!(addresses(&slow.0), addresses(&fast.0));
    assert!(slow.1 >= delay && fast.1 < delay);
}

#[tokio::test]
async fn an_answer_too_long_for_udp_is_truncated_and_comes_over_tcp() {
    for (lookup, count) in [
        (DnsAnswer::addresses([ONE], 60).over_tcp(), 1),
        (DnsAnswer::many(500, 60), 500),
        // More than 512 bytes and less than 1,232.
        (DnsAnswer::many(40, 60), 40),
    ] {
        let server = serve(lookup).await;
        let a = query("a.test.", RecordType::A);
        let answer = over_udp(server.address(), &a).await.unwrap();
        assert!(answer.metadata.truncation && answer.answers.is_empty());
        assert_eq!(server.log()[0].ended, EntryEnd::Truncated);
        assert_eq!(addresses(&over_tcp(server.address(), &a).await.unwrap()).len(), count);
        let larger = over_udp(server.address(), &with_edns(a, 4096)).await.unwrap();
        assert!(larger.edns.is_some());
        assert_eq!(larger.metadata.truncation, count != 40);
    }
}

#[tokio::test]
async fn a_datagram_that_is_no_query_is_not_answered() {
    let server = serve(DnsAnswer::addresses([ONE], 60)).await;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(b"nonsense", server.address()).await.unwrap();
    socket.send_to(&[0; 12], server.address()).await.unwrap();
    let a = query("a.test.", RecordType::A);
    assert!(over_udp(server.address(), &a).await.is_ok());
    assert_eq!(server.stats().dns_queries, 1);
}
