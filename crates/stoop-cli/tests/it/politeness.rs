//! How much is asked of one host, by the log of the hosts.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::ChildStdout;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::server::{Server, refusing};
use crate::stoop::{feed, finish, lines, run, stoop};

/// When each request came to a host, and when its response was sent.
type HostLog = Arc<Mutex<Vec<(Instant, Instant)>>>;

/// Starts a server that takes `time` for each response, the first `busy` of which have the fields `fields` and the
/// status 429.
fn host(log: &HostLog, time: Duration, busy: usize, fields: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let log = Arc::clone(log);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let log = Arc::clone(&log);
            thread::spawn(move || answer(stream, &log, time, busy, fields));
        }
    });
    address
}

fn answer(stream: TcpStream, log: &HostLog, time: Duration, busy: usize, fields: &str) {
    let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    let mut stream = stream;
    while lines.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
        let came = Instant::now();
        thread::sleep(time);
        let number = {
            let mut log = log.lock().expect("no panic");
            log.push((came, Instant::now()));
            log.len()
        };
        let head = match number <= busy {
            true => format!("HTTP/1.1 429 Busy\r\n{fields}"),
            false => "HTTP/1.1 200 OK\r\n".to_owned(),
        };
        if stream.write_all(format!("{head}content-length: 0\r\n\r\n").as_bytes()).is_err() {
            return;
        }
    }
}

/// The log of a host, in the order in which requests came.
fn sorted(log: &HostLog) -> Vec<(Instant, Instant)> {
    let mut log = log.lock().expect("no panic").clone();
    log.sort();
    log
}

/// Whether each request of a run that began then came at least an interval after the one before was sent. A request may come
/// late on a busy machine, and the next in time: so none may come earlier than its place allows.
fn kept_interval(log: &[(Instant, Instant)], interval: Duration, begun: Instant) -> bool {
    (0..).zip(log).all(|(n, (came, _))| came.duration_since(begun) >= interval * n)
}

fn urls(address: SocketAddr, n: usize) -> String {
    (0..n).map(|n| format!("http://{address}/{n}\n")).collect()
}

#[test]
fn a_host_has_eight_in_flight_at_once_or_as_many_as_were_asked_for() {
    for (options, most) in [
        ("", 8),
        ("--per-host 3", 3),
        ("-c 20 --per-host 2", 2),
        ("-c 20", 20),
        ("--no-politeness", 60),
        ("-c 5 --host-interval 0.001", 5),
    ] {
        let server = Server::start();
        let list: String = (0..60).map(|n| server.url(&format!("/delay/60?{n}\n"))).collect();
        let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), list);
        assert_eq!((ran.code, ran.lines().len()), (Some(0), 60), "{options}");
        assert_eq!(server.most_in_flight(), most, "{options}");
    }
}

#[test]
fn the_ports_of_a_host_share_its_limits() {
    let log = HostLog::default();
    let time = Duration::from_millis(20);
    let (first, second) = (host(&log, time, 0, ""), host(&log, time, 0, ""));
    let list = urls(first, 5) + &urls(second, 5);
    let ran = run(stoop("fetch --per-host 1 --cores 2 --summary none"), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 10));
    let log = sorted(&log);
    assert!(log.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{log:?}");
}

#[test]
fn the_names_of_a_domain_share_its_limits_over_all_cores_if_that_is_asked_for() {
    let log = HostLog::default();
    let address = host(&log, Duration::from_millis(20), 0, "");
    let names: Vec<_> = ('a'..='h').map(|name| format!("{name}.example.org")).collect();
    let list: String = names
        .iter()
        .flat_map(|name| (0..2).map(move |n| format!("http://{name}:{}/{n}\n", address.port())))
        .collect();
    let resolve: String = names
        .iter()
        .map(|name| format!(" --resolve {name}:{}:127.0.0.1", address.port()))
        .collect();
    let begun = Instant::now();
    let options = "--by-domain --per-host 1 --host-rate 20 --cores 2 --summary none";
    let ran = run(stoop(&format!("fetch {options}{resolve}")), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 16));
    let log = sorted(&log);
    assert!(log.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{log:?}");
    assert!(kept_interval(&log, Duration::from_millis(50), begun), "{log:?}");
}

#[test]
fn a_hot_host_does_not_starve_the_others() {
    let (hot, other) = (Server::start(), Server::on([127, 0, 3, 1].into()));
    let mut list: String = (0..400).map(|n| hot.url(&format!("/delay/20?{n}\n"))).collect();
    list.extend((0..20).map(|n| other.url(&format!("/ok/1?{n}\n"))));
    let ran = run(stoop("fetch -c 30 --per-host 4 -f csv --summary none --cores 1"), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 420));
    let of_other = other.url("/");
    let last = ran.lines().iter().rposition(|line| line.url.starts_with(of_other.as_bytes()));
    assert!(last.is_some_and(|last| last < 100), "{last:?}");
}

