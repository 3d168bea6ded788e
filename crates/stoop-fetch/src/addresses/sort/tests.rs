//! Sorting by addresses, with lookups that the tests answer.

mod lookups;

use std::net::IpAddr;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use self::lookups::{ONE, Test, settle, urls};
use super::super::book::LookedUp;
use super::super::deferred::JOBS_MAX;
use super::super::lookups::{LOOKUPS_MAX, QUICK_MAX};
use super::*;

#[tokio::test]
async fn all_names_of_an_address_go_to_one_lane_with_it() {
    let test = Test::new(3);
    test.receive(urls("one", 0..20));
    test.receive(["http://127.0.7.1/x".to_owned(), "http://one0:81/".to_owned()]);
    test.receive((0..50).map(|n| format!("http://127.0.8.{n}/")));
    test.sort_to_the_end().await;
    let lanes: Vec<_> = (0..3).map(|lane| test.drain(lane)).collect();
    let of_one: Vec<_> = lanes
        .iter()
        .map(|jobs| jobs.iter().filter(|(_, address)| *address == Some(ONE)).count())
        .collect();
    assert_eq!(of_one.iter().sum::<usize>(), 22);
    assert!(of_one.contains(&22), "{of_one:?}");
    assert!(lanes.iter().all(|jobs| !jobs.is_empty()), "the others are spread");
    // Each host and port is looked up once.
    assert_eq!(test.asked(), 20 + 1 + 1 + 50);
}

#[tokio::test]
async fn what_is_known_does_not_wait_for_what_is_looked_up() {
    let test = Test::new(1);
    test.while_sorting(async {
        test.receive(urls("slow", 0..3));
        test.receive(urls("one", 0..3));
        settle().await;
        assert_eq!(test.drain(0).len(), 3, "the slow ones wait");
        // Another one of the same name waits behind the first.
        test.receive(["http://slow1/second".to_owned()]);
        settle().await;
        assert_eq!(test.drain(0), []);
        assert_eq!(test.asked(), 6);
        // Addresses do not wait behind so many others.
        test.receive(urls("slow", 3..200));
        test.receive(["http://127.0.7.9/".to_owned()]);
        settle().await;
        let address: IpAddr = [127, 0, 7, 9].into();
        assert_eq!(test.drain(0), [("http://127.0.7.9/".to_owned(), Some(address))]);
        test.permits.add_permits(3);
        settle().await;
        let mut slow = test.drain(0);
        let place = |url: &str| slow.iter().position(|(it, _)| it == url).expect(url);
        assert!(place("http://slow1/") < place("http://slow1/second"));
        slow.retain(|(_, address)| *address == Some(ONE));
        assert_eq!(slow.len(), 4);
        test.receive(["http://slow2/third".to_owned()]);
        settle().await;
        assert_eq!(test.drain(0).len(), 1, "it is known by now");
    })
    .await;
}

#[tokio::test]
async fn names_wait_behind_slow_ones_until_it_is_known_that_those_are_slow() {
    let test = Test::new(1);
    let many = LOOKUPS_MAX - QUICK_MAX / 2;
    test.while_sorting(async {
        test.receive(urls("slow", 0..many));
        test.receive(["http://one/".to_owned()]);
        assert_eq!(test.drain_many(0, 1).await, [("http://one/".to_owned(), Some(ONE))]);
        // There is an end to it, and what ends makes room.
        test.receive(urls("slow", many..2 * many));
        test.receive(["http://one2/".to_owned()]);
        let limit = Instant::now() + Duration::from_secs(60);
        while test.asked() < LOOKUPS_MAX + 1 && Instant::now() < limit {
            sleep(Duration::from_millis(10)).await;
        }
        sleep(Duration::from_millis(600)).await;
        assert_eq!((test.asked(), test.drain(0)), (LOOKUPS_MAX + 1, Vec::new()));
        test.permits.add_permits(many);
        assert!(test.drain_many(0, many + 1).await.iter().any(|(url, _)| url == "http://one2/"));
        test.permits.add_permits(many);
        assert_eq!(test.drain_many(0, many).await.len(), many);
    })
    .await;
}

