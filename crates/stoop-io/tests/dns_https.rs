//! HTTPS records, in the order of RFC 9460: what is read of them, left out, and refused.
#![cfg(feature = "dns")]

mod dns_support;

use std::time::{Duration, Instant};

use dns_support::{HTTPS, ScriptedReply, TestServer, https};
use stoop_io::{DnsError, DnsErrorKind, HttpsRecord, HttpsService, Resolver};

const MS: Duration = Duration::from_millis(1);

/// Keys of §14.3.2.
const MANDATORY: u16 = 0;
const ALPN: u16 = 1;
const NO_DEFAULT_ALPN: u16 = 2;
const PORT: u16 = 3;
const V4: u16 = 4;
const ECH: u16 = 5;
const V6: u16 = 6;

fn serving(all: Vec<Vec<u8>>) -> TestServer {
    TestServer::start(move |question| match question.record {
        HTTPS => ScriptedReply::Https(all.clone(), 60),
        _ => ScriptedReply::NoData,
    })
}

async fn ask(server: &TestServer, name: &str) -> Result<Vec<HttpsRecord>, DnsError> {
    let builder = Resolver::builder().hosts(false).servers(&[server.address]);
    let resolver = builder.query_timeout(2_000 * MS).attempts(2).build().unwrap();
    resolver.https_records(name).await
}

async fn read(all: Vec<Vec<u8>>) -> Result<Vec<HttpsRecord>, DnsError> {
    ask(&serving(all), "a.example").await
}

/// The ways to reach `a.example` that must be there.
async fn services(all: Vec<Vec<u8>>) -> Vec<HttpsService> {
    let service = |record| match record {
        HttpsRecord::Service(service) => service,
        HttpsRecord::Alias { .. } => panic!("an alias"),
    };
    read(all).await.unwrap().into_iter().map(service).collect()
}

#[tokio::test]
async fn every_parameter_is_read() {
    let six: [u8; 32] = core::array::from_fn(|n| if n == 31 { 2 } else { u8::from(n == 15) });
    let data = https(
        16,
        "Svc.Example",
        &[
            (MANDATORY, &[0, 1, 0, 3]),
            (ALPN, b"\x02h3\x02h2"),
            (NO_DEFAULT_ALPN, b""),
            (PORT, &8443u16.to_be_bytes()),
            (V4, &[10, 0, 0, 1, 10, 0, 0, 2]),
            (ECH, b"\0\x04list"),
            (V6, &six),
            (7, b"/dns-query"),
        ],
    );
    let [found] = &services(vec![data]).await[..] else { panic!("there is one") };
    assert_eq!((found.priority, &*found.target), (16, "svc.example"));
    assert_eq!(found.alpn, ["h3", "h2"]);
    assert!(found.no_default_alpn);
    assert_eq!(found.port, Some(8443));
    let hints: Vec<String> = found.ipv4_hints.iter().map(ToString::to_string).collect();
    assert_eq!(hints, ["10.0.0.1", "10.0.0.2"]);
    let hints: Vec<String> = found.ipv6_hints.iter().map(ToString::to_string).collect();
    assert_eq!(hints, ["::1", "::2"]);
    assert_eq!(found.ech.as_deref(), Some(&b"\0\x04list"[..]));
    assert_eq!(found.mandatory, [ALPN, PORT]);
}

/// §2.5.2: the root stands for the name that has the record.
#[tokio::test]
async fn a_record_without_parameters_is_of_the_name_itself() {
    let [found] = &services(vec![https(1, "", &[])]).await[..] else { panic!("there is one") };
    let mut expected = HttpsService::default();
    (expected.priority, expected.target) = (1, "a.example".into());
    assert_eq!(*found, expected);
}

/// §2.4.1.
#[tokio::test]
async fn records_come_by_priority() {
    let all = [(30, "c"), (10, "a"), (20, "b"), (10, "z")];
    let all = all.map(|(priority, target)| https(priority, target, &[]));
    let found = services(all.into()).await;
    let found: Vec<_> = found.iter().map(|one| (one.priority, &*one.target)).collect();
    assert_eq!(found, [(10, "a"), (10, "z"), (20, "b"), (30, "c")]);
}

/// §2.4.1, §2.4.2, §2.5.1.
#[tokio::test]
async fn an_alias_is_told_apart_and_stands_alone() {
    let alias = https(0, "other.example", &[(ALPN, b"\x02h2")]);
    let found = read(vec![https(1, "", &[]), alias]).await.unwrap();
    assert_eq!(found, [HttpsRecord::Alias { target: Some("other.example".into()) }]);
    assert_eq!(found[0].priority(), 0);
    let found = read(vec![https(0, "", &[])]).await.unwrap();
    assert_eq!(found, [HttpsRecord::Alias { target: None }], "it is not available");
}

/// §8: and what a record only offers does not matter.
#[tokio::test]
async fn a_record_that_needs_an_unknown_key_is_left_out() {
    let needs = |key: u16| https(1, "needs", &[(MANDATORY, &key.to_be_bytes()), (key, b"x")]);
    let offers = https(2, "offers", &[(65280, b"x")]);
    for key in [7, 8, 65280, 65535] {
        let found = services(vec![needs(key), offers.clone()]).await;
        assert_eq!((found.len(), &*found[0].target), (1, "offers"), "{key}");
        assert_eq!(read(vec![needs(key)]).await.unwrap(), []);
    }
}

