//! The addresses that a client tells beforehand, against those that its requests go to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use stoop::dns::{Addresses, Resolver};
use stoop::{
    Client, ClientBuilder, ClientTls, Culprit, ErrorKind, Hsts, Phase, Proxy, Request, Server,
};
use stoop_testbed::{DnsAnswer, DnsServer, Records};

use super::kit::{kind_and_phase, limited};
use super::names::{HERE, THERE, serving};
use super::tls::{authority, certificate, server_tls};

/// Nothing listens there.
const NOWHERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 77, 1));

type Found = Result<Vec<IpAddr>, (ErrorKind, Phase)>;

async fn found(client: &Client, url: impl AsRef<str>) -> Found {
    client.addresses_of(url).await.map(|found| found.to_vec()).map_err(kind_and_phase)
}

/// A builder of clients that look up a few names, and keep no connection.
fn builder() -> ClientBuilder {
    limited(|limits| limits.pool.idle_max = 0).custom_resolver(async |host: String| match &*host {
        "found.test" => Ok(Addresses::from(vec![THERE, HERE])),
        "xn--bcher-kva.test" | "dot.test." => Ok(THERE.into()),
        "slow.test" => std::future::pending().await,
        _ => Err(format!("there is no {host}")),
    })
}

#[tokio::test]
async fn the_first_address_is_the_one_that_a_request_goes_to() {
    let (_server, port) = serving(THERE);
    let there = format!("127.0.0.5:{port}");
    let base = format!("http://{there}/base/");
    let connect_to = |from| builder().connect_to(from, &there).unwrap();
    for (builder, url) in [
        (builder(), format!("http://{there}/")),
        (builder(), format!("http://user:pass@{there}/x#y")),
        (builder(), format!("http://0x7f000005:{port}/")),
        (builder(), format!("http://Found.test:{port}/")),
        (builder(), format!("http://dot.test.:{port}/")),
        (builder(), format!("http://b\u{fc}cher.test:{port}/")),
        (builder().resolve("a.test", [THERE, HERE]), format!("http://a.test:{port}/")),
        (builder().resolve(&format!("a.test:{port}"), [THERE]), format!("http://A.test.:{port}/")),
        (connect_to("a.test:80"), "http://a.test/".to_owned()),
        (connect_to("[::1]:80"), "http://[::1]/".to_owned()),
        (builder().connect_to(":80", &format!("found.test:{port}")).unwrap(), "http://a/".into()),
        (builder().base_url(&*base), "/x".to_owned()),
        (builder().base_url(&*base), "?y".to_owned()),
        (builder().base_url(&*base), format!("//found.test:{port}")),
    ] {
        let client = builder.build().unwrap();
        let addresses = found(&client, &url).await.unwrap();
        let response = client.get(&url).await.unwrap();
        assert_eq!(response.remote_address().unwrap().ip(), addresses[0], "{url}");
        assert_eq!(addresses[0], THERE, "{url}");
    }
}

/// The order was that of the resolver, whatever requests had learnt.
#[tokio::test]
async fn the_address_that_a_host_was_connected_to_last_is_the_first() {
    let (_server, port) = serving(THERE);
    let client = builder().resolve("a.test", [NOWHERE, THERE]).build().unwrap();
    let url = format!("http://a.test:{port}/");
    assert_eq!(found(&client, &url).await, Ok(vec![NOWHERE, THERE]));
    let response = client.get(&url).await.unwrap();
    assert_eq!(response.remote_address().unwrap().ip(), THERE);
    assert_eq!(found(&client, &url).await, Ok(vec![THERE, NOWHERE]));
}

/// The addresses were those of http, and requests went to those of https.
#[tokio::test]
async fn a_host_that_wants_https_is_found_as_for_https() {
    let ours = authority("ours");
    let server = Server::listen("https://127.0.0.5:0").unwrap();
    let server = server.tls(server_tls(certificate(&ours, &["a.test"], false)));
    let server = server.run(|_: Request| "ok").unwrap();
    let tls = ClientTls::builder().platform_cas(false).ca_pem(ours.pem()).build().unwrap();
    let hsts = Hsts::new();
    hsts.add("a.test", false);
    let client = builder()
        .tls(tls)
        .hsts(hsts.clone())
        .connect_to("a.test:443", &format!("127.0.0.5:{}", server.port()))
        .unwrap()
        .build()
        .unwrap();
    let response = client.get("http://a.test/").await.unwrap();
    let peer = response.remote_address().unwrap().ip();
    assert_eq!(found(&client, "http://a.test/").await, Ok(vec![peer]));
    let client = builder().hsts(hsts).resolve("a.test:443", [THERE]).build().unwrap();
    assert_eq!(found(&client, "http://a.test/").await, Ok(vec![THERE]));
    assert_eq!(found(&client, "http://a.test:80/").await, Ok(vec![THERE]));
}

#[tokio::test]
async fn only_addresses_that_may_be_connected_to_are_found() {
    let six = IpAddr::V6(Ipv6Addr::LOCALHOST);
    let client = builder().address_filter(|address| address != THERE).build().unwrap();
    let denied = Err((ErrorKind::AddressDenied, Phase::Dns));
    assert_eq!(found(&client, "http://found.test/").await, Ok(vec![HERE]));
    assert_eq!(found(&client, "http://dot.test./").await, denied);
    assert_eq!(found(&client, "http://127.0.0.5/").await, denied);
    assert_eq!(found(&client, "http://[::ffff:127.0.0.5]/").await, denied);
    let client = builder().local_address(Ipv6Addr::UNSPECIFIED.into()).build().unwrap();
    let unreachable = Err((ErrorKind::ConnectUnreachable, Phase::Connect));
    assert_eq!(found(&client, "http://found.test/").await, unreachable);
    assert_eq!(found(&client, "https://[::1]/x").await, Ok(vec![six]));
    // Where there is none.
    let client = builder().resolve("none.test", []).build().unwrap();
    let nxdomain = Err((ErrorKind::DnsNxdomain, Phase::Dns));
    assert_eq!(found(&client, "http://none.test/").await, nxdomain);
    let other = Err((ErrorKind::DnsOther, Phase::Dns));
    assert_eq!(found(&client, "http://other.test/").await, other);
    for url in ["nothing", "/x", "ftp://a.test/", "http://", ""] {
        let invalid = Err((ErrorKind::InvalidUrl, Phase::Request));
        assert_eq!(found(&client, url).await, invalid, "{url}");
    }
}

