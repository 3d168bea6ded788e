//! Hosts whose robots.txt is asked for: what waits for it, and the delay that it asks for.

use super::feedback::Feedback;
use super::tests::{SECOND, Test, answer};
use crate::politeness::Politeness;
use crate::turns::{Answer, Mail, Turn};

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

/// Each of them took the host's interval, though nothing was sent.
#[test]
fn a_request_that_has_its_turn_and_is_denied_gives_it_back() {
    let politeness = Politeness::default().robots("a").interval(SECOND);
    let mut test = Test::new(politeness, &[]);
    let tickets: Vec<_> = (0..4)
        .map(|_| {
            let (mut turn, ticket) = Turn::new(b"a", None);
            turn.asks = true;
            test.queue.take_mail(vec![Mail::Want(turn)], test.now);
            ticket
        })
        .collect();
    for (n, ticket) in tickets.iter().enumerate() {
        assert_eq!(test.give_turns(), 1, "{n}: one at a time");
        let Some(Answer::Granted(host)) = answer(ticket) else { panic!("{n} has no turn") };
        let (crawl_delay, is_sent) = (Some(10 * SECOND), n == 2);
        let learned = Mail::Learned { host, crawl_delay, is_sent };
        test.queue.take_mail(vec![learned], test.now);
        test.leave(host, Feedback::None);
        if is_sent {
            assert_eq!(test.give_turns(), 0, "what is sent takes its time");
            test.now += 10 * SECOND;
        }
    }
}
