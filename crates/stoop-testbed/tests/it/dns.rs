//! The DNS server: every answer, over UDP and TCP.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, MessageType, ResponseCode};
use hickory_proto::rr::{RData, RecordType};
use stoop_testbed::{DnsAnswer, DnsForgery, DnsServer, EntryEnd, Records};
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

#[tokio::test]
async fn aliases_come_in_one_response_with_the_addresses_of_the_last() {
    let server = serve(DnsAnswer::aliases(&["b.test", "c.test"], [ONE], 7)).await;
    let answer = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
    let records: Vec<_> = answer
        .answers
        .iter()
        .map(|record| match &record.data {
            RData::CNAME(target) => format!("{} {} = {}", record.name, record.ttl, target.0),
            other => format!("{} {} {other}", record.name, record.ttl),
        })
        .collect();
    assert_eq!(records, ["a.test. 7 = b.test.", "b.test. 7 = c.test.", "c.test. 7 127.1.2.3"]);
}

#[tokio::test]
async fn an_answer_can_be_for_another_name() {
    let other = |name: &str| DnsAnswer::AnotherName {
        name: name.into(),
        addresses: vec![ONE.into()],
        ttl: 60,
    };
    let server = serve(other("b.test")).await;
    let answer = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
    assert_eq!(answer.queries[0].name.to_string(), "a.test.");
    assert_eq!(answer.answers[0].name.to_string(), "b.test.");
}

#[tokio::test]
async fn each_family_can_have_its_answer() {
    let v6 = DnsAnswer::addresses([Ipv6Addr::LOCALHOST], 60);
    let server = serve(DnsAnswer::per_family(DnsAnswer::ServFail, v6)).await;
    let a = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
    assert_eq!(a.metadata.response_code, ResponseCode::ServFail);
    let aaaa = over_udp(server.address(), &query("a.test.", RecordType::AAAA)).await.unwrap();
    assert_eq!(addresses(&aaaa), [IpAddr::from(Ipv6Addr::LOCALHOST)]);
}

/// The datagrams that answer a query for A, as far as they come, and the ports they come from.
async fn datagrams(server: &DnsServer, query: &Message, count: usize) -> Vec<(Vec<u8>, u16)> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    socket.send_to(&query.to_vec().unwrap(), server.address()).await.unwrap();
    let mut all = Vec::new();
    let mut bytes = [0; 4096];
    for _ in 0..count {
        let (length, from) = socket.recv_from(&mut bytes).await.unwrap();
        all.push((bytes[..length].to_vec(), from.port()));
    }
    all
}

#[tokio::test]
async fn forged_messages_come_before_the_answer_and_each_has_its_fault() {
    for forgery in DnsForgery::ALL {
        let server = serve(DnsAnswer::addresses([ONE], 60).after_forged([forgery])).await;
        let a = query("a.test.", RecordType::A);
        let got = datagrams(&server, &a, 2).await;
        assert_eq!(addresses(&Message::from_vec(&got[1].0).unwrap()), [IpAddr::from(ONE)]);
        assert_eq!(got[1].1, server.address().port());
        let ((bytes, port), forged) = (&got[0], Message::from_vec(&got[0].0));
        assert_eq!(*port != server.address().port(), forgery == DnsForgery::OtherPort);
        let same_id = bytes[..2] == a.metadata.id.to_be_bytes();
        assert_eq!(same_id, forgery != DnsForgery::WrongId, "{forgery:?}");
        match (forgery, forged) {
            (DnsForgery::Garbage | DnsForgery::Cut | DnsForgery::PointerLoop, forged) => {
                assert!(forged.is_err(), "{forgery:?}");
            }
            (_, forged) => {
                let forged = forged.unwrap();
                assert_eq!(addresses(&forged), [IpAddr::from(DnsForgery::FORGED_V4)]);
                let is_query = forged.metadata.message_type == MessageType::Query;
                assert_eq!(is_query, forgery == DnsForgery::Query);
                let same_question = forged.queries == a.queries;
                let other = [DnsForgery::WrongQuestion, DnsForgery::NoQuestion];
                assert_eq!(same_question, !other.contains(&forgery), "{forgery:?}");
            }
        }
    }
}

#[tokio::test]
async fn forged_messages_come_over_tcp_too() {
    let answer = DnsAnswer::addresses([ONE], 60).after_forged([DnsForgery::OtherPort]);
    let server = serve(answer).await;
    let a = query("a.test.", RecordType::A);
    let honest = over_tcp(server.address(), &a).await.unwrap();
    assert_eq!(addresses(&honest), [IpAddr::from(ONE)]);
    let server = serve(DnsAnswer::Silence.after_forged([DnsForgery::Garbage])).await;
    assert!(over_tcp(server.address(), &a).await.is_err());
}

#[tokio::test]
async fn https_records_are_answered_as_they_were_given() {
    let good = DnsAnswer::https_data(1, "b.test", &[(1, b"\x02h2"), (3, &443u16.to_be_bytes())]);
    let server = serve(DnsAnswer::addresses([ONE], 60).with_https([good], 7)).await;
    let asked = query("a.test.", RecordType::HTTPS);
    for answer in [
        over_udp(server.address(), &asked).await.unwrap(),
        over_tcp(server.address(), &asked).await.unwrap(),
    ] {
        let [record] = &answer.answers[..] else { panic!("{:?}", answer.answers) };
        assert_eq!((record.name.to_string().as_str(), record.ttl), ("a.test.", 7));
        let RData::HTTPS(data) = &record.data else { panic!("{record:?}") };
        assert_eq!((data.svc_priority, data.target_name.to_string().as_str()), (1, "b.test."));
        assert_eq!(data.svc_params.len(), 2);
    }
    let a = over_udp(server.address(), &query("a.test.", RecordType::A)).await.unwrap();
    assert_eq!(addresses(&a), [IpAddr::from(ONE)]);
    // What is no record is sent all the same.
    let bad = DnsAnswer::https_data(1, "", &[(3, b"1")]);
    let server = serve(DnsAnswer::NoData.with_https([bad], 7)).await;
    let (bytes, _) = datagrams(&server, &asked, 1).await.remove(0);
    assert!(bytes.ends_with(&[0, 1, 0, 0, 3, 0, 1, b'1']) && Message::from_vec(&bytes).is_err());
}
