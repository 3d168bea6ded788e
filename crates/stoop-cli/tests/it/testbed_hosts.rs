//! Tests that fetch a synthetic internet of few hosts with many URLs each: some fail, have a robots.txt, or
//! ask for a pause by Retry-After, and each line is what the plan expects.

use std::collections::HashMap;
use std::process::Stdio;
use std::time::Duration;

use stoop_testbed::{
    EntryKind, Expect, HostKind, Hosts, Internet, Log, LogEntry, Options, Plan, PlannedUrl, Spread,
};

use crate::stoop::{CommandResult, OutputLine, finish, kill, run, stoop, wait_for};

/// Few hosts of most kinds; the first ones have most of the URLs. None of them takes a whole deadline.
fn mixed() -> Plan {
    let mut hosts = Hosts::new(40)
        .spread(Spread::Zipf { exponent: 1.0 })
        .share(HostKind::Robots, 0.2)
        .share(HostKind::RobotsError, 0.05)
        .share(HostKind::Busy, 0.1);
    for name in [
        "nx-domain",
        "refused",
        "redirect-to-refused",
        "redirect-loop",
        "untrusted-certificate",
        "tls-close",
        "early-close",
        "malformed-head",
        "reset-mid-body",
        "truncated-length",
    ] {
        hosts = hosts.share(name.parse().expect("a kind of host"), 0.025);
    }
    Plan::new(5, 600).on(hosts).latency(0.02).body(0.02)
}

/// Fetches all of a plan with these options. Returns its URLs, with their ports, the result, and the log of
/// the servers.
fn fetched(plan: Plan, options: &str) -> (Vec<PlannedUrl>, CommandResult, Vec<LogEntry>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let log = Log::memory();
    let settings = Options { log: log.clone(), ..Options::default() };
    let internet = runtime.block_on(Internet::start(plan, settings)).expect("loopback");
    let name = format!("stoop-hosts-{}-{}.pem", std::process::id(), internet.dns_addr().port());
    let ca = std::env::temp_dir().join(name);
    std::fs::write(&ca, internet.ca_pem()).expect("writable");
    let dns = internet.dns_addr();
    let line =
        format!("fetch -f csv -t 5 --summary none --dns {dns} --cacert {} {options}", ca.display());
    let ran = run(stoop(&line), internet.list().map(|url| url + "\n").collect::<String>());
    std::fs::remove_file(&ca).expect("ours");
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let urls = internet.planned().iter().collect();
    runtime.block_on(internet.stop()).expect("stopped");
    (urls, ran, log.entries())
}

/// One overwrote what the other wrote.
#[test]
fn each_file_of_the_testbed_has_one_option() {
    let file = std::env::temp_dir().join(format!("stoop-testbed-{}", std::process::id()));
    let shown = file.display();
    for (options, expected) in [
        (format!("--list {shown} --expected {shown}"), "--list and --expected are the same file"),
        (format!("--ca {shown} --log {shown}"), "--ca and --log are the same file"),
    ] {
        let ran = run(stoop(&format!("testbed --urls 1 {options}")), "");
        assert_eq!((ran.code, ran.stdout.len()), (Some(2), 0), "{}", ran.stderr);
        assert!(ran.stderr.contains(expected), "{}", ran.stderr);
        assert!(!file.exists());
    }
}

/// How many lines have each code; each line is what `expect` makes of the plan.
fn checked(options: &str, expect: impl Fn(Expect) -> Expect) -> HashMap<String, usize> {
    let (urls, ran, _) = fetched(mixed(), options);
    let all = ran.lines();
    let lines: HashMap<&[u8], &OutputLine> = all.iter().map(|line| (&line.url[..], line)).collect();
    assert_eq!((all.len(), lines.len()), (urls.len(), urls.len()));
    let mut codes = HashMap::new();
    for url in urls {
        let line = lines[url.text.as_bytes()];
        let expected = expect(url.expect);
        let met = expected.is_met_by(&line.code, line.length);
        assert!(met, "{options} {:?} {expected:?}: {line:?}", url.class);
        *codes.entry(line.code.clone()).or_insert(0) += 1;
    }
    codes
}

#[test]
fn each_url_of_hosts_with_many_has_its_planned_outcome() {
    let codes = checked("", |expect| expect);
    assert!(codes["429"] + codes["503"] >= 4, "a busy host asks for a pause once: {codes:?}");
    assert!(!codes.contains_key("robots_denied"), "{codes:?}");
}

#[test]
fn what_robots_txt_forbids_is_what_the_plan_says() {
    let codes = checked("--robots", Expect::with_robots);
    let denied = mixed().iter().filter(|url| url.expect.is_forbidden).count();
    assert!(denied > 20 && codes["robots_denied"] >= denied, "{denied}: {codes:?}");
}

