//! Where names lead, and which addresses are connected to.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use stoop::dns::{Addresses, SystemResolver};
use stoop::{Client, ErrorKind, Phase, Request, Response, Server, ServerHandle, StatusCode};

use super::kit::{kind_and_phase, limited};

pub(super) const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(super) const THERE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 0, 0, 5));

/// A server on a loopback address that answers with the address of its client, and redirects `/to?URL`.
pub(super) fn serving(address: IpAddr) -> (ServerHandle, u16) {
    let answer = |request: Request| match request.query() {
        Some(location) => {
            Response::from_status(StatusCode::FOUND).with_field("location", location).unwrap()
        }
        None => Response::from_text(request.remote_address().unwrap().ip().to_string()),
    };
    let server =
        Server::listen(std::net::SocketAddr::new(address, 0)).unwrap().run_here(answer).unwrap();
    let port = server.endpoint().to_string().rsplit(':').next().unwrap().parse().unwrap();
    (server, port)
}

async fn text(client: &Client, url: &str) -> Result<String, (ErrorKind, Phase)> {
    client.get(url).await.map_err(kind_and_phase)?.text().await.map_err(kind_and_phase)
}

#[tokio::test]
async fn a_host_may_be_given_its_addresses() {
    let (_server, port) = serving(HERE);
    let refuse = |_: String| async { Err::<Addresses, _>("nothing is looked up") };
    let client = Client::builder()
        .custom_resolver(refuse)
        .resolve("A.test.", [HERE])
        .resolve("none.test", [])
        .build()
        .unwrap();
    for host in ["a.test", "A.TEST", "a.test."] {
        assert_eq!(text(&client, &format!("http://{host}:{port}/")).await.unwrap(), "127.0.0.1");
    }
    let none = text(&client, &format!("http://none.test:{port}/")).await;
    assert_eq!(none, Err((ErrorKind::DnsNxdomain, Phase::Dns)));
    let other = client.get(format!("http://b.test:{port}/")).await.unwrap_err();
    assert!(other.to_string().contains("nothing is looked up"), "{other}");
    assert_eq!(kind_and_phase(other), (ErrorKind::DnsOther, Phase::Dns));
}

#[tokio::test]
async fn a_resolver_of_the_callers_answers_in_its_own_words() {
    let (_server, port) = serving(HERE);
    let asked = Arc::new(Mutex::new(Vec::new()));
    let noted = asked.clone();
    let resolver = move |host: String| {
        noted.lock().unwrap().push(host.clone());
        async move {
            match &*host {
                "here.test" => Ok(HERE.into()),
                "empty.test" => Ok(Vec::new().into()),
                "slow.test" => std::future::pending().await,
                "ours.test" => Err(stoop::Error::new(ErrorKind::DnsServfail, Phase::Dns).into()),
                _ => Err::<Addresses, stoop::BoxError>("no such service".into()),
            }
        }
    };
    let client = limited(|limits| limits.time.dns = Some(Duration::from_millis(50)))
        .custom_resolver(resolver)
        .build()
        .unwrap();
    let dns = Phase::Dns;
    for (host, expected) in [
        ("Here.test", Ok("127.0.0.1".to_owned())),
        ("empty.test", Err((ErrorKind::DnsOther, dns))),
        ("slow.test", Err((ErrorKind::DnsTimeout, dns))),
        ("ours.test", Err((ErrorKind::DnsServfail, dns))),
        ("b\u{fc}cher.test", Err((ErrorKind::DnsOther, dns))),
        ("127.0.0.1", Ok("127.0.0.1".to_owned())),
    ] {
        assert_eq!(text(&client, &format!("http://{host}:{port}/")).await, expected, "{host}");
    }
    let asked = asked.lock().unwrap().clone();
    let hosts = ["here.test", "empty.test", "slow.test", "ours.test", "xn--bcher-kva.test"];
    assert_eq!(asked, hosts);
    let error = client.get(format!("http://x.test:{port}/")).await.unwrap_err();
    assert_eq!(error.source().unwrap().to_string(), "no such service");
}

#[tokio::test]
async fn the_system_resolves_names_too() {
    let (_server, port) = serving(HERE);
    let client = Client::builder().custom_resolver(SystemResolver::new()).build().unwrap();
    assert_eq!(text(&client, &format!("http://localhost:{port}/")).await.unwrap(), "127.0.0.1");
    let none = text(&client, "http://no.such.host.invalid/").await;
    assert_eq!(none.unwrap_err().1, Phase::Dns);
}

