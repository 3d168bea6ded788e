//! The cost of a lookup: 10,000 distinct names, 1,000 at a time, of one server on this machine.
//!
//! `cargo test --profile fast -p stoop-io --test dns_cost -- --ignored --nocapture`
#![cfg(all(feature = "dns", target_os = "linux"))]

mod dns_support;

use std::sync::Arc;
use std::time::Instant;

use dns_support::{ScriptedReply, TestServer, ips};
use stoop_io::Resolver;
use tokio::sync::Semaphore;

const NAMES: usize = 10_000;
const CONCURRENCY: usize = 1_000;

#[test]
#[ignore = "a measurement"]
fn ten_thousand_names_cost_what_is_printed() {
    for queries_max in [64, 192] {
        let server = TestServer::start(|_| ScriptedReply::Addresses(ips(&["127.1.2.3"]), 60));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let builder = Resolver::builder().hosts(false).servers(&[server.address]);
        let resolver = builder.queries_max(queries_max).build().unwrap();
        let (before, started) = (cpu(), Instant::now());
        let descriptors = runtime.block_on(look_up(resolver.clone()));
        println!(
            "{NAMES} names, {queries_max} questions at once: {:?}, {:.1} µs CPU for each, at most \
             {descriptors} descriptors, {} questions repeated",
            started.elapsed(),
            (cpu() - before) * 1e6 / NAMES as f64,
            server.questions().len() - 2 * NAMES,
        );
        assert!(descriptors < queries_max / 2 + 20, "{descriptors}");
        let started = Instant::now();
        runtime.block_on(async {
            for n in 0..NAMES / 2 {
                resolver.lookup(&format!("h{}.example", NAMES - 1 - n)).await.unwrap();
            }
        });
        println!("remembered: {:?} each", started.elapsed() / (NAMES / 2) as u32);
    }
}

async fn look_up(resolver: Resolver) -> usize {
    let (turns, mut asking) = (Arc::new(Semaphore::new(CONCURRENCY)), tokio::task::JoinSet::new());
    let mut descriptors = 0;
    for n in 0..NAMES {
        let turn = turns.clone().acquire_owned().await.unwrap();
        let resolver = resolver.clone();
        asking.spawn(async move {
            let found = resolver.lookup(&format!("h{n}.example")).await;
            drop(turn);
            found
        });
        if n % 1_000 == 999 {
            descriptors = descriptors.max(std::fs::read_dir("/proc/self/fd").unwrap().count());
        }
    }
    while let Some(found) = asking.join_next().await {
        found.unwrap().unwrap();
    }
    descriptors
}

/// Seconds of processor time that this thread has used.
fn cpu() -> f64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    spent.split_ascii_whitespace().next().unwrap().parse::<f64>().unwrap() / 1e9
}
