//! Tests that fetch the synthetic internet: every URL has its planned outcome, in time.

use std::collections::HashMap;
use std::process::{Command, Stdio};
use std::time::Duration;

use stoop_testbed::{Internet, Log, Options, Plan, Spans};

use crate::stoop::{CommandResult, OutputLine, feed, finish_watched, kill, run, stoop, wait_for};

/// A synthetic internet, and the options to fetch it with.
struct InternetRun {
    plan: Plan,
    concurrency: u64,
    timeout: Duration,
}

impl InternetRun {
    /// Fetches all of it, and checks every line, every deadline and the number of connections.
    /// Returns the most memory it took, in KiB.
    fn run(self) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let log = Log::memory();
        let options = Options { log: log.clone(), ..Options::default() };
        let internet = runtime.block_on(Internet::start(self.plan.clone(), options));
        let internet = internet.expect("loopback");
        let name = format!("stoop-{}-{}.pem", std::process::id(), self.concurrency);
        let ca = std::env::temp_dir().join(name);
        std::fs::write(&ca, internet.ca_pem()).expect("writable");

        let line = format!(
            "fetch -c {} -t {} --dns {} --cacert {} --summary json",
            self.concurrency,
            self.timeout.as_secs_f64(),
            internet.dns_addr(),
            ca.display()
        );
        let mut child = stoop(&line).spawn().expect("it runs");
        feed(&mut child, internet.list().map(|url| url + "\n").collect::<String>());
        let (ran, peak_kib) = finish_watched(child);
        std::fs::remove_file(&ca).expect("ours");
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        println!("{}, {peak_kib} KiB", ran.stderr.trim_end());

        self.check_lines(&internet, &ran);
        let stats = runtime.block_on(internet.stop()).expect("stopped");
        println!("{stats:?}");
        assert!(stats.open_peak <= self.concurrency + 64, "{stats:?}");
        assert_eq!(log.lost(), 0);
        let mut spans = Spans::default();
        spans.extend(&log.entries());
        // Seen by the servers, and so a little later: both ends share this machine.
        let late: Vec<_> = spans.longer_than(self.latest() + Duration::from_millis(200)).collect();
        assert!(late.is_empty(), "{late:?}");
        peak_kib
    }

    fn check_lines(&self, internet: &Internet, ran: &CommandResult) {
        let all = ran.lines();
        let lines: HashMap<&[u8], &OutputLine> =
            all.iter().map(|line| (&line.url[..], line)).collect();
        assert_eq!((all.len(), lines.len() as u64), (lines.len(), self.plan.urls()));
        let mean = ran.mean_in_flight();
        assert!(mean >= 0.95 * self.concurrency as f64, "{mean} in flight on average");
        let last_start = all.iter().map(OutputLine::start_ms).max().expect("lines");
        let end = all.iter().map(OutputLine::end_ms).max().expect("lines");
        assert!(u128::from(end.abs_diff(last_start)) <= self.latest().as_millis());
        for planned in internet.planned().iter() {
            let line = lines[planned.text.as_bytes()];
            let met = planned.expect.result.is_met_by(&line.code, line.length);
            assert!(met, "{:?} {:?}: {line:?}", planned.class, planned.expect);
            assert!(u128::from(line.duration_ms) <= self.latest().as_millis(), "{line:?}");
        }
    }

    /// The deadline, and its tolerance.
    fn latest(&self) -> Duration {
        self.timeout + (self.timeout / 10).max(Duration::from_millis(50))
    }
}

#[test]
fn every_url_has_its_planned_outcome_in_time() {
    // Servers wait a tenth of the usual, at most 0.25 s, so the deadline is plenty for all that
    // answer, also on a machine that has other things to do.
    let plan = Plan::new(7, 400).latency(0.1).body(0.1);
    InternetRun { plan, concurrency: 50, timeout: Duration::from_secs(3) }.run();
}

/// The full size, which takes half a minute of an otherwise idle machine.
#[test]
#[ignore = "takes half a minute of a quiet machine"]
fn a_run_of_ten_thousand_urls_at_concurrency_1000_takes_64_mib() {
    let plan = Plan::new(1, 10_000);
    let peak = InternetRun { plan, concurrency: 1_000, timeout: Duration::from_secs(5) }.run();
    assert!(peak <= 64 << 10, "{peak} KiB");
}

