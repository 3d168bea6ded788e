//! Workers: threads with a local runtime each.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::Builder;

use stoop_io::{Worker, WorkerOptions, Workers};

fn options(count: usize) -> WorkerOptions {
    WorkerOptions { count, ..WorkerOptions::default() }
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let WorkerOptions { count, name, pin } = WorkerOptions::default();
    assert!(count >= 1);
    assert_eq!((name.as_str(), pin), ("stoop", false));
}

#[test]
fn each_worker_runs_a_local_future_on_a_thread_of_its_own() {
    let sum = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&sum);
    let workers = Workers::start(&options(3), move |worker| {
        let (name, expected) = (std::thread::current(), format!("stoop-{}", worker.index()));
        assert_eq!(name.name(), Some(expected.as_str()));
        assert_eq!(worker.count(), 3);
        // Not `Send`, and neither is the task it is given to.
        let local = Rc::new(worker.index() + 1);
        let sum = Arc::clone(&shared);
        async move {
            let task = tokio::task::spawn_local(async move { *local });
            sum.fetch_add(task.await.unwrap(), Ordering::Relaxed);
        }
    });
    workers.unwrap().wait().unwrap();
    assert_eq!(sum.load(Ordering::Relaxed), 6);
}

async fn until_stopped(mut worker: Worker) {
    worker.stopped().await;
    assert!(worker.is_stopping());
    worker.stopped().await;
}

#[test]
fn workers_end_by_stop_by_a_stopper_and_when_dropped() {
    let workers = Workers::start(&options(2), until_stopped).unwrap();
    workers.stop();
    workers.stop();
    workers.wait().unwrap();

    let workers = Workers::start(&options(2), until_stopped).unwrap();
    let stopper = workers.stopper();
    std::thread::spawn(move || stopper.stop());
    workers.wait().unwrap();

    let (alive, other) = (Arc::new(()), Arc::new(()));
    let inside = (Arc::clone(&alive), other);
    let workers = Workers::start(&options(2), move |worker| {
        let inside = inside.clone();
        async move {
            until_stopped(worker).await;
            drop(inside);
        }
    });
    drop(workers);
    while Arc::strong_count(&alive) > 1 {
        std::thread::yield_now();
    }
}

#[test]
fn a_worker_knows_whether_it_was_asked_to_end() {
    let (tell, told) = std::sync::mpsc::channel();
    let workers = Workers::start(&options(1), move |worker| {
        tell.send(worker.is_stopping()).unwrap();
        until_stopped(worker)
    });
    let workers = workers.unwrap();
    assert!(!told.recv().unwrap());
    workers.stop();
    workers.wait().unwrap();
}

#[tokio::test]
async fn joining_does_not_block_and_may_be_repeated() {
    let mut workers = Workers::start(&options(2), until_stopped).unwrap();
    tokio::select! {
        biased;
        _ = workers.join() => panic!("they were not asked to end"),
        () = tokio::task::yield_now() => {}
    }
    workers.stop();
    workers.join().await.unwrap();
    workers.join().await.unwrap();
}

#[test]
fn a_panic_is_reported_and_the_others_go_on() {
    let served = Arc::new(AtomicUsize::new(0));
    let shared = Arc::clone(&served);
    let workers = Workers::start(&options(3), move |worker| {
        let served = Arc::clone(&shared);
        async move {
            if worker.index() == 1 {
                panic!("out of luck");
            }
            until_stopped(worker).await;
            served.fetch_add(1, Ordering::Relaxed);
        }
    });
    let workers = workers.unwrap();
    workers.stop();
    let panicked = workers.wait().unwrap_err();
    assert_eq!(panicked.to_string(), "worker 1 panicked: out of luck");
    assert_eq!(served.load(Ordering::Relaxed), 2);
}

#[test]
fn tasks_of_a_worker_are_dropped_with_it() {
    let alive = Arc::new(());
    let inside = Arc::clone(&alive);
    let workers = Workers::start(&options(1), move |_| {
        let inside = Arc::clone(&inside);
        async move {
            tokio::task::spawn_local(async move {
                std::future::pending::<()>().await;
                drop(inside);
            });
            // A blocking call that never returns must not keep the worker either.
            let (_forever, never) = std::sync::mpsc::channel::<()>();
            let keep = _forever.clone();
            tokio::task::spawn_blocking(move || (never.recv(), keep));
            tokio::task::yield_now().await;
        }
    });
    let workers = workers.unwrap();
    workers.wait().unwrap();
    assert!(Arc::strong_count(&alive) <= 2, "only the factory's own is left");
}

#[cfg(target_os = "linux")]
#[test]
fn pinned_workers_keep_to_one_core_each() {
    let options = WorkerOptions { pin: true, ..options(2) };
    let workers = Workers::start(&options, |_| async {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        assert!(cores.unwrap().trim().parse::<usize>().is_ok(), "{cores:?} is not one core");
    });
    workers.unwrap().wait().unwrap();
}

#[test]
fn the_calling_thread_can_be_the_first_worker() {
    let here = std::thread::current().id();
    for count in [1, 3] {
        let (elsewhere, stopped) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let shared = (Arc::clone(&elsewhere), Arc::clone(&stopped));
        let main = move |worker: Worker| {
            let thread = std::thread::current().id();
            assert_eq!(thread == here, worker.index() == 0);
            assert_eq!(worker.count(), count);
            let (elsewhere, stopped) = shared.clone();
            elsewhere.fetch_add(usize::from(thread != here), Ordering::Relaxed);
            async move {
                until_stopped(worker).await;
                stopped.fetch_add(1, Ordering::Relaxed);
            }
        };
        Workers::run(&options(count), main, |stopper| stopper.stop()).unwrap();
        assert_eq!(elsewhere.load(Ordering::Relaxed), count - 1);
        assert_eq!(stopped.load(Ordering::Relaxed), count);
    }
}

#[test]
fn nothing_is_started_where_blocking_is_not_allowed() {
    let runtime = Builder::new_current_thread().build().unwrap();
    let starts = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&starts);
    let ran = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let main = move |worker| {
                counts.fetch_add(1, Ordering::Relaxed);
                until_stopped(worker)
            };
            let started = |_| starts.store(100, Ordering::Relaxed);
            Workers::run(&options(2), main, started)
        })
    }));
    let panic = ran.unwrap_err();
    assert!(panic.downcast_ref::<&str>().unwrap().contains("a runtime from within a runtime"));
    assert_eq!(starts.load(Ordering::Relaxed), 0);
}

#[test]
fn a_panic_on_the_calling_thread_is_reported_once_the_others_have_ended() {
    let main = |worker: Worker| async move {
        match worker.index() {
            0 => panic!("out of luck"),
            _ => until_stopped(worker).await,
        }
    };
    let ended = Workers::run(&options(2), main, |stopper| stopper.stop());
    assert_eq!(ended.unwrap_err().to_string(), "worker 0 panicked: out of luck");
}
