//! A run that is stopped in the middle, and goes on: each URL has one record in the end.
//!
//! Here it is [`Run::stop`](stoop_fetch::Run::stop) that ends the run; a `kill -9` or a full disk would do as well.
//!
//! ```text
//! cargo run -p stoop-fetch --example resume
//! ```

use std::collections::HashSet;
use std::error::Error;
use std::io::Cursor;
use std::path::Path;
use std::time::Duration;
use std::{env, fs, process, thread};

use stoop::{Request, Server};
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, Finished, OutputFile, Run, RunFolder};

/// Begins the run in `folder`, or goes on with it. The list, the options and the output must be those of the first time.
fn start(folder: &Path, list: &str) -> Result<Run, Box<dyn Error>> {
    let run = RunFolder::open(folder, [("format", "jsonl")])?;
    println!("{} URLs are done already", run.done());
    let output = OutputFile::open(folder.join("records.jsonl"))?;
    let jobs = Lines::new(Cursor::new(list.to_owned()));
    let fetch = Fetch::new().concurrency(10).politeness(None);
    Ok(fetch.start_in(run, jobs, JsonLines::new(), output)?)
}

fn main() -> Result<(), Box<dyn Error>> {
    let server = Server::listen("127.0.0.1:0")?.workers(1).run(|_: Request| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        "here"
    })?;
    let list: String = (0..300).map(|n| format!("{}/{n}\n", server.endpoint())).collect();
    let folder = env::temp_dir().join(format!("stoop-example-resume-{}", process::id()));

    let run = start(&folder, &list)?;
    while run.progress().done < 100 {
        thread::sleep(Duration::from_millis(1));
    }
    run.stop();
    run.wait().check()?;

    let finished: Finished = start(&folder, &list)?.wait();
    finished.check()?;
    let records = fs::read_to_string(folder.join("records.jsonl"))?;
    let different: HashSet<&str> = records.lines().filter_map(|it| it.split('"').nth(5)).collect();
    fs::remove_dir_all(&folder)?;
    println!("{} records of {} URLs", records.lines().count(), different.len());
    Ok(())
}
