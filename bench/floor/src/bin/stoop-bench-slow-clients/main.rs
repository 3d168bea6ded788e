//! Measures the latencies of a bystander beside thousands of clients that are as slow as they can be, and how the
//! server ends these.
//!
//! `heads`: each sends a request's head, one byte a second, that never ends. `responses`: each has asked for 1 MiB, and
//! reads one byte a second, with a small receive buffer, so that the server's kernel cannot take the rest. The
//! bystander is measured alone first; then they all connect, and it is measured until the server has ended all
//! of them, or the time is over. They do not come back. One thread has all of them, and the lowest priority on the core
//! that it shares with the bystander.

mod slow;

use std::io;
use std::net::SocketAddrV4;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use slow::{SlowClients, SlowCounts, SlowKind};
use stoop_bench_floor::bystander::{Bystander, BystanderLatencies, HttpVersion};

const USAGE: &str = "usage: stoop-bench-slow-clients ADDR heads|responses CLIENTS SECONDS";

/// How long the bystander is measured alone.
const ALONE_TIME: Duration = Duration::from_secs(3);
/// How often it is asked whether the slow clients have connected, or ended.
const LOOK_TIME: Duration = Duration::from_millis(50);
/// How long all of them may take to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::parse(&words).unwrap_or_else(|problem| {
        eprintln!("slow-clients: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match options.run() {
        Ok(summary) => println!("{summary}"),
        Err(error) => {
            eprintln!("slow-clients: {error}; does a server listen at {}?", options.address);
            std::process::exit(1);
        }
    }
}

/// The options of a run.
struct Options {
    address: SocketAddrV4,
    kind: SlowKind,
    clients: usize,
    duration: Duration,
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, String> {
        let [address, kind, clients, seconds] = words else {
            return Err("four arguments are needed".into());
        };
        let number = |text: &str| text.parse().map_err(|_| format!("{text} is not a number"));
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            kind: match kind.as_str() {
                "heads" => SlowKind::Heads,
                "responses" => SlowKind::Responses,
                other => return Err(format!("no kind {other}")),
            },
            clients: number(clients)? as usize,
            duration: Duration::from_secs(number(seconds)?),
        })
    }

    fn run(&self) -> io::Result<String> {
        let mut bystander = Bystander::connect(self.address.into(), HttpVersion::Http1)?;
        let mut alone = bystander.send_for(ALONE_TIME);
        let counts = Arc::new(SlowCounts::default());
        let clients = SlowClients::new(self.address, self.kind, self.clients, Arc::clone(&counts));
        let slow = thread::spawn(move || clients.run());

        let began = Instant::now();
        while counts.opened() < self.clients && !slow.is_finished() {
            if began.elapsed() > CONNECT_TIMEOUT {
                return Err(io::Error::other("the slow clients cannot connect"));
            }
            bystander.send_for(LOOK_TIME);
        }
        let (mut latencies, started) = (BystanderLatencies::default(), Instant::now());
        bystander.errors = 0;
        while started.elapsed() < self.duration && !slow.is_finished() {
            latencies.extend(bystander.send_for(LOOK_TIME));
        }
        let elapsed = started.elapsed();
        if slow.is_finished() {
            slow.join().map_err(|_| io::Error::other("the slow clients failed"))??;
        }
        let [p50, p99, max] = [0.5, 0.99, 1.0].map(|share| latencies.quantile(share));
        Ok(format!(
            "summary requests={} duration_us={} p50_us={p50} p99_us={p99} max_us={max} errors={} \
             alone_p50_us={} alone_p99_us={} {}",
            latencies.count(),
            elapsed.as_micros(),
            bystander.errors,
            alone.quantile(0.5),
            alone.quantile(0.99),
            counts.summary(self.clients),
        ))
    }
}