#[test]
fn starts_of_a_host_are_an_interval_apart() {
    for option in ["--host-interval 0.1", "--host-rate 10"] {
        let log = HostLog::default();
        let address = host(&log, Duration::ZERO, 0, "");
        let begun = Instant::now();
        let ran = run(stoop(&format!("fetch --summary none {option}")), urls(address, 6));
        assert_eq!((ran.code, ran.lines().len()), (Some(0), 6));
        let log = sorted(&log);
        let all = log[5].0.duration_since(begun);
        assert!(all < Duration::from_secs(5), "{option}: {all:?}");
        assert!(kept_interval(&log, Duration::from_millis(100), begun), "{option}: {log:?}");
    }
}

#[test]
fn requests_to_all_hosts_have_one_rate() {
    let log = HostLog::default();
    let list: String = (0..4).map(|_| urls(host(&log, Duration::ZERO, 0, ""), 3)).collect();
    let begun = Instant::now();
    let options = "--total-rate 20 --cores 2 --summary none";
    let ran = run(stoop(&format!("fetch {options}")), list);
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 12));
    let log = sorted(&log);
    assert!(kept_interval(&log, Duration::from_millis(50), begun), "{log:?}");
    for options in ["--total-rate 0", "--total-rate 1 --no-politeness"] {
        let ran = run(stoop(&format!("fetch {options} http://127.0.0.1:1/")), "");
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.stderr.contains("--total-rate"), "{options}: {}", ran.stderr);
    }
}

#[test]
fn a_host_that_asks_for_less_is_left_alone_for_as_long_as_it_says() {
    let log = HostLog::default();
    let address = host(&log, Duration::ZERO, 1, "retry-after: 1\r\n");
    let ran = run(stoop("fetch --per-host 1 -f csv --summary none"), urls(address, 4));
    let lines = ran.lines();
    let codes: Vec<_> = lines.iter().map(|line| line.code.as_str()).collect();
    assert_eq!(codes, ["429", "200", "200", "200"]);
    let log = sorted(&log);
    assert!(log[1].0.duration_since(log[0].1) >= Duration::from_millis(999), "{log:?}");
    assert!(log[3].0.duration_since(log[1].0) < Duration::from_millis(900), "{log:?}");
}

#[test]
fn a_retry_after_of_zero_is_no_leave_to_come_back_at_once() {
    let log = HostLog::default();
    let address = host(&log, Duration::ZERO, 2, "retry-after: 0\r\n");
    let ran = run(stoop("fetch --per-host 1 -f csv --summary none"), urls(address, 4));
    let lines = ran.lines();
    let codes: Vec<_> = lines.iter().map(|line| line.code.as_str()).collect();
    assert_eq!(codes, ["429", "429", "200", "200"]);
    let log = sorted(&log);
    for (n, pause) in [(0, 1), (1, 2)] {
        let waited = log[n + 1].0.duration_since(log[n].1);
        assert!(waited >= Duration::from_millis(pause * 1_000 - 1), "{log:?}");
    }
}

#[test]
fn where_politeness_is_lifted_nothing_slows_a_host_down() {
    let log = HostLog::default();
    let address = host(&log, Duration::ZERO, 9, "retry-after: 30\r\n");
    let ran = run(stoop("fetch --summary none -c 1 --no-politeness"), urls(address, 10));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 10));
    let log = sorted(&log);
    assert!(log[9].0.duration_since(log[0].0) < Duration::from_secs(5), "{log:?}");
}

#[test]
fn a_host_slows_the_others_of_a_given_concurrency_down_though_its_request_is_sent_again() {
    let log = HostLog::default();
    let address = host(&log, Duration::from_millis(100), 1, "retry-after: 2\r\n");
    let ran = run(stoop("fetch -f csv --summary none -c 2 --retry 1"), urls(address, 6));
    assert!(ran.lines().iter().all(|line| line.code == "200"), "{:?}", ran.lines());
    let log = sorted(&log);
    // The two that were in flight, perhaps one behind the second of them, and all others.
    assert!(log[3].0.duration_since(log[0].1) >= Duration::from_millis(1_900), "{log:?}");
}

#[test]
fn a_concurrency_that_is_given_lifts_no_more_than_what_each_host_has_in_flight() {
    let log = HostLog::default();
    let address = host(&log, Duration::ZERO, 1, "retry-after: 1\r\n");
    let ran = run(stoop("fetch --summary none -c 1"), urls(address, 2));
    assert_eq!((ran.code, ran.lines().len()), (Some(0), 2));
    let log = sorted(&log);
    assert!(log[1].0.duration_since(log[0].1) >= Duration::from_millis(999), "{log:?}");
}

