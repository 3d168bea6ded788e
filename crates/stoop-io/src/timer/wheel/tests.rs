use super::*;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn fired(wheel: &mut TimingWheel, now: u64) -> (usize, Option<u64>) {
    let mut due = VecDeque::new();
    let next = wheel.turn(now, &mut due);
    (due.len(), next)
}

#[test]
fn an_entry_fires_at_its_tick_and_not_before() {
    for deadline in [1, 2, 63, 64, 65, 4_095, 4_096, 60_000, 86_400_000, 10_u64.pow(11)] {
        for begin in [0, 1, 63, 64, 100, 4_095, 1_000_000] {
            let mut wheel = TimingWheel::new();
            wheel.file(begin, begin + deadline, Waker::noop().clone());
            let (mut now, mut turns) = (begin, 0);
            loop {
                let (count, next) = fired(&mut wheel, now);
                if count > 0 {
                    break;
                }
                now = next.expect("something is filed");
                turns += 1;
                assert!(now <= begin + deadline && turns <= LEVELS);
            }
            assert_eq!(now, begin + deadline);
        }
    }
}

#[test]
fn a_later_deadline_needs_no_filing_and_an_earlier_one_does() {
    let mut wheel = TimingWheel::new();
    let waker = &Waker::from(Arc::new(WakeCount::default()));
    let (key, nearer) = wheel.file(0, 1_000, waker.clone());
    assert!(nearer);
    assert!(matches!(wheel.touch(key, 5_000, waker), Touched::Kept));
    let (count, next) = fired(&mut wheel, 1_000);
    assert_eq!(count, 0);
    assert!(next.is_some_and(|tick| tick > 1_000 && tick <= 5_000));
    assert!(matches!(wheel.touch(key, 1_001, waker), Touched::Earlier));
    assert!(wheel.remove(key).is_some());
    assert_eq!(fired(&mut wheel, 10_000), (0, None));
    assert!(matches!(wheel.touch(key, 20_000, waker), Touched::Fired));
}

#[test]
fn a_key_outlives_neither_its_entry_nor_the_slab() {
    let mut wheel = TimingWheel::new();
    let keys: Vec<EntryKey> =
        (0..5_000).map(|n| wheel.file(0, 10 + n, Waker::noop().clone()).0).collect();
    assert_eq!(fired(&mut wheel, 10_000), (5_000, None));
    assert_eq!((wheel.len(), wheel.entries.capacity()), (0, 0));
    let (new, _) = wheel.file(10_000, 10_010, Waker::noop().clone());
    for key in keys {
        assert!(matches!(wheel.touch(key, 20_000, Waker::noop()), Touched::Fired));
        assert!(wheel.remove(key).is_none());
    }
    assert!(wheel.remove(new).is_some());
}

#[test]
fn an_entry_without_a_deadline_fires_at_its_old_one() {
    let mut wheel = TimingWheel::new();
    let waker = Waker::from(Arc::new(WakeCount::default()));
    let (key, _) = wheel.file(0, 50, waker.clone());
    assert!(matches!(wheel.touch(key, NEVER, &waker), Touched::Kept));
    assert_eq!(fired(&mut wheel, 50), (1, None));
    assert_eq!(wheel.len(), 0);
}

/// Compares with a sorted map, with every kind of step in random order.
#[test]
fn a_wheel_does_what_a_sorted_map_does() {
    for seed in 1..=50_u64 {
        let mut state = seed;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            (state >> 33) % below
        };
        let (mut wheel, mut now) = (TimingWheel::new(), random(10_000));
        let mut model: BTreeMap<u64, (EntryKey, u64, Arc<WakeCount>)> = BTreeMap::new();
        for id in 0..2_000 {
            let scale = [10, 100, 5_000, 300_000, 20_000_000][random(5) as usize];
            let far = 1 + random(scale);
            let pick = model.keys().nth(random(model.len() as u64 + 1) as usize).copied();
            match (random(4), pick) {
                (0, Some(pick)) => {
                    let (key, ..) = model.remove(&pick).unwrap();
                    assert!(wheel.remove(key).is_some());
                }
                (1, Some(pick)) => {
                    let (key, deadline, count) = model.get_mut(&pick).unwrap();
                    let waker = Waker::from(Arc::clone(count));
                    *deadline = now + far;
                    match wheel.touch(*key, *deadline, &waker) {
                        Touched::Kept => {}
                        Touched::Earlier => {
                            wheel.remove(*key);
                            *key = wheel.file(now, *deadline, waker).0;
                        }
                        _ => panic!("fired, or lost its waker"),
                    }
                }
                (2, _) => {
                    now += far;
                    let mut due = VecDeque::new();
                    let next = wheel.turn(now, &mut due);
                    due.into_iter().for_each(Waker::wake);
                    model.retain(|_, (_, deadline, count)| {
                        let fired = count.0.load(Ordering::Relaxed);
                        assert_eq!(fired, usize::from(*deadline <= now), "seed {seed}");
                        fired == 0
                    });
                    let nearest = model.values().map(|(_, deadline, _)| *deadline).min();
                    assert_eq!(next.is_some(), nearest.is_some());
                    assert!(next <= nearest && next.is_none_or(|tick| tick > now));
                }
                _ => {
                    let count = Arc::new(WakeCount::default());
                    let (key, _) = wheel.file(now, now + far, Arc::clone(&count).into());
                    model.insert(id, (key, now + far, count));
                }
            }
            assert_eq!(wheel.len(), model.len());
        }
    }
}
