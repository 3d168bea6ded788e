//! Many URLs on each host: the shares of a plan, and what hosts with a robots.txt or a Retry-After send,
//! byte by byte.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use stoop_testbed::{
    Class, HostAddresses, HostKind, Hosts, Internet, Options, Plan, PlannedResult, PlannedUrl,
    Spread,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::internet::{assert_as_planned, fetch_all};

/// The names of hosts, each with its URLs.
fn by_host(plan: &Plan) -> HashMap<String, Vec<PlannedUrl>> {
    let mut hosts: HashMap<String, Vec<PlannedUrl>> = HashMap::new();
    for url in plan.iter() {
        hosts.entry(url.host.trim_start_matches("www-").to_owned()).or_default().push(url);
    }
    hosts
}

fn mixed() -> Hosts {
    Hosts::new(100)
        .share(HostKind::Robots, 0.2)
        .share(HostKind::RobotsError, 0.05)
        .share(HostKind::Busy, 0.1)
        .share(HostKind::Failing, 0.08)
        .share(HostKind::Fails(Class::NxDomain), 0.02)
}

#[test]
fn each_kind_of_host_has_its_share_and_its_urls_are_expected_to_do_as_it_says() {
    let plan = Plan::new(4, 20_000).on(mixed());
    let hosts = by_host(&plan);
    assert_eq!(hosts.len(), 100);
    assert!(hosts.values().all(|urls| urls.len() == 200));
    let count = |is: &dyn Fn(&[PlannedUrl]) -> bool| hosts.values().filter(|url| is(url)).count();
    let fails = |urls: &[PlannedUrl]| {
        let classes: HashSet<Class> = urls.iter().map(|url| url.class).collect();
        let is_failing = urls.iter().all(|url| !url.class.kinds().is_empty());
        // In one way, and in no other.
        (is_failing && classes.len() == 1).then_some(urls[0].class)
    };
    assert_eq!(count(&|urls| fails(urls).is_some()), 10);
    assert!(count(&|urls| fails(urls) == Some(Class::NxDomain)) >= 2);
    let forbids = |urls: &[PlannedUrl]| urls.iter().filter(|url| url.expect.is_forbidden).count();
    assert_eq!(count(&|urls| forbids(urls) == urls.len()), 5);
    assert_eq!(count(&|urls| (25..75).contains(&forbids(urls))), 20);
    assert_eq!(count(&|urls| forbids(urls) == 0), 75);
    let busy = |urls: &[PlannedUrl]| urls.iter().filter(|url| url.expect.retried.is_some()).count();
    assert_eq!(count(&|urls| busy(urls) > 0), 10);
    let first_is_busy = |urls: &[PlannedUrl]| urls[0].expect.retried.is_some();
    assert_eq!(count(&|urls| first_is_busy(urls) && busy(urls) < 20), 10);
}

#[test]
fn only_busy_hosts_ask_for_a_pause() {
    let plan = Plan::new(4, 20_000).on(mixed());
    let mut statuses = HashMap::new();
    for url in plan.iter() {
        let PlannedResult::Status { code, body } = url.expect.result else { continue };
        *statuses.entry(code / 100).or_insert(0) += 1;
        let pauses = matches!(code, 429 | 503);
        assert_eq!(pauses, url.expect.retried.is_some(), "{url:?}");
        assert_eq!(url.expect.with_retries().retried, None);
        if let Some(PlannedResult::Status { code, .. }) = url.expect.retried {
            assert!(!matches!(code, 429 | 503) && body == 0, "{url:?}");
        }
    }
    let of = |class| f64::from(statuses[&class]) / 18_000.0;
    assert!((0.88..0.92).contains(&of(2)) && (0.08..0.11).contains(&of(4)), "{statuses:?}");
}