#[test]
fn a_run_that_ends_while_hosts_pause_answers_what_waits() {
    let log = HostLog::default();
    let address = host(&log, Duration::ZERO, 1, "retry-after: 30\r\n");
    let begun = Instant::now();
    let line = "fetch --per-host 1 --duration 0.5 -f csv --summary none";
    let ran = run(stoop(line), urls(address, 300));
    assert!(begun.elapsed() < Duration::from_secs(10));
    let lines = ran.lines();
    assert_eq!(lines.len(), 300);
    let cancelled = lines.iter().filter(|line| line.code == "cancelled").count();
    assert_eq!(cancelled, 299);
}

/// Has 500 URLs fetched of a host that refuses connections until `is_out` returns, and returns their codes.
fn codes_after_an_outage(
    address: [u8; 4],
    options: &str,
    is_out: impl FnOnce(&mut BufReader<ChildStdout>) -> String,
) -> Vec<String> {
    let free = TcpListener::bind((Ipv4Addr::from(address), 0)).expect("a free port");
    let address = free.local_addr().expect("bound");
    drop(free);
    let line = format!("fetch -f csv --summary none {options}");
    let mut child = stoop(&line).spawn().expect("the binary runs");
    feed(&mut child, urls(address, 500));
    let mut stdout = BufReader::new(child.stdout.take().expect("piped"));
    let mut written = is_out(&mut stdout);
    let _server = Server::at(address);
    stdout.read_to_string(&mut written).expect("text");
    assert_eq!(finish(child).code, Some(0));
    lines(written.as_bytes()).into_iter().map(|line| line.code).collect()
}

#[test]
fn the_urls_of_a_host_that_is_out_for_a_moment_wait_for_it() {
    let codes = codes_after_an_outage([127, 0, 9, 1], "", |stdout| {
        let mut first = String::new();
        stdout.read_line(&mut first).expect("text");
        thread::sleep(Duration::from_millis(300));
        first
    });
    let count = |code: &str| codes.iter().filter(|it| *it == code).count();
    // Those until it is left alone, those in flight then, and those that tried it.
    assert!((1..=20 + 7 + 5).contains(&count("connect_refused")), "{codes:?}");
    assert_eq!(count("connect_refused") + count("200"), 500, "{codes:?}");
}

#[test]
fn requests_that_are_sent_again_wait_for_a_host_that_is_out_as_well() {
    let options = "--retry 20 --retry-budget 100 -t 60";
    let codes = codes_after_an_outage([127, 0, 9, 2], options, |_| {
        thread::sleep(Duration::from_secs(1));
        String::new()
    });
    assert_eq!(codes, vec!["200"; 500]);
}

#[test]
fn a_host_that_is_gone_ends_in_the_time_that_is_named() {
    let list: String = (0..10_000).map(|n| format!("http://{}/{n}\n", refusing())).collect();
    let begun = Instant::now();
    let ran = run(stoop("fetch -f csv --summary none --host-outage-max 2"), list);
    // Those that try it come after one second, and after two.
    assert!(begun.elapsed() >= Duration::from_secs(2), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    let lines = ran.lines();
    let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
    assert!((22..=22 + 7).contains(&count("connect_refused")), "{}", count("connect_refused"));
    assert_eq!(count("connect_refused") + count("host_suspended"), 10_000);
}

#[test]
fn a_host_that_never_answers_is_left_alone_and_others_are_not() {
    let server = Server::start();
    let list: String =
        (0..100).map(|n| format!("http://{}/{n}\n{}\n", refusing(), server.url("/ok/1"))).collect();
    for (options, refused, suspended) in [
        ("--host-outage-max 0", 20, 80),
        ("--host-outage-max 0 --host-failures 5", 5, 95),
        ("--host-failures 0", 100, 0),
        ("-c 8 --host-outage-max 0", 20, 80),
        ("-c 8 --no-politeness", 100, 0),
    ] {
        let ran = run(stoop(&format!("fetch --summary none {options}")), list.as_str());
        let lines = ran.lines();
        let count = |code: &str| lines.iter().filter(|line| line.code == code).count();
        assert_eq!((lines.len(), count("200")), (200, 100), "{options}");
        // Those in flight when the last of them fails have failed as well.
        let tried = count("connect_refused");
        assert!((refused..=refused + 7).contains(&tried) || tried == refused, "{options}: {tried}");
        assert_eq!(tried + count("host_suspended"), 100, "{options}");
        assert!(count("host_suspended") <= suspended, "{options}");
    }
}
