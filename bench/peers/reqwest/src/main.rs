//! reqwest as a client under the contract of `stoop fetch`.
//!
//! URLs come on standard input, one a line; for each, one line `url,code,start_time,duration,length`
//! goes to standard output in the order of completion. It follows good practice with reqwest: one client
//! for all requests, `buffer_unordered` for the concurrency, the body read piece by piece and only counted,
//! output through one buffer. HTTP/1.1 unless HTTP/2 is allowed by an option, no decompression, rustls with
//! aws-lc-rs: the same work as that of `stoop fetch`.

mod client;
mod dns;
mod fetch;
mod line;
mod settings;

use std::io::{self, BufWriter, Write};

use futures_util::StreamExt;
use futures_util::stream;
use settings::{FetchSettings, RuntimeKind};
use tokio::runtime::Builder;

fn main() {
    let settings = FetchSettings::read(std::env::args().skip(1)).unwrap_or_else(|problem| {
        eprintln!("reqwest: {problem}\n{}", settings::USAGE);
        std::process::exit(2);
    });
    let mut builder = match settings.runtime {
        RuntimeKind::Multi => Builder::new_multi_thread(),
        RuntimeKind::Current => Builder::new_current_thread(),
    };
    let outcome =
        builder.enable_all().build().and_then(|runtime| runtime.block_on(fetch_all(settings)));
    match outcome {
        // The reader of the lines may close the output.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        Err(error) => {
            eprintln!("reqwest: {error}; check standard input and output, the CA file and --dns");
            std::process::exit(3);
        }
        Ok(()) => {}
    }
}

async fn fetch_all(settings: FetchSettings) -> io::Result<()> {
    let client = client::build(&settings)?;
    // A line is read only when a slot is free, so the list is never in memory. The read blocks the task,
    // which costs nothing where standard input is a file.
    let targets = io::stdin().lines().filter_map(|line| match line {
        Ok(text) => fetch::target(&text).map(Ok),
        Err(error) => Some(Err(error)),
    });
    let mut finished = stream::iter(targets)
        .map(|target| {
            let client = &client;
            async move {
                let target = target?;
                Ok::<_, io::Error>(fetch::fetch(client, target).await)
            }
        })
        .buffer_unordered(settings.concurrency);

    let mut output = BufWriter::with_capacity(64 * 1024, io::stdout().lock());
    while let Some(line) = finished.next().await {
        line?.write_to(&mut output)?;
    }
    output.flush()
}
