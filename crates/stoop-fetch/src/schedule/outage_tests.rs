//! Hosts that do not answer for a while: their jobs and requests wait, and one tries from time to time.

use std::task::{Context, Poll, Waker};
use std::time::Duration;

use super::tests::{SECOND, Test, answer};
use super::{Feedback, HostId, Suspension};
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

/// Each of its jobs took a pause of up to a minute: days for a long list.
#[test]
fn a_host_that_asks_for_less_for_ten_minutes_is_given_up_until_it_answers() {
    let mut test = Test::new(Politeness::default(), &["http://a/"; 100]);
    let jobs = std::iter::from_fn(|| test.start().map(|(_, host)| (test.now, host)));
    let jobs: Vec<_> = jobs.collect();
    let (begun, host) = jobs[0];
    for (start, host) in jobs {
        test.finish(host, start, Feedback::Overloaded(None));
    }
    let mut starts = Vec::new();
    loop {
        match test.start() {
            Some((_, Some(host))) => {
                let start = test.now;
                starts.push(start.duration_since(begun).as_secs());
                test.finish(Some(host), start, Feedback::Overloaded(Some(60 * SECOND)));
            }
            Some((_, None)) => break,
            None => test.now = test.queue.next_time().expect("the end of a pause"),
        }
    }
    // The end of one more pause would be too late.
    assert_eq!(starts, [1, 61, 121, 181, 241, 301, 361, 421, 481, 541]);
    while test.start().is_some() {}
    assert_eq!(test.queue.held(), 0, "all of them were answered");
    // One tries it now and then, and the others are answered; its own pause counts, too.
    for (wait, again) in [(60, 60), (60, 61), (61, 122), (122, 244), (244, 300), (300, 300)] {
        test.now += wait * SECOND;
        test.receive(&["http://a/"; 2]);
        let (start, (_, tried)) = (test.now, test.start().expect("its time has come"));
        assert_eq!((tried, test.start()), (host, None), "{wait}");
        test.finish(tried, start, Feedback::Overloaded(Some(60 * SECOND)));
        assert_eq!(test.start().map(|(_, host)| host), Some(None));
        test.receive(&["http://a/"]);
        test.now += again * SECOND - Duration::from_millis(1);
        assert_eq!(test.start().map(|(_, host)| host), Some(None), "{again}");
        test.now -= again * SECOND - Duration::from_millis(1);
    }
    test.now += 300 * SECOND;
    test.receive(&["http://a/"; 3]);
    let (start, (_, tried)) = (test.now, test.start().expect("its time has come"));
    test.finish(tried, start, Feedback::Answered);
    assert_eq!(test.start_all().len(), 2, "it answers");
}

#[test]
fn any_other_answer_ends_an_overload() {
    let politeness = Politeness::default().overload_max(5 * SECOND);
    let mut test = Test::new(politeness, &["http://a/"; 20]);
    let (early, host) = (test.now, test.start().expect("ready").1);
    let overloaded = |test: &mut Test, host| {
        test.now = test.now.max(test.queue.next_time().unwrap_or(test.now));
        let (start, (_, started)) = (test.now, test.start().expect("after a pause"));
        assert_eq!(started, host);
        test.finish(started, start, Feedback::Overloaded(Some(2 * SECOND)));
    };
    overloaded(&mut test, host);
    overloaded(&mut test, host);
    // That was sent before.
    test.finish(host, early, Feedback::Answered);
    overloaded(&mut test, host);
    overloaded(&mut test, host);
    overloaded(&mut test, host);
    assert_eq!(test.start().map(|(_, host)| host), Some(None), "6 s since the first one");
}

/// Its jobs waited for the pause, whatever the limit: hours.
#[test]
fn a_host_that_asks_for_a_longer_pause_than_is_waited_for_it_is_given_up_at_once() {
    let [minute, ten, hour] = [60, 600, 3_600].map(Duration::from_secs);
    for (interval, pause_max, overload_max, is_given_up) in [
        (SECOND, hour, ten, true),
        (SECOND, hour, hour, false),
        (SECOND, minute, ten, false),
        // Its jobs do not wait because it asks for that.
        (hour, minute, ten, false),
    ] {
        let politeness = Politeness::default().interval(interval).pause_max(pause_max);
        let mut test = Test::new(politeness.overload_max(overload_max), &["http://a/"; 9]);
        let (start, (_, host)) = (test.now, test.start().expect("ready"));
        test.finish(host, start, Feedback::Overloaded(Some(hour)));
        let answered: Vec<_> = std::iter::from_fn(|| test.start_suspended()).collect();
        match is_given_up {
            true => {
                assert_eq!(answered, [Suspension::LongPause; 8]);
                test.now += hour - SECOND;
                test.receive(&["http://a/"; 2]);
                assert_eq!(test.start_suspended(), Some(Suspension::LongPause));
                test.now += SECOND;
            }
            false => {
                assert_eq!(answered, []);
                test.now += interval.max(pause_max);
            }
        }
        assert_eq!(test.start().map(|(_, tried)| tried), Some(host), "it is tried again");
    }
}

#[test]
fn what_was_started_before_a_long_pause_is_asked_for_does_not_end_it() {
    let hour = 3_600 * SECOND;
    let mut test = Test::new(Politeness::default().pause_max(hour), &["http://a/"; 20]);
    let start = test.now;
    let hosts: Vec<_> = std::iter::from_fn(|| test.start()).map(|(_, host)| host).collect();
    let said = [Some(hour), None, Some(SECOND)].map(Feedback::Overloaded);
    for (host, feedback) in hosts.iter().zip(said.into_iter().chain([Feedback::Answered; 5])) {
        test.now += SECOND;
        test.finish(*host, start, feedback);
    }
    for _ in 0..12 {
        assert_eq!(test.start_suspended(), Some(Suspension::LongPause));
    }
    test.now += hour;
    test.receive(&["http://a/"; 2]);
    let (start, (_, tried)) = (test.now, test.start().expect("its time has come"));
    assert_eq!(tried, hosts[0]);
    test.finish(tried, start, Feedback::Answered);
    assert_eq!(test.start().map(|(_, host)| host), Some(tried));
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
