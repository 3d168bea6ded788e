//! Which job is started next, by a clock that the tests set.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::polite::PoliteQueue;
use super::{Feedback, HostId, Started, Suspension};
use crate::job::Job;
use crate::lane::Batch;
use crate::politeness::{HostGroup, Politeness};
use crate::turns::{Answer, Mail, Ticket, Turn};

pub(super) const SECOND: Duration = Duration::from_secs(1);

/// A queue, what came in for it, and the time.
pub(super) struct Test {
    pub(super) queue: PoliteQueue,
    pub(super) incoming: Batch,
    pub(super) now: Instant,
}

impl Test {
    pub(super) fn new(politeness: Politeness, lines: &[&str]) -> Self {
        let mut test = Self {
            queue: PoliteQueue::new(politeness),
            incoming: Batch::default(),
            now: Instant::now(),
        };
        test.receive(lines);
        test
    }

    pub(super) fn receive(&mut self, lines: &[&str]) {
        for line in lines {
            self.incoming.push(Job::new(line.as_bytes()));
        }
    }

    pub(super) fn start(&mut self) -> Option<(String, Option<HostId>)> {
        let mut started = Started::default();
        let begun = self.queue.start(&mut self.incoming, &mut started, self.now);
        begun.then(|| (String::from_utf8(started.url).expect("text"), started.host))
    }

    /// Takes the next job that is not tried, and why.
    pub(super) fn start_suspended(&mut self) -> Option<Suspension> {
        let mut started = Started::default();
        self.queue.start(&mut self.incoming, &mut started, self.now);
        started.suspension
    }

    /// Starts all that may start now.
    pub(super) fn start_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.start()).map(|(line, _)| line).collect()
    }

    /// A request for the host `a` waits for its turn.
    pub(super) fn want(&mut self, place: Option<HostId>) -> Arc<Ticket> {
        let (turn, ticket) = Turn::new(b"a", place);
        self.queue.take_mail(vec![Mail::Want(turn)], self.now);
        ticket
    }

    pub(super) fn leave(&mut self, host: HostId, feedback: Feedback) {
        let left = Mail::Left { host, start: self.now, feedback };
        self.queue.take_mail(vec![left], self.now);
    }

    /// Gives all turns that may be given now, and returns how many those were.
    pub(super) fn give_turns(&mut self) -> usize {
        self.queue.take_mail(Vec::new(), self.now);
        std::iter::from_fn(|| self.queue.give_turn(self.now).then_some(())).count()
    }

    pub(super) fn finish(&mut self, host: Option<HostId>, start: Instant, feedback: Feedback) {
        self.queue.finished(host.expect("a host"), start, feedback, self.now);
    }
}

