//! Measures the cost of a URL for the testbed, and the distribution of a plan. Run by hand, alone:
//!
//! ```text
//! cargo test --profile fast -p stoop-testbed --test it figures -- --ignored --nocapture
//! ```

#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use stoop_testbed::{Internet, Log, Options};

use crate::internet::{assert_as_planned, fetch_all};

/// CPU time of the testbed's own threads so far, user and system, from `/proc`: in ticks of 10 ms.
fn cpu() -> Duration {
    let mut ticks = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let Ok(stat) = std::fs::read_to_string(task.unwrap().path().join("stat")) else { continue };
        let (name, fields) = stat.split_once(") ").unwrap();
        if name.ends_with("(stoop-testbed") || name.ends_with("(stoop-names") {
            let fields: Vec<u64> =
                fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse().unwrap()).collect();
            ticks += fields[0] + fields[1];
        }
    }
    Duration::from_millis(ticks * 10)
}

async fn measure(urls: u64, concurrency: usize) {
    let plan = Internet::plan(1, urls);
    let path = std::env::temp_dir().join(format!("stoop-testbed-figures-{}", std::process::id()));
    let file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    let options = Options { log: Log::text(file).unwrap(), ..Options::default() };
    let begin = Instant::now();
    let internet = Internet::start(plan, options).await.unwrap();
    let started = begin.elapsed();
    let begin = Instant::now();
    let outcomes =
        fetch_all(&internet, internet.planned().iter(), concurrency, Duration::from_secs(5)).await;
    let (took, cpu) = (begin.elapsed(), cpu());
    let plan = internet.planned().clone();
    let stats = internet.stop().await.unwrap();
    let _ = std::fs::remove_file(path);
    let mut counts = BTreeMap::new();
    for outcome in &outcomes {
        let class = match outcome.code.parse::<u16>() {
            Ok(status) => format!("{}xx", status / 100),
            Err(_) => outcome.code.clone(),
        };
        *counts.entry(class).or_insert(0) += 1;
    }
    println!("{urls} URLs, {concurrency} at once: started in {started:?}, fetched in {took:?}");
    println!("  {counts:?}");
    println!("  redirecting: {}", plan.iter().filter(|url| url.expect.hops != Some(0)).count());
    println!("  {stats:?}");
    println!("  testbed CPU {cpu:?}: {:?} a URL", cpu / urls as u32);
    assert_as_planned(plan.iter(), &outcomes);
}

#[tokio::test]
#[ignore = "takes half a minute, and means nothing beside other tests"]
async fn a_large_internet_costs_what_is_printed() {
    measure(2_000, 150).await;
    measure(10_000, 1_000).await;
}
