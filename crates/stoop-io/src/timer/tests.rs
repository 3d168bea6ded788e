use super::*;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use std::time::Duration;

use crate::worker::{WorkerOptions, Workers};
use tokio::runtime::{Builder, LocalOptions, LocalRuntime};
use tokio::task::{JoinHandle, spawn_local, yield_now};

const MS: Duration = Duration::from_millis(1);

fn paused() -> LocalRuntime {
    Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build_local(LocalOptions::default())
        .unwrap()
}

/// Starts the thread's wheel and waits until it turns.
async fn wheel() -> JoinHandle<()> {
    let task = spawn_local(Wheel::run());
    yield_now().await;
    task
}

/// Runs a test with coarse timers and again with precise ones.
fn with_both(test: impl AsyncFn(fn() -> Timer)) {
    paused().block_on(async {
        wheel().await;
        test(Timer::coarse).await;
    });
    paused().block_on(test(Timer::precise));
}

struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

fn counting() -> (Arc<WakeCount>, Waker) {
    let count = Arc::new(WakeCount(AtomicUsize::new(0)));
    (Arc::clone(&count), count.into())
}

#[test]
fn a_deadline_is_kept_to_a_millisecond_and_never_early() {
    with_both(async |timer| {
        for micros in [0, 1, 900, 1_000, 1_001, 63_500, 64_000, 5_000_000, 86_400_000_017] {
            let deadline = now() + Duration::from_micros(micros);
            timer().wait(Some(deadline)).await;
            let late = now().checked_duration_since(deadline).expect("never early");
            // One for the wheel, one for the runtime's own clock.
            assert!(late <= 2 * MS, "{late:?} late after {micros} µs");
        }
    });
}

#[test]
fn a_deadline_that_moves_later_wakes_no_task_before_it() {
    with_both(async |timer| {
        let (begin, mut timer, polls) = (now(), timer(), Rc::new(AtomicUsize::new(0)));
        let deadline = std::cell::Cell::new(begin + 10 * MS);
        let wait = std::future::poll_fn(|cx| {
            polls.fetch_add(1, Ordering::Relaxed);
            timer.poll(cx, Some(deadline.get()))
        });
        let push = async {
            for _ in 0..100 {
                tokio::time::sleep(5 * MS).await;
                deadline.set(now() + 10 * MS);
            }
            std::future::pending().await
        };
        tokio::select! { biased; () = wait => (), () = push => () }
        assert!(now() - begin >= 510 * MS);
        assert!(now() - begin <= 512 * MS);
    });
}

#[test]
fn a_deadline_that_moves_earlier_is_kept() {
    with_both(async |timer| {
        let (begin, mut timer) = (now(), timer());
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timer.poll(&mut cx, Some(begin + Duration::from_secs(60))).is_pending());
        timer.wait(Some(begin + 20 * MS)).await;
        assert!(now() - begin <= 22 * MS);
        assert!(timer.poll(&mut cx, Some(begin)).is_ready(), "a passed one at once");
        timer.wait(Some(begin + 50 * MS)).await;
        assert!(now() - begin >= 50 * MS, "and it can be used again");
    });
}

#[test]
fn without_a_deadline_a_timer_is_never_ready_and_holds_nothing() {
    with_both(async |timer| {
        let mut timer = timer();
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timer.poll(&mut cx, None).is_pending());
        assert!(matches!(timer.state, TimerState::Idle));
        assert!(timer.poll(&mut cx, Some(now() + MS)).is_pending());
        tokio::time::sleep(5 * MS).await;
        assert!(timer.poll(&mut cx, None).is_pending());
    });
}

#[test]
fn a_deadline_beyond_the_last_tick_is_accepted() {
    with_both(async |timer| {
        let (mut timer, mut far) = (timer(), now());
        let mut cx = Context::from_waker(Waker::noop());
        while let Some(farther) = far.checked_add(far - now() + Duration::from_secs(1)) {
            far = farther;
            assert!(timer.poll(&mut cx, Some(far)).is_pending());
        }
        timer.wait(Some(now() + MS)).await;
    });
}

