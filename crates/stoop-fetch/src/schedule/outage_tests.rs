//! Hosts that do not answer for a while: their jobs and requests wait, and one tries from time to time.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::tests::{SECOND, Test, answer};
use super::{Feedback, HostId, Started};
use crate::politeness::Politeness;
use crate::turns::{Answer, Turn};

/// A host that is left alone after one failure, with its first job failed and `waiting` others.
fn out(waiting: usize) -> (Test, HostId) {
    let mut test = Test::new(Politeness::default().failures_max(1), &["http://a/"]);
    let (start, host) = (test.now, test.start().expect("ready").1);
    test.receive(&vec!["http://a/"; waiting]);
    test.finish(host, start, Feedback::Failed);
    (test, host.expect("a host"))
}

/// Starts the job that tries the host and has it come to nothing, each time one may start, until no host has them. Returns
/// when those were started, in seconds.
fn trials(test: &mut Test, at_most: usize) -> Vec<u64> {
    let begun = test.now;
    let mut times = Vec::new();
    while times.len() < at_most {
        match test.start() {
            Some((_, Some(host))) => {
                assert!(test.start().is_none(), "one at a time");
                times.push(test.now.duration_since(begun).as_secs());
                let start = test.now;
                test.finish(Some(host), start, Feedback::Failed);
            }
            Some((_, None)) => break,
            None => test.now = test.queue.next_time().expect("a trial"),
        }
    }
    times
}

#[test]
fn jobs_wait_for_a_host_that_is_out_for_a_moment_and_go_on_once_one_is_answered() {
    let (mut test, host) = out(10_000);
    assert!(test.start().is_none(), "its jobs wait");
    assert_eq!(test.queue.next_time(), Some(test.now + SECOND));
    test.receive(&["http://b/"]);
    assert_eq!(test.start_all(), ["http://b/"], "other hosts do not");
    test.now += SECOND;
    assert_eq!(test.start(), Some(("http://a/".to_owned(), Some(host))));
    assert!(test.start().is_none(), "one tries");
    let start = test.now;
    test.finish(Some(host), start, Feedback::Answered);
    assert_eq!(test.start_all().len(), 8);
    assert_eq!(test.queue.held(), 10_000 - 9);
}

#[test]
fn a_host_that_stays_out_is_tried_five_times_and_then_all_its_jobs_are_answered() {
    let (mut test, _) = out(10_000);
    assert_eq!(trials(&mut test, 99), [1, 3, 7, 15, 30]);
    while let Some((_, host)) = test.start() {
        assert_eq!(host, None, "answered at once");
    }
    assert_eq!(test.queue.held(), 0);
    // From then on one job tries it now and then, and the others are answered.
    let given_up = test.now;
    test.now += 30 * SECOND;
    test.receive(&["http://a/"; 3]);
    let (start, (_, host)) = (test.now, test.start().expect("its time has come"));
    assert!(host.is_some() && test.start().is_none());
    test.finish(host, start, Feedback::Failed);
    assert_eq!([test.start(), test.start()].map(|job| job.map(|(_, host)| host)), [Some(None); 2]);
    test.now = given_up + 89 * SECOND;
    test.receive(&["http://a/"]);
    assert_eq!(test.start().map(|(_, host)| host), Some(None));
}

#[test]
fn a_trial_of_any_length_ends_the_wait_of_the_others() {
    let (mut test, host) = out(2);
    test.now += SECOND;
    assert!(test.start().is_some());
    let start = test.now;
    test.now += 60 * SECOND;
    test.finish(Some(host), start, Feedback::Failed);
    assert_eq!(test.start().map(|(_, host)| host), Some(None));
}

#[test]
fn an_outage_after_another_is_a_new_one() {
    let (mut test, host) = out(10);
    trials(&mut test, 4);
    assert!(test.start().is_none());
    test.now = test.queue.next_time().expect("a trial");
    test.start().expect("a trial");
    let start = test.now;
    test.finish(Some(host), start, Feedback::Answered);
    test.start().expect("it answers");
    test.finish(Some(host), start, Feedback::Failed);
    assert_eq!(trials(&mut test, 2), [1, 3]);
}