#[test]
fn a_plan_on_hosts_depends_on_its_seed_and_stores_nothing() {
    let hosts = || Hosts::new(1_000).spread(Spread::Zipf { exponent: 1.0 });
    let plan = |seed, hosts| Plan::new(seed, 5_000).on(hosts);
    assert!(plan(1, hosts()).iter().eq(plan(1, hosts()).iter()));
    let texts = |plan: Plan| plan.iter().map(|url| url.text).collect::<Vec<_>>();
    assert_ne!(texts(plan(1, hosts())), texts(plan(2, hosts())));
    let unique: HashSet<String> = texts(plan(1, hosts())).into_iter().collect();
    assert_eq!(unique.len(), 5_000);
    let large = Plan::new(7, 10_000_000).on(Hosts::new(1_000_000).share(HostKind::Busy, 0.5));
    assert!(large.url(9_999_999).unwrap().text.ends_with("/p/9999999"));
}

#[test]
fn a_hot_host_has_its_share_of_the_urls() {
    let plan = Plan::new(1, 3_000).on(Hosts::new(31).spread(Spread::Hot { share: 0.4 }));
    let hosts = by_host(&plan);
    assert_eq!(hosts["h0.s1.stoop.test"].len(), 1_200);
    assert!(hosts.iter().all(|(name, urls)| name == "h0.s1.stoop.test" || urls.len() == 60));
}

/// An internet whose hosts are told apart by their names.
async fn start(plan: Plan) -> Internet {
    let options = Options { addresses: HostAddresses::Shared, ..Options::default() };
    Internet::start(plan, options).await.unwrap()
}

