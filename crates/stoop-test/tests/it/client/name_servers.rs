//! The whole client with a name server that is slow, fails and lies: what it ends in, how soon, and that a
//! forged response is not believed (RFC 5452 §9).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::{Duration, Instant};

use stoop::dns::{HttpsRecord, Resolver, ResolverBuilder};
use stoop::{
    Client, ClientBuilder, Error, ErrorKind, Phase, Request, Response, Server, ServerHandle,
    StatusCode,
};
use stoop_testbed::{DnsAnswer, DnsForgery, DnsServer, EntryEnd, Records};

use super::kit::limited;

const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
const MS: Duration = Duration::from_millis(1);

/// More than anything takes that does not wait for a limit, on a machine that is busy.
const SOON: Duration = Duration::from_secs(4);

/// A name server for `a.test`, and an origin on one address that answers with the address of its own end
/// and redirects `/to?URL`.
struct Names {
    server: DnsServer,
    origin: ServerHandle,
}

impl Names {
    async fn of(answer: DnsAnswer) -> Self {
        Self::with(Records::default().with("a.test", answer)).await
    }

    async fn with(records: Records) -> Self {
        Self::origin_on(HERE, records).await
    }

    async fn origin_on(address: Ipv4Addr, records: Records) -> Self {
        let answer = |request: Request| match request.query() {
            Some(location) => {
                Response::from_status(StatusCode::FOUND).with_field("location", location).unwrap()
            }
            None => Response::from_text("here"),
        };
        let origin = Server::listen(SocketAddr::from((address, 0))).unwrap();
        let origin = origin.run_here(answer).unwrap();
        Self { server: DnsServer::start(records).await.unwrap(), origin }
    }

    fn port(&self) -> u16 {
        self.origin.endpoint().to_string().rsplit(':').next().unwrap().parse().unwrap()
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/", self.port())
    }

    fn resolver(&self) -> ResolverBuilder {
        Resolver::builder().hosts(false).servers(&[self.server.address()])
    }

    /// A client with a resolver that gives up after two attempts of 150 ms.
    fn client(&self) -> Client {
        self.client_with(self.resolver().query_timeout(150 * MS).attempts(2))
    }

    fn client_with(&self, resolver: ResolverBuilder) -> Client {
        built(Client::builder(), resolver)
    }

    /// Whether the origin answers for `a.test`, found with the default settings of a resolver.
    async fn is_found(&self) -> Result<Response, Error> {
        self.client_with(self.resolver()).get(self.url("a.test")).await
    }

    /// The error of a client that gives up soon, which comes soon and names host and server.
    async fn error(&self) -> Error {
        let begun = Instant::now();
        let error = self.client().get(self.url("a.test")).await.unwrap_err();
        assert!(begun.elapsed() < SOON, "{error} took {:?}", begun.elapsed());
        let text = error.to_string();
        assert!(text.contains("a.test"), "{text}");
        assert!(text.contains(&self.server.address().to_string()), "{text}");
        assert_eq!(error.phase(), Phase::Dns, "{text}");
        error
    }

    /// How often the name server was asked for an IPv4 address.
    fn asked(&self) -> usize {
        self.server.log().iter().filter(|entry| entry.target == "A").count()
    }
}

fn built(builder: ClientBuilder, resolver: ResolverBuilder) -> Client {
    builder.resolver(resolver.build().unwrap()).build().unwrap()
}

fn good() -> DnsAnswer {
    DnsAnswer::addresses([HERE], 60)
}

