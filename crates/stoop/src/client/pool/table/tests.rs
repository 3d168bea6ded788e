//! Of origins that speak HTTP/1; [`many`] is of connections that many share.

use super::*;

mod many;

type Tables = Table<u32, u32, u32>;

fn table(per_origin_max: usize, total_max: usize) -> Tables {
    let limits = PoolLimits { per_origin_max, total_max, ..PoolLimits::default() };
    Table::new(limits, |_, _| true)
}

fn demand(origin: &str, new_only: bool) -> Demand<'_> {
    Demand { origin, new_only, speaks: Speaks::Http1 }
}

/// The rules of the table, and that its counts are those of its parts.
fn check(table: &Tables) {
    let origins = || table.origins.iter().map(|(_, origin)| origin);
    assert_eq!(table.open, origins().map(|origin| origin.open).sum::<usize>());
    assert_eq!(table.idle, origins().map(|origin| origin.idle.len()).sum::<usize>());
    assert_eq!(table.keys.len(), table.origins.len());
    assert!(table.open <= table.limits.total_max && table.idle <= table.limits.idle_max);
    for (key, origin) in &table.origins {
        assert!(origin.open > 0 || !origin.waiters.is_empty(), "an unused origin is known");
        assert!(origin.open <= table.limits.per_origin_max);
        assert!(origin.idle.len() <= table.limits.idle_per_origin_max.min(origin.open));
        let is_full = origin.open >= table.limits.per_origin_max;
        if let Some((first, _)) = origin.waiters.first_key_value() {
            assert!(origin.idle.is_empty(), "a waiter waits for what idles");
            assert!(is_full || table.open >= table.limits.total_max, "a free place is not used");
            assert!(is_full || table.idle == 0, "an idle connection holds a place wanted");
            assert_eq!(origin.starved, (!is_full).then_some(*first));
        }
        assert!(origin.starved.is_none_or(|number| table.starved.get(&number) == Some(&key)));
    }
    assert_eq!(table.starved.len(), origins().filter(|o| o.starved.is_some()).count());
}

/// Numbers as a small generator draws them: the same in each run.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) as usize % bound
    }
}

#[test]
fn the_table_keeps_its_counts_and_rules_in_any_order_of_calls() {
    for seed in 0..200 {
        let mut draw = Draw(seed);
        let mut table = table(1 + draw.below(4), 1 + draw.below(8));
        table.limits.idle_per_origin_max = draw.below(4);
        table.limits.idle_max = draw.below(6);
        // Places on loan, by origin, and turns waited for.
        let (mut loans, mut turns) = (Vec::new(), Vec::new());
        for step in 0..400u32 {
            let mut effects = Effects::default();
            match draw.below(9) {
                0..=2 => {
                    let origin = format!("o{}", draw.below(5));
                    let (key, given) = table.acquire(
                        demand(&origin, draw.below(4) == 0),
                        |_| true,
                        || step,
                        &mut effects,
                    );
                    match given {
                        Allotment::Idle(_) => loans.push(key),
                        Allotment::NewConnection => {
                            loans.push(key);
                            table.connected(key, &mut effects);
                        }
                        Allotment::Stream(..) => panic!("nothing is shared"),
                        Allotment::Queued(number) => turns.push((key, number, step)),
                    }
                }
                3..=5 if !loans.is_empty() => {
                    let key = loans.swap_remove(draw.below(loans.len()));
                    table.returned(key, step, &mut effects);
                }
                6 if !loans.is_empty() => {
                    table.closed(loans.swap_remove(draw.below(loans.len())), &mut effects);
                }
                7 if !turns.is_empty() => {
                    let (key, number, waiter) = turns.swap_remove(draw.below(turns.len()));
                    assert_eq!(table.cancel(key, number), Some(waiter));
                }
                8 => table.shed(&mut effects),
                _ => table.reap(|connection| *connection % 3 == 0, None, &mut effects),
            }
            for (waiter, key, given) in std::mem::take(&mut effects.served) {
                if given == Allotment::NewConnection {
                    table.connected(key, &mut effects);
                }
                let at = turns.iter().position(|turn| turn.2 == waiter).unwrap();
                assert_eq!(turns.swap_remove(at).0, key);
                loans.push(key);
            }
            check(&table);
        }
        for (key, number, waiter) in turns {
            assert_eq!(table.cancel(key, number), Some(waiter));
        }
        loans.into_iter().for_each(|key| table.closed(key, &mut Effects::default()));
        table.reap(|_| true, None, &mut Effects::default());
        assert_eq!((table.counts(), table.origins.len()), ((0, 0), 0));
        assert!(table.starved.is_empty() && table.keys.is_empty());
    }
}

