//! Connections that many share, and origins of which it is not known yet what they speak.

use std::time::{Duration, Instant};

use super::*;

const STREAMS: usize = 3;

fn shared(http2_per_origin_max: usize, total_max: usize) -> Tables {
    let limits = PoolLimits { http2_per_origin_max, total_max, ..PoolLimits::default() };
    Table::new(limits, |_, _| true)
}

fn unknown(origin: &str) -> Demand<'_> {
    Demand { origin, new_only: false, speaks: Speaks::Unknown }
}

fn ask_as(table: &mut Tables, speaks: Speaks, waiter: u32) -> (Key, Allotment<u32, u32>) {
    let demand = Demand { origin: "a", new_only: false, speaks };
    table.acquire(demand, |_| true, || waiter, &mut Effects::default())
}

fn no_effects() -> Effects<u32, u32, u32> {
    Effects::default()
}

fn served(effects: Effects<u32, u32, u32>) -> Vec<(u32, Allotment<u32, u32>)> {
    effects.served.into_iter().map(|(waiter, _, given)| (waiter, given)).collect()
}

/// Two of these take as many streams as there are.
fn check_many(table: &Tables) {
    let origins = || table.origins.iter().map(|(_, origin)| origin);
    assert_eq!(table.open, origins().map(|origin| origin.open).sum::<usize>());
    assert_eq!(table.idle, origins().map(OriginEntry::idle_count).sum::<usize>());
    assert!(table.open <= table.limits.total_max && table.idle <= table.limits.idle_max);
    for (key, origin) in &table.origins {
        assert!(origin.open > 0 || !origin.waiters.is_empty(), "an unused origin is known");
        assert!(origin.connecting + origin.shared.len() + origin.idle.len() <= origin.open);
        let may_open = origin.may_open(0, &table.limits);
        if let Some((first, _)) = origin.waiters.first_key_value() {
            let has_room = |m: &origin::Member<u32>| m.used < m.streams_max;
            assert!(
                !origin.shared.iter().any(has_room),
                "a waiter waits for a stream that is free"
            );
            let is_full = table.open >= table.limits.total_max;
            assert!(!may_open || is_full, "a free place is not used");
            assert!(!may_open || table.idle == 0, "an idle connection holds a place wanted");
            assert_eq!(origin.starved, may_open.then_some(*first));
        }
        for member in &origin.shared {
            assert!(member.idle.is_none() || member.used == 0 && !member.is_retired);
            assert!(member.used > 0 || member.idle.is_some() || member.is_retired);
        }
        assert!(origin.starved.is_none_or(|number| table.starved.get(&number) == Some(&key)));
    }
    assert_eq!(table.starved.len(), origins().filter(|o| o.starved.is_some()).count());
}

/// What a served waiter has.
enum Has {
    Place(Key),
    Stream(Key, u64),
    Whole(Key),
}

fn has(key: Key, given: &Allotment<u32, u32>) -> Has {
    match given {
        Allotment::Idle(_) => Has::Whole(key),
        Allotment::Stream(number, _) => Has::Stream(key, *number),
        Allotment::NewConnection => Has::Place(key),
        Allotment::Queued(_) => panic!("no waiter is served a place in the queue"),
    }
}

