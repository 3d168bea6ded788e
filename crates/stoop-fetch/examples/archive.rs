//! An archive (WARC 1.1, with its index) of a list, with two requests at once for each host.
//!
//! ```text
//! cargo run -p stoop-fetch --example archive
//! ```

use std::error::Error;
use std::io::Cursor;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::Duration;
use std::{env, fs, process};

use stoop::{Request, Retries, Server};
use stoop_fetch::format::{Shards, Warc};
use stoop_fetch::source::Lines;
use stoop_fetch::{Concurrency, Fetch, Politeness};

fn main() -> Result<(), Box<dyn Error>> {
    let (at_once, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let seen = Arc::clone(&most);
    let server = Server::listen("127.0.0.1:0")?.workers(1).run(move |request: Request| {
        let (at_once, most) = (Arc::clone(&at_once), Arc::clone(&most));
        async move {
            most.fetch_max(at_once.fetch_add(1, SeqCst) + 1, SeqCst);
            tokio::time::sleep(Duration::from_millis(20)).await;
            at_once.fetch_sub(1, SeqCst);
            format!("This is {}", request.path())
        }
    })?;
    let list: String = (0..40).map(|n| format!("{}/{n}\n", server.endpoint())).collect();

    let folder = env::temp_dir().join(format!("stoop-example-archive-{}", process::id()));
    // A file ends before it gets longer than 100 MiB: part-00000.warc.gz, part-00001.warc.gz and so on.
    let (format, writer) = Shards::new(&folder).bytes_max(100 << 20).open(Warc::new())?;
    let finished = Fetch::new()
        .concurrency(Concurrency::auto())
        .politeness(Politeness::default().per_host(2).interval(Duration::from_millis(5)))
        .timeout(Duration::from_secs(30))
        .client(|client| {
            client.user_agent("examplebot/1.0 (+https://bot.example/)").retries(Retries::up_to(2))
        })
        .run(Lines::new(Cursor::new(list)), format, writer)?;

    let mut files: Vec<_> = fs::read_dir(&folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(|file| file.file_name());
    for file in files {
        println!("{}: {} bytes", file.file_name().display(), file.metadata()?.len());
    }
    fs::remove_dir_all(&folder)?;
    let (ok, most) = (finished.figures().ok, seen.load(SeqCst));
    println!("{ok} pages are archived; the host had at most {most} requests at once");
    Ok(())
}