fn acquire(table: &mut Tables, origin: &str, waiter: u32) -> (Key, Allotment<u32, u32>) {
    table.acquire(demand(origin, false), |_| true, || waiter, &mut Effects::default())
}

#[test]
fn the_one_that_came_back_last_is_taken_first() {
    let mut table = table(8, 8);
    let (a, _) = acquire(&mut table, "a", 0);
    acquire(&mut table, "a", 0);
    table.returned(a, 1, &mut Effects::default());
    table.returned(a, 2, &mut Effects::default());
    assert!(matches!(acquire(&mut table, "a", 0).1, Allotment::Idle(2)));
    assert!(matches!(acquire(&mut table, "a", 0).1, Allotment::Idle(1)));
}

#[test]
fn who_waited_longest_is_next_whatever_the_origin() {
    let mut table = table(2, 2);
    let (a, _) = acquire(&mut table, "a", 0);
    acquire(&mut table, "a", 0);
    for (origin, waiter) in [("b", 1), ("a", 2), ("c", 3), ("a", 4)] {
        assert!(matches!(acquire(&mut table, origin, waiter).1, Allotment::Queued(_)));
    }
    // B has waited longest: a's connection is closed for it, though a could go on using it.
    let mut effects = Effects::default();
    table.returned(a, 10, &mut effects);
    let b = effects.served[0].1;
    assert_eq!(
        (effects.closed, effects.served),
        (vec![10], vec![(1, b, Allotment::NewConnection)])
    );
    // Now it is a's turn.
    let mut effects = Effects::default();
    table.returned(a, 11, &mut effects);
    assert_eq!((effects.closed, effects.served), (vec![], vec![(2, a, Allotment::Idle(11))]));
    // And c's, whichever origin makes room.
    let mut effects = Effects::default();
    table.closed(b, &mut effects);
    assert_eq!(effects.served[0].0, 3);
    check(&table);
}

#[test]
fn a_full_pool_closes_what_idles_elsewhere() {
    let mut table = table(2, 2);
    let (a, _) = acquire(&mut table, "a", 0);
    acquire(&mut table, "b", 0);
    table.returned(a, 1, &mut Effects::default());
    let mut effects = Effects::default();
    let (_, given) = table.acquire(demand("c", false), |_| true, || 9, &mut effects);
    assert!(matches!(given, Allotment::NewConnection));
    assert_eq!((effects.closed, table.keys.len()), (vec![1], 2));
}

#[test]
fn a_fresh_connection_replaces_one_that_idles_if_it_must() {
    let mut table = table(1, 8);
    let (a, _) = acquire(&mut table, "a", 0);
    table.returned(a, 1, &mut Effects::default());
    let mut effects = Effects::default();
    let (_, given) = table.acquire(demand("a", true), |_| true, || 9, &mut effects);
    assert!(matches!(given, Allotment::NewConnection));
    assert_eq!((effects.closed, table.counts()), (vec![1], (1, 0)));
}

#[test]
fn a_million_origins_leave_nothing() {
    let mut table = table(256, 64);
    for n in 0..1_000_000 {
        let (key, given) = acquire(&mut table, &format!("http://h{n}"), 0);
        assert!(matches!(given, Allotment::NewConnection));
        table.returned(key, n, &mut Effects::default());
    }
    assert_eq!((table.keys.len(), table.origins.capacity() <= 256), (64, true));
    assert!(table.order.len() <= 2 * 64 + 65 && table.keys.capacity() <= 256);
    table.reap(|_| true, None, &mut Effects::default());
    assert!(table.keys.is_empty() && table.origins.is_empty() && table.order.len() <= 64);
}

#[test]
fn who_gives_up_waiting_leaves_nothing() {
    let mut table = table(1, 1);
    acquire(&mut table, "a", 0);
    for n in 0..100_000 {
        let (key, given) = acquire(&mut table, &format!("http://h{n}"), n);
        let Allotment::Queued(number) = given else { panic!("the pool is full") };
        assert_eq!(table.cancel(key, number), Some(n));
    }
    assert_eq!((table.keys.len(), table.starved.len()), (1, 0));
}

#[test]
fn what_is_shed_is_what_idled_longest_and_one_at_a_time() {
    let mut table = table(8, 8);
    let (a, _) = acquire(&mut table, "a", 0);
    let (b, _) = acquire(&mut table, "b", 0);
    acquire(&mut table, "b", 0);
    table.returned(b, 1, &mut Effects::default());
    table.returned(a, 2, &mut Effects::default());
    for closed in [&[1][..], &[2], &[]] {
        let mut effects = Effects::default();
        table.shed(&mut effects);
        assert_eq!(effects.closed, closed);
        check(&table);
    }
    assert_eq!(table.counts(), (1, 0), "what is in use stays");
}