#[test]
fn the_testbed_writes_its_files_and_prints_where_it_listens() {
    let folder = std::env::temp_dir().join(format!("stoop-testbed-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let [list, ca, log] = ["list", "ca.pem", "log"].map(|name| folder.join(name));
    let line = format!(
        "testbed --seed 3 --urls 40 --latency 0 --body 0.1 --list {} --ca {} --log {}",
        list.display(),
        ca.display(),
        log.display()
    );
    let mut command = stoop(&line);
    command.stdin(Stdio::null());
    let child = command.spawn().expect("it runs");
    wait_for("the list", || list.exists());
    let urls = std::fs::read_to_string(&list).expect("whole once it is there");
    assert_eq!(urls.lines().count(), 40);
    assert!(std::fs::read_to_string(&ca).expect("there").contains("BEGIN CERTIFICATE"));
    kill(&child, "-TERM");
    let ran = crate::stoop::finish(child);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.starts_with("dns=127.0.0.1:") && said.ends_with(" urls=40\n"), "{said}");
    assert!(std::fs::read_to_string(&log).expect("there").lines().count() >= 3);
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn the_testbed_can_be_stopped_while_it_waits_for_a_pipes_reader() {
    let path = std::env::temp_dir().join(format!("stoop-unread-{}", std::process::id()));
    assert!(Command::new("mkfifo").arg(&path).status().expect("it runs").success());
    for option in ["--log", "--ca", "--list"] {
        let mut command = stoop(&format!("testbed --urls 10 {option} {}", path.display()));
        let child = command.stdin(Stdio::null()).spawn().expect("it runs");
        // Usually long enough for it to open the pipe. If it is not, the test passes anyway.
        std::thread::sleep(Duration::from_millis(300));
        kill(&child, "-TERM");
        let ran = crate::stoop::finish(child);
        assert_eq!((ran.code, &ran.stdout[..]), (Some(0), &b""[..]), "{option}: {}", ran.stderr);
    }
    std::fs::remove_file(&path).expect("ours");
}

#[test]
fn the_demo_prints_the_table_the_errors_and_the_next_steps() {
    let ran = run(stoop("demo --urls 100 -t 1"), "");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let text = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(text.contains("│       100 │"), "{text}");
    assert!(text.contains("  total_timeout  "), "{text}");
    assert!(text.contains("  not done within --timeout\n"), "{text}");
    assert!(text.contains("stoop fetch -i urls.txt"), "{text}");
}

#[test]
fn a_port_or_file_that_the_testbed_cannot_use_is_named_with_advice() {
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let taken = tcp.local_addr().expect("bound");
    for (options, named) in [
        (format!("--dns {taken}"), format!("the name server cannot listen at {taken}: ")),
        (
            format!("--http-port {}", taken.port()),
            format!("HTTP cannot listen at {}: ", taken.port()),
        ),
        (
            format!("--https-port {}", taken.port()),
            format!("HTTPS cannot listen at {}: ", taken.port()),
        ),
    ] {
        let ran = run(stoop(&format!("testbed --urls 10 {options}")), "");
        assert_eq!(ran.code, Some(3), "{options}");
        assert!(ran.stderr.contains(&named), "{options}: {}", ran.stderr);
        let option = options.split(' ').next().expect("an option");
        assert!(ran.stderr.contains(option) && ran.stderr.contains("port 0"), "{}", ran.stderr);
    }
    if cfg!(target_os = "linux") {
        let ran = run(stoop("testbed --urls 10 --list /dev/full"), "");
        assert_eq!(ran.code, Some(3));
        assert!(ran.stderr.contains("--list /dev/full: No space left"), "{}", ran.stderr);
    }
    for options in ["--latency nan", "--latency 1001", "--body=-1", "--body inf"] {
        let ran = run(stoop(&format!("testbed {options}")), "");
        assert_eq!(ran.code, Some(2), "{options}");
        assert!(ran.stderr.contains("a factor is a number from 0 to 1"), "{}", ran.stderr);
    }
}
