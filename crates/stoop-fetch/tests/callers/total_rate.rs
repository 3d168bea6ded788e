//! The rate of all requests of a run, whatever they are sent for and to whatever hosts.

use std::io::Cursor;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use stoop::{Request, Response, Retries, StatusCode};
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::{DistinctIds, JobSource, JsonJobs, Lines};
use stoop_fetch::{Bottleneck, Concurrency, Fetch, Finished, Politeness};

use super::{LIMIT, Written, run};

/// When each request came.
type Log = Arc<Mutex<Vec<Instant>>>;

fn with_status(status: u16) -> Response {
    Response::from_text("").with_status(StatusCode::from_u16(status).expect("a status"))
}

/// All hosts: `/to/HOST` redirects there, a path that has `busy` is answered 500 every other time, and robots.txt disallows
/// `/private`.
fn hosts(log: &Log) -> impl Fn(Request) -> Response + Clone + Send + Sync + 'static {
    let log = Arc::clone(log);
    move |request: Request| {
        let number = {
            let mut log = log.lock().expect("no panic");
            log.push(Instant::now());
            log.len()
        };
        match request.path() {
            "/robots.txt" => Response::from_text("User-agent: *\nDisallow: /private\n"),
            "/busy" if number % 2 == 1 => with_status(500),
            path => match path.strip_prefix("/to/") {
                Some(host) => {
                    let to = format!("http://{host}/");
                    with_status(302).with_field("location", to).expect("a field")
                }
                None => Response::from_text("here"),
            },
        }
    }
}

fn fetch(log: &Log, polite: Politeness) -> Fetch {
    let hosts = hosts(log);
    let retries = Retries::up_to(9).budget_percent(100);
    let retries = retries.delay(Duration::from_millis(1), Duration::from_millis(1));
    let configure =
        move |client: stoop::ClientBuilder| client.retries(retries.clone()).handler(hosts.clone());
    Fetch::new().workers(3).politeness(polite).timeout(LIMIT).client(configure)
}

fn fetched(log: &Log, polite: Politeness, list: String) -> Finished {
    fetched_of(log, polite, Lines::new(Cursor::new(list)))
}

fn fetched_of(log: &Log, polite: Politeness, source: impl JobSource + 'static) -> Finished {
    let finished = run(fetch(log, polite), source, JsonLines::new(), Written::default());
    finished.check().expect("nothing went wrong");
    finished
}

/// A request may come late on a busy machine, and the next in time: so none may come earlier than its place allows.
#[test]
fn all_requests_of_a_run_have_one_rate() {
    let interval = Duration::from_millis(25);
    for per_host in [1, 100] {
        let (log, begun) = (Log::default(), Instant::now());
        let mut list: String = (0..12).map(|n| format!("http://host{n}/\n")).collect();
        list.extend((0..6).map(|n| format!("http://from{n}/to/to{n}\n")));
        list.extend((0..6).map(|n| format!("http://busy{n}/busy\n")));
        let polite = Politeness::default().per_host(per_host).total_interval(interval);
        let finished = fetched(&log, polite, list);
        assert_eq!((finished.figures().total_urls, finished.figures().ok), (24, 24));
        let log = log.lock().expect("no panic").clone();
        assert!(log.len() >= 30, "{}", log.len());
        for (n, came) in (0..).zip(&log) {
            assert!(came.duration_since(begun) >= interval * n, "{n} of {log:?}");
        }
    }
}

#[test]
fn what_is_not_sent_takes_no_place() {
    let log = Log::default();
    let mut list: String = (0..200).map(|n| format!("http://a/private/{n}\n")).collect();
    list.push_str("http://a/public\n");
    list.extend((0..200).map(|n| format!("http://[{n}\n")));
    let interval = Duration::from_millis(500);
    let finished = fetched(&log, Politeness::default().robots("a").total_interval(interval), list);
    // With a place for each that would take 200 s.
    let kinds = finished.summary.kinds();
    assert_eq!(kinds, [("invalid_url", 200), ("robots_denied", 200)]);
    assert_eq!((finished.figures().ok, log.lock().expect("no panic").len()), (1, 2));
}

/// They took the places of requests.
#[test]
fn jobs_that_are_none_take_no_place_though_their_urls_are_right() {
    let log = Log::default();
    let fields = r#"{"url": "http://a/", "headers": {"content-length": "7"}, "id": "#;
    let method = r#"{"url": "http://a/", "method": "CONNECT", "id": "#;
    let again = r#"{"url": "http://a/", "id": "#;
    let mut list = format!("{again}0}}\n");
    for n in 1..=100 {
        list.push_str(&format!("{fields}{n}}}\n{method}{}}}\n{again}0}}\n", 1000 + n));
    }
    list.push_str(&format!("{again}101}}\n"));
    let polite = Politeness::default().total_interval(Duration::from_millis(500));
    let jobs = DistinctIds::new(JsonJobs::new(Cursor::new(list)));
    let begun = Instant::now();
    let finished = fetched_of(&log, polite, jobs);
    // With a place for each that would take 150 s.
    assert!(begun.elapsed() < LIMIT);
    assert_eq!(finished.summary.kinds(), [("invalid_job", 300)]);
    assert_eq!((finished.figures().ok, log.lock().expect("no panic").len()), (2, 2));
}

#[test]
fn the_rate_is_what_limits_a_run_and_the_end_does_not_wait_for_it() {
    let log = Log::default();
    let polite = Politeness::default().total_interval(Duration::from_secs(3_600));
    let list: String = (0..300).map(|n| format!("http://host{n}/\n")).collect();
    let begun = Instant::now();
    let run = fetch(&log, polite)
        .concurrency(Concurrency::auto())
        .start(Lines::new(Cursor::new(list)), JsonLines::new(), Written::default())
        .expect("it starts");
    let is_limited = || {
        let progress = run.progress();
        progress.done == 1 && progress.bottleneck == Some(Bottleneck::Rate)
    };
    while !is_limited() {
        assert!(begun.elapsed() < LIMIT, "{:?}", run.progress());
        thread::sleep(Duration::from_millis(5));
    }
    // Long enough for the search to raise what it takes to be short of.
    thread::sleep(Duration::from_millis(600));
    let progress = run.progress();
    assert_eq!((progress.in_flight, progress.in_flight_max), (0, 100));
    run.stop();
    let finished = run.wait();
    assert_eq!((finished.figures().ok, finished.summary.kinds()), (1, vec![("cancelled", 299)]));
    assert!(begun.elapsed() < LIMIT);
    assert_eq!(log.lock().expect("no panic").len(), 1);
}
