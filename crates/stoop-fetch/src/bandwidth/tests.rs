//! Tests of content that is read in turn. The clock stands still but for what is waited for.

use std::cell::Cell;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::*;

const KIB: u64 = 1 << 10;

/// Content of so many bytes, in pieces of so many.
fn content(length: u64, piece: u64) -> Body {
    let (sender, body) = Body::channel(1);
    tokio::spawn(async move {
        for _ in 0..length / piece {
            if sender.send(vec![0; piece as usize]).await.is_err() {
                return;
            }
        }
        let _ = sender.finish().await;
    });
    body
}

/// How much was read of content until it ended, and when.
async fn read(bandwidth: &Bandwidth, mut content: Body, due: Option<Instant>) -> (u64, Duration) {
    let begun = TimerInstant::now();
    let reader = ContentReader::new(Some(bandwidth));
    let length = reader.count(&mut content, due, |_| {}).await.expect("it does not fail");
    (length, begun.elapsed())
}

/// What content failed with that was not read by its deadline, how much of it was read before, and when it failed.
async fn fail(bandwidth: &Bandwidth, mut content: Body, due: Instant) -> (Error, u64, Duration) {
    let (begun, read) = (TimerInstant::now(), Cell::new(0));
    let reader = ContentReader::new(Some(bandwidth));
    let look = |bytes: usize| read.set(read.get() + bytes as u64);
    let failed = reader.count(&mut content, Some(due), look).await;
    (failed.expect_err("it is late"), read.get(), begun.elapsed())
}

#[track_caller]
fn assert_about(took: Duration, expected_ms: u64) {
    let (least, most) = (expected_ms * 97 / 100, expected_ms * 103 / 100 + 2);
    let took = took.as_millis();
    assert!((least.into()..=most.into()).contains(&took), "{took} ms, for {expected_ms}");
}

#[tokio::test(start_paused = true)]
async fn all_content_together_keeps_the_rate_and_each_comes_as_fast() {
    let bandwidth: &Bandwidth = Box::leak(Box::new(Bandwidth::new(512 * KIB)));
    let mut all = JoinSet::new();
    // Of what comes in large pieces, in small ones, and in what is no rule.
    for piece in [16 * KIB, 16 * KIB, 16 * KIB, 16 * KIB, 16 * KIB, 16 * KIB, 16 * KIB, 64 * KIB] {
        all.spawn(read(bandwidth, content(256 * KIB, piece), None));
    }
    let all = all.join_all().await;
    assert!(all.iter().all(|(length, _)| *length == 256 * KIB), "{all:?}");
    let last = all.iter().map(|(_, took)| *took).max().expect("some");
    assert_about(last, 4_000);
    let mut times: Vec<_> = all.iter().map(|(_, took)| *took).collect();
    times.sort_unstable();
    // The one of large pieces is done early, and the others wait for it no longer than their part.
    assert!(times[1] > Duration::from_millis(3_600), "{times:?}");
    assert!(!bandwidth.is_short());
}

#[tokio::test(start_paused = true)]
async fn small_content_counts_with_its_length() {
    let bandwidth: &Bandwidth = Box::leak(Box::new(Bandwidth::new(100 * KIB)));
    let mut all = JoinSet::new();
    for _ in 0..200 {
        all.spawn(read(bandwidth, content(KIB, KIB), None));
    }
    let last = all.join_all().await.into_iter().map(|(_, took)| took).max();
    assert_about(last.expect("some"), 2_000);
}

#[tokio::test(start_paused = true)]
async fn what_is_within_a_tenth_of_a_second_does_not_wait() {
    let bandwidth = Bandwidth::new(1_000 * KIB);
    sleep(Duration::from_secs(60)).await;
    let (length, took) = read(&bandwidth, content(100 * KIB, 10 * KIB), None).await;
    assert_eq!((length, took), (100 * KIB, Duration::ZERO));
    // And what follows does.
    let (_, took) = read(&bandwidth, content(100 * KIB, 10 * KIB), None).await;
    assert_about(took, 100);
}

#[tokio::test(start_paused = true)]
async fn nothing_waits_beyond_its_deadline_and_what_is_dropped_holds_up_no_other() {
    let bandwidth = Bandwidth::new(KIB);
    bandwidth.pay(100 << 10);
    let due = now() + Duration::from_secs(3);
    let late = fail(&bandwidth, content(8 * KIB, KIB), due);
    let dropped = timeout(Duration::from_secs(1), read(&bandwidth, content(KIB, KIB), None));
    let other = read(&bandwidth, content(KIB, KIB), None);
    let (dropped, late, other) = tokio::join!(dropped, late, other);
    assert!(dropped.is_err());
    let (error, length, took) = late;
    assert_eq!((error.kind(), error.phase()), (ErrorKind::TotalTimeout, Phase::Receive));
    // Nothing of what was late was read, and it does not count.
    assert_eq!((length, took.as_millis() / 10), (0, 300));
    assert_eq!(other.0, KIB);
    assert_about(other.1, 101_000);
}