#[test]
fn a_busy_url_that_is_tried_again_is_answered_as_planned() {
    let codes = checked("--retry 1", Expect::with_retries);
    assert!(!codes.contains_key("429") && !codes.contains_key("503"), "{codes:?}");
}

#[test]
fn a_busy_host_gets_no_request_in_the_time_that_it_asks_for() {
    let hosts = Hosts::new(4).share(HostKind::Busy, 1.0).retry_after(2);
    let plan = Plan::new(2, 40).on(hosts).latency(0.02).body(0.02);
    let (_, _, mut log) = fetched(plan, "--per-host 1");
    log.retain(|entry| entry.kind == EntryKind::Exchange);
    log.sort_by_key(|entry| entry.begin);
    let mut pauses = 0;
    for (index, busy) in log.iter().enumerate() {
        if !matches!(busy.status, Some(429 | 503)) {
            continue;
        }
        let next = log[index + 1..].iter().find(|entry| entry.host == busy.host);
        let Some(came) = next.and_then(|entry| entry.head) else { continue };
        assert!(came - busy.end >= Duration::from_millis(1_999), "{busy:?} {next:?}");
        pauses += 1;
    }
    assert!(pauses >= 2, "{log:?}");
}

#[test]
fn the_testbed_tells_the_hosts_of_its_options_and_what_it_expects() {
    let folder = std::env::temp_dir().join(format!("stoop-testbed-hosts-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("writable");
    let [list, expected] = ["list", "expected"].map(|name| folder.join(name));
    let line = format!(
        "testbed --urls 100 --hosts 10 --hot 40% --share robots=20% --share busy=0.3 --retry-after 7 \
         --list {} --expected {}",
        list.display(),
        expected.display()
    );
    let mut command = stoop(&line);
    let child = command.stdin(Stdio::null()).spawn().expect("it runs");
    wait_for("the list", || list.exists());
    let text = std::fs::read_to_string(&expected).expect("written before the list");
    kill(&child, "-TERM");
    assert_eq!(finish(child).code, Some(0));
    let hosts = Hosts::new(10).spread(Spread::Hot { share: 0.4 });
    let hosts = hosts.share(HostKind::Robots, 0.2).share(HostKind::Busy, 0.3);
    let plan = Plan::new(1, 100).on(hosts);
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0][..4], ["url", "class", "codes", "length"]);
    assert_eq!(rows.len(), 101);
    let urls = std::fs::read_to_string(&list).expect("there");
    for ((row, url), planned) in rows[1..].iter().zip(urls.lines()).zip(plan.iter()) {
        assert_eq!(row[0], url);
        assert!(url.contains(&planned.host), "{url} {planned:?}");
        assert!(planned.expect.is_met_by(row[2], row[3].parse().unwrap_or(0)), "{row:?}");
        assert_eq!(row[8] == "robots_denied", planned.expect.is_forbidden, "{row:?}");
        assert_eq!(!row[9].is_empty(), planned.expect.retried.is_some(), "{row:?}");
    }
    let hot = urls.lines().filter(|url| url.contains("//h0.") || url.contains("//www-h0.")).count();
    assert_eq!(hot, 40);
    std::fs::remove_dir_all(&folder).expect("ours");
}

#[test]
fn options_of_hosts_that_cannot_be_are_refused_with_what_is_right() {
    for (options, said) in [
        ("--hot 20%", "--hosts"),
        ("--hosts 9 --hot 20", "a share is a number from 0% to 100%"),
        ("--hosts 9 --hot 20% --zipf 1", "cannot be used with"),
        ("--hosts 9 --zipf 5", "from 0 to 4"),
        ("--hosts 9 --share busy", "busy=10%"),
        ("--hosts 9 --share bsy=1%", "there are: good, robots, robots-error, busy, failing,"),
        ("--hosts 9 --share busy=60% --share robots=0.5", "110% of the hosts together"),
        ("--hosts 9 --retry-after 0", "from 1 to 86400"),
        ("--retry-after 3", "--hosts"),
    ] {
        let ran = run(stoop(&format!("testbed {options}")), "");
        assert_eq!(ran.code, Some(2), "{options}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{options}: {}", ran.stderr);
    }
}

#[test]
fn the_help_lists_each_kind_of_host() {
    let ran = run(stoop("testbed --help"), "");
    let help = String::from_utf8(ran.stdout).expect("text");
    for kind in HostKind::all() {
        let is_listed = help.split_whitespace().any(|word| word == kind.to_string());
        assert!(is_listed, "{kind} is missing");
    }
}