#[test]
fn the_waker_of_the_last_poll_is_woken() {
    with_both(async |timer| {
        let mut timer = timer();
        let ((first, waker), (second, other)) = (counting(), counting());
        let deadline = Some(now() + 10 * MS);
        assert!(timer.poll(&mut Context::from_waker(&waker), deadline).is_pending());
        assert!(timer.poll(&mut Context::from_waker(&other), deadline).is_pending());
        tokio::time::sleep(20 * MS).await;
        assert_eq!(first.0.load(Ordering::Relaxed), 0);
        assert_eq!(second.0.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_coarse_timer_lives_in_the_wheel_and_leaves_it_when_dropped() {
    paused().block_on(async {
        wheel().await;
        let (count, waker) = counting();
        let mut timer = Timer::coarse();
        let mut cx = Context::from_waker(&waker);
        assert!(timer.poll(&mut cx, Some(now() + 10 * MS)).is_pending());
        assert!(matches!(timer.state, TimerState::Filed(_)));
        assert_eq!(Wheel::filed(), 1);
        drop(timer);
        assert_eq!(Wheel::filed(), 0);
        tokio::time::sleep(20 * MS).await;
        assert_eq!(count.0.load(Ordering::Relaxed), 0);
        assert_eq!(Arc::strong_count(&count), 2, "the wheel holds no waker");
    });
}

#[test]
fn a_coarse_timer_without_a_wheel_uses_the_runtime() {
    paused().block_on(async {
        let begin = now();
        let mut timer = Timer::coarse();
        timer.wait(Some(begin + 10 * MS)).await;
        assert!(matches!(timer.state, TimerState::Sleeping(_)));
        wheel().await;
        timer.wait(Some(begin + 20 * MS)).await;
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timer.poll(&mut cx, Some(begin + 30 * MS)).is_pending());
        assert!(matches!(timer.state, TimerState::Filed(_)), "and the wheel once there is one");
    });
}

#[test]
fn timers_go_on_without_a_wheel_that_stopped() {
    paused().block_on(async {
        let (begin, task) = (now(), wheel().await);
        let wait = spawn_local(async move { Timer::coarse().wait(Some(begin + 50 * MS)).await });
        yield_now().await;
        task.abort();
        wait.await.unwrap();
        assert!(now() - begin >= 50 * MS && now() - begin <= 52 * MS);
        // A new one starts with new entries; the old ones' keys do not reach into it.
        let mut timer = Timer::coarse();
        let task = wheel().await;
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timer.poll(&mut cx, Some(now() + 50 * MS)).is_pending());
        task.abort();
        let _ = task.await;
        wheel().await;
        let (other, deadline) = (Timer::coarse().poll(&mut cx, Some(now() + MS)), now() + 50 * MS);
        assert!(other.is_pending());
        drop(timer);
        Timer::coarse().wait(Some(deadline)).await;
    });
}

#[test]
fn a_thread_turns_one_wheel() {
    paused().block_on(async {
        wheel().await;
        spawn_local(Wheel::run()).await.unwrap();
        Timer::coarse().wait(Some(now() + MS)).await;
    });
}

/// The wheel of a runtime that is not running would never fire.
#[test]
fn another_runtime_on_the_same_thread_does_not_use_the_wheel() {
    let first = paused();
    first.block_on(wheel());
    paused().block_on(async {
        let mut timer = Timer::coarse();
        timer.wait(Some(now() + 10 * MS)).await;
        assert!(matches!(timer.state, TimerState::Sleeping(_)));
    });
}

#[test]
fn a_coarse_timer_may_be_dropped_or_polled_on_another_thread() {
    paused().block_on(async {
        wheel().await;
        let (count, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        let (mut dropped, mut polled) = (Timer::coarse(), Timer::coarse());
        assert!(dropped.poll(&mut cx, Some(now() + 10 * MS)).is_pending());
        assert!(polled.poll(&mut cx, Some(now() + 10 * MS)).is_pending());
        let elsewhere = std::thread::spawn(move || {
            drop(dropped);
            paused().block_on(async {
                wheel().await;
                polled.wait(Some(now() + 10 * MS)).await;
            });
        });
        elsewhere.join().unwrap();
        assert_eq!(Wheel::filed(), 2, "left behind");
        tokio::time::sleep(20 * MS).await;
        assert_eq!(Wheel::filed(), 0, "until they fire");
        assert_eq!(count.0.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn a_precise_timer_follows_its_connection_to_another_runtime() {
    let mut timer = Timer::precise();
    let mut cx = Context::from_waker(Waker::noop());
    let first = paused();
    first.block_on(async {
        assert!(timer.poll(&mut cx, Some(now() + 10 * MS)).is_pending());
    });
    // `first` runs no more; a timer of its would never fire.
    paused().block_on(async { timer.wait(Some(now() + 10 * MS)).await });
    drop(first);
    paused().block_on(async {
        timer.wait(Some(now() + 10 * MS)).await;
        assert!(timer.poll(&mut cx, Some(now() + 10 * MS)).is_pending());
    });
    // The same waker, but the runtime is gone and its timers ended with it.
    paused().block_on(async {
        assert!(timer.poll(&mut cx, Some(now() + 20 * MS)).is_pending());
        timer.wait(Some(now() + 30 * MS)).await;
    });
}

#[test]
fn a_task_without_budget_is_still_woken_in_time() {
    paused().block_on(async {
        let mut timer = Timer::precise();
        let (count, waker) = counting();
        let mut cx = Context::from_waker(&waker);
        while tokio::task::coop::has_budget_remaining() {
            tokio::task::coop::consume_budget().await;
        }
        let deadline = Some(now() + 10 * MS);
        assert!(timer.poll(&mut cx, deadline).is_pending());
        assert!(timer.poll(&mut cx, deadline).is_pending());
        tokio::time::sleep(20 * MS).await;
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn a_timer_is_small_and_may_be_sent() {
    fn send<T: Send + Sync>() {}
    send::<Timer>();
    assert!(size_of::<Timer>() <= 48, "{}", size_of::<Timer>());
}

#[test]
fn the_wheel_turns_before_the_main_future_starts() {
    let workers =
        Workers::start(&WorkerOptions { count: 1, ..WorkerOptions::default() }, |_| async {
            let mut timer = Timer::coarse();
            let mut cx = Context::from_waker(Waker::noop());
            let deadline = Some(now() + Duration::from_millis(2));
            assert!(timer.poll(&mut cx, deadline).is_pending());
            assert_eq!(Wheel::filed(), 1);
            timer.wait(deadline).await;
        });
    workers.unwrap().wait().unwrap();
}
