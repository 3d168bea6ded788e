//! Runs the protocol machines to count their instructions: `stoop-bench-proto CASE COUNT` repeats one case
//! `COUNT` times, and without arguments the program prints `case bytes` for each case.
//!
//! The instructions of a run do not depend on other work of the machine, so that a change of one percent is
//! visible. They are not time: a cache miss counts as much as an addition.

mod cases;
mod hpack;
mod http2;
mod messages;

use cases::CASES;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => CASES.iter().for_each(|case| println!("{} {}", case.name, (case.bytes)())),
        [name, count] => {
            let case = CASES.iter().find(|case| case.name == *name);
            let (Some(case), Ok(count)) = (case, count.parse()) else {
                eprintln!("stoop-bench-proto: no case {name}, or {count} is not a number");
                std::process::exit(2);
            };
            (case.run)(count);
        }
        _ => {
            eprintln!("usage: stoop-bench-proto [CASE COUNT]");
            std::process::exit(2);
        }
    }
}
