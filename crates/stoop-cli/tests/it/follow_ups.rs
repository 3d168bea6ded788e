//! Requests that follow from others, redirects and retries, keep to what their hosts are given: by the log of the hosts.

use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::server::refusing;
use crate::stoop::{feed, finish, kill, peak_kib, run, stoop, wait_for};
#[cfg(target_os = "linux")]
use crate::terminal::run_on_terminal;

/// A host that redirects `/?URL` to the URL, answers the first requests of `/busy` and what is below it by 429 and `Retry-After: 1`, and
/// everything else by 200 after some time.
struct Host {
    address: SocketAddr,
    log: Arc<Mutex<Vec<Visit>>>,
    /// While this is true, nothing is answered but redirects.
    is_silent: Arc<AtomicBool>,
}

/// A request as a host saw it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    came: Instant,
    answered: Instant,
    path: String,
}

impl Host {
    /// A host at an address of its own that takes `time` for what is no redirect, and answers so many requests by 429.
    fn start(address: [u8; 4], time: Duration, busy: usize) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::from(address), 0)).expect("a free port");
        let address = listener.local_addr().expect("bound");
        let (log, is_silent) = (Arc::<Mutex<Vec<Visit>>>::default(), Arc::<AtomicBool>::default());
        let kept = (Arc::clone(&log), Arc::clone(&is_silent));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (log, is_silent) = kept.clone();
                thread::spawn(move || answer(stream, &log, &is_silent, time, busy));
            }
        });
        Self { address, log, is_silent }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// The requests in the order in which they came.
    fn visits(&self) -> Vec<Visit> {
        let mut log = self.log.lock().expect("no panic").clone();
        log.sort();
        log
    }

    /// Whether each request came at least an interval after the one before was sent, in a run that began then. A request
    /// may come late on a busy machine, and the next in time: so none may come earlier than its place allows.
    fn kept_interval(&self, interval: Duration, begun: Instant) -> bool {
        let visits = self.visits();
        (0..).zip(&visits).all(|(n, visit)| visit.came.duration_since(begun) >= interval * n)
    }
}

fn answer(
    stream: TcpStream,
    log: &Mutex<Vec<Visit>>,
    is_silent: &AtomicBool,
    time: Duration,
    busy: usize,
) {
    let mut lines = BufReader::new(stream.try_clone().expect("a descriptor")).lines();
    let mut stream = stream;
    while let Some(Ok(line)) = lines.next() {
        let path = line.split(' ').nth(1).expect("a request line").to_owned();
        if !lines.by_ref().map_while(Result::ok).any(|line| line.is_empty()) {
            return;
        }
        let came = Instant::now();
        let head = match path.split_once('?') {
            Some(("/", to)) => format!("302 Found\r\nlocation: {to}"),
            _ => {
                thread::sleep(time);
                while is_silent.load(Relaxed) {
                    thread::sleep(Duration::from_millis(10));
                }
                "200 OK".to_owned()
            }
        };
        let head = {
            let mut log = log.lock().expect("no panic");
            let is_busy = path.starts_with("/busy") && log.len() < busy;
            log.push(Visit { came, answered: Instant::now(), path });
            if is_busy { "429 Busy\r\nretry-after: 1".to_owned() } else { head }
        };
        let response = format!("HTTP/1.1 {head}\r\ncontent-length: 0\r\n\r\n");
        if stream.write_all(response.as_bytes()).is_err() {
            return;
        }
    }
}

/// The codes of the records, sorted.
fn codes(options: &str, list: String) -> Vec<String> {
    let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), list);
    assert_eq!(ran.code, Some(0), "{options}");
    let mut codes: Vec<_> = ran.lines().into_iter().map(|line| line.code).collect();
    codes.sort();
    codes
}