/// With `dns` alone as its limit it waited for ever where that was none, whatever the others were.
#[tokio::test(start_paused = true)]
async fn the_nearest_of_three_limits_holds_for_a_name() {
    let s = Duration::from_secs;
    for (dns, setup, total, kind) in [
        (Some(s(1)), None, None, ErrorKind::DnsTimeout),
        (None, Some(s(1)), None, ErrorKind::ConnectTimeout),
        (None, None, Some(s(1)), ErrorKind::TotalTimeout),
        (Some(s(1)), Some(s(2)), Some(s(3)), ErrorKind::DnsTimeout),
        (Some(s(2)), Some(s(1)), Some(s(3)), ErrorKind::ConnectTimeout),
        (Some(s(2)), Some(s(3)), Some(s(1)), ErrorKind::TotalTimeout),
    ] {
        let builder = limited(|limits| (limits.time.dns, limits.time.total) = (dns, total));
        let builder = builder.custom_resolver(async |_: String| {
            std::future::pending::<Result<Addresses, stoop::BoxError>>().await
        });
        let builder = match setup {
            Some(setup) => builder.setup_timeout(setup),
            None => builder,
        };
        let client = builder.build().unwrap();
        let error = client.addresses_of("http://user:secret@slow.test/x").await.unwrap_err();
        assert_eq!(error.url(), Some("http://slow.test/x"), "{error}");
        assert_eq!((error.attempts(), error.is_repeatable()), (0, true), "{error}");
        let elapsed = error.elapsed().unwrap();
        assert!(elapsed >= s(1) && elapsed < s(2), "{error}");
        assert_eq!(error.timings().dns(), Some(elapsed), "{error}");
        // A request is told the same.
        let of_request = client.get("http://slow.test/x").await.unwrap_err();
        assert_eq!(kind_and_phase(of_request), (kind, Phase::Dns), "{error}");
        assert_eq!(kind_and_phase(error), (kind, Phase::Dns));
    }
}

#[tokio::test]
async fn a_client_that_connects_to_no_address_says_why_it_finds_none() {
    let connect = |_: stoop::ConnectTarget| async { std::io::Result::Ok(tokio::io::duplex(1).0) };
    for (client, expected) in [
        (Client::builder().unix_socket("/nowhere"), "ClientBuilder::unix_socket"),
        (Client::builder().handler(|_: Request| "here"), "ClientBuilder::handler"),
        (stoop::rt::connector(Client::builder(), connect), "a connector"),
    ] {
        let client = client.build().unwrap();
        let error = client.addresses_of("http://127.0.0.1/").await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert_eq!(error.culprit(), Culprit::Caller, "{error}");
        assert_eq!(error.url(), Some("http://127.0.0.1/"), "{error}");
        assert!(error.elapsed().is_some() && !error.is_transient(), "{error}");
        assert_eq!(kind_and_phase(error), (ErrorKind::InvalidMessage, Phase::Request));
    }
}

#[tokio::test]
async fn a_proxy_does_not_change_what_is_found_nor_does_the_end_of_the_client() {
    for proxy in ["http://127.0.77.1:1", "socks5://127.0.77.1:1", "socks5h://127.0.77.1:1"] {
        let client = builder().proxy(Proxy::new(proxy).unwrap()).build().unwrap();
        client.close();
        assert_eq!(found(&client, "http://found.test/").await, Ok(vec![THERE, HERE]), "{proxy}");
    }
}

#[tokio::test]
async fn callers_that_ask_for_one_name_at_a_time_share_its_lookup() {
    let answer = DnsAnswer::addresses([Ipv4Addr::LOCALHOST], 60).slow(Duration::from_millis(200));
    let server = DnsServer::start(Records::default().with("a.test", answer)).await.unwrap();
    let resolver = Resolver::builder().hosts(false).servers(&[server.address()]);
    let resolver = resolver.query_timeout(Duration::from_secs(60)).build().unwrap();
    let client = limited(|limits| limits.time.dns = None).resolver(resolver.clone());
    let client = client.build().unwrap();
    let asking: Vec<_> = (0..50)
        .map(|n| {
            let client = client.clone();
            tokio::spawn(async move { found(&client, format!("http://a.test:{}/", n + 1)).await })
        })
        .collect();
    for asking in asking {
        assert_eq!(asking.await.unwrap(), Ok(vec![HERE]));
    }
    // It is remembered.
    assert_eq!(found(&client, "https://A.test/").await, Ok(vec![HERE]));
    let asked = server.log().iter().filter(|entry| entry.target == "A").count();
    assert_eq!((asked, resolver.stats().lookups), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_search_that_is_dropped_leaves_the_client_as_it_was() {
    let client = builder().build().unwrap();
    let dropped =
        tokio::time::timeout(Duration::from_millis(1), client.addresses_of("http://slow.test/"));
    assert!(dropped.await.is_err());
    assert_eq!(found(&client, "http://found.test/").await, Ok(vec![THERE, HERE]));
    assert_eq!(client.connections().open, 0);
}
