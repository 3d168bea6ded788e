//! A load on a server that ends: it keeps connections busy, and says what has become of each request.
//!
//! It goes on until the server refuses new connections. With `until-sigterm` another process takes the server's place, and
//! it goes on until SIGTERM: what is refused is counted then (`refused`).
//!
//! A request is answered, or its connection ends. It may end before anything of the response has come (`closed`,
//! or `reset`): then the request may be sent again if the server has done nothing of it, which only the server knows.
//! Over HTTP/2 a server says so itself (`declined`: a GOAWAY with a lower stream, or REFUSED_STREAM); what its GOAWAY
//! includes it has to answer (`promised`, if it does not). An incomplete or another response is `broken`. Where each
//! connection is for one request, it may also be reset behind the response (`reset_after`).
//!
//! Each connection has a thread.

mod http1;
mod http2;

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use stoop_bench_floor::sys;

const USAGE: &str =
    "usage: stoop-bench-drain-load ADDR fresh|http1|http2 CONNECTIONS [until-sigterm]";
/// A response that takes longer is hung.
const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// How long a connection waits that was refused.
const REFUSED_PAUSE: Duration = Duration::from_millis(1);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::parse(&words).unwrap_or_else(|problem| {
        eprintln!("drain-load: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    match options.run() {
        Ok(summary) => println!("{summary}"),
        Err(error) => {
            eprintln!("drain-load: {error}");
            std::process::exit(1);
        }
    }
}

/// The options of a run.
struct Options {
    address: SocketAddr,
    keep: fn(&Load),
    connections: usize,
    until_sigterm: bool,
}

/// What the connections have in common.
struct Load {
    address: SocketAddr,
    /// It goes on where a connection is refused.
    outlasts_refusal: bool,
    /// Nothing new is to be begun.
    is_over: AtomicBool,
    counts: Counts,
}

/// What has become of the requests.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    answered: AtomicU64,
    closed: AtomicU64,
    reset: AtomicU64,
    reset_after: AtomicU64,
    declined: AtomicU64,
    promised: AtomicU64,
    broken: AtomicU64,
    hung: AtomicU64,
    connections: AtomicU64,
    refused: AtomicU64,
}

/// Adds to a count.
fn add(count: &AtomicU64, number: usize) {
    count.fetch_add(number as u64, Ordering::Relaxed);
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, String> {
        let ([address, version, connections], rest) =
            words.split_first_chunk().ok_or("three arguments are needed")?;
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            keep: match version.as_str() {
                "fresh" => http1::renew,
                "http1" => http1::keep,
                "http2" => http2::keep,
                other => return Err(format!("no version {other}")),
            },
            connections: connections
                .parse()
                .map_err(|_| format!("{connections} is not a number"))?,
            until_sigterm: match rest {
                [] => false,
                [word] if word == "until-sigterm" => true,
                _ => return Err(format!("{} is not understood", rest.join(" "))),
            },
        })
    }

    fn run(&self) -> std::io::Result<String> {
        if self.until_sigterm {
            // Before there are threads, which have it blocked too.
            sys::block_sigterm()?;
        }
        let load = Arc::new(Load {
            address: self.address,
            outlasts_refusal: self.until_sigterm,
            is_over: AtomicBool::new(false),
            counts: Counts::default(),
        });
        let started = Instant::now();
        let start = |_| {
            let (keep, load) = (self.keep, Arc::clone(&load));
            thread::spawn(move || keep(&load))
        };
        let threads: Vec<_> = (0..self.connections).map(start).collect();
        if self.until_sigterm {
            sys::wait_for_sigterm()?;
            load.is_over.store(true, Ordering::Relaxed);
        }
        for thread in threads {
            thread.join().map_err(|_| std::io::Error::other("a connection's thread panicked"))?;
        }
        Ok(load.counts.summary(started.elapsed()))
    }
}

impl Counts {
    fn summary(&self, elapsed: Duration) -> String {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let start =
            format!("summary requests={} duration_us={}", of(&self.answered), elapsed.as_micros());
        let more = [
            ("sent", &self.sent),
            ("closed", &self.closed),
            ("reset", &self.reset),
            ("reset_after", &self.reset_after),
            ("declined", &self.declined),
            ("promised", &self.promised),
            ("broken", &self.broken),
            ("hung", &self.hung),
            ("connections", &self.connections),
            ("refused", &self.refused),
        ];
        more.iter().fold(start, |line, (name, count)| format!("{line} {name}={}", of(count)))
    }
}

impl Load {
    fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Opens a connection; none if it is over, or the server takes no more.
    fn connect(&self) -> Option<TcpStream> {
        while !self.is_over() {
            match TcpStream::connect(self.address) {
                Ok(stream) => {
                    add(&self.counts.connections, 1);
                    let set = stream.set_nodelay(true);
                    return set
                        .and_then(|()| stream.set_read_timeout(Some(READ_TIMEOUT)))
                        .ok()
                        .map(|()| stream);
                }
                Err(error) if self.outlasts_refusal => {
                    eprintln!("drain-load: a connection was refused: {error}");
                    add(&self.counts.refused, 1);
                    thread::sleep(REFUSED_PAUSE);
                }
                Err(_) => return None,
            }
        }
        None
    }
}