#[cfg(target_os = "linux")]
#[test]
fn progress_tells_how_many_wait_for_their_hosts() {
    let goal = Host::start([127, 0, 4, 60], Duration::ZERO, 0);
    // Each at an address of its own, so that all are redirected at once.
    let hosts = (61..65).map(|n| Host::start([127, 0, 4, n], Duration::ZERO, 0));
    let urls: Vec<_> = hosts.map(|host| host.url(&format!("/?{}", goal.url("/")))).collect();
    let line = format!("fetch --host-interval 1 --summary none '{}'", urls.join("' '"));
    let Some(text) = run_on_terminal(120, &[], &line) else { return };
    assert!(text.contains(" in flight, 3 waiting (limit: "), "{text:?}");
    assert_eq!(goal.visits().len(), 4);
}

#[test]
fn redirects_to_the_same_host_keep_to_its_interval() {
    let host = Host::start([127, 0, 4, 1], Duration::ZERO, 0);
    let list: String =
        (0..4).map(|n| host.url(&format!("/?{}\n", host.url(&format!("/{n}"))))).collect();
    let begun = Instant::now();
    assert_eq!(codes("--host-interval 0.1", list), ["200"; 4]);
    assert_eq!(host.visits().len(), 8);
    assert!(host.kept_interval(Duration::from_millis(100), begun), "{:?}", host.visits());
}

#[test]
fn redirects_from_many_hosts_are_no_more_at_once_than_the_other_host_is_given() {
    for cores in 1..=2 {
        let to = Host::start([127, 0, 4, 2], Duration::from_millis(20), 0);
        let from: Vec<_> =
            (0..12).map(|n| Host::start([127, 0, 5, n], Duration::ZERO, 0)).collect();
        let redirects = from.iter().map(|host| host.url(&format!("/?{}", to.url("/x"))));
        let list: String = redirects
            .chain((0..6).map(|n| to.url(&format!("/{n}"))))
            .map(|url| url + "\n")
            .collect();
        assert_eq!(codes(&format!("--per-host 1 --cores {cores}"), list), ["200"; 18]);
        let visits = to.visits();
        assert_eq!(visits.len(), 18, "{cores}");
        assert!(visits.windows(2).all(|pair| pair[0].answered <= pair[1].came), "{visits:?}");
    }
}

#[test]
fn the_time_in_which_a_redirect_waits_is_no_part_of_the_deadline_or_the_duration() {
    let to = Host::start([127, 0, 4, 3], Duration::ZERO, 0);
    let from: Vec<_> = (0..5).map(|n| Host::start([127, 0, 6, n], Duration::ZERO, 0)).collect();
    let list: String = from.iter().map(|host| host.url(&format!("/?{}\n", to.url("/")))).collect();
    let begun = Instant::now();
    let options = "fetch -f csv --summary none --host-interval 0.5 --timeout 1";
    let ran = run(stoop(options), list);
    assert!(begun.elapsed() >= Duration::from_millis(1_900));
    let lines = ran.lines();
    assert!(lines.iter().all(|line| line.code == "200"), "{lines:?}");
    assert!(lines.iter().all(|line| line.duration_ms < 1_000), "{lines:?}");
    assert!(to.kept_interval(Duration::from_millis(500), begun), "{:?}", to.visits());
}

#[test]
fn a_host_that_asks_for_less_is_left_alone_though_the_request_is_sent_again() {
    let host = Host::start([127, 0, 4, 4], Duration::ZERO, 1);
    let list: String = ["/busy", "/1", "/2", "/3"].map(|path| host.url(path) + "\n").concat();
    assert_eq!(codes("--per-host 1 --retry 1", list), ["200"; 4]);
    let visits = host.visits();
    let paths: Vec<_> = visits.iter().map(|visit| visit.path.as_str()).collect();
    // The job keeps its place while it waits.
    assert_eq!(paths, ["/busy", "/busy", "/1", "/2", "/3"]);
    let pause = visits[1].came.duration_since(visits[0].answered);
    assert!(pause >= Duration::from_millis(990), "{pause:?}");
    let host = Host::start([127, 0, 4, 5], Duration::ZERO, 1);
    let list: String = ["/busy", "/1", "/2", "/3"].map(|path| host.url(path) + "\n").concat();
    let begun = Instant::now();
    assert_eq!(codes("--host-interval 0.2 --retry 1", list), ["200"; 4]);
    let visits = host.visits();
    let pause = visits[1].came.duration_since(visits[0].answered);
    assert!(pause >= Duration::from_millis(990), "others wait as well: {visits:?}");
    assert!(host.kept_interval(Duration::from_millis(200), begun), "{visits:?}");
}

