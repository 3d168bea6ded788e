//! Politeness by the log of origins of the testbed that ask for less, or have a robots.txt.

use std::sync::mpsc::{Sender, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use stoop_testbed::{Behaviour, EntryKind, LogEntry, Origin};

use crate::stoop::{run, stoop};

/// How often the thread of an origin looks whether its log is wanted.
const POLL: Duration = Duration::from_millis(5);

/// An origin on a thread of its own.
struct Running {
    url: String,
    log: Sender<Sender<Vec<LogEntry>>>,
}

impl Running {
    fn start(behaviour: Behaviour) -> Self {
        let (sender, receiver) = channel();
        let (log, asked) = channel::<Sender<Vec<LogEntry>>>();
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(async {
                let origin = Origin::start(behaviour).await.expect("loopback");
                sender.send(origin.url()).expect("the test waits");
                loop {
                    match asked.try_recv() {
                        Ok(answer) => answer.send(origin.log()).expect("the test waits"),
                        Err(TryRecvError::Empty) => tokio::time::sleep(POLL).await,
                        Err(TryRecvError::Disconnected) => return,
                    }
                }
            });
        });
        Self { url: receiver.recv().expect("it started"), log }
    }

    /// What was asked for, in the order in which it came.
    fn exchanges(&self) -> Vec<LogEntry> {
        let (sender, receiver) = channel();
        self.log.send(sender).expect("it runs");
        let mut log = receiver.recv().expect("it answers");
        log.retain(|entry| entry.kind == EntryKind::Exchange);
        log.sort_by_key(|entry| entry.begin);
        log
    }
}

fn codes(options: &str, list: String) -> Vec<String> {
    let ran = run(stoop(&format!("fetch -f csv --summary none {options}")), list);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran.lines().into_iter().map(|line| line.code).collect()
}

#[test]
fn a_busy_origin_is_left_alone_for_as_long_as_it_says_each_time() {
    let origin = Running::start(Behaviour::Busy { requests: 2, retry_after: 2 });
    let list: String = (0..6).map(|n| format!("{}{n}\n", origin.url)).collect();
    assert_eq!(codes("-c 1", list), ["429", "429", "200", "200", "200", "200"]);
    let log = origin.exchanges();
    let statuses: Vec<_> = log.iter().filter_map(|entry| entry.status).collect();
    assert_eq!(statuses, [429, 429, 200, 200, 200, 200]);
    for pair in log[..3].windows(2) {
        let came = pair[1].head.expect("a whole head");
        assert!(came - pair[0].end >= Duration::from_millis(1_999), "{log:?}");
    }
}

#[test]
fn a_robots_txt_is_asked_for_once_and_kept_to() {
    let text = "User-agent: *\nDisallow: /no\nCrawl-delay: 1\n".to_owned();
    let origin = Running::start(Behaviour::Robots { text, body: 10 });
    let paths = ["yes/1", "no/1", "yes/2", "no/2", "yes/3"];
    let list: String = paths.iter().map(|path| format!("{}{path}\n", origin.url)).collect();
    let mut codes = codes("--robots", list);
    codes.sort();
    assert_eq!(codes, ["200", "200", "200", "robots_denied", "robots_denied"]);
    let log = origin.exchanges();
    let asked: Vec<_> = log.iter().map(|entry| entry.target.as_str()).collect();
    assert_eq!(asked, ["/robots.txt", "/yes/1", "/yes/2", "/yes/3"]);
    let begun = log[0].begin;
    for (n, entry) in (0..).zip(&log[1..]) {
        // One may be late, and the next in time.
        assert!(entry.head.expect("whole") - begun >= Duration::from_secs(1) * n, "{log:?}");
    }
}
