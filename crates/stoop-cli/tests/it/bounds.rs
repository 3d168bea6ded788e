//! Tests of the bounds of a run: the number in flight, the time of a URL, memory.

use std::time::{Duration, Instant};

use crate::server::{Server, refusing};
use crate::stoop::{feed, finish, run, stoop};

#[test]
fn all_slots_are_used_and_never_more() {
    let server = Server::start();
    // One origin, so one core has all the work; and one without work beside it.
    let input: String = (0..480).map(|n| server.url(&format!("/delay/100?{n}")) + "\n").collect();
    let ran = run(stoop("fetch -c 32 --cores 2"), input);
    assert_eq!(ran.lines().len(), 480);
    assert!(server.most_in_flight() <= 32, "{}", server.most_in_flight());
    let mean = ran.mean_in_flight();
    assert!(mean >= 0.95 * 32.0, "{mean}");
}

#[test]
fn slots_move_to_the_core_that_has_work() {
    let servers: Vec<_> = (0..8).map(|_| Server::start()).collect();
    // Skewed: first all of one origin, then the others, then mixed.
    let url = |n: usize| {
        let server = match n {
            0..160 => 0,
            160..320 => 1 + n % 7,
            _ => n % 8,
        };
        servers[server].url(&format!("/delay/100?{n}")) + "\n"
    };
    let input: String = (0..480).map(url).collect();
    let ran = run(stoop("fetch -c 32 --cores 3"), input);
    assert_eq!(ran.lines().len(), 480);
    let mean = ran.mean_in_flight();
    assert!(mean >= 0.95 * 32.0, "{mean}");
    // Never more by the times of the lines either; in ms, so one may begin when another ends.
    let mut changes: Vec<(i64, i32)> = Vec::new();
    for line in ran.lines() {
        changes.push((line.start_ms(), 1));
        changes.push((line.end_ms(), -1));
    }
    changes.sort_unstable();
    let mut now = 0;
    let most = changes.iter().map(|(_, change)| {
        now += change;
        now
    });
    assert!(most.max() <= Some(32));
}

/// Of slow answers more than a hundred are waited for at once, within what was allowed.
#[test]
fn a_concurrency_that_is_found_grows_while_that_pays() {
    let server = Server::start();
    let input: String = (0..2_000).map(|n| server.url(&format!("/delay/400?{n}")) + "\n").collect();
    let ran = run(stoop("fetch -c auto --no-politeness"), input);
    assert_eq!(ran.lines().len(), 2_000);
    assert!(ran.lines().iter().all(|line| line.code == "200"), "{:?}", ran.codes());
    assert!(server.most_in_flight() > 100, "{}", server.most_in_flight());
}

#[test]
fn one_slot_takes_urls_in_order() {
    let server = Server::start();
    let input: String = (0..300).map(|n| server.url(&format!("/ok/1?{n:03}")) + "\n").collect();
    let ran = run(stoop("fetch -c 1"), input.clone());
    let seen: String =
        ran.lines().iter().map(|l| String::from_utf8_lossy(&l.url).into_owned() + "\n").collect();
    assert_eq!(seen, input);
    assert_eq!(server.most_in_flight(), 1);
}

#[test]
fn deadlines_are_kept_and_begin_with_the_slot() {
    let server = Server::start();
    let input: String = (0..12).map(|n| server.url(&format!("/hang?{n}")) + "\n").collect();
    let begin = Instant::now();
    let ran = run(stoop("fetch -c 4 -t 0.5"), input);
    let took = begin.elapsed();
    for line in ran.lines() {
        assert_eq!(line.code, "total_timeout");
        assert!((500..=560).contains(&line.duration_ms), "{line:?}");
    }
    // Three rounds of four: the last four wait 1 s for a slot, which does not count.
    assert!((1500..2200).contains(&took.as_millis()), "{took:?}");
}

/// So many URLs that a leak of a few bytes for each shows.
const MANY: usize = if cfg!(debug_assertions) { 200_000 } else { 1_000_000 };

#[test]
#[cfg(target_os = "linux")]
fn memory_does_not_grow_with_the_input() {
    use std::io::{BufRead, BufReader};

    let dead = refusing();
    for refused in [false, true] {
        let mut child = stoop("fetch -c 64 --summary json").spawn().expect("it runs");
        let input: String = (0..MANY)
            .map(|n| match refused {
                true => {
                    format!("http://127.0.{}.{}:{}/{n}\n", n / 250 % 250, 1 + n % 250, dead.port())
                }
                false => format!("not a url, but quite a few characters {n}\n"),
            })
            .take(if refused { MANY / 10 } else { MANY })
            .collect();
        let expected = input.lines().count();
        feed(&mut child, input);
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let mut peak = 0;
        let mut lines = 0;
        for line in stdout.split(b'\n') {
            let line = line.expect("readable");
            assert!(line.contains(&b','));
            lines += 1;
            // Of a program for debugging 30 MiB and more are in memory, which grow with the code.
            if lines % 1_000 == 0 {
                peak = peak.max(crate::stoop::anonymous_kib(child.id()));
            }
        }
        let ran = finish(child);
        assert_eq!(lines, expected);
        assert_eq!(ran.summary()["totalUrls"], expected);
        assert!(peak > 0 && peak < 20 << 10, "{peak} KiB");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_slow_reader_of_the_output_stops_the_run_and_memory_does_not_grow() {
    let server = Server::start();
    let urls = 40_000;
    let long = "x".repeat(200);
    let input: String = (0..urls).map(|n| server.url(&format!("/ok/1?{n}{long}")) + "\n").collect();
    let mut child = stoop("fetch -c 16").spawn().expect("it runs");
    feed(&mut child, input);
    let mut before = usize::MAX;
    crate::stoop::wait_for("the run to stop", || {
        std::thread::sleep(Duration::from_millis(300));
        let now = server.requests();
        now > 0 && std::mem::replace(&mut before, now) == now
    });
    let stopped = server.requests();
    assert!(stopped < urls / 4, "{stopped} were fetched though the output was not read");
    let peak = crate::stoop::peak_kib(child.id());
    assert!(peak < 48 << 10, "{peak} KiB");
    let ran = finish(child);
    assert_eq!(ran.lines().len(), urls, "the run goes on when the output is read");
    assert_eq!(ran.code, Some(0));
}
