//! Records that the caller takes as values: each once, at its own pace, and no more than it can.

use std::io::{self, Cursor};
use std::thread;
use std::time::{Duration, Instant};

use stoop::Request;
use stoop_fetch::format::{JsonLines, RecordFormat};
use stoop_fetch::source::Lines;
use stoop_fetch::summary::ResultCode;
use stoop_fetch::{Bottleneck, Fetch, FetchError, OwnedRecord, Records, Run};

use super::LIMIT;

fn urls(count: usize) -> Lines<Cursor<String>> {
    let urls: String = (0..count).map(|n| format!("http://{}.test/{n}\n", n % 7)).collect();
    Lines::new(Cursor::new(urls))
}

/// Each URL answers its path.
fn fetch() -> Fetch {
    Fetch::new()
        .workers(2)
        .politeness(None)
        .client(|client| client.handler(|request: Request| request.path().to_owned()))
}

fn number(record: &OwnedRecord) -> usize {
    let url = std::str::from_utf8(&record.url).expect("text");
    url.rsplit('/').next().and_then(|number| number.parse().ok()).expect("a number")
}

/// Waits until a run goes on no more because of that: a bound that is missing shows later.
fn wait_for(run: &Run, bottleneck: Bottleneck) {
    let begun = Instant::now();
    let (mut done, mut still) = (0, 0);
    while still < 50 {
        assert!(begun.elapsed() < LIMIT, "{:?}", run.progress());
        thread::sleep(Duration::from_millis(1));
        let now = run.progress();
        let is_still = now.done == done && now.bottleneck == Some(bottleneck);
        still = if is_still { still + 1 } else { 0 };
        done = now.done;
    }
}

#[test]
fn each_record_is_taken_once_with_its_content() {
    let (mut taken, mut lines) = (vec![0; 3000], Vec::new());
    let finished = fetch().keep_content(true).run_records(urls(3000), |record| {
        let number = number(&record);
        taken[number] += 1;
        JsonLines::new().format(&record.as_record(), &mut lines);
        let capture = record.outcome.capture.expect("it was asked for");
        assert_eq!(capture.content, format!("/{number}"));
        Ok(())
    });
    assert_eq!(finished.expect("no error").figures().total_urls, 3000);
    assert!(taken.iter().all(|&times| times == 1));
    let line = String::from_utf8(lines).expect("text").lines().next().map(str::to_owned);
    let line = line.expect("a line");
    assert!(line.contains(r#""status":200"#), "{line}");
}

#[test]
fn an_error_of_what_takes_records_ends_the_run_and_is_returned() {
    let mut taken = 0;
    let ended = fetch().run_records(urls(100_000), |_| {
        taken += 1;
        match taken {
            10 => Err(io::Error::other("the table is full")),
            _ => Ok(()),
        }
    });
    let error = ended.expect_err("it failed");
    assert!(matches!(error, FetchError::Record(_)), "{error:?}");
    assert!(error.to_string().starts_with("the table is full"), "{error}");
    assert_eq!(taken, 10);
}

/// Without bounds all would be fetched meanwhile, and kept.
#[test]
fn no_job_is_started_while_records_are_not_taken() {
    let (run, records) = fetch().start_records(urls(20_000)).expect("it starts");
    wait_for(&run, Bottleneck::Output);
    let done = run.progress().done;
    assert!(done < 2000, "{done}");
    assert_eq!(records.count(), 20_000);
    run.wait().check().expect("all were taken");
}

#[test]
fn content_that_is_not_taken_keeps_its_memory_and_what_is_taken_does_not() {
    let fetch = fetch().keep_content(true).content_memory(1 << 20);
    let fetch = fetch.client(|client| client.handler(|_: Request| "x".repeat(100_000)));
    let (run, mut records) = fetch.start_records(urls(300)).expect("it starts");
    wait_for(&run, Bottleneck::ContentMemory);
    assert!(run.progress().done < 40, "{:?}", run.progress());
    // All at once in the hands of the caller, far beyond the memory of the run.
    let all: Vec<_> = records.by_ref().collect();
    let content = all.iter().map(|record| record.outcome.capture.as_ref().expect("kept"));
    assert_eq!(content.map(|capture| capture.content.len()).sum::<usize>(), 300 * 100_000);
    assert!(run.wait().check().is_ok());
}

#[test]
fn a_run_whose_records_are_dropped_ends() {
    let (run, records) = fetch().start_records(urls(100_000)).expect("it starts");
    let taken: Vec<_> = records.take(5).collect();
    assert!(taken.iter().all(|record| record.outcome.code == ResultCode::Status(200)));
    let finished = run.wait();
    assert!(finished.figures().total_urls < 100_000);
    assert!(matches!(finished.check(), Err(FetchError::Write(_))), "{:?}", finished.written);
}

#[test]
fn records_are_awaited() {
    async fn count(mut records: Records) -> usize {
        let mut count = 0;
        while let Some(record) = records.recv().await {
            assert_eq!(record.outcome.code, ResultCode::Status(200));
            count += 1;
        }
        count
    }
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let (run, records) = fetch().start_records(urls(500)).expect("it starts");
    assert_eq!(runtime.block_on(count(records)), 500);
    run.wait().check().expect("no error");
}
