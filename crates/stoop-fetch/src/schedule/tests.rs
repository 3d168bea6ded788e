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
    incoming: Batch,
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

#[test]
fn a_host_that_never_answers_is_left_alone_and_then_tried_by_one_job() {
    let politeness = Politeness::default().failures_max(3).outage_max(Duration::ZERO);
    let mut test = Test::new(politeness, &["http://a/1"; 6]);
    let begun = test.now;
    let mut started = Started::default();
    let mut suspended = |test: &mut Test| {
        let started_now = test.queue.start(&mut test.incoming, &mut started, test.now);
        started_now.then_some((started.host, started.suspension.is_some()))
    };
    let (_, host) = test.start().expect("ready");
    let _ = (test.start(), test.start());
    for _ in 0..3 {
        test.finish(host, begun, Feedback::Failed);
    }
    // What waits is answered at once, and what comes.
    for _ in 0..3 {
        assert_eq!(suspended(&mut test), Some((None, true)));
    }
    test.now = begun + 30 * SECOND - Duration::from_nanos(1);
    test.receive(&["http://a/2"]);
    assert_eq!(suspended(&mut test), Some((None, true)));
    // One job tries it, and fails.
    test.now = begun + 30 * SECOND;
    test.receive(&["http://a/3"; 3]);
    assert_eq!(suspended(&mut test), Some((host, false)));
    assert_eq!(suspended(&mut test), None);
    let start = test.now;
    test.finish(host, start, Feedback::Failed);
    assert_eq!(suspended(&mut test), Some((None, true)));
    test.now = start + 59 * SECOND;
    assert_eq!(suspended(&mut test), Some((None, true)));
    // The next one is answered.
    test.now = start + 60 * SECOND;
    test.receive(&["http://a/4"; 3]);
    assert_eq!(suspended(&mut test), Some((host, false)));
    assert_eq!(suspended(&mut test), None);
    let start = test.now;
    test.finish(host, start, Feedback::Answered);
    assert_eq!([suspended(&mut test), suspended(&mut test)], [Some((host, false)); 2]);
}

#[test]
fn a_host_that_waits_for_its_interval_is_suspended_all_the_same() {
    let politeness =
        Politeness::default().failures_max(1).outage_max(Duration::ZERO).interval(100 * SECOND);
    let mut test = Test::new(politeness, &["http://a/1", "http://a/2"]);
    let (begun, host) = (test.now, test.start().expect("ready").1);
    assert!(test.start().is_none());
    test.finish(host, begun, Feedback::Failed);
    assert_eq!(test.start(), Some(("http://a/2".to_owned(), None)));
}

#[test]
fn failures_between_responses_do_not_add_up() {
    let mut test = Test::new(Politeness::default().failures_max(2), &["http://a/1"; 9]);
    for feedback in [Feedback::Failed, Feedback::Answered, Feedback::Failed, Feedback::None] {
        let (start, host) = (test.now, test.start().expect("not suspended").1);
        assert!(host.is_some());
        test.finish(host, start, feedback);
    }
    assert!(test.start().expect("not suspended").1.is_some());
}

#[test]
fn one_job_finds_out_what_robots_txt_says_and_the_others_keep_to_its_delay() {
    let mut test = Test::new(Politeness::default().robots("a"), &["http://a/1"; 6]);
    let (begun, host) = (test.now, test.start().expect("ready").1);
    assert!(test.start().is_none());
    test.now = begun + 3 * SECOND;
    test.queue.learned(host.expect("a host"), Some(10 * SECOND), true, test.now);
    assert!(test.start().is_none());
    assert_eq!(test.queue.next_time(), Some(begun + 13 * SECOND));
    test.now = begun + 13 * SECOND;
    assert_eq!(test.start_all().len(), 1);
    // Whatever it asks for, the run comes to an end.
    test.queue.learned(host.expect("a host"), Some(86_400 * SECOND), true, test.now);
    test.now += 60 * SECOND;
    assert_eq!(test.start_all().len(), 1);
    let mut test = Test::new(Politeness::default().robots("a"), &["http://a/1"; 6]);
    let host = test.start().expect("ready").1;
    test.queue.learned(host.expect("a host"), None, true, test.now);
    assert_eq!(test.start_all().len(), 5);
}

