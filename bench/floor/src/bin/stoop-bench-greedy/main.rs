//! A bystander beside connections that always have something to do: how long its requests take.
//!
//! The greedy side has a thread for each direction, so that it never waits for an answer before it
//! sends, and lets the bystander go first on the core that they share: what the bystander waits for
//! is the server. The bystander is asked alone first, so that what the machine itself adds is seen.

mod bystander;
mod bytes;
mod pipelining;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bystander::{Bystander, HttpVersion};
use stoop_bench_floor::sys;

const USAGE: &str = "usage: stoop-bench-greedy ADDR pipelined|streams|bytes CONNECTIONS SECONDS";

/// How long the bystander is alone, and how long the greedy side is given to begin.
const ALONE: Duration = Duration::from_secs(1);
const BEGINNING: Duration = Duration::from_millis(500);
/// Before a connection takes the place of one that the server ended at once.
const AGAIN: Duration = Duration::from_millis(10);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let greedy = Greedy::parse(&words).unwrap_or_else(|problem| {
        eprintln!("greedy: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    if let Err(error) = greedy.run() {
        eprintln!("greedy: {error}; does a server listen at {}?", greedy.address);
        std::process::exit(1);
    }
}

struct Greedy {
    address: SocketAddr,
    kind: GreedyKind,
    connections: usize,
    duration: Duration,
}

#[derive(Clone, Copy)]
enum GreedyKind {
    /// HTTP/1.1: requests without a pause, and answers read beside them.
    Pipelined,
    /// HTTP/2: as many streams open as the server allows.
    Streams,
    /// HTTP/2: content in frames of one byte.
    Bytes,
}

/// What the greedy side has had.
#[derive(Default)]
struct GreedyCounts {
    /// Answers, or frames of one byte that the server has taken.
    done: AtomicU64,
    /// Connections that took the place of others.
    reconnects: AtomicU64,
}

impl GreedyCounts {
    fn add(&self, count: usize) {
        self.done.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Greedy {
    fn parse(words: &[String]) -> Result<Self, String> {
        let [address, kind, connections, seconds] = words else {
            return Err("four arguments are needed".into());
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            kind: match kind.as_str() {
                "pipelined" => GreedyKind::Pipelined,
                "streams" => GreedyKind::Streams,
                "bytes" => GreedyKind::Bytes,
                other => return Err(format!("no kind {other}")),
            },
            connections: number(connections)? as usize,
            duration: Duration::from_secs(number(seconds)?),
        })
    }

    /// Prints what the bystander saw. What runs then ends with the process.
    fn run(&self) -> io::Result<()> {
        let mut bystander = Bystander::connect(self.address, self.kind.version())?;
        let mut alone = bystander.ask_for(ALONE);
        let had = Arc::new(GreedyCounts::default());
        for _ in 0..self.connections {
            let (address, kind, had) = (self.address, self.kind, Arc::clone(&had));
            thread::spawn(move || keep(address, kind, &had));
        }
        bystander.ask_for(BEGINNING);

        bystander.errors = 0;
        let counts = || [&had.done, &had.reconnects].map(|count| count.load(Ordering::Relaxed));
        let ([done_before, reconnects_before], started) = (counts(), Instant::now());
        let mut seen = bystander.ask_for(self.duration);
        let ([done, reconnects], elapsed) = (counts(), started.elapsed());
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| seen.within(share));
        println!(
            "summary requests={} duration_us={} p50_us={p50} p99_us={p99} max_us={max} errors={} \
             alone_p50_us={} alone_p99_us={} greedy={} reconnects={}",
            seen.count(),
            elapsed.as_micros(),
            bystander.errors,
            alone.within(0.5),
            alone.within(0.99),
            done - done_before,
            reconnects - reconnects_before,
        );
        Ok(())
    }
}

impl GreedyKind {
    /// What the server speaks is what all of its clients speak.
    fn version(self) -> HttpVersion {
        match self {
            Self::Pipelined => HttpVersion::Http1,
            Self::Streams | Self::Bytes => HttpVersion::Http2,
        }
    }
}

/// Keeps one greedy connection for as long as the process runs: a server may end it, as after so
/// many requests, and then another takes its place.
fn keep(address: SocketAddr, kind: GreedyKind, had: &GreedyCounts) {
    sys::give_way();
    loop {
        let done = had.done.load(Ordering::Relaxed);
        // An error is how each of them ends.
        let _ = match kind {
            GreedyKind::Pipelined => pipelining::run(address, had),
            GreedyKind::Streams => streams::run(address, had),
            GreedyKind::Bytes => bytes::run(address, had),
        };
        had.reconnects.fetch_add(1, Ordering::Relaxed);
        if had.done.load(Ordering::Relaxed) == done {
            thread::sleep(AGAIN);
        }
    }
}
