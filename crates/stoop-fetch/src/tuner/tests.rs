//! The search on simulated networks: how near it comes to the best fixed concurrency, and how steady it is.

use super::simulation::{Course, Network, run};
use super::{Hindrance, Tick, Tuner};
use crate::concurrency::Concurrency;

/// Concurrencies among which the best fixed one is found.
const FIXED: &[usize] = &[20, 50, 100, 200, 350, 1_000, 3_000, 10_000];

/// When a fixed concurrency has settled at the latest, and how long it is watched then, in seconds.
const FIXED_FROM: f64 = 20.0;
const FIXED_FOR: f64 = 20.0;

/// How long a run takes, in seconds; where jobs are lost, each step takes as long as their deadline.
const USUAL: f64 = 60.0;
const LOSSY: f64 = 100.0;

/// Asserts that the rate from `from` to `to` comes near to the best of a fixed concurrency. Returns the course.
fn found(network: Network, from: f64, to: f64) -> Course {
    let rate = |limit| {
        let fixed = Tuner::new(Concurrency::fixed(limit));
        let (from, to) = (FIXED_FROM.min(from), FIXED_FROM.min(from) + FIXED_FOR);
        run(network, fixed, to).rate(from, to)
    };
    let fixed = FIXED.iter().filter(|&&limit| limit <= network.descriptors);
    let best = fixed.map(|&limit| rate(limit)).fold(0.0, f64::max);
    let course = run(network, Tuner::new(Concurrency::auto()), to);
    let rate = course.rate(from, to);
    assert!(rate >= 0.9 * best, "{rate} of {best}: {:?}", course.limits);
    course
}

#[test]
fn a_fast_server_keeps_the_processor_busy_with_few() {
    let network = Network { capacity: 20_000.0, is_processor: true, ..Network::default() };
    let course = found(network, 0.5, USUAL);
    assert!(course.range(5.0).1 <= 200, "{:?}", course.limits);
}

#[test]
fn many_slow_hosts_are_all_asked_within_seconds() {
    let network = Network { delay: (0.3, 1.0), ..Network::default() };
    let course = found(network, 5.0, USUAL);
    let at = |seconds: f64| course.limits[(seconds * 20.0) as usize];
    assert!(at(3.0) >= 3_000, "{:?}", course.limits);
    assert!(course.range(20.0).0 >= 5_000, "{:?}", course.limits);
}

#[test]
fn hosts_that_take_a_fifth_of_a_second_are_asked_within_two_seconds() {
    let network = Network { delay: (0.05, 0.35), demand: 488, ..Network::default() };
    found(network, 2.0, USUAL);
    // The first answers come from the fastest hosts, more or less of them.
    for seed in 0..200 {
        let course = run(Network { seed, ..network }, Tuner::new(Concurrency::auto()), 2.0);
        let at = |seconds: f64| course.limits[(seconds * 20.0) as usize];
        assert!(at(1.5) >= 488, "{seed}: {:?}", course.limits);
    }
}

#[test]
fn a_list_that_begins_with_what_is_quick_does_not_mislead_it() {
    for (quick_until, seed) in (1..=4).flat_map(|ticks| (0..20).map(move |seed| (ticks, seed))) {
        let quick_until = f64::from(quick_until) / 20.0;
        let network =
            Network { delay: (0.05, 0.35), demand: 488, quick_until, seed, ..Network::default() };
        let course = run(network, Tuner::new(Concurrency::auto()), 3.0);
        let at = |seconds: f64| course.limits[(seconds * 20.0) as usize];
        assert!(at(2.0) >= 488, "{quick_until} {seed}: {:?}", course.limits);
    }
}

#[test]
fn hosts_that_all_take_a_second_do_not_mislead_it() {
    let network = Network { delay: (1.0, 1.0), ..Network::default() };
    let course = found(network, 5.0, USUAL);
    assert!(course.answered[20 * 8] >= 10_000, "{:?}", &course.limits[..160]);
}

#[test]
fn slow_hosts_are_asked_as_fast_as_the_processor_can() {
    let network =
        Network { capacity: 3_000.0, is_processor: true, delay: (0.3, 1.0), ..Network::default() };
    let course = found(network, 5.0, USUAL);
    assert!(course.range(15.0).1 <= 6_000, "{:?}", course.limits);
}

