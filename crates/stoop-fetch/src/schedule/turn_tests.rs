//! Requests that follow from others, and wait for the turns of their hosts.

use std::time::Duration;

use super::Feedback;
use super::tests::{SECOND, Test, answer};
use crate::politeness::Politeness;
use crate::turns::{Answer, Mail, Turn};

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