pub(super) fn answer(ticket: &Ticket) -> Option<Answer> {
    match ticket.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

#[test]
fn a_host_gets_its_share_and_others_go_on() {
    let lines =
        ["http://a/1", "http://a/2", "http://a/3", "http://b/1", "http://a/4", "http://b/2"];
    let mut test = Test::new(Politeness::default().per_host(2), &lines);
    let (first, host) = test.start().expect("ready");
    assert_eq!(first, "http://a/1");
    assert_eq!(test.start_all(), ["http://b/1", "http://a/2", "http://b/2"]);
    assert_eq!(test.queue.ready(&mut test.incoming, test.now), 0);
    assert_eq!(test.queue.next_time(), None, "a job must finish first");
    let start = test.now;
    test.finish(host, start, Feedback::Answered);
    assert_eq!(test.start_all(), ["http://a/3"]);
    test.finish(host, start, Feedback::None);
    assert_eq!(test.start_all(), ["http://a/4"]);
    assert_eq!(test.queue.held(), 0);
}

#[test]
fn ports_schemes_and_letters_are_no_other_host_and_names_under_a_domain_are_one_if_asked() {
    let lines = ["http://a.example/", "https://A.example:444/", "b.example"];
    let mut test = Test::new(Politeness::default().per_host(1), &lines);
    assert_eq!(test.start_all(), ["http://a.example/", "b.example"]);
    let domains = Politeness::default().per_host(1).group(HostGroup::RegistrableDomain);
    let lines = ["http://a.example.org/", "http://b.example.org/", "http://example.net/"];
    let mut test = Test::new(domains, &lines);
    assert_eq!(test.start_all(), ["http://a.example.org/", "http://example.net/"]);
}

#[test]
fn names_of_one_address_are_one_host_and_so_is_the_address() {
    let mut test = Test::new(Politeness::default().per_host(1).group(HostGroup::Address), &[]);
    let [one, two] = [1, 2].map(|n| Some([127, 0, 0, n].into()));
    for (url, address) in [
        ("http://a/", one),
        ("http://b:81/", one),
        // Their addresses were not found.
        ("http://c/", None),
        ("http://c:81/", None),
        ("http://127.0.0.1/", None),
        ("http://d/", two),
    ] {
        test.incoming.push(Job { address, ..Job::new(url.as_bytes()) });
    }
    assert_eq!(test.start_all(), ["http://a/", "http://c/", "http://d/"]);
}

#[test]
fn what_names_no_host_waits_for_none() {
    let lines = ["no url", "", "/path", "\u{1}", "http://", "a:b:c"];
    let mut test = Test::new(Politeness::default().per_host(1).interval(SECOND), &lines);
    assert_eq!(test.start_all(), lines);
}

#[test]
fn starts_of_a_host_are_an_interval_apart() {
    let lines = ["http://a/1", "http://a/2", "http://a/3", "http://b/1"];
    let mut test = Test::new(Politeness::default().interval(SECOND), &lines);
    let begun = test.now;
    assert_eq!(test.start_all(), ["http://a/1", "http://b/1"]);
    assert_eq!(test.queue.next_time(), Some(begun + SECOND));
    test.now = begun + SECOND - Duration::from_nanos(1);
    assert!(test.start_all().is_empty());
    test.now = begun + SECOND + SECOND / 2;
    assert_eq!(test.start_all(), ["http://a/2"]);
    assert_eq!(
        test.queue.next_time(),
        Some(begun + 2 * SECOND + SECOND / 2),
        "late, and not made up for"
    );
    test.now = begun + 10 * SECOND;
    assert_eq!(test.start_all(), ["http://a/3"]);
}

#[test]
fn the_interval_holds_for_a_job_that_comes_after_the_last_has_finished() {
    let mut test = Test::new(Politeness::default().interval(SECOND), &["http://a/1"]);
    let begun = test.now;
    let (_, host) = test.start().expect("ready");
    test.finish(host, begun, Feedback::Answered);
    test.receive(&["http://a/2"]);
    assert!(test.start_all().is_empty());
    test.now = begun + SECOND;
    assert_eq!(test.start_all(), ["http://a/2"]);
}

#[test]
fn an_overloaded_host_pauses_and_gets_half_and_then_one_more_each_round() {
    let lines: Vec<_> = (0..100).map(|n| format!("http://a/{n}")).collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let mut test = Test::new(Politeness::default().per_host(4), &lines);
    let host = test.start().expect("ready").1;
    assert_eq!(test.start_all().len(), 3);
    let first = test.now;
    test.now += SECOND;
    // All four of one round are one sign.
    for _ in 0..4 {
        test.finish(host, first, Feedback::Overloaded(Some(5 * SECOND)));
    }
    assert!(test.start_all().is_empty());
    assert_eq!(test.queue.next_time(), Some(test.now + 5 * SECOND));
    test.now += 5 * SECOND;
    let second = test.now;
    assert_eq!(test.start_all().len(), 2);
    for _ in 0..2 {
        test.finish(host, second, Feedback::Answered);
    }
    // 2 + 1/2 + 1/2.5
    assert_eq!(test.start_all().len(), 2);
    for _ in 0..2 {
        test.finish(host, second, Feedback::Answered);
    }
    assert_eq!(test.start_all().len(), 3);
}

#[test]
fn a_host_that_is_remembered_for_a_while_starts_what_comes_at_once() {
    let mut test = Test::new(Politeness::default(), &["http://a/1"]);
    let (start, host) = (test.now, test.start().expect("ready").1);
    test.finish(host, start, Feedback::Overloaded(Some(SECOND)));
    test.now += SECOND;
    assert!(test.start().is_none(), "nothing waits");
    test.receive(&["http://a/2"]);
    assert_eq!(test.start_all(), ["http://a/2"]);
}

#[test]
fn pauses_without_a_retry_after_of_a_second_double_and_none_is_longer_than_allowed() {
    let lines = ["http://a/1"; 20];
    let longest = Duration::from_secs(10);
    let mut test = Test::new(Politeness::default().pause_max(longest), &lines);
    let mut pauses = Vec::new();
    for retry_after in [None, None, Some(0), Some(2), Some(3600), Some(0)] {
        let (_, host) = test.start().expect("its time has come");
        let (start, pause) = (test.now, retry_after.map(Duration::from_secs));
        // Its other jobs are of no interest here.
        for (_, host) in std::iter::from_fn(|| test.start()).collect::<Vec<_>>() {
            test.finish(host, start, Feedback::None);
        }
        test.now += Duration::from_nanos(1);
        let at = test.now;
        test.finish(host, start, Feedback::Overloaded(pause));
        let due = test.queue.next_time().unwrap_or(at);
        pauses.push(due.duration_since(at).as_secs());
        test.now = due;
        test.receive(&lines);
    }
    assert_eq!(pauses, [1, 2, 4, 2, 10, 10]);
}

#[test]
fn a_window_bounds_what_is_held_and_what_is_beyond_stays_in_the_lane() {
    let mut test = Test::new(Politeness::default().per_host(1), &[]);
    for n in 0..70_000 {
        test.incoming.push(Job::new(format!("http://a/{n}").as_bytes()));
    }
    assert_eq!(test.start_all(), ["http://a/0"]);
    assert!(test.queue.is_full());
    assert_eq!(test.queue.held() + test.incoming.len(), 69_999);
    assert_eq!(test.incoming.len(), 69_999 - 65_536);
}

#[test]
fn hosts_without_jobs_are_forgotten_and_overloaded_ones_after_a_while() {
    let mut test = Test::new(Politeness::default(), &[]);
    for n in 0..1_000 {
        let line = format!("http://host-{n}/");
        test.receive(&[&line]);
        let (start, host) = (test.now, test.start().expect("ready").1);
        test.finish(host, start, Feedback::Answered);
    }
    assert_eq!(test.queue.hosts_known(), (0, 1), "known, and places for them");
    test.receive(&["http://a/1"]);
    let (start, host) = (test.now, test.start().expect("ready").1);
    test.finish(host, start, Feedback::Overloaded(None));
    assert_eq!(test.queue.hosts_known(), (1, 1));
    test.now += 60 * SECOND;
    assert_eq!(test.queue.ready(&mut test.incoming, test.now), 0);
    assert_eq!(test.queue.hosts_known(), (0, 1));
}

#[test]
fn what_is_never_started_is_given_up_once_each() {
    let lines = ["http://a/1", "http://a/2", "no url", "http://b/1"];
    let mut test = Test::new(Politeness::default().per_host(1).interval(SECOND), &lines);
    assert_eq!(test.start().map(|(line, _)| line).as_deref(), Some("no url"));
    let mut given = Vec::new();
    let mut given_up = Started::default();
    while test.queue.give_up(&mut given_up) {
        given.push(String::from_utf8(given_up.url.clone()).expect("text"));
    }
    given.sort();
    assert_eq!(given, ["http://a/1", "http://a/2", "http://b/1"]);
    assert_eq!(test.queue.held(), 0);
}

/// It took longer with the square of the number of hosts: minutes here.
#[test]
fn the_jobs_of_very_many_hosts_are_given_up_one_after_the_other() {
    let mut test = Test::new(Politeness::default(), &["http://a/", "no url"]);
    for n in 0..60_000 {
        test.incoming.push(Job::new(format!("http://host-{n}/").as_bytes()));
    }
    assert_eq!(test.queue.ready(&mut test.incoming, test.now), 60_002);
    let mut given_up = Started::default();
    let given = std::iter::from_fn(|| test.queue.give_up(&mut given_up).then_some(())).count();
    assert_eq!((given, test.queue.held()), (60_002, 0));
}
