//! A load on a server that drains: it keeps connections busy until the server refuses new ones, and says what has
//! become of each request.
//!
//! A request is answered, or its connection ends. It may end before anything of the response has come (`closed`,
//! or `reset`): then the request may be sent again if the server has done nothing of it, which only the server knows.
//! Over HTTP/2 a server says so itself (`declined`: a GOAWAY with a lower stream, or REFUSED_STREAM); what its GOAWAY
//! includes it has to answer (`promised`, if it does not). An incomplete or another response is `broken`.
//!
//! Each connection has a thread.

mod http1;
mod http2;

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const USAGE: &str = "usage: stoop-bench-drain-load ADDR http1|http2 CONNECTIONS";
/// A response that takes longer is hung.
const READ_TIMEOUT: Duration = Duration::from_secs(15);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let options = Options::parse(&words).unwrap_or_else(|problem| {
        eprintln!("drain-load: {problem}\n{USAGE}");
        std::process::exit(2);
    });
    println!("{}", options.run());
}

/// The options of a run.
struct Options {
    address: SocketAddr,
    keep: fn(SocketAddr, &Counts),
    connections: usize,
}

/// What has become of the requests.
#[derive(Default)]
struct Counts {
    sent: AtomicU64,
    answered: AtomicU64,
    closed: AtomicU64,
    reset: AtomicU64,
    declined: AtomicU64,
    promised: AtomicU64,
    broken: AtomicU64,
    hung: AtomicU64,
    connections: AtomicU64,
}

/// Adds to a count.
fn add(count: &AtomicU64, number: usize) {
    count.fetch_add(number as u64, Ordering::Relaxed);
}

impl Options {
    fn parse(words: &[String]) -> Result<Self, String> {
        let [address, version, connections] = words else {
            return Err("three arguments are needed".into());
        };
        Ok(Self {
            address: address.parse().map_err(|_| format!("{address} is not IP:PORT"))?,
            keep: match version.as_str() {
                "http1" => http1::keep,
                "http2" => http2::keep,
                other => return Err(format!("no version {other}")),
            },
            connections: connections
                .parse()
                .map_err(|_| format!("{connections} is not a number"))?,
        })
    }

    fn run(&self) -> String {
        let counts = Arc::new(Counts::default());
        let started = Instant::now();
        let start = |_| {
            let (address, keep, counts) = (self.address, self.keep, Arc::clone(&counts));
            thread::spawn(move || keep(address, &counts))
        };
        let threads: Vec<_> = (0..self.connections).map(start).collect();
        for thread in threads {
            if thread.join().is_err() {
                std::process::exit(1);
            }
        }
        let elapsed = started.elapsed().as_micros();
        let Counts { sent, answered, closed, reset, declined, promised, broken, hung, connections } =
            &*counts;
        let [answered, sent, closed, reset, declined, promised, broken, hung, connections] =
            [answered, sent, closed, reset, declined, promised, broken, hung, connections]
                .map(|count| count.load(Ordering::Relaxed));
        format!(
            "summary requests={answered} duration_us={elapsed} sent={sent} closed={closed} \
             reset={reset} declined={declined} promised={promised} broken={broken} hung={hung} \
             connections={connections}"
        )
    }
}

/// Opens a connection; none if the server takes no more.
fn connect(address: SocketAddr, counts: &Counts) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    add(&counts.connections, 1);
    stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(READ_TIMEOUT))).ok()?;
    Some(stream)
}