/// The answers had the records of URLs that were never asked for, without their status and attempts.
#[test]
fn a_url_that_was_answered_has_that_record_though_its_host_is_given_up_before_the_retry() {
    for (n, options) in (80..).zip(["-c 2", "--per-host 2 --cores 1", "-c 2 --host-interval 0.01"])
    {
        let host = Host::start([127, 0, 4, n], Duration::ZERO, usize::MAX);
        let list: String = (0..6).map(|n| host.url(&format!("/busy/{n}\n"))).collect();
        let options = format!("{options} --retry 5 --host-overload-max 1 -t 60");
        let ran = run(stoop(&format!("fetch -f jsonl --summary none {options}")), list);
        let visits = host.visits();
        let records: Vec<Value> = String::from_utf8_lossy(&ran.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(records.len(), 6, "{options}");
        for record in &records {
            let path = record["url"].as_str().expect("a URL").split_once("/busy").expect("it is").1;
            let asked = visits.iter().filter(|visit| visit.path.ends_with(path)).count();
            let told = (&record["status"], &record["error_kind"], &record["attempts"]);
            let attempts = if asked > 1 { Value::from(asked) } else { Value::Null };
            let expected = match asked {
                0 => (&Value::Null, &Value::from("host_suspended"), &Value::Null),
                _ => (&Value::from(429), &Value::Null, &attempts),
            };
            assert_eq!(told, expected, "{options}: {record}");
        }
        let suspended = records.iter().filter(|record| record["status"].is_null()).count();
        assert!((1..6).contains(&suspended), "{options}: {suspended}");
    }
}

#[test]
fn a_redirect_to_a_host_that_is_left_alone_is_not_followed() {
    let from = Host::start([127, 0, 4, 6], Duration::ZERO, 0);
    let dead = refusing();
    let list: String = (0..30).map(|n| from.url(&format!("/?http://{dead}/{n}\n"))).collect();
    let codes = codes("--per-host 1 --host-failures 3 --host-outage-max 0", list);
    let count = |code: &str| codes.iter().filter(|it| *it == code).count();
    assert_eq!(count("connect_refused") + count("host_suspended"), 30, "{codes:?}");
    assert!(count("host_suspended") >= 20, "{codes:?}");
    assert_eq!(from.visits().len(), 30, "the host that redirects answers");
}

#[test]
fn redirects_to_names_of_one_address_are_no_more_at_once_than_that_is_given() {
    for cores in 1..=2 {
        let to = Host::start([127, 0, 4, 7], Duration::from_millis(20), 0);
        let (ip, port) = (to.address.ip(), to.address.port());
        let from: Vec<_> =
            (0..12).map(|n| Host::start([127, 0, 8, n], Duration::ZERO, 0)).collect();
        // Each to a name that is known from the list, or not yet.
        let name = |n: usize| format!("http://n{n}.test:{port}");
        let redirects =
            from.iter().enumerate().map(|(n, host)| host.url(&format!("/?{}/to", name(n))));
        let list: String = redirects
            .chain((0..6).map(|n| format!("{}/{n}", name(n))))
            .map(|url| url + "\n")
            .collect();
        let resolve: String =
            (0..12).map(|n| format!(" --resolve n{n}.test:{port}:{ip}")).collect();
        let options = format!("--per-host 1 --by-address --cores {cores} {resolve}");
        assert_eq!(codes(&options, list), ["200"; 18]);
        let visits = to.visits();
        assert_eq!(visits.len(), 18, "{cores}");
        assert!(visits.windows(2).all(|pair| pair[0].answered <= pair[1].came), "{visits:?}");
    }
}

/// The most requests that were under way at once, by the logs of the hosts.
fn most_at_once<'a>(hosts: impl IntoIterator<Item = &'a Host>) -> usize {
    let visits: Vec<_> = hosts.into_iter().flat_map(Host::visits).collect();
    let at = |then: Instant| {
        visits.iter().filter(|visit| visit.came <= then && then < visit.answered).count()
    };
    visits.iter().map(|visit| at(visit.came)).max().unwrap_or(0)
}