/// §2.4.3.
#[tokio::test]
async fn a_record_that_contradicts_itself_is_left_out() {
    let good = https(2, "good", &[(ALPN, b"\x02h2")]);
    for parameters in [
        // It needs what it does not have.
        &[(MANDATORY, &[0, 3][..])][..],
        // §7.1.1: no protocol is left.
        &[(NO_DEFAULT_ALPN, &[][..])],
    ] {
        let found = services(vec![https(1, "bad", parameters), good.clone()]).await;
        assert_eq!((found.len(), &*found[0].target), (1, "good"), "{parameters:?}");
    }
}

/// §2.2: one that is malformed spoils the answer, and is an error at once.
#[tokio::test]
async fn a_malformed_record_is_an_error() {
    let good = https(2, "good", &[(ALPN, b"\x02h2")]);
    for (what, data) in [
        ("keys out of order", https(1, "", &[(PORT, &[1, 1]), (ALPN, b"\x02h2")])),
        ("a key twice", https(1, "", &[(PORT, &[1, 1]), (PORT, &[1, 1])])),
        ("no protocol", https(1, "", &[(ALPN, b"")])),
        ("a protocol that is cut", https(1, "", &[(ALPN, b"\x05h2")])),
        ("a port of one byte", https(1, "", &[(PORT, b"\x01")])),
        ("a flag with a value", https(1, "", &[(ALPN, b"\x02h2"), (NO_DEFAULT_ALPN, b"x")])),
        ("an address that is cut", https(1, "", &[(V4, b"\x7f\0\0")])),
        ("no address", https(1, "", &[(V4, b"")])),
        ("no address", https(1, "", &[(V6, b"")])),
        ("nothing mandatory", https(1, "", &[(MANDATORY, b"")])),
        ("mandatory is mandatory", https(1, "", &[(MANDATORY, &[0, 0])])),
        ("mandatory twice", https(1, "", &[(MANDATORY, &[0, 3, 0, 3]), (PORT, &[1, 1])])),
        ("a value that is cut", [https(1, "", &[]), vec![0, 3, 0, 2, 1]].concat()),
        ("a key that is cut", [https(1, "", &[]), vec![0, 3]].concat()),
        ("no target", vec![0, 1]),
    ] {
        let begun = Instant::now();
        let outcome = read(vec![good.clone(), data]).await;
        let error = outcome.expect_err(what);
        assert_eq!(error.kind(), DnsErrorKind::Other, "{what}: {error}");
        assert!(error.to_string().contains("malformed"), "{what}: {error}");
        assert!(begun.elapsed() < 1_500 * MS, "{what}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_name_without_records_has_none_and_one_that_does_not_exist_is_an_error() {
    let server = TestServer::start(|question| match question.name.as_str() {
        "none.example" => ScriptedReply::NoData,
        "fails.example" => ScriptedReply::Code(2),
        "alias.example" => ScriptedReply::Alias("real.example", vec![], 60),
        "real.example" => ScriptedReply::Https(vec![https(1, "", &[])], 60),
        _ => ScriptedReply::NxDomain,
    });
    assert_eq!(ask(&server, "none.example").await.unwrap(), []);
    let error = ask(&server, "gone.example").await.unwrap_err();
    assert_eq!(error.kind(), DnsErrorKind::NxDomain);
    assert!(error.to_string().contains("gone.example"), "{error}");
    assert_eq!(ask(&server, "fails.example").await.unwrap_err().kind(), DnsErrorKind::ServFail);
    assert_eq!(ask(&server, "not a name").await.unwrap_err().kind(), DnsErrorKind::InvalidName);
    // The owner of a record behind a CNAME is where that leads.
    match &ask(&server, "alias.example").await.unwrap()[..] {
        [HttpsRecord::Service(service)] => assert_eq!(service.target, "real.example"),
        other => panic!("{other:?}"),
    }
    let before = server.questions().len();
    for host in ["127.0.0.1", "[::1]", "localhost"] {
        assert_eq!(ask(&server, host).await.unwrap(), []);
    }
    assert_eq!(server.questions().len(), before, "no server is asked for these");
}

#[tokio::test]
async fn records_are_bounded_and_not_remembered() {
    let all: Vec<_> = (1..=40).rev().map(|n| https(n, "t", &[])).collect();
    let server = TestServer::start(move |question| match question.tcp {
        true => ScriptedReply::Https(all.clone(), 3_600),
        false => ScriptedReply::Truncated,
    });
    let resolver = Resolver::builder().hosts(false).servers(&[server.address]).build().unwrap();
    for n in 1..=2 {
        let found = resolver.https_records("_8443._https.a.example").await.unwrap();
        let priorities: Vec<_> = found.iter().map(HttpsRecord::priority).collect();
        assert_eq!(priorities, (1..=16).collect::<Vec<_>>(), "the best of them");
        // One over UDP and one over TCP each time.
        assert_eq!(server.asked("_8443._https.a.example", HTTPS), 2 * n);
    }
}
