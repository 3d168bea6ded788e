//! What waits, in which order it runs, and what finds no room.

use super::*;
use std::sync::mpsc;

use stoop::IntoResponse;
use tokio::task::JoinHandle;

/// Runs a function in the pool until it is released. Returns once it has begun.
async fn busy(pool: &BlockingPool) -> (mpsc::Sender<()>, JoinHandle<Result<(), BlockingError>>) {
    let (release, held) = mpsc::channel();
    let (begun, beginning) = oneshot::channel();
    let pool = pool.clone();
    let function = move || {
        begun.send(()).unwrap();
        held.recv().unwrap();
    };
    let running = tokio::spawn(async move { pool.run(function).await });
    beginning.await.unwrap();
    (release, running)
}

#[tokio::test]
async fn what_finds_threads_and_queue_full_is_refused_at_once() {
    let pool = BlockingPool::new(1, 1);
    let (release, first) = busy(&pool).await;
    let mut second = Box::pin(pool.run(|| 2));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(second.as_mut().poll(&mut cx).is_pending());
    assert_eq!(pool.run(|| 3).await, Err(BlockingError::Full));
    let refused = BlockingError::Full.into_response();
    assert_eq!((refused.status().as_u16(), refused.field("retry-after")), (503, Some(&b"1"[..])));
    release.send(()).unwrap();
    assert_eq!((first.await.unwrap(), second.await), (Ok(()), Ok(2)));
}

#[tokio::test]
async fn a_function_whose_caller_is_gone_is_left_out() {
    let pool = BlockingPool::new(1, 2);
    let (release, first) = busy(&pool).await;
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut dropped = Box::pin(pool.run(|| panic!("it must not run")));
    assert!(dropped.as_mut().poll(&mut cx).is_pending());
    drop(dropped);
    release.send(()).unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(pool.run(|| 4).await, Ok(4));
}

/// Clients that ask and leave would fill the queue else.
#[tokio::test]
async fn a_function_whose_caller_is_gone_makes_room() {
    let pool = BlockingPool::new(1, 1);
    let (release, first) = busy(&pool).await;
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..3 {
        let mut dropped = Box::pin(pool.run(|| panic!("it must not run")));
        assert!(dropped.as_mut().poll(&mut cx).is_pending());
    }
    let mut next = Box::pin(pool.run(|| 2));
    assert!(next.as_mut().poll(&mut cx).is_pending());
    assert_eq!(pool.run(|| 3).await, Err(BlockingError::Full));
    release.send(()).unwrap();
    first.await.unwrap().unwrap();
    assert_eq!(next.await, Ok(2));
}

#[tokio::test]
async fn what_comes_later_makes_room_and_runs_last() {
    let pool = BlockingPool::new(1, 2);
    let (release, first) = busy(&pool).await;
    let (ran, runs) = mpsc::channel();
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut begin = |urgency, name| {
        let ran = ran.clone();
        let mut call = Box::pin(pool.run_as(urgency, move || ran.send(name).unwrap()));
        assert!(call.as_mut().poll(&mut cx).is_pending());
        call
    };
    let later = [begin(Urgency::Later, "one"), begin(Urgency::Later, "two")];
    assert_eq!(pool.run_as(Urgency::Later, || ()).await, Err(BlockingError::Full));
    let urgent = begin(Urgency::First, "three");
    release.send(()).unwrap();
    first.await.unwrap().unwrap();
    let [one, two] = later;
    assert_eq!((one.await, two.await), (Ok(()), Err(BlockingError::Full)));
    assert_eq!((urgent.await, runs.try_iter().collect::<Vec<_>>()), (Ok(()), vec!["three", "one"]));
}

#[tokio::test]
async fn a_panic_is_an_error_of_its_caller_alone() {
    let pool = BlockingPool::new(1, 0);
    assert_eq!(pool.run(|| panic!("on purpose")).await, Err::<(), _>(BlockingError::Panicked));
    assert_eq!(pool.run(|| 5).await, Ok(5));
}