#[test]
fn what_robots_txt_denies_takes_no_turn_and_the_interval_counts_from_what_is_sent() {
    let politeness = Politeness::default().robots("a").interval(SECOND);
    let mut test = Test::new(politeness, &["http://a/1"; 9]);
    let (begun, host) = (test.now, test.start().expect("ready").1);
    let host = host.expect("a host");
    // The file took longer than the interval.
    test.now = begun + 3 * SECOND;
    test.queue.learned(host, Some(2 * SECOND), true, test.now);
    assert_eq!(test.queue.next_time(), Some(begun + 5 * SECOND));
    test.now = begun + 5 * SECOND;
    for _ in 0..3 {
        assert!(test.start().is_some());
        test.queue.learned(host, None, false, test.now);
    }
    assert!(test.start().is_some());
    test.queue.learned(host, None, true, test.now);
    assert!(test.start().is_none(), "the longest delay holds");
    assert_eq!(test.queue.next_time(), Some(begun + 7 * SECOND));
}

#[test]
fn failures_add_up_though_no_job_waits_in_between() {
    let mut test = Test::new(Politeness::default().failures_max(3).outage_max(Duration::ZERO), &[]);
    for _ in 0..3 {
        test.receive(&["http://a/1"]);
        let (start, host) = (test.now, test.start().expect("not suspended").1);
        test.finish(host, start, Feedback::Failed);
        test.now += 10 * SECOND;
    }
    test.receive(&["http://a/1"]);
    assert_eq!(test.start(), Some(("http://a/1".to_owned(), None)));
}

pub(super) fn answer(ticket: &Ticket) -> Option<Answer> {
    match ticket.poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => Some(answer),
        Poll::Pending => None,
    }
}

#[test]
fn requests_that_follow_from_others_come_before_jobs_and_count_like_them() {
    let mut test = Test::new(Politeness::default().per_host(1), &["http://a/1", "http://a/2"]);
    let (_, host) = test.start().expect("ready");
    let ticket = test.want(None);
    assert_eq!((test.give_turns(), answer(&ticket)), (0, None), "a job is in flight");
    let start = test.now;
    test.finish(host, start, Feedback::Answered);
    assert!(test.start_all().is_empty(), "the request comes first");
    assert_eq!((test.queue.turns_due(), answer(&ticket)), (1, None), "it has no permit");
    assert_eq!(test.give_turns(), 1);
    let Some(Answer::Granted(id)) = answer(&ticket) else { panic!("its turn") };
    assert!(test.start_all().is_empty(), "the request has the place");
    test.leave(id, Feedback::Answered);
    assert_eq!(test.start_all(), ["http://a/2"]);
}

#[test]
fn a_request_of_a_job_in_its_place_waits_for_the_interval_alone_and_goes_first() {
    let polite = Politeness::default().per_host(1).interval(SECOND);
    let mut test = Test::new(polite, &["http://a/1", "http://a/2"]);
    let (_, host) = test.start().expect("ready");
    let (other, own) = (test.want(None), test.want(host));
    assert_eq!((test.give_turns(), answer(&other), answer(&own)), (0, None, None));
    assert_eq!(test.queue.next_time(), Some(test.now + SECOND));
    test.now += SECOND;
    assert_eq!((test.give_turns(), answer(&own)), (1, host.map(Answer::Granted)));
    let start = test.now;
    test.finish(host, start, Feedback::Answered);
    assert_eq!((test.give_turns(), answer(&other)), (0, None), "the interval begins anew");
    test.now += SECOND;
    assert_eq!(test.give_turns(), 1);
    assert!(matches!(answer(&other), Some(Answer::Granted(_))));
    assert!(test.start_all().is_empty());
}

#[test]
fn a_host_that_only_redirects_lead_to_is_counted_and_forgotten() {
    let mut test = Test::new(Politeness::default().per_host(2), &[]);
    let (first, second, third) = (test.want(None), test.want(None), test.want(None));
    assert_eq!(test.give_turns(), 2);
    let Some(Answer::Granted(id)) = answer(&first) else { panic!("its turn") };
    assert_eq!(answer(&second), Some(Answer::Granted(id)));
    assert_eq!(answer(&third), None);
    third.give_up();
    test.leave(id, Feedback::None);
    assert_eq!(test.give_turns(), 0, "nothing waits for it");
    test.leave(id, Feedback::None);
    assert_eq!(test.queue.hosts_known().0, 0);
}