async fn text(response: Result<Response, Error>) -> String {
    response.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn a_slow_answer_within_the_deadline_is_waited_for() {
    let names = Names::of(good().slow(120 * MS)).await;
    let begun = Instant::now();
    let response = names.is_found().await.unwrap();
    assert!(response.timings().dns().is_some_and(|dns| dns >= 120 * MS));
    assert!(begun.elapsed() >= 120 * MS && begun.elapsed() < SOON);
    assert_eq!(text(Ok(response)).await, "here");
}

/// The clock is paused: both are waited for without a sleep, and to the millisecond.
#[tokio::test(start_paused = true)]
async fn an_answer_beyond_the_deadline_is_a_timeout_of_the_name() {
    for answer in [good().slow(60_000 * MS), DnsAnswer::Silence] {
        let names = Names::of(answer).await;
        let deadline = limited(|limits| limits.time.dns = Some(700 * MS));
        let client = built(deadline, names.resolver());
        let begun = tokio::time::Instant::now();
        let error = client.get(names.url("a.test")).await.unwrap_err();
        assert_eq!((error.kind(), error.phase()), (ErrorKind::DnsTimeout, Phase::Dns), "{error}");
        assert!(error.to_string().contains("a.test"), "{error}");
        let took = begun.elapsed();
        assert!((700 * MS..735 * MS).contains(&took), "{took:?}");
        assert!(error.is_timeout() && error.is_dns());
        assert!(error.url().unwrap().contains("a.test"));
        assert_eq!(error.timings().connect(), None);
    }
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_its_attempts_and_no_more() {
    let names = Names::of(DnsAnswer::Silence).await;
    let client = names.client_with(names.resolver().query_timeout(1_000 * MS).attempts(2));
    let begun = tokio::time::Instant::now();
    let error = client.get(names.url("a.test")).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::DnsTimeout, Phase::Dns));
    let took = begun.elapsed();
    assert!((2_000 * MS..2_100 * MS).contains(&took), "{took:?}");
    let (text, server) = (error.to_string(), names.server.address().to_string());
    assert!(text.contains("a.test") && text.contains(&server), "{text}");
}