#[tokio::test]
async fn a_lookup_that_panics_at_once_is_one_that_fails() {
    let test = Test::with_finder(1, |url| {
        assert!(!url.contains("127.0.7.9"), "the caller's defect");
        Box::pin(async { LookedUp::Address(ONE) })
    });
    let of_lines = ["http://127.0.7.9/", "http://one/", "http://127.0.7.9/again"];
    test.receive(of_lines.map(str::to_owned));
    test.sort_to_the_end().await;
    let mut sorted = test.drain(0);
    sorted.sort();
    let expected = [(of_lines[0], None), (of_lines[2], None), (of_lines[1], Some(ONE))];
    assert_eq!(sorted, expected.map(|(url, address)| (url.to_owned(), address)));
}

#[tokio::test]
async fn a_name_without_an_address_counts_by_itself() {
    let test = Test::new(4);
    let of_lines = ["none1", "http://none1:81/", "panic1", "no URL", "http://"];
    test.receive(of_lines.map(str::to_owned));
    test.sort_to_the_end().await;
    for lane in 0..4 {
        for (url, address) in test.drain(lane) {
            assert_eq!(address, None, "{url}");
            let worker = match &*url {
                "none1" | "http://none1:81/" => worker_of_key(b"none1", 4),
                "panic1" => worker_of_key(b"panic1", 4),
                other => worker_of(other.as_bytes(), 4),
            };
            assert_eq!(worker, lane, "{url}");
        }
    }
}

#[tokio::test]
async fn a_run_that_ends_early_has_all_jobs_pushed_and_looks_up_no_more() {
    let test = Test::new(2);
    test.receive(urls("slow", 0..300));
    let mut asked = 0;
    tokio::join!(sort_by_address(&test.intake, &test.lanes, &test.finder, &test.stop), async {
        settle().await;
        // Some may have become slow, which makes room for others.
        assert!((QUICK_MAX..=300).contains(&test.asked()), "{}", test.asked());
        test.stop.request();
        test.intake.wake_worker();
        settle().await;
        asked = test.asked();
        assert_eq!(test.drain(0).len() + test.drain(1).len(), 300);
        // What is read before the reader notices is pushed too.
        test.receive(urls("slow", 300..310));
        test.intake.close();
    });
    assert_eq!(test.drain(0).len() + test.drain(1).len(), 10);
    assert_eq!(test.asked(), asked);
}

#[tokio::test]
async fn the_jobs_that_wait_are_bounded_and_so_are_the_lookups() {
    let test = Test::new(1);
    let total = 3 * JOBS_MAX;
    test.while_sorting(async {
        let (mut received, mut rounds) = (0, 0);
        // Until nothing is taken any more.
        while rounds < 3 {
            let more = test.receive(urls("slow", received..total));
            rounds = if more == 0 { rounds + 1 } else { 0 };
            received += more;
            settle().await;
        }
        // What waits is in the table, in a batch of which a part was taken, and in the intake.
        assert!(received < JOBS_MAX + 3 * 2048, "{received}");
        assert!((QUICK_MAX..=LOOKUPS_MAX).contains(&test.asked()), "{}", test.asked());
        let mut drained = 0;
        test.permits.add_permits(total);
        while drained < total {
            settle().await;
            drained += test.drain(0).len();
            received += test.receive(urls("slow", received..total));
        }
        assert_eq!((received, test.asked()), (total, total));
    })
    .await;
}

#[tokio::test]
async fn a_lane_that_is_full_keeps_nothing_from_the_others_that_was_read() {
    let test = Test::new(2);
    // The address of the slow names is that of one lane, and these of the other.
    let full = 1 - worker_of_key(b"127.0.7.1", 2);
    let is_other = |it: &String| worker_of_key(it.as_bytes(), 2) == full;
    let address = (0..).map(|n| format!("127.0.9.{n}")).find(is_other).expect("one of many");
    test.while_sorting(async {
        test.receive(urls("slow", 0..5));
        settle().await;
        let (mut received, mut rounds) = (0, 0);
        while rounds < 3 {
            let more = test.receive((0..10_000).map(|n| format!("http://{address}/{n}")));
            rounds = if more == 0 { rounds + 1 } else { 0 };
            received += more;
            settle().await;
        }
        assert!(received < 10_000, "{received}");
        test.permits.add_permits(5);
        settle().await;
        assert_eq!(test.drain(1 - full).len(), 5);
        let mut drained = 0;
        while drained < received {
            drained += test.drain(full).len();
            settle().await;
        }
        assert_eq!(drained, received);
    })
    .await;
}