/// Sends one request by plain HTTP, and returns what comes, without the date.
async fn ask(internet: &Internet, host: &str, target: &str) -> String {
    let port = internet.planned().ports().http;
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let request = format!("GET {target} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    let answer = String::from_utf8_lossy(&answer);
    let lines = answer.split_inclusive("\r\n").filter(|line| !line.starts_with("date: "));
    lines.collect()
}

/// The host and the target of a URL by plain HTTP that leads nowhere else.
fn plain(url: &PlannedUrl) -> Option<(&str, &str)> {
    let rest = url.text.strip_prefix("http://").filter(|_| url.expect.hops == Some(0))?;
    Some((&url.host, &rest[rest.find('/')?..]))
}

#[tokio::test]
async fn a_robots_txt_is_a_file_an_error_or_absent() {
    let hosts = Hosts::new(3).share(HostKind::Robots, 0.34).share(HostKind::RobotsError, 0.34);
    let internet = start(Plan::new(1, 60).on(hosts).latency(0.0)).await;
    let hosts = by_host(internet.planned());
    let mut answers: Vec<(usize, String)> = Vec::new();
    for (host, urls) in &hosts {
        let forbidden = urls.iter().filter(|url| url.expect.is_forbidden).count();
        answers.push((forbidden, ask(&internet, host, "/robots.txt").await));
    }
    answers.sort();
    assert_eq!(answers[0].0, 0);
    assert_eq!(
        answers[0].1,
        "HTTP/1.1 404 Not Found\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n"
    );
    assert!((1..15).contains(&answers[1].0), "{answers:?}");
    assert_eq!(
        answers[1].1,
        "HTTP/1.1 200 OK\r\nserver: stoop-testbed\r\ncontent-type: text/plain\r\n\
         content-length: 34\r\nconnection: close\r\n\r\nUser-agent: *\nDisallow: /private/\n"
    );
    assert_eq!(answers[2].0, 20, "all of its URLs");
    assert_eq!(
        answers[2].1,
        "HTTP/1.1 503 Service Unavailable\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n\
         content-length: 0\r\nconnection: close\r\n\r\n"
    );
}

#[tokio::test]
async fn a_forbidden_page_is_at_its_path_and_at_no_other() {
    let hosts = Hosts::new(2).share(HostKind::Robots, 1.0);
    let internet = start(Plan::new(1, 400).on(hosts).latency(0.0).body(0.001)).await;
    let plan = internet.planned().clone();
    let is_ok = |url: &PlannedUrl| url.expect.over_http1().result.is_met_by("200", body(url));
    let urls = plan.iter().filter(|url| is_ok(url) && url.index > 1);
    let mut seen = [0; 2];
    for url in urls {
        let Some((host, target)) = plain(&url) else { continue };
        assert_eq!(target.starts_with("/private/p/"), url.expect.is_forbidden, "{target}");
        seen[usize::from(url.expect.is_forbidden)] += 1;
        assert!(ask(&internet, host, target).await.starts_with("HTTP/1.1 200 OK\r\n"), "{target}");
        let other = match target.strip_prefix("/private") {
            Some(other) => other.to_owned(),
            None => format!("/private{target}"),
        };
        assert!(ask(&internet, host, &other).await.starts_with("HTTP/1.1 404 "), "{other}");
    }
    assert!(seen[0] > 0 && seen[1] > 0, "{seen:?}");
}

fn body(url: &PlannedUrl) -> u64 {
    match url.expect.result {
        PlannedResult::Status { body, .. } => body,
        PlannedResult::Failure { .. } => 0,
    }
}

#[tokio::test]
async fn a_busy_host_says_how_long_and_recovers_when_that_is_over() {
    let hosts = Hosts::new(400).share(HostKind::Busy, 1.0).retry_after(2);
    let internet = start(Plan::new(1, 400).on(hosts).latency(0.0).body(0.001)).await;
    let plan = internet.planned().clone();
    let mut seen = HashSet::new();
    let urls: Vec<PlannedUrl> = plan
        .iter()
        .filter(|url| plain(url).is_some())
        .filter(|url| match url.expect.result {
            PlannedResult::Status { code, .. } => seen.insert(code),
            PlannedResult::Failure { .. } => false,
        })
        .collect();
    assert_eq!(seen, HashSet::from([429, 503]));
    let begun = Instant::now();
    for url in &urls {
        let (host, target) = plain(url).unwrap();
        let status = match url.expect.result.is_met_by("429", 0) {
            true => "429 Too Many Requests",
            false => "503 Service Unavailable",
        };
        let expected = format!(
            "HTTP/1.1 {status}\r\nserver: stoop-testbed\r\ncontent-type: text/html\r\n\
             retry-after: 2\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
        );
        assert_eq!(ask(&internet, host, target).await, expected);
        let again = ask(&internet, host, target).await;
        let too_early = begun.elapsed() < Duration::from_secs(2);
        assert!(!too_early || again.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{again}");
        // Another path of the same host is answered.
        assert!(ask(&internet, host, "/robots.txt").await.starts_with("HTTP/1.1 404 "));
    }
    tokio::time::sleep(Duration::from_millis(2_100)).await;
    for url in &urls {
        let (host, target) = plain(url).unwrap();
        let answer = ask(&internet, host, target).await;
        let PlannedResult::Status { code, .. } = url.expect.with_retries().result else { panic!() };
        assert!(answer.starts_with(&format!("HTTP/1.1 {code} ")), "{answer}");
        assert!(!answer.contains("retry-after"), "{answer}");
    }
}

/// Every kind of host, with a client that is not polite and does not ask again; then once more, when busy
/// hosts have recovered.
#[tokio::test]
async fn every_url_of_hosts_with_many_ends_as_planned() {
    let mut hosts = Hosts::new(60).share(HostKind::Busy, 0.1).share(HostKind::Robots, 0.1);
    for kind in HostKind::all().filter(|kind| matches!(kind, HostKind::Fails(_))) {
        hosts = hosts.share(kind, 1.0 / 60.0);
    }
    let plan = Plan::new(3, 240).on(hosts.spread(Spread::Hot { share: 0.2 }));
    let internet =
        Internet::start(plan.latency(0.02).body(0.05), Options::default()).await.unwrap();
    let urls: Vec<PlannedUrl> = internet.planned().iter().collect();
    let classes: HashSet<Class> = urls.iter().map(|url| url.class).collect();
    assert!(classes.len() >= 23 + 2, "{classes:?}");
    let deadline = Duration::from_secs(2);
    let outcomes = fetch_all(&internet, urls.clone(), 80, deadline).await;
    assert_as_planned(urls.iter().cloned(), &outcomes);
    let mut busy = urls;
    busy.retain(|url| url.expect.retried.is_some());
    busy.iter_mut().for_each(|url| url.expect = url.expect.with_retries());
    assert!(busy.len() >= 6);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let outcomes = fetch_all(&internet, busy.clone(), 80, deadline).await;
    assert_as_planned(busy.into_iter(), &outcomes);
}