#[tokio::test]
async fn each_failure_has_its_kind() {
    for (answer, kind, said) in [
        (DnsAnswer::ServFail, ErrorKind::DnsServfail, "SERVFAIL"),
        (DnsAnswer::Refused, ErrorKind::DnsOther, "Refused"),
        (DnsAnswer::NxDomain, ErrorKind::DnsNxdomain, "NXDOMAIN"),
        (DnsAnswer::NoData, ErrorKind::DnsOther, "no address"),
        (DnsAnswer::Silence, ErrorKind::DnsTimeout, "in time"),
    ] {
        for answer in [answer.clone(), answer.slow(20 * MS)] {
            let error = Names::of(answer).await.error().await;
            assert_eq!(error.kind(), kind, "{error}");
            assert!(error.to_string().contains(said), "{error}");
        }
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_an_error_at_once() {
    let names = Names::of(good()).await;
    let nothing = std::net::UdpSocket::bind((HERE, 0)).unwrap().local_addr().unwrap();
    let client = names.client_with(names.resolver().servers(&[nothing]));
    let begun = Instant::now();
    let error = client.get(names.url("a.test")).await.unwrap_err();
    assert_eq!((error.kind(), error.phase()), (ErrorKind::DnsOther, Phase::Dns));
    assert!(error.to_string().contains(&nothing.to_string()), "{error}");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn another_server_answers_for_one_that_does_not() {
    let honest = Names::of(good()).await;
    for answer in [
        DnsAnswer::ServFail,
        DnsAnswer::Refused,
        DnsAnswer::Silence,
        DnsAnswer::Silence.after_forged(DnsForgery::ALL),
        DnsAnswer::Silence.over_tcp(),
    ] {
        let failing = Names::of(answer).await;
        let servers = [failing.server.address(), honest.server.address()];
        let resolver = honest.resolver().servers(&servers).query_timeout(150 * MS);
        let client = honest.client_with(resolver);
        assert_eq!(text(client.get(honest.url("a.test")).await).await, "here");
    }
}

#[tokio::test]
async fn what_is_truncated_over_udp_comes_over_tcp() {
    let names = Names::of(good().over_tcp()).await;
    assert_eq!(text(names.is_found().await).await, "here");
    let ends: Vec<_> = names.server.log().iter().map(|entry| entry.ended).collect();
    assert!(ends.contains(&EntryEnd::Truncated) && ends.contains(&EntryEnd::Answered), "{ends:?}");
    // Over TCP it is silent, or no name server.
    let silent = Names::of(DnsAnswer::Silence.over_tcp()).await.error().await;
    assert_eq!(silent.kind(), ErrorKind::DnsTimeout, "{silent}");
    let garbage = DnsAnswer::Silence.after_forged([DnsForgery::Garbage]);
    let garbage = Names::of(garbage.over_tcp()).await.error().await;
    assert_eq!(garbage.kind(), ErrorKind::DnsOther, "{garbage}");
}

#[tokio::test]
async fn five_hundred_addresses_are_as_good_as_one() {
    // The origin is on every address of 127.0.0.0/8, where all of them are.
    let records = Records::default().with("a.test", DnsAnswer::many(500, 60));
    let names = Names::origin_on(Ipv4Addr::UNSPECIFIED, records).await;
    let response = names.is_found().await.unwrap();
    let address = response.remote_address().unwrap().ip();
    assert!(address.to_string().starts_with("127.2."), "{address}");
    assert_eq!(text(Ok(response)).await, "here");
}

#[tokio::test]
async fn five_hundred_dead_addresses_are_one_error() {
    let names = Names::of(DnsAnswer::many(500, 60)).await;
    let begun = Instant::now();
    let error = names.is_found().await.unwrap_err();
    let expected = (ErrorKind::ConnectRefused, Phase::Connect);
    assert_eq!((error.kind(), error.phase()), expected, "{error}");
    let text = error.to_string();
    assert!(text.contains("127.2.") && text.contains("27 more") && text.len() < 400, "{text}");
    assert!(begun.elapsed() < 3 * SOON, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn an_address_with_no_time_to_live_is_asked_for_again() {
    let names = Names::of(DnsAnswer::addresses([HERE], 0)).await;
    let builder = || limited(|limits| limits.pool.idle_max = 0);
    let client = built(builder(), names.resolver().cache_ttl_min(Duration::ZERO));
    for n in 1..=3 {
        assert_eq!(text(client.get(names.url("a.test")).await).await, "here");
        assert_eq!(names.asked(), n);
    }
    // By default it is remembered for a second, so that one page does not ask fifty times.
    let client = built(builder(), names.resolver());
    let begun = Instant::now();
    for _ in 0..3 {
        assert_eq!(text(client.get(names.url("a.test")).await).await, "here");
    }
    if begun.elapsed() < 1_000 * MS {
        assert_eq!(names.asked(), 4);
    }
    tokio::time::sleep(1_050 * MS).await;
    assert_eq!(text(client.get(names.url("a.test")).await).await, "here");
    assert!(names.asked() >= 5, "{}", names.asked());
}

/// RFC 5452 §9.1: a response has the ID, the question and the addresses of the query; others are ignored.
#[tokio::test]
async fn the_answer_is_believed_and_the_forged_ones_before_it_are_not() {
    let each = DnsForgery::ALL.map(|forgery| vec![forgery]);
    for forgeries in each.into_iter().chain([DnsForgery::ALL.to_vec()]) {
        let answer = good().slow(30 * MS).after_forged(forgeries.clone());
        let names = Names::of(answer).await;
        let response = names.is_found().await.unwrap();
        assert_eq!(response.remote_address().unwrap().ip(), IpAddr::from(HERE), "{forgeries:?}");
        assert_eq!(text(Ok(response)).await, "here");
    }
}

#[tokio::test]
async fn forged_responses_over_tcp_are_not_believed_either() {
    for forgery in [
        DnsForgery::WrongId,
        DnsForgery::WrongQuestion,
        DnsForgery::NoQuestion,
        DnsForgery::Query,
        DnsForgery::OtherPort,
    ] {
        let names = Names::of(good().after_forged([forgery; 3]).over_tcp()).await;
        assert_eq!(text(names.is_found().await).await, "here", "{forgery:?}");
    }
}

#[tokio::test]
async fn forged_responses_alone_are_no_answer() {
    let each = DnsForgery::ALL.map(|forgery| vec![forgery]);
    for forgeries in each.into_iter().chain([DnsForgery::ALL.to_vec()]) {
        let names = Names::of(DnsAnswer::Silence.after_forged(forgeries.clone())).await;
        let error = names.error().await;
        assert_eq!(error.kind(), ErrorKind::DnsTimeout, "{forgeries:?}: {error}");
    }
}

/// Both queries of a lookup share a socket, and the one that reads keeps what is for the other.
#[tokio::test]
async fn forged_responses_do_not_crowd_out_the_answer_to_the_other_query() {
    let forged = |forgery| DnsAnswer::Silence.after_forged([forgery; 40]);
    for forgery in [DnsForgery::WrongId, DnsForgery::WrongQuestion, DnsForgery::NoQuestion] {
        let answer = DnsAnswer::per_family(forged(forgery), DnsAnswer::addresses([LOOPBACK6], 60));
        let names = Names::of(answer).await;
        let error = names.client().get(names.url("a.test")).await.unwrap_err();
        // The address was found: that the origin does not listen there is another matter.
        assert_eq!(error.phase(), Phase::Connect, "{forgery:?}: {error}");
        assert!(error.to_string().contains("::1"), "{error}");
    }
}

const LOOPBACK6: Ipv6Addr = Ipv6Addr::LOCALHOST;

#[tokio::test]
async fn records_of_another_name_are_not_believed() {
    let other =
        DnsAnswer::AnotherName { name: "b.test".into(), addresses: vec![HERE.into()], ttl: 60 };
    let names = Names::with(Records::default().with("a.test", other)).await;
    let error = names.error().await;
    assert_eq!(error.kind(), ErrorKind::DnsOther);
    assert!(error.to_string().contains("no address"), "{error}");
    // Nor are they remembered for the name that they are of.
    let error = names.client().get(names.url("b.test")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DnsNxdomain, "{error}");
}

#[tokio::test]
async fn aliases_are_followed_and_circles_of_them_are_not() {
    let none: [Ipv4Addr; 0] = [];
    let names = Names::of(DnsAnswer::aliases(&["b.test", "c.test"], [HERE], 60)).await;
    assert_eq!(text(names.is_found().await).await, "here");
    let records = Records::default()
        .with("a.test", DnsAnswer::aliases(&["b.test"], none, 60))
        .with("b.test", good().slow(20 * MS));
    assert_eq!(text(Names::with(records).await.is_found().await).await, "here");

    let itself = DnsAnswer::aliases(&["a.test"], none, 60);
    let within = DnsAnswer::aliases(&["b.test", "a.test"], [HERE], 60);
    for answer in [itself, within] {
        let error = Names::of(answer).await.error().await;
        assert_eq!(error.kind(), ErrorKind::DnsOther);
        assert!(error.to_string().contains("circle"), "{error}");
    }
    let records = Records::default()
        .with("a.test", DnsAnswer::aliases(&["b.test"], none, 60))
        .with("b.test", DnsAnswer::aliases(&["a.test"], none, 60));
    let names = Names::with(records).await;
    let error = names.error().await;
    assert!(error.to_string().contains("circle"), "{error}");
    assert!(names.server.stats().dns_queries <= 20);
    // An alias of a name that does not exist.
    let dangling = DnsAnswer::aliases(&["gone.test"], none, 60);
    let error = Names::of(dangling).await.error().await;
    assert_eq!(error.kind(), ErrorKind::DnsNxdomain, "{error}");
}

#[tokio::test]
async fn dead_addresses_beside_a_good_one_cost_little() {
    let dead = [[127, 0, 0, 91], [127, 0, 0, 92], [127, 0, 0, 93]].map(Ipv4Addr::from);
    let all = dead.into_iter().chain([HERE]);
    let names = Names::of(DnsAnswer::addresses(all, 60)).await;
    let begun = Instant::now();
    let response = names.is_found().await.unwrap();
    assert_eq!(response.remote_address().unwrap().ip(), IpAddr::from(HERE));
    // Refusals are followed by the next address at once, not after the delay of RFC 8305 §5.
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    // And without the good one they are named.
    let names = Names::of(DnsAnswer::addresses(dead, 60)).await;
    let error = names.is_found().await.unwrap_err();
    let expected = (ErrorKind::ConnectRefused, Phase::Connect);
    assert_eq!((error.kind(), error.phase()), expected, "{error}");
    for dead in dead {
        assert!(error.to_string().contains(&dead.to_string()), "{error}");
    }
}

/// RFC 8305: a family that does not work costs little where the other does.
#[tokio::test]
async fn unreachable_ipv6_beside_good_ipv4_costs_little() {
    // Reserved for discarding (RFC 6666), for documentation, and loopback without a listener.
    for v6 in ["100::1", "2001:db8::1", "::1"] {
        let v6: IpAddr = v6.parse().unwrap();
        let names = Names::of(DnsAnswer::addresses([v6, HERE.into()], 60)).await;
        let begun = Instant::now();
        let response = names.is_found().await.unwrap();
        assert_eq!(response.remote_address().unwrap().ip(), IpAddr::from(HERE), "{v6}");
        assert!(begun.elapsed() < SOON, "{v6}: {:?}", begun.elapsed());
    }
}

#[tokio::test]
async fn a_query_for_ipv6_that_fails_does_not_spoil_ipv4() {
    for bad in [
        DnsAnswer::Silence,
        DnsAnswer::ServFail,
        DnsAnswer::NxDomain,
        DnsAnswer::Refused,
        DnsAnswer::Silence.after_forged(DnsForgery::ALL),
    ] {
        let names = Names::of(DnsAnswer::per_family(good().slow(20 * MS), bad.clone())).await;
        let begun = Instant::now();
        assert_eq!(text(names.is_found().await).await, "here", "{bad:?}");
        assert!(begun.elapsed() < SOON, "{bad:?}: {:?}", begun.elapsed());
    }
}

/// The filter sees what the name server says, not what the name looks like.
#[tokio::test]
async fn a_redirect_to_a_name_with_a_private_address_is_refused() {
    let private = [Ipv4Addr::new(10, 1, 2, 3), Ipv4Addr::new(169, 254, 169, 254)];
    for private in private {
        let records = Records::default()
            .with("a.test", good())
            .with("inside.test", DnsAnswer::addresses([private], 60))
            .with("alias.test", DnsAnswer::aliases(&["inside.test"], [private], 60));
        let names = Names::with(records).await;
        let builder = Client::builder()
            .address_filter(|address| address.is_loopback() || stoop::dns::is_public(address));
        let client = built(builder, names.resolver());
        for inside in ["inside.test", "alias.test"] {
            let url = format!("{}to?{}", names.url("a.test"), names.url(inside));
            let error = client.get(url).await.unwrap_err();
            let expected = (ErrorKind::AddressDenied, Phase::Dns);
            assert_eq!((error.kind(), error.phase()), expected, "{error}");
            assert!(error.to_string().contains(&private.to_string()), "{error}");
            assert_eq!(error.redirects(), 1);
        }
    }
}

#[tokio::test]
async fn a_hundred_requests_for_a_name_ask_once() {
    let names = Names::of(good().slow(100 * MS)).await;
    let client = names.client_with(names.resolver());
    let mut all = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (client, url) = (client.clone(), names.url("a.test"));
        all.spawn(async move { client.get(url).await.map(|response| response.status().as_u16()) });
    }
    for outcome in all.join_all().await {
        assert_eq!(outcome.unwrap(), 200);
    }
    assert_eq!(names.asked(), 1);
}

/// RFC 9460: they are read beside the addresses, and do not change where a client connects.
#[tokio::test]
async fn https_records_are_read_and_not_connected_by() {
    let service = DnsAnswer::https_data(1, "", &[(1, b"\x02h2"), (3, &1u16.to_be_bytes())]);
    let hint = DnsAnswer::https_data(2, "other.test", &[(4, &[127, 0, 0, 99])]);
    let unusable = DnsAnswer::https_data(3, "x.test", &[(0, &[0, 9]), (9, b"")]);
    let all = [hint, unusable, service];
    let records = Records::default()
        .with("a.test", good().with_https(all, 60))
        .with("bad.test", good().with_https([vec![0]], 60));
    let names = Names::with(records).await;
    let resolver = names.resolver().query_timeout(1_000 * MS).attempts(1).build().unwrap();
    let found = resolver.https_records("a.test").await.unwrap();
    let [HttpsRecord::Service(first), HttpsRecord::Service(second)] = &found[..] else {
        panic!("{found:?}");
    };
    assert_eq!((&*first.target, first.port, &*first.alpn), ("a.test", Some(1), &["h2".into()][..]));
    assert_eq!((&*second.target, second.priority), ("other.test", 2));
    assert_eq!(second.ipv4_hints, [Ipv4Addr::new(127, 0, 0, 99)]);
    let client = Client::builder().resolver(resolver.clone()).build().unwrap();
    assert_eq!(text(client.get(names.url("a.test")).await).await, "here");
    // One that is malformed spoils its answer, and no other.
    let error = resolver.https_records("bad.test").await.unwrap_err();
    assert!(error.to_string().contains("malformed"), "{error}");
    assert_eq!(text(client.get(names.url("bad.test")).await).await, "here");
}
