//! The bandwidth of a run: it is what limits the run, as its progress tells, and no reason for another concurrency.

use std::io::Cursor;
use std::thread;
use std::time::{Duration, Instant};

use stoop::{Body, Request, Response};
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::Lines;
use stoop_fetch::{Bottleneck, Concurrency, Fetch};

use super::{LIMIT, Written};

const LENGTH: usize = 1 << 10;
/// How many answers that is in a second.
const ANSWERS: u64 = 600;

#[test]
fn the_bandwidth_is_what_limits_a_run_and_its_end_does_not_wait_for_it() {
    let handler = |_: Request| Response::new(Body::from(vec![0; LENGTH]));
    let fetch = Fetch::new().workers(2).timeout(LIMIT).bandwidth_max(LENGTH as u64 * ANSWERS);
    let fetch = fetch.concurrency(Concurrency::auto()).client(move |it| it.handler(handler));
    let list: String = (0..50_000).map(|n| format!("http://host{n}/\n")).collect();
    let (begun, written) = (Instant::now(), Written::default());
    let run = fetch.start(Lines::new(Cursor::new(list)), JsonLines::new(), written.clone());
    let run = run.expect("it starts");
    while run.progress().bottleneck != Some(Bottleneck::Bandwidth) {
        assert!(begun.elapsed() < LIMIT, "{:?}", run.progress());
        thread::sleep(Duration::from_millis(5));
    }
    // Long enough for the search to raise what it takes to be short of.
    thread::sleep(Duration::from_millis(3_500));
    let progress = run.progress();
    assert_eq!(progress.in_flight_max, 100, "{progress:?}");
    let (bytes, took) = (progress.content_bytes as f64, begun.elapsed().as_secs_f64());
    assert!(
        bytes <= (LENGTH as u64 * ANSWERS) as f64 * (took + 0.1) + 16_384.0,
        "{bytes} in {took} s"
    );
    run.stop();
    let finished = run.wait();
    assert!(begun.elapsed() < LIMIT);
    assert_eq!(finished.figures().total_urls as usize, written.lines());
}

/// Only the end of a job let another start beside the first four.
#[test]
fn servers_that_send_nothing_do_not_hold_up_the_start_of_others() {
    let handler = async |_: Request| std::future::pending::<Response>().await;
    let fetch = Fetch::new().workers(2).timeout(LIMIT).bandwidth_max(8 << 20);
    let fetch = fetch.concurrency(Concurrency::fixed(60)).client(move |it| it.handler(handler));
    let list: String = (0..100).map(|n| format!("http://host{n}/\n")).collect();
    let run = fetch.start(Lines::new(Cursor::new(list)), JsonLines::new(), Written::default());
    let (run, begun) = (run.expect("it starts"), Instant::now());
    while run.progress().in_flight < 60 {
        assert!(begun.elapsed() < LIMIT / 2, "{:?}", run.progress());
        thread::sleep(Duration::from_millis(5));
    }
    run.stop();
    let _ = run.wait();
}