#[tokio::test]
async fn an_address_that_is_filtered_out_is_not_connected_to() {
    let ((_server, port), (_other, elsewhere)) = (serving(HERE), serving(THERE));
    let client = Client::builder()
        .resolve("both.test", [THERE, HERE])
        .resolve("there.test", [THERE])
        .address_filter(|address| address != THERE)
        .build()
        .unwrap();
    assert_eq!(text(&client, &format!("http://both.test:{port}/")).await.unwrap(), "127.0.0.1");
    let denied = (ErrorKind::AddressDenied, Phase::Dns);
    let there = format!("http://127.0.0.5:{elsewhere}/");
    for url in [
        format!("http://there.test:{elsewhere}/"),
        there.clone(),
        // Whatever leads there, and however the address is written.
        format!("http://127.0.0.1:{port}/to?{there}"),
        format!("http://0x7f000005:{elsewhere}/"),
        format!("http://[::ffff:127.0.0.5]:{elsewhere}/"),
    ] {
        let error = client.get(&*url).await.unwrap_err();
        let text = error.to_string();
        assert!(text.contains("127.0.0.5") || text.contains("::ffff:127.0.0.5"), "{text}");
        assert_eq!(kind_and_phase(error), denied, "{url}");
    }
}

#[tokio::test]
async fn connections_leave_from_the_local_address_that_was_named() {
    let (_server, port) = serving(HERE);
    let local = IpAddr::V4(Ipv4Addr::new(127, 0, 9, 1));
    let client = Client::builder()
        .local_address(local)
        .resolve("six.test", [IpAddr::V6(Ipv6Addr::LOCALHOST)])
        .resolve("both.test", [IpAddr::V6(Ipv6Addr::LOCALHOST), HERE])
        .build()
        .unwrap();
    for host in ["127.0.0.1", "both.test"] {
        assert_eq!(text(&client, &format!("http://{host}:{port}/")).await.unwrap(), "127.0.9.1");
    }
    let error = client.get(format!("http://six.test:{port}/")).await.unwrap_err();
    assert!(error.to_string().contains("::1"), "{error}");
    assert_eq!(kind_and_phase(error), (ErrorKind::ConnectUnreachable, Phase::Connect));
    // An address that this machine does not have.
    let client = Client::builder().local_address([192, 0, 2, 1].into()).build().unwrap();
    let outcome = text(&client, &format!("http://127.0.0.1:{port}/")).await;
    assert_eq!(outcome.unwrap_err().1, Phase::Connect);
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn connections_leave_by_the_interface_that_was_named() {
    let (_server, port) = serving(HERE);
    let url = format!("http://127.0.0.1:{port}/");
    let client = Client::builder().interface("lo").build().unwrap();
    assert_eq!(text(&client, &url).await.unwrap(), "127.0.0.1");
    let client = Client::builder().interface("none0").build().unwrap();
    assert_eq!(text(&client, &url).await.unwrap_err().1, Phase::Connect);
}

#[tokio::test]
async fn an_address_that_does_not_answer_costs_a_host_its_delay_once() {
    let (_server, port) = serving(HERE);
    // Nothing listens there, but the kernel's queue takes one connection and then no more: it is silent.
    let silent = tokio::net::TcpSocket::new_v4().unwrap();
    silent.bind(std::net::SocketAddr::new(THERE, port)).unwrap();
    let silent = silent.listen(1).unwrap();
    let mut filling = Vec::new();
    for _ in 0..3 {
        let connecting = tokio::net::TcpStream::connect(silent.local_addr().unwrap());
        filling.push(tokio::time::timeout(Duration::from_millis(50), connecting).await);
    }
    let client = limited(|limits| limits.pool.idle_max = 0)
        .resolve("a.test", [THERE, HERE])
        .build()
        .unwrap();
    let mut took = Vec::new();
    for _ in 0..4 {
        let begun = std::time::Instant::now();
        let url = format!("http://a.test:{port}/");
        assert_eq!(text(&client, &url).await.unwrap(), "127.0.0.1");
        took.push(begun.elapsed().as_millis());
    }
    assert!(took[0] >= 240, "{took:?}");
    assert!(took[1..].iter().all(|ms| *ms < 200), "{took:?}");
}

#[tokio::test]
async fn a_host_and_port_may_be_replaced_by_others_and_keep_their_name() {
    let (_server, port) = serving(HERE);
    let to = format!("127.0.0.1:{port}");
    let builder = || Client::builder().resolve("b.test", [HERE]);
    for (from, to, url) in [
        ("a.test:80", &*to, "http://a.test/"),
        ("A.test:", &*to, "http://a.test:1/"),
        (":81", &*to, "http://anything.test:81/"),
        ("[::1]:82", &*to, "http://[::1]:82/"),
        ("a.test:", "b.test:", &*format!("http://a.test:{port}/")),
        ("b.test:", &*format!(":{port}"), "http://b.test/"),
    ] {
        let client = builder().connect_to(from, to).unwrap().build().unwrap();
        assert_eq!(text(&client, url).await.as_deref(), Ok("127.0.0.1"), "{from} {url}");
        assert!(client.stats().origins[0].origin.starts_with(url.trim_end_matches('/')));
    }
    let client = builder().connect_to("a.test:81", &to).unwrap().build().unwrap();
    assert!(text(&client, "http://b.test:1/").await.is_err());
    for bad in [
        "",
        "a.test",
        "a.test:x",
        "a.test:99999",
        "bad host:80",
        "fe80::1%eth0:80",
        "[fe80::1%eth0]:80",
        "1.2.3.999:80",
    ] {
        for (from, to) in [(bad, ":"), ("a.test:80", bad)] {
            let error = Client::builder().connect_to(from, to).err().expect(bad);
            assert!(error.to_string().contains(&format!("{bad:?} is not host:port: ")), "{error}");
            assert_eq!(kind_and_phase(error), (ErrorKind::InvalidUrl, Phase::Request));
        }
    }
    // An address for one port alone.
    let client = Client::builder().resolve(&format!("a.test:{port}"), [HERE]).build().unwrap();
    assert_eq!(text(&client, &format!("http://a.test:{port}/")).await.as_deref(), Ok("127.0.0.1"));
}

#[tokio::test]
async fn one_address_may_stand_for_all_hosts_that_have_none() {
    let (_server, port) = serving(HERE);
    let asked = |host: &'static str| format!("http://{host}:{port}/");
    for all in ["*".to_owned(), format!("*:{port}")] {
        let client = Client::builder().resolve(&all, [HERE]).resolve("none.test", []);
        let client = client.build().unwrap();
        for host in ["a.test", "b.test"] {
            assert_eq!(text(&client, &asked(host)).await.as_deref(), Ok("127.0.0.1"), "{all}");
        }
        let none = text(&client, &asked("none.test")).await;
        assert_eq!(none, Err((ErrorKind::DnsNxdomain, Phase::Dns)), "{all}");
    }
    let elsewhere = Client::builder().resolve("*:1", [HERE]).custom_resolver(|_: String| async {
        Err::<Addresses, stoop::BoxError>("nothing is looked up".into())
    });
    assert!(text(&elsewhere.build().unwrap(), &asked("a.test")).await.is_err());
}

#[tokio::test]
async fn a_host_that_no_url_can_have_is_given_no_addresses() {
    for bad in ["", "bad host", "a.test:", "a.test:99999", "http://a.test/"] {
        let built = Client::builder().resolve(bad, [HERE]).resolve("a.test", [HERE]).build();
        let error = built.expect_err(bad);
        assert!(error.to_string().starts_with(&format!("{bad:?} is not a host")), "{error}");
        assert_eq!(kind_and_phase(error), (ErrorKind::InvalidUrl, Phase::Request));
    }
    // Each spelling of a name is that of URLs.
    let (_server, port) = serving(HERE);
    let url = format!("http://b\u{fc}cher.test:{port}/");
    for host in ["b\u{fc}cher.test", "B\u{dc}CHER.test.", "xn--bcher-kva.test"] {
        let client = Client::builder().resolve(host, [HERE]).build().unwrap();
        assert_eq!(text(&client, &url).await.as_deref(), Ok("127.0.0.1"), "{host}");
        let to = format!("127.0.0.1:{port}");
        let client = Client::builder().connect_to(&format!("{host}:"), &to).unwrap();
        assert_eq!(text(&client.build().unwrap(), &url).await.as_deref(), Ok("127.0.0.1"));
    }
}
