//! How many tasks are woken at once. What a timer does is in the tests of the module above.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::Write;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::task::Wake;

use tokio::net::UnixStream;
use tokio::runtime::{Builder, LocalOptions};
use tokio::task::{spawn_local, yield_now};

use super::*;
use crate::timer::Timer;

/// Timers that are due at the same time.
const TIMERS: usize = 100;
const DUE: Duration = Duration::from_millis(10);

#[derive(Default)]
struct WakeCount(AtomicUsize);

impl Wake for WakeCount {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl WakeCount {
    fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

fn run(test: impl Future<Output = ()>) {
    let mut builder = Builder::new_current_thread();
    let runtime = builder.enable_all().start_paused(true).build_local(LocalOptions::default());
    runtime.unwrap().block_on(test);
}

/// A wheel that was polled once, with timers that are due.
async fn due() -> (Pin<Box<impl Future<Output = ()>>>, Vec<Timer>, Arc<WakeCount>) {
    let (mut wheel, count) = (Box::pin(Wheel::run()), Arc::new(WakeCount::default()));
    let (waker, deadline) = (Waker::from(Arc::clone(&count)), Some(now() + DUE));
    assert!(poll_once(&mut wheel).await.is_pending());
    let timers = (0..TIMERS).map(|_| {
        let mut timer = Timer::coarse();
        assert!(timer.poll(&mut Context::from_waker(&waker), deadline).is_pending());
        timer
    });
    let timers = timers.collect();
    assert_eq!(Wheel::filed(), TIMERS);
    tokio::time::advance(DUE).await;
    (wheel, timers, count)
}

async fn poll_once(wheel: &mut Pin<Box<impl Future<Output = ()>>>) -> Poll<()> {
    poll_fn(|cx| Poll::Ready(wheel.as_mut().poll(cx))).await
}

#[test]
fn a_turn_of_the_wheel_wakes_few_tasks_and_the_next_one_the_next() {
    run(async {
        let (mut wheel, mut timers, count) = due().await;
        let mut woken = 0;
        while woken < TIMERS {
            assert!(poll_once(&mut wheel).await.is_pending());
            let more = count.get() - woken;
            assert_eq!(more, WAKES_MAX.min(TIMERS - woken));
            woken += more;
        }
        assert!(poll_once(&mut wheel).await.is_pending());
        assert_eq!(count.get(), TIMERS);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(timers.iter_mut().all(|timer| timer.poll(&mut cx, Some(now())).is_ready()));
    });
}

/// One that was due and has not been woken is ready when it is polled for something else, and may wait again.
#[test]
fn a_timer_whose_turn_has_not_come_may_be_polled() {
    run(async {
        let (mut wheel, mut timers, count) = due().await;
        assert!(poll_once(&mut wheel).await.is_pending());
        let mut cx = Context::from_waker(Waker::noop());
        for timer in &mut timers {
            assert!(timer.poll(&mut cx, Some(now())).is_ready());
            assert!(timer.poll(&mut cx, Some(now() + DUE)).is_pending());
        }
        assert_eq!((Wheel::filed(), count.get()), (TIMERS, WAKES_MAX));
        drop(timers);
        assert_eq!(Wheel::filed(), 0);
    });
}

#[test]
fn a_wheel_that_is_dropped_wakes_those_that_are_due() {
    run(async {
        let (mut wheel, _timers, count) = due().await;
        assert!(poll_once(&mut wheel).await.is_pending());
        assert_eq!(count.get(), WAKES_MAX);
        drop(wheel);
        assert_eq!(count.get(), TIMERS);
    });
}

/// A connection whose bytes come while hundreds of others are at their deadlines.
#[test]
fn sockets_are_looked_at_while_many_timers_are_due() {
    run(async {
        spawn_local(Wheel::run());
        yield_now().await;
        let (expired, deadline) = (Rc::new(Cell::new(0)), now() + DUE);
        let (near, far) = StdUnixStream::pair().unwrap();
        far.set_nonblocking(true).unwrap();
        let far = UnixStream::from_std(far).unwrap();
        let (near, seen) = (Rc::new(Cell::new(Some(near))), Rc::clone(&expired));
        let reader = spawn_local(async move {
            far.readable().await.unwrap();
            seen.get()
        });
        let timers = (0..TIMERS).map(|_| {
            let (expired, near) = (Rc::clone(&expired), Rc::clone(&near));
            spawn_local(async move {
                Timer::coarse().wait(Some(deadline)).await;
                expired.set(expired.get() + 1);
                if let Some(mut near) = near.take() {
                    near.write_all(b"!").unwrap();
                }
            })
        });
        let timers: Vec<_> = timers.collect();
        // The one that writes, those woken with it, and those of one turn more.
        let seen = reader.await.unwrap();
        assert!(seen <= 2 * WAKES_MAX, "{seen} have expired");
        for timer in timers {
            timer.await.unwrap();
        }
        assert_eq!(expired.get(), TIMERS);
    });
}
