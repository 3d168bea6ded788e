//! Prints the outcome that the testbed plans for each URL of its list:
//! `stoop-bench-plan SEED URLS VERSION`, where the version is 2 for clients that offer HTTP/2 by ALPN, and
//! 1 for those that do not.
//!
//! One line for each URL, in the order of the list: `codes,body_length,wait_ms`. The codes that a correct
//! client may report are separated by `|`; there is no length where a failure is planned, and no wait
//! where only the client's deadline ends it. This is a separate program, so that the runner can be built
//! even if the testbed cannot.

use std::io::{self, BufWriter, Write};

use stoop_testbed::{Plan, PlannedResult};

fn main() -> io::Result<()> {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let &[seed, urls, version @ 1..=2] = words.as_slice() else {
        eprintln!("usage: stoop-bench-plan SEED URLS 1|2");
        std::process::exit(2);
    };
    let mut output = BufWriter::new(io::stdout().lock());
    for url in Plan::new(seed, urls).iter() {
        let expect = if version == 2 { url.expect } else { url.expect.over_http1() };
        match expect.result {
            PlannedResult::Status { code, body } => write!(output, "{code},{body},")?,
            PlannedResult::Failure { kinds } => write!(output, "{},,", kinds.join("|"))?,
        }
        match expect.until_deadline {
            true => writeln!(output)?,
            false => writeln!(output, "{}", expect.wait.as_millis())?,
        }
    }
    output.flush()
}
