//! Serves the files of a directory, lists those that have no index, and sends what is there in a content coding already.
//!
//! ```text
//! cargo run --release -p stoop-web --example files -- 127.0.0.1:8080 public [--workers N]
//! ```

use std::time::Duration;

use stoop::Server;
use stoop_web::{FileCache, FileCoding, Files, Router};

/// More entries than anyone reads.
const LISTED_MAX: usize = 1_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut places = Vec::new();
    let mut workers = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--workers" => {
                workers = Some(arguments.next().ok_or("--workers needs a number")?.parse()?);
            }
            _ => places.push(argument),
        }
    }
    let [address, directory] = &places[..] else {
        return Err("an address and a directory are needed".into());
    };
    let files = Files::new(directory)?
        .listing(LISTED_MAX)
        .precompressed([FileCoding::Zstd, FileCoding::Brotli, FileCoding::Gzip])
        .cache(FileCache::new().validity(Duration::from_secs(5)));
    let app = Router::new().fallback(files).build()?;
    let mut server = Server::listen(address.as_str())?;
    if let Some(workers) = workers {
        server = server.workers(workers);
    }
    server.run_blocking(app, |handle| println!("listening on {}", handle.endpoint()))?;
    Ok(())
}