#[test]
fn jobs_that_wait_for_a_turn_hold_up_no_others_and_no_more_are_in_flight_than_asked_for() {
    for cores in 1..=2 {
        let host = |n| Host::start([127, 0, 9, n], Duration::from_millis(20), 0);
        let slow = host(0);
        let (from, others): (Vec<_>, Vec<_>) =
            ((1..5).map(host).collect(), (5..21).map(host).collect());
        let redirects = (0..)
            .zip(&from)
            .map(|(n, host)| host.url(&format!("/?{}", slow.url(&format!("/{n}")))));
        let list: String = redirects
            .chain(others.iter().map(|host| host.url("/")))
            .map(|url| url + "\n")
            .collect();
        let options = format!("-c 2 --host-interval 1 --cores {cores}");
        assert_eq!(codes(&options, list), ["200"; 20]);
        let visits = slow.visits();
        assert_eq!(visits.len(), 4);
        for page in others.iter().flat_map(Host::visits) {
            assert!(page.came < visits[2].came, "{cores}: {page:?} before {visits:?}");
        }
        assert!(most_at_once(from.iter().chain(&others).chain([&slow])) <= 2, "{cores}");
    }
}

/// Starts a run of redirects to a host that is silent, and waits until so many of them wait for its turn.
fn crowd(urls: usize) -> (Host, Host, Child) {
    let from = Host::start([127, 0, 4, 8], Duration::ZERO, 0);
    let to = Host::start([127, 0, 4, 9], Duration::ZERO, 0);
    to.is_silent.store(true, Relaxed);
    let list: String =
        (0..urls).map(|n| from.url(&format!("/?{}\n", to.url(&format!("/{n}"))))).collect();
    let options = "fetch -f csv --summary none --cores 1 -c 20 --per-host 4 -t 100";
    let mut child = stoop(options).spawn().expect("it runs");
    feed(&mut child, list);
    wait_for("jobs that wait", || from.visits().len() >= WAITING_MAX);
    thread::sleep(Duration::from_millis(300));
    let visits = from.visits().len();
    assert!(visits <= WAITING_MAX + 20, "{visits}");
    (from, to, child)
}

/// How many jobs may wait for turns.
const WAITING_MAX: usize = 2_048;

#[test]
fn a_run_starts_no_more_while_very_many_jobs_wait_for_turns_and_ends_all_the_same() {
    let (_from, to, child) = crowd(4_000);
    assert!(to.visits().is_empty(), "it is silent");
    let peak_kib = peak_kib(child.id());
    assert!(peak_kib < 64 << 10, "{peak_kib} KiB");
    kill(&child, "-INT");
    let lines = finish(child).lines();
    assert!(lines.iter().all(|line| line.code == "cancelled"), "{:?}", &lines[..5]);
    assert_eq!(lines.len(), 4_000);
}

#[test]
fn a_run_goes_on_once_fewer_jobs_wait_for_turns() {
    let (from, to, child) = crowd(3_000);
    to.is_silent.store(false, Relaxed);
    let lines = finish(child).lines();
    assert!(lines.iter().all(|line| line.code == "200"), "{:?}", &lines[..5]);
    assert_eq!((lines.len(), from.visits().len(), to.visits().len()), (3_000, 3_000, 3_000));
}

/// A worker looks at what may be started each half second, if nothing wakes it.
#[test]
fn no_turn_is_given_late() {
    for options in ["-c 1 --cores 2", "-c 3 --cores 4", "--cores 2"] {
        let hosts: Vec<_> =
            (0..8).map(|n| Host::start([127, 0, 10, n], Duration::ZERO, 0)).collect();
        let url = |n: usize| hosts[n % 8].url(&format!("/?{}\n", hosts[(n * 3 + 1) % 8].url("/")));
        let begun = Instant::now();
        let list = (0..64).map(url).collect();
        assert_eq!(codes(&format!("{options} --per-host 1 -t 5"), list), ["200"; 64]);
        assert!(begun.elapsed() < Duration::from_secs(10), "{options}: {:?}", begun.elapsed());
    }
}
