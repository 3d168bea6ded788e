//! Politeness that could hold up no job yet, and the first host that changes that.

use std::time::Instant;

use super::tests::SECOND;
use super::{Feedback, Schedule, Started};
use crate::job::Job;
use crate::politeness::{HostGroup, Politeness};

fn receive(schedule: &mut Schedule, lines: &[&str]) {
    let room = schedule.room().expect("room");
    lines.iter().for_each(|line| room.push(Job::new(line.as_bytes())));
}

/// The jobs that start now, and whether a host counts each.
fn start_all(schedule: &mut Schedule) -> Vec<(String, bool)> {
    let mut all = Vec::new();
    let mut started = Started::default();
    while schedule.ready() > 0 && schedule.start(&mut started) {
        let url = String::from_utf8(started.url.clone()).expect("text");
        assert_eq!(started.host.is_none(), started.is_uncounted);
        all.push((url, started.host.is_some()));
    }
    all
}

fn names(all: &[(String, bool)]) -> Vec<(&str, bool)> {
    all.iter().map(|(url, is_counted)| (url.as_str(), *is_counted)).collect()
}

#[test]
fn hosts_count_their_jobs_from_the_first_one_on_that_asks_for_less() {
    let mut schedule = Schedule::new(Some(Politeness::default().per_host(9)), 9);
    let lines = ["http://a/1", "http://b/1", "http://a/2"];
    receive(&mut schedule, &lines);
    let all = start_all(&mut schedule);
    assert_eq!(names(&all), lines.map(|line| (line, false)));
    let start = Instant::now();
    schedule.told_of(b"http://a/1", start, Feedback::Answered);
    receive(&mut schedule, &lines);
    assert_eq!(start_all(&mut schedule).len(), 3);
    schedule.told_of(b"http://a/1", start, Feedback::Overloaded(Some(60 * SECOND)));
    receive(&mut schedule, &lines);
    assert_eq!(names(&start_all(&mut schedule)), [("http://b/1", true)]);
    assert!(!schedule.is_empty(), "the others wait");
    assert!(schedule.next_time().is_some_and(|at| at > start + 50 * SECOND));
}

#[test]
fn failures_of_jobs_that_are_not_counted_add_up() {
    let politeness = Politeness::default().per_host(9).failures_max(3);
    let mut schedule = Schedule::new(Some(politeness), 9);
    for _ in 0..3 {
        receive(&mut schedule, &["http://a/1"]);
        assert_eq!(start_all(&mut schedule).len(), 1);
        schedule.told_of(b"http://a/1", Instant::now(), Feedback::Failed);
    }
    receive(&mut schedule, &["http://a/1", "http://b/1"]);
    assert_eq!(names(&start_all(&mut schedule)), [("http://b/1", true)]);
}

#[test]
fn what_could_hold_up_a_job_at_once_is_awake() {
    let all = Politeness::default().per_host(9);
    assert!(all.allows_at_once(9) && !all.allows_at_once(10));
    for awake in [
        all.clone().interval(SECOND),
        all.clone().total_interval(SECOND),
        all.clone().robots("a"),
        all.clone().group(HostGroup::Address),
    ] {
        assert!(!awake.allows_at_once(1));
    }
    assert!(all.group(HostGroup::RegistrableDomain).allows_at_once(9));
}