#[test]
fn a_job_that_has_a_permit_gives_it_to_the_next_turn_of_the_host_it_waits_for() {
    let polite = Politeness::default().per_host(1);
    let mut test = Test::new(polite, &["http://a/1", "http://b/1", "http://a/2"]);
    let (_, host) = test.start().expect("ready");
    let (turn, own) = Turn::new(b"a", host);
    assert!(test.queue.want(turn, true, test.now), "it goes on where it is");
    assert_eq!(answer(&own), host.map(Answer::Granted));
    let other = test.want(None);
    let (turn, own) = Turn::new(b"a", None);
    assert!(!test.queue.want(turn, true, test.now), "the host has one in flight");
    let start = test.now;
    test.finish(host, start, Feedback::Answered);
    let (turn, last) = Turn::new(b"a", None);
    assert!(test.queue.want(turn, true, test.now));
    let answers = [answer(&other), answer(&own), answer(&last)];
    assert_eq!(answers, [host.map(Answer::Granted), None, None], "the first that came");
    assert_eq!(test.start_all(), ["http://b/1"], "jobs of the host come after its requests");
}

#[test]
fn a_host_among_those_that_are_ready_gives_turns_first() {
    let lines = ["http://a/1", "http://a/2", "http://b/1"];
    let mut test = Test::new(Politeness::default().per_host(2), &lines);
    let (_, host) = test.start().expect("ready");
    let own = test.want(host);
    assert_eq!(test.start_all(), ["http://b/1"]);
    assert_eq!((test.give_turns(), answer(&own)), (1, host.map(Answer::Granted)));
    assert_eq!(test.start_all(), ["http://a/2"]);
}

#[test]
fn a_turn_that_came_is_gone_once_its_host_asks_for_less() {
    let mut test = Test::new(Politeness::default().per_host(4), &["http://a/1"]);
    let (_, host) = test.start().expect("ready");
    let ticket = test.want(None);
    assert_eq!(test.queue.turns_due(), 1);
    let (host, start) = (host.expect("a host"), test.now);
    let feedback = Feedback::Overloaded(Some(SECOND));
    test.queue.take_mail(vec![Mail::Told { host, start, feedback }], test.now);
    assert_eq!((test.queue.turns_due(), test.give_turns(), answer(&ticket)), (0, 0, None));
    test.now += SECOND;
    assert_eq!((test.give_turns(), answer(&ticket)), (1, Some(Answer::Granted(host))));
}

#[test]
fn what_a_host_says_to_an_attempt_that_is_followed_by_another_holds_at_once() {
    let mut test = Test::new(Politeness::default().per_host(4), &["http://a/1", "http://a/2"]);
    let (_, host) = test.start().expect("ready");
    let (start, id) = (test.now, host.expect("a host"));
    let feedback = Feedback::Overloaded(Some(SECOND));
    test.queue.take_mail(vec![Mail::Told { host: id, start, feedback }], test.now);
    assert!(test.start_all().is_empty());
    let own = test.want(host);
    assert_eq!((test.give_turns(), answer(&own)), (0, None));
    test.now += SECOND;
    assert_eq!((test.give_turns(), answer(&own)), (1, host.map(Answer::Granted)));
    assert_eq!(test.start_all(), ["http://a/2"]);
}

#[test]
fn a_request_for_a_host_that_is_left_alone_is_told_so() {
    let politeness = Politeness::default().failures_max(1).outage_max(Duration::ZERO);
    let mut test = Test::new(politeness, &["http://a/1"]);
    let (_, host) = test.start().expect("ready");
    let start = test.now;
    let before = test.want(None);
    test.finish(host, start, Feedback::Failed);
    let after = test.want(None);
    assert_eq!([answer(&before), answer(&after)], [Some(Answer::Suspended); 2]);
    assert_eq!(test.give_turns(), 0);
}
