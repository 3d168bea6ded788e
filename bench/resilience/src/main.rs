//! The programs of `bench resilience`, `concurrency`, `politeness` and `many-hosts`: servers that close at any moment, fail
//! in every way, or are very many, and the clients of stoop that are measured with them.
//!
//! ```text
//! stoop-bench-resilience race-server REQUESTS [half]  a server that closes connections at random
//! stoop-bench-resilience many-server              a server on every address of 127.0.0.0/8, which answers after the
//!                                                 milliseconds of the path
//! stoop-bench-resilience polite-server            the same with a log of the requests, redirects and robots.txt
//! stoop-bench-resilience mixed-server             the same, of which some fail
//! stoop-bench-resilience many PORT REQUESTS ORIGINS CONCURRENCY
//! stoop-bench-resilience fault-servers            one origin for each fault, and good ones
//! stoop-bench-resilience faults REQUESTS CONCURRENCY < LINES
//! ```
//!
//! A server prints one line once it listens, and serves until it is stopped. A client prints one JSON object of
//! figures.

mod faults;
mod many;
mod mixed;
mod polite;
mod process;
mod race;
mod wanted;

use std::io;
use std::str::FromStr;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if let Err(error) = run(&words) {
        eprintln!("stoop-bench-resilience: {error}");
        std::process::exit(1);
    }
}

fn run(words: &[&str]) -> io::Result<()> {
    process::raise_descriptor_limit()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match *words {
        ["race-server", requests] => runtime.block_on(race::serve(number(requests)?, false)),
        ["race-server", requests, "half"] => runtime.block_on(race::serve(number(requests)?, true)),
        ["many-server"] => runtime.block_on(many::serve()),
        ["polite-server"] => runtime.block_on(polite::serve()),
        ["mixed-server"] => runtime.block_on(mixed::serve()),
        ["many", port, requests, origins, concurrency] => {
            let origins = number(origins)?;
            let batch = many::Batch {
                requests: number(requests)?,
                origins,
                concurrency: number(concurrency)?,
            };
            runtime.block_on(many::fetch(number(port)?, batch))
        }
        ["fault-servers"] => runtime.block_on(faults::serve()),
        ["faults", requests, concurrency] => {
            faults::fetch(&runtime, number(requests)?, number(concurrency)?)
        }
        _ => {
            Err(io::Error::other("unknown arguments; the first comment of src/main.rs lists them"))
        }
    }
}

fn number<T: FromStr>(text: &str) -> io::Result<T> {
    text.parse().map_err(|_| io::Error::other(format!("{text} is not a number")))
}
