//! The cost of a timer. Run it with
//! `cargo test -p stoop-io --profile fast --test timer_cost -- --ignored --nocapture`.

use std::hint::black_box;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use stoop_io::{Timer, Wheel, now, wall_seconds};
use tokio::runtime::{Builder, LocalOptions};

const TIMERS: usize = 10_000;
const TOUCHES: u32 = 1_000_000;

#[test]
#[ignore = "a measurement"]
fn a_timer_costs_what_is_printed() {
    let runtime =
        Builder::new_current_thread().enable_all().build_local(LocalOptions::default()).unwrap();
    runtime.block_on(async {
        tokio::task::spawn_local(Wheel::run());
        tokio::task::yield_now().await;
        for (name, timer) in
            [("coarse", Timer::coarse as fn() -> Timer), ("precise", Timer::precise)]
        {
            touch(name, timer);
        }
        each("now", |_| _ = black_box(now()));
        each("wall_seconds", |_| _ = black_box(wall_seconds()));
    });
}

fn touch(name: &str, timer: fn() -> Timer) {
    let waker = Waker::from(std::sync::Arc::new(Unwoken));
    let cx = &mut Context::from_waker(&waker);
    let begin = now();
    let mut timers: Vec<Timer> = (0..TIMERS).map(|_| timer()).collect();
    let minute = |n: u32| Some(begin + Duration::from_secs(60) + Duration::from_micros(n.into()));
    let start = Instant::now();
    for timer in &mut timers {
        assert!(timer.poll(cx, minute(0)).is_pending());
    }
    println!("{name}: {:.1} ns to arm", start.elapsed().as_nanos() as f64 / TIMERS as f64);
    each(&format!("{name}: a later deadline, one timer"), |n| {
        _ = black_box(timers[0].poll(cx, minute(n)));
    });
    each(&format!("{name}: a later deadline, 10,000 timers"), |n| {
        _ = black_box(timers[n as usize % TIMERS].poll(cx, minute(n)));
    });
    let start = Instant::now();
    drop(timers);
    println!("{name}: {:.1} ns to drop", start.elapsed().as_nanos() as f64 / TIMERS as f64);
}

fn each(name: &str, mut work: impl FnMut(u32)) {
    let best = (0..5)
        .map(|_| {
            let start = Instant::now();
            (0..TOUCHES).for_each(&mut work);
            start.elapsed()
        })
        .min()
        .unwrap();
    println!("{name}: {:.2} ns", best.as_nanos() as f64 / f64::from(TOUCHES));
}

struct Unwoken;

impl std::task::Wake for Unwoken {
    fn wake(self: std::sync::Arc<Self>) {}
}