/// Whose deadline passes while no other waits does not read either.
#[tokio::test(start_paused = true)]
async fn what_is_late_is_not_read_though_it_would_be_its_turn() {
    let bandwidth = Bandwidth::new(100 * KIB);
    let due = now();
    sleep(Duration::from_secs(1)).await;
    let (error, length, _) = fail(&bandwidth, content(KIB, KIB), due).await;
    assert_eq!((error.kind(), length), (ErrorKind::TotalTimeout, 0));
}

/// Servers that sent nothing for a while had all others wait for their pieces.
#[tokio::test(start_paused = true)]
async fn what_is_silent_holds_up_no_other_and_counts_when_it_comes() {
    let bandwidth: &Bandwidth = Box::leak(Box::new(Bandwidth::new(16 * KIB)));
    let (mut senders, mut silent) = (Vec::new(), JoinSet::new());
    for _ in 0..10 {
        let (sender, content) = Body::channel(1);
        senders.push(sender);
        silent.spawn(read(bandwidth, content, None));
    }
    sleep(Duration::from_millis(1)).await;
    assert!(!bandwidth.is_short());
    let (_, took) = read(bandwidth, content(16 * KIB, 16 * KIB), None).await;
    assert_about(took, 1_000);
    sleep(Duration::from_secs(60)).await;
    for sender in senders {
        assert!(sender.send(vec![0; 16 << 10]).await.is_ok());
        sender.finish().await.expect("it is read");
    }
    // All of them came at once, and what comes then waits as long as they should have.
    let last = silent.join_all().await.into_iter().map(|(_, took)| took.as_secs()).max();
    assert_eq!(last, Some(70), "the last of them is told of its end");
}

#[tokio::test(start_paused = true)]
async fn what_is_not_asked_for_counts_as_far_as_it_is_read() {
    let bandwidth = Bandwidth::new(10 * KIB);
    let mut unread = Body::from(vec![0; 50 << 10]);
    bandwidth.drain(&mut unread);
    assert!(unread.is_empty());
    let mut too_long = Body::from(vec![0; 70 << 10]);
    bandwidth.drain(&mut too_long);
    assert_eq!(too_long.len(), Some(70 << 10), "its connection is not used again");
    let (_, took) = read(&bandwidth, content(KIB, KIB), None).await;
    assert_about(took, 5_100);
}

#[tokio::test(start_paused = true)]
async fn without_a_bandwidth_nothing_waits() {
    let mut content = content(64 * KIB, KIB);
    let begun = TimerInstant::now();
    let read = ContentReader::new(None).count(&mut content, None, |_| {}).await;
    assert_eq!((read.ok(), begun.elapsed()), (Some(64 * KIB), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn no_job_starts_while_content_waits_but_the_only_one() {
    let bandwidth = Bandwidth::new(KIB);
    assert!(bandwidth.may_start(3) && !bandwidth.may_start(4));
    bandwidth.job_ended(3);
    bandwidth.job_ended(3);
    // So few do not show that there is room for more.
    bandwidth.job_ended(0);
    assert!(bandwidth.may_start(5) && !bandwidth.may_start(6));
    bandwidth.pay(1 << 10);
    let look = async {
        sleep(Duration::from_millis(500)).await;
        assert!(!bandwidth.may_start(1) && bandwidth.may_start(0));
        for _ in 0..9 {
            bandwidth.job_ended(9);
        }
    };
    tokio::join!(read(&bandwidth, content(KIB, KIB), None), look);
    assert!(bandwidth.may_start(3) && !bandwidth.may_start(4), "what was learned is forgotten");
}

/// Hosts that do not answer take nothing of the bandwidth, and starts wait for no end of them.
#[tokio::test(start_paused = true)]
async fn where_nothing_comes_one_more_starts_each_time_that_its_content_could_be_read() {
    let bandwidth = Bandwidth::new(160 * KIB);
    let mut in_flight = 0;
    // In 5 s 50 pieces could be read.
    for (most, time) in [(5, Duration::ZERO), (55, Duration::from_secs(5))] {
        let until = TimerInstant::now() + time;
        while TimerInstant::now() <= until {
            while bandwidth.may_start(in_flight) {
                in_flight += 1;
                bandwidth.job_started(in_flight);
            }
            sleep(Duration::from_millis(10)).await;
        }
        assert!((most - 2..=most).contains(&in_flight), "{in_flight} in flight, of {most}");
    }
    // Those that end make room, and for more.
    bandwidth.job_ended(in_flight - 1);
    assert!(bandwidth.may_start(in_flight) && !bandwidth.may_start(in_flight + 1));
}

#[tokio::test(start_paused = true)]
async fn what_jobs_came_with_says_when_the_next_may_start() {
    let bandwidth = Bandwidth::new(100 * KIB);
    bandwidth.pay(400 << 10);
    for _ in 0..8 {
        bandwidth.job_ended(0);
    }
    // Each had 50 KiB, for which the time begins when all that was read has taken its own.
    sleep(Duration::from_millis(4_490)).await;
    assert!(!bandwidth.may_start(100));
    sleep(Duration::from_millis(11)).await;
    assert!(bandwidth.may_start(100));
    bandwidth.job_started(100);
    assert!(!bandwidth.may_start(100));
}
