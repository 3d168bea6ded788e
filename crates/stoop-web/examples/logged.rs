//! Answers with a greeting, and writes a line of JSON for each request to a file.
//!
//! ```text
//! cargo run --release -p stoop-web --example logged -- 127.0.0.1:8080 [--log FILE] [--workers N]
//! ```

use std::error::Error;
use std::fs::{File, OpenOptions};
use std::io;

use stoop::Server;
use stoop_web::{AccessLog, Router, get};

fn main() -> Result<(), Box<dyn Error>> {
    let mut address = None;
    let (mut log, mut workers) = (None, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--log" => log = Some(arguments.next().ok_or("--log needs a file")?),
            "--workers" => {
                workers = Some(arguments.next().ok_or("--workers needs a number")?.parse()?);
            }
            _ => address = Some(argument),
        }
    }
    let address = address.ok_or("an address is needed")?;
    let mut router = Router::new().route("/", get(|| "Hello, world!"));
    if let Some(path) = &log {
        router = router.layer(AccessLog::json(open(path)?));
    }
    let mut server = Server::listen(address.as_str())?;
    if let Some(workers) = workers {
        server = server.workers(workers);
    }
    server
        .run_blocking(router.build()?, |handle| println!("listening on {}", handle.endpoint()))?;
    Ok(())
}

/// The file of the log, which grows at its end.
fn open(path: &str) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).open(path)
}
