//! The name server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use hickory_proto::op::ResponseCode;
use hickory_proto::rr::RecordType;
use stoop_testbed::{DnsServer, Ended, Lookup, Records};
use tokio::net::UdpSocket;
use tokio::time::timeout;

use crate::resolve::{addresses, over_tcp, over_udp, query, with_edns};

const ONE: Ipv4Addr = Ipv4Addr::new(127, 1, 2, 3);

async fn serve(lookup: Lookup) -> DnsServer {
    DnsServer::start(Records::default().with("a.test", lookup)).await.unwrap()
}

#[tokio::test]
async fn both_families_are_answered_over_udp_and_tcp() {
    let both = [IpAddr::from(ONE), Ipv6Addr::LOCALHOST.into()];
    let server = serve(Lookup::addresses(both, 0)).await;
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
async fn absence_can_be_cached() {
    let server = serve(Lookup::addresses([ONE], 60)).await;
    for (name, kind, code, ended) in [
        ("a.test.", RecordType::AAAA, ResponseCode::NoError, Ended::NoData),
        ("a.test.", RecordType::MX, ResponseCode::NoError, Ended::NoData),
        ("b.test.", RecordType::A, ResponseCode::NXDomain, Ended::NxDomain),
    ] {
        let answer = over_udp(server.address(), &query(name, kind)).await.unwrap();
        assert_eq!(answer.metadata.response_code, code);
        assert!(answer.answers.is_empty());
        assert_eq!(answer.authorities[0].record_type(), RecordType::SOA);
        assert_eq!(server.log().last().unwrap().ended, ended);
    }
}

#[tokio::test]
async fn failures_are_said() {
    for (lookup, code) in [
        (Lookup::ServFail, ResponseCode::ServFail),
        (Lookup::Refused, ResponseCode::Refused),
        (Lookup::NoData, ResponseCode::NoError),
    ] {
        let server = serve(lookup).await;
        let answer = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
        assert_eq!(answer.metadata.response_code, code);
        assert!(answer.answers.is_empty());
    }
}

#[tokio::test]
async fn silence_is_silence() {
    let server = serve(Lookup::Silence).await;
    let a = query("a.test.", RecordType::A);
    let patience = Duration::from_millis(100);
    assert!(timeout(patience, over_udp(server.address(), &a)).await.is_err());
    assert!(timeout(patience, over_tcp(server.address(), &a)).await.is_err());
    assert!(server.log().iter().all(|line| line.ended == Ended::Silent && line.sent == 0));
}

#[tokio::test]
async fn slow_answers_hold_up_nobody() {
    let delay = Duration::from_millis(150);
    let records = Records::default()
        .with("slow.test", Lookup::addresses([ONE], 60).slow(delay))
        .with("fast.test", Lookup::addresses([ONE], 60));
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
async fn what_does_not_fit_is_asked_for_over_tcp() {
    for (lookup, count) in [
        (Lookup::addresses([ONE], 60).over_tcp(), 1),
        (Lookup::many(500, 60), 500),
        // More than 512 bytes and less than 1,232.
        (Lookup::many(40, 60), 40),
    ] {
        let server = serve(lookup).await;
        let a = query("a.test.", RecordType::A);
        let answer = over_udp(server.address(), &a).await.unwrap();
        assert!(answer.metadata.truncation && answer.answers.is_empty());
        assert_eq!(server.log()[0].ended, Ended::Truncated);
        assert_eq!(addresses(&over_tcp(server.address(), &a).await.unwrap()).len(), count);
        let larger = over_udp(server.address(), &with_edns(a, 4096)).await.unwrap();
        assert!(larger.edns.is_some());
        assert_eq!(larger.metadata.truncation, count != 40);
    }
}

#[tokio::test]
async fn what_is_no_query_is_not_answered() {
    let server = serve(Lookup::addresses([ONE], 60)).await;
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(b"nonsense", server.address()).await.unwrap();
    socket.send_to(&[0; 12], server.address()).await.unwrap();
    let a = query("a.test.", RecordType::A);
    assert!(over_udp(server.address(), &a).await.is_ok());
    assert_eq!(server.stats().dns_queries, 1);
}