#[test]
fn a_busy_processor_is_not_given_more() {
    let network =
        Network { capacity: 3_000.0, is_processor: true, delay: (0.3, 1.0), ..Network::default() };
    let course = found(network, 5.0, USUAL);
    // Without a look at the processor it goes up by half again and again: what is in flight in that takes memory for good.
    let (settled, highest) = (course.limits[20 * 15], course.range(15.0).1);
    assert!(highest <= settled, "{settled}: {:?}", course.limits);
}

#[test]
fn the_first_ramp_ends_where_all_event_loops_are_busy() {
    let mut tuner = Tuner::new(Concurrency::auto());
    // Each doubling brings a tenth more, as it does where a loop finds more to do each time that it wakes up.
    let answered = |limit: usize| (300.0 * (limit as f64 / 100.0).powf(0.14)) as u64;
    for _ in 0..20 * 10 {
        let (limit, busy) = (tuner.limit(), if tuner.limit() >= 200 { 1.0 } else { 0.7 });
        let answered = answered(limit);
        let latency = limit as f64 * 0.05;
        let counts =
            Tick { answered, latency, started: answered, in_flight: limit, ..Tick::default() };
        tuner.tick(&Tick { seconds: 0.05, is_wanted: true, busy, least_busy: busy, ..counts });
        assert!(tuner.limit() <= 200, "{}", tuner.limit());
    }
}

#[test]
fn a_line_is_filled_and_not_crammed() {
    let network = Network { capacity: 500.0, delay: (0.05, 0.15), ..Network::default() };
    let course = found(network, 2.0, USUAL);
    assert!(course.range(5.0).1 <= 400, "{:?}", course.limits);
    assert!(course.range(20.0).1 <= 200, "{:?}", course.limits);
}

#[test]
fn a_home_line_may_bear_less_than_the_start() {
    let network =
        Network { capacity: 200.0, delay: (0.05, 0.15), bearable: 80, ..Network::default() };
    let course = found(network, 40.0, LOSSY);
    assert!(course.range(40.0).1 <= 100, "{:?}", course.limits);
}

#[test]
fn a_limit_that_hosts_do_not_use_is_not_raised() {
    let network = Network { demand: 48, delay: (0.1, 0.3), ..Network::default() };
    let course = found(network, 1.0, USUAL);
    assert_eq!(course.range(0.0), (100, 100));
}

#[test]
fn timeouts_that_come_of_too_many_send_it_back() {
    let network = Network { bearable: 400, delay: (0.2, 0.4), ..Network::default() };
    let course = found(network, 40.0, LOSSY);
    assert!(course.range(40.0).1 <= 900, "{:?}", course.limits);
}

#[test]
fn hosts_that_are_gone_are_no_reason_to_ask_less() {
    for dead in [0.1, 0.3] {
        let network = Network { dead, capacity: 2_000.0, delay: (0.1, 0.5), ..Network::default() };
        found(network, 40.0, LOSSY);
    }
}

#[test]
fn the_last_descriptor_is_a_ceiling_for_good() {
    let network = Network { descriptors: 1_000, delay: (0.3, 1.0), ..Network::default() };
    let course = found(network, 5.0, USUAL);
    let (low, high) = course.range(10.0);
    assert!(low >= 500 && high < 1_000, "{:?}", course.limits);
}

#[test]
fn it_stays_within_its_bounds_and_says_what_hinders() {
    let network = Network { delay: (0.3, 1.0), ..Network::default() };
    let bounds = Concurrency::auto().at_most(880);
    let course = run(network, Tuner::new(bounds), 30.0);
    let (low, high) = course.range(0.0);
    assert!(low >= 10 && high == 880, "{:?}", course.limits);
    let mut tuner = Tuner::new(Concurrency::auto().at_most(100));
    assert_eq!(tuner.hindrance(), Some(Hindrance::Ceiling));
    tuner = Tuner::new(Concurrency::auto());
    assert_eq!(tuner.hindrance(), None, "it grows");
    tuner.tick(&Tick { seconds: 1.0, busy: 1.0, ..Tick::default() });
    assert_eq!(tuner.hindrance(), Some(Hindrance::Cores));
}
