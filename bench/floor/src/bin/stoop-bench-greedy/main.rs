//! Measures the latencies of a bystander beside connections that always have requests outstanding.
//!
//! The greedy side has a thread for each direction, so that it never waits for a response before it
//! sends, and has a lower priority than the bystander on the core that they share, so that the bystander
//! waits for the server only. The bystander is measured alone first, which shows the latency that the
//! machine itself adds.

mod bytes;
mod pipelining;
mod streams;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stoop_bench_floor::bystander::{Bystander, HttpVersion};
use stoop_bench_floor::sys;

const USAGE: &str = "usage: stoop-bench-greedy ADDR pipelined|streams|bytes CONNECTIONS SECONDS";

/// How long the bystander is measured alone, and how long the greedy side gets to begin.
const ALONE_TIME: Duration = Duration::from_secs(1);
const WARM_UP_TIME: Duration = Duration::from_millis(500);
/// The pause before a connection replaces one that the server ended at once.
const RECONNECT_PAUSE: Duration = Duration::from_millis(10);

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

/// The options of a run.
struct Greedy {
    address: SocketAddr,
    kind: GreedyKind,
    connections: usize,
    duration: Duration,
}

/// The behaviour of the greedy side.
#[derive(Clone, Copy)]
enum GreedyKind {
    /// HTTP/1.1: requests without a pause, and responses read at the same time.
    Pipelined,
    /// HTTP/2: as many streams open as the server allows.
    Streams,
    /// HTTP/2: content in frames of one byte.
    Bytes,
}

/// The counts of the greedy side.
#[derive(Default)]
struct GreedyCounts {
    /// Responses, or frames of one byte that the server has read.
    done: AtomicU64,
    /// Connections that replaced others.
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

    /// Prints the latencies of the bystander. The greedy threads end with the process.
    fn run(&self) -> io::Result<()> {
        let mut bystander = Bystander::connect(self.address, self.kind.version())?;
        let mut alone = bystander.send_for(ALONE_TIME);
        let counts = Arc::new(GreedyCounts::default());
        for _ in 0..self.connections {
            let (address, kind, counts) = (self.address, self.kind, Arc::clone(&counts));
            thread::spawn(move || keep_connection(address, kind, &counts));
        }
        bystander.send_for(WARM_UP_TIME);

        bystander.errors = 0;
        let totals =
            || [&counts.done, &counts.reconnects].map(|count| count.load(Ordering::Relaxed));
        let ([done_before, reconnects_before], started) = (totals(), Instant::now());
        let mut latencies = bystander.send_for(self.duration);
        let ([done, reconnects], elapsed) = (totals(), started.elapsed());
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| latencies.quantile(share));
        println!(
            "summary requests={} duration_us={} p50_us={p50} p99_us={p99} max_us={max} errors={} \
             alone_p50_us={} alone_p99_us={} greedy={} reconnects={}",
            latencies.count(),
            elapsed.as_micros(),
            bystander.errors,
            alone.quantile(0.5),
            alone.quantile(0.99),
            done - done_before,
            reconnects - reconnects_before,
        );
        Ok(())
    }
}

impl GreedyKind {
    /// The version of the greedy side, which the bystander uses too.
    fn version(self) -> HttpVersion {
        match self {
            Self::Pipelined => HttpVersion::Http1,
            Self::Streams | Self::Bytes => HttpVersion::Http2,
        }
    }
}

/// Keeps one greedy connection open as long as the process runs: if the server ends it, for example after
/// a number of requests, another replaces it.
fn keep_connection(address: SocketAddr, kind: GreedyKind, counts: &GreedyCounts) {
    sys::lower_priority();
    loop {
        let done = counts.done.load(Ordering::Relaxed);
        // Each of them ends with an error.
        let _ = match kind {
            GreedyKind::Pipelined => pipelining::run(address, counts),
            GreedyKind::Streams => streams::run(address, counts),
            GreedyKind::Bytes => bytes::run(address, counts),
        };
        counts.reconnects.fetch_add(1, Ordering::Relaxed);
        if counts.done.load(Ordering::Relaxed) == done {
            thread::sleep(RECONNECT_PAUSE);
        }
    }
}