#[test]
fn what_says_nothing_of_a_host_is_followed_by_another_trial_and_what_is_older_is_not() {
    let mut test = Test::new(Politeness::default().failures_max(1), &["http://a/"; 5]);
    let (start, host) = (test.now, test.start().expect("ready").1);
    test.start().expect("a slow one");
    test.finish(host, start, Feedback::Failed);
    test.now += SECOND;
    assert!(test.start().is_some() && test.start().is_none());
    test.finish(host, start, Feedback::Failed);
    assert!(test.start().is_none(), "the trial goes on");
    let trial = test.now;
    test.finish(host, trial, Feedback::None);
    assert!(test.start().is_some() && test.start().is_none());
}

#[test]
fn requests_wait_for_a_host_that_is_out_and_one_of_them_tries_it() {
    let (mut test, host) = out(1);
    let tickets = [test.want(None), test.want(None)];
    assert_eq!(test.give_turns(), 0);
    test.now += SECOND;
    assert_eq!(test.give_turns(), 1);
    assert_eq!(
        tickets.each_ref().map(|ticket| answer(ticket)),
        [Some(Answer::Granted(host)), None]
    );
    assert!(test.start().is_none());
    test.leave(host, Feedback::Answered);
    assert_eq!((test.give_turns(), answer(&tickets[1])), (1, Some(Answer::Granted(host))));
    assert_eq!(test.start_all().len(), 1);
}

#[test]
fn the_next_request_of_a_job_that_failed_in_its_place_tries_the_host() {
    let mut test = Test::new(Politeness::default().failures_max(1), &["http://a/"; 2]);
    let (start, host) = (test.now, test.start().expect("ready").1.expect("a host"));
    test.queue.told(host, start, Feedback::Failed, test.now);
    let own = test.want(Some(host));
    assert_eq!((test.give_turns(), test.start()), (0, None));
    test.now += SECOND;
    assert_eq!((test.give_turns(), answer(&own)), (1, Some(Answer::Granted(host))));
    assert!(test.start().is_none());
    let start = test.now;
    test.queue.told(host, start, Feedback::Failed, test.now);
    let own = test.want(Some(host));
    test.now += 2 * SECOND;
    assert_eq!((test.give_turns(), answer(&own)), (1, Some(Answer::Granted(host))));
    let start = test.now;
    test.finish(Some(host), start, Feedback::Answered);
    assert_eq!(test.start_all().len(), 1);
}

#[test]
fn sixty_four_requests_of_other_hosts_wait_and_the_next_is_told_so() {
    let mut test = Test::new(Politeness::default().failures_max(1), &["http://a/"; 2]);
    let (start, host) = (test.now, test.start().expect("ready").1.expect("a host"));
    test.start().expect("the place of another");
    test.finish(Some(host), start, Feedback::Failed);
    let tickets: Vec<_> = (0..65).map(|_| test.want(None)).collect();
    assert_eq!(tickets.iter().map(|ticket| answer(ticket)).filter(Option::is_some).count(), 1);
    assert_eq!(answer(&tickets[63]), None);
    // One that has its place there waits however many there are.
    let (turn, own) = Turn::new(b"a", Some(host));
    test.queue.want(turn, false, test.now);
    assert_eq!(own.poll(&mut Context::from_waker(Waker::noop())), Poll::Pending);
    // When it is given up all of them are answered.
    test.now += 31 * SECOND;
    assert_eq!(test.give_turns(), 1);
    let start = test.now;
    test.finish(Some(host), start, Feedback::Failed);
    assert!(tickets[..64].iter().all(|ticket| answer(ticket) == Some(Answer::Suspended)));
}

#[test]
fn a_run_says_how_long_is_waited() {
    let politeness = Politeness::default().failures_max(1).outage_max(Duration::from_secs(4));
    let mut test = Test::new(politeness, &["http://a/"; 9]);
    let (start, host) = (test.now, test.start().expect("ready").1);
    for (_, host) in std::iter::from_fn(|| test.start()).collect::<Vec<_>>() {
        test.finish(host, start, Feedback::None);
    }
    test.receive(&["http://a/"; 9]);
    test.finish(host, start, Feedback::Failed);
    assert_eq!(trials(&mut test, 99), [1, 3, 4]);
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