#[test]
fn the_table_keeps_its_counts_and_rules_in_any_order_of_calls() {
    let start = Instant::now();
    for seed in 0..400 {
        let mut draw = Draw(seed);
        let mut table = shared(1 + draw.below(3), 1 + draw.below(8));
        table.limits.idle_per_origin_max = draw.below(4);
        table.limits.idle_max = draw.below(6);
        let (mut has_all, mut turns, mut members) = (Vec::new(), Vec::new(), Vec::new());
        for step in 0..400u32 {
            let (mut effects, now) = (no_effects(), start + Duration::from_secs(step.into()));
            let which = |draw: &mut Draw, len: usize| draw.below(len);
            match draw.below(14) {
                0..=3 => {
                    let origin = format!("o{}", draw.below(4));
                    let (key, given) =
                        table.acquire(unknown(&origin), |_| true, || step, &mut effects);
                    match given {
                        Allotment::Queued(number) => turns.push((key, number, step)),
                        given => has_all.push(has(key, &given)),
                    }
                }
                4..=9 if !has_all.is_empty() => {
                    let at = which(&mut draw, has_all.len());
                    match has_all.swap_remove(at) {
                        Has::Whole(key) if draw.below(4) == 0 => table.closed(key, &mut effects),
                        Has::Whole(key) => table.returned(key, step, &mut effects),
                        Has::Stream(key, number) => {
                            table.streams_ended(key, number, 1, now, &mut effects)
                        }
                        Has::Place(key) => match draw.below(6) {
                            0 => table.connect_failed(key, &mut effects),
                            1 => {
                                table.connected(key, &mut effects);
                                has_all.push(Has::Whole(key));
                            }
                            _ => {
                                let number = table.shared_connected(key, step, 1, &mut effects);
                                members.push((key, number));
                                has_all.push(Has::Stream(key, number));
                            }
                        },
                    }
                }
                10 if !members.is_empty() => {
                    let (key, number) = members[which(&mut draw, members.len())];
                    table.streams_allowed(key, number, draw.below(STREAMS + 1), &mut effects);
                }
                11 if !members.is_empty() => {
                    let at = which(&mut draw, members.len());
                    let (key, number) = members[at];
                    if draw.below(2) == 0 {
                        table.retired(key, number, &mut effects);
                    } else {
                        members.swap_remove(at);
                        table.shared_closed(key, number, &mut effects);
                    }
                }
                12 if !turns.is_empty() => {
                    let (key, number, waiter) = turns.swap_remove(which(&mut draw, turns.len()));
                    assert_eq!(table.cancel(key, number), Some(waiter));
                }
                13 => table.shed(&mut effects),
                _ => {
                    let since =
                        start.checked_add(Duration::from_secs(step.saturating_sub(9).into()));
                    table.reap(|connection| *connection % 3 == 0, since, &mut effects);
                }
            }
            for (waiter, key, given) in effects.served {
                let at = turns.iter().position(|turn| turn.2 == waiter).unwrap();
                assert_eq!(turns.swap_remove(at).0, key);
                has_all.push(has(key, &given));
            }
            check_many(&table);
        }
        for (key, number, waiter) in turns {
            assert_eq!(table.cancel(key, number), Some(waiter));
        }
        for had in has_all {
            match had {
                Has::Whole(key) => table.closed(key, &mut no_effects()),
                Has::Place(key) => table.connect_failed(key, &mut no_effects()),
                Has::Stream(key, number) => {
                    table.streams_ended(key, number, 1, start, &mut no_effects())
                }
            }
        }
        members
            .into_iter()
            .for_each(|(key, number)| table.shared_closed(key, number, &mut no_effects()));
        table.reap(|_| true, Some(start), &mut no_effects());
        assert_eq!((table.counts(), table.origins.len()), ((0, 0), 0));
        assert!(table.starved.is_empty() && table.keys.is_empty());
    }
}

#[test]
fn one_finds_out_what_an_origin_speaks_and_all_others_share_what_it_found() {
    let mut table = shared(32, 100);
    let (key, given) = ask_as(&mut table, Speaks::Unknown, 0);
    assert_eq!(given, Allotment::NewConnection);
    for waiter in 1..64 {
        let (_, given) = ask_as(&mut table, Speaks::Unknown, waiter);
        assert!(matches!(given, Allotment::Queued(_)));
    }
    let mut effects = no_effects();
    let number = table.shared_connected(key, 7, 100, &mut effects);
    let all: Vec<_> = (1..64).map(|waiter| (waiter, Allotment::Stream(number, 7))).collect();
    assert_eq!(served(effects), all);
    assert_eq!(table.counts(), (1, 0));
}

#[test]
fn all_waiters_connect_once_an_origin_speaks_http1_or_does_not_answer() {
    for is_made in [true, false] {
        let mut table = shared(32, 100);
        let (key, _) = ask_as(&mut table, Speaks::Unknown, 0);
        for waiter in 1..4 {
            ask_as(&mut table, Speaks::Unknown, waiter);
        }
        let mut effects = no_effects();
        match is_made {
            true => table.connected(key, &mut effects),
            false => table.connect_failed(key, &mut effects),
        }
        assert_eq!(
            served(effects),
            (1..4).map(|waiter| (waiter, Allotment::NewConnection)).collect::<Vec<_>>()
        );
    }
}

#[test]
fn of_those_who_try_there_are_no_more_than_either_version_allows() {
    let mut table = shared(2, 100);
    let (key, _) = ask_as(&mut table, Speaks::Unknown, 0);
    for waiter in 1..4 {
        ask_as(&mut table, Speaks::Unknown, waiter);
    }
    let mut failed = no_effects();
    table.connect_failed(key, &mut failed);
    assert_eq!(served(failed), [(1, Allotment::NewConnection), (2, Allotment::NewConnection)]);
    let mut failed = no_effects();
    table.connect_failed(key, &mut failed);
    assert_eq!(served(failed), [(3, Allotment::NewConnection)]);
}

