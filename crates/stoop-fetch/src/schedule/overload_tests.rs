//! Hosts that answer 429 and 503 alone: when they are given up, and tried again.

use std::time::Duration;

use super::tests::{SECOND, Test};
use super::{Feedback, Suspension};
use crate::politeness::Politeness;

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