#[test]
fn as_many_connections_are_opened_as_those_who_wait_need_once_streams_are_known() {
    let mut table = shared(32, 100);
    let (key, given) = ask_as(&mut table, Speaks::Http2, 0);
    assert_eq!(given, Allotment::NewConnection);
    for waiter in 1..1_000 {
        ask_as(&mut table, Speaks::Http2, waiter);
    }
    let mut joined = no_effects();
    let number = table.shared_connected(key, 7, 100, &mut joined);
    // It has not said how many it allows: no other is opened.
    assert_eq!(served(joined).len(), 99);
    let mut told = no_effects();
    table.streams_allowed(key, number, 250, &mut told);
    let told = served(told);
    let streams = told.iter().filter(|(_, given)| matches!(given, Allotment::Stream(..))).count();
    let places = told.iter().filter(|(_, given)| *given == Allotment::NewConnection).count();
    // 750 wait, and the three that open connections do not wait any more.
    assert_eq!((streams, places), (150, 3));
    check_many(&table);
}

#[test]
fn an_origin_has_no_more_connections_of_http2_than_its_limit_but_for_those_that_end() {
    let mut table = shared(2, 100);
    let (key, _) = ask_as(&mut table, Speaks::Http2, 0);
    let first = table.shared_connected(key, 1, 1, &mut no_effects());
    table.streams_allowed(key, first, 1, &mut no_effects());
    assert_eq!(ask_as(&mut table, Speaks::Http2, 1).1, Allotment::NewConnection);
    let second = table.shared_connected(key, 2, 1, &mut no_effects());
    assert!(matches!(ask_as(&mut table, Speaks::Http2, 2).1, Allotment::Queued(_)));
    let mut retired = no_effects();
    table.retired(key, first, &mut retired);
    assert_eq!(served(retired), [(2, Allotment::NewConnection)]);
    table.shared_connected(key, 3, 1, &mut no_effects());
    assert!(matches!(ask_as(&mut table, Speaks::Http2, 4).1, Allotment::Queued(_)));
    let mut ended = no_effects();
    table.streams_ended(key, second, 1, Instant::now(), &mut ended);
    assert_eq!(served(ended), [(4, Allotment::Stream(second, 2))]);
    check_many(&table);
}

#[test]
fn an_unused_connection_idles_and_makes_room_for_others() {
    let mut table = shared(32, 1);
    let (key, _) = ask_as(&mut table, Speaks::Http2, 0);
    let number = table.shared_connected(key, 1, 10, &mut no_effects());
    let begin = Instant::now();
    table.streams_ended(key, number, 1, begin, &mut no_effects());
    assert_eq!(table.counts(), (1, 1));
    // It is used again.
    assert_eq!(ask_as(&mut table, Speaks::Http2, 0).1, Allotment::Stream(number, 1));
    assert_eq!(table.counts(), (1, 0));
    // Another origin wants its place, and gets it as soon as it is not used.
    let mut asked = no_effects();
    let (_, given) = table.acquire(unknown("b"), |_| true, || 9, &mut asked);
    assert!(matches!(given, Allotment::Queued(_)) && asked.ended.is_empty());
    let mut ended = no_effects();
    table.streams_ended(key, number, 1, begin, &mut ended);
    assert_eq!(ended.ended, [1]);
    assert_eq!(served(ended), [(9, Allotment::NewConnection)]);
    check_many(&table);
}

#[test]
fn what_idles_for_long_is_ended() {
    let mut table = shared(32, 10);
    let (key, _) = ask_as(&mut table, Speaks::Http2, 0);
    let number = table.shared_connected(key, 1, 10, &mut no_effects());
    let begin = Instant::now();
    table.streams_ended(key, number, 1, begin + Duration::from_secs(1), &mut no_effects());
    let mut reaped = no_effects();
    table.reap(|_| false, Some(begin), &mut reaped);
    assert_eq!((reaped.ended.len(), table.counts()), (0, (1, 1)));
    table.reap(|_| false, Some(begin + Duration::from_secs(1)), &mut reaped);
    assert_eq!((reaped.ended, table.counts()), (vec![1], (0, 0)));
}
