//! Hosts that write down each request: a server on every address of 127.0.0.0/8.
//!
//! A path asks for its [answer](crate::wanted). The second and third byte of an address say what its robots.txt is:
//!
//! ```text
//! 127.1.X.X  there is none (404)
//! 127.2.N.X  Crawl-delay: N × 10 ms, and Disallow: /private/
//! 127.3.X.X  503
//! ```
//!
//! `GET /log` at 127.0.0.1 answers with a line for each request that came so far to any other address, in the order in
//! which they came: host, target, when its head was read and when the response was handed over, in microseconds
//! since the start (`-` if that is still to come), the status, and the Retry-After in seconds (`-` without one). The
//! last line is `stall` and the longest time, in microseconds, for which this process did not run when it was to:
//! requests that come meanwhile have one time.

use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use stoop::{Request, Response, ServerLimits, StatusCode};
use tokio::time::sleep;

use crate::many::listener;
use crate::wanted;

/// How often this process looks whether it runs.
const TICK: Duration = Duration::from_millis(5);

/// One request.
struct Entry {
    host: IpAddr,
    target: String,
    begun_us: u128,
    ended: Option<End>,
}

/// How a request was answered.
struct End {
    at_us: u128,
    /// 0 if it was given up.
    status: u16,
    retry_after: String,
}

/// What came to all hosts.
struct Log {
    begun: Instant,
    entries: Mutex<Vec<Entry>>,
    longest_stall_us: AtomicU64,
}

impl Log {
    fn entries(&self) -> MutexGuard<'_, Vec<Entry>> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for Entry { host, target, begun_us, ended } in self.entries().iter() {
            // Writing to a String cannot fail.
            let _ = write!(text, "{host} {target} {begun_us} ");
            let _ = match ended {
                Some(End { at_us, status, retry_after }) => {
                    writeln!(text, "{at_us} {status} {retry_after}")
                }
                None => writeln!(text, "- 0 -"),
            };
        }
        let _ = writeln!(text, "stall {}", self.longest_stall_us.load(Relaxed));
        text
    }

    /// Notices when this process does not run.
    async fn watch(&self) {
        loop {
            let asleep = Instant::now();
            sleep(TICK).await;
            let late = asleep.elapsed().saturating_sub(TICK).as_micros();
            self.longest_stall_us.fetch_max(u64::try_from(late).unwrap_or(u64::MAX), Relaxed);
        }
    }
}

/// Serves, and prints its port.
pub(crate) async fn serve() -> io::Result<()> {
    let listener = listener()?;
    println!("{}", listener.local_addr()?.port());
    let limits = ServerLimits::default();
    let log = Arc::new(Log {
        begun: Instant::now(),
        entries: Mutex::default(),
        longest_stall_us: AtomicU64::new(0),
    });
    let watched = Arc::clone(&log);
    tokio::spawn(async move { watched.watch().await });
    loop {
        let (stream, _) = listener.accept().await?;
        let (log, host) = (Arc::clone(&log), stream.local_addr()?.ip());
        let answer = move |request: Request| answer(request, host, Arc::clone(&log));
        tokio::spawn(stoop::rt::serve(stream, answer, limits.clone()));
    }
}

async fn answer(request: Request, host: IpAddr, log: Arc<Log>) -> Response {
    if host == Ipv4Addr::LOCALHOST {
        return Response::from_text(log.text()).with_close();
    }
    let mut open = OpenEntry::begin(&log, host, request.target());
    let response = match request.path() {
        "/robots.txt" => robots(host),
        _ => wanted::answer(&request).await,
    };
    open.status = response.status().as_u16();
    if let Some(seconds) = response.field("retry-after") {
        open.retry_after = String::from_utf8_lossy(seconds).into_owned();
    }
    response
}

/// A request that is not answered yet. It is when this is dropped.
struct OpenEntry<'a> {
    log: &'a Log,
    index: usize,
    status: u16,
    retry_after: String,
}

impl<'a> OpenEntry<'a> {
    fn begin(log: &'a Log, host: IpAddr, target: &str) -> Self {
        let mut entries = log.entries();
        // Read under the lock, so that the entries are in the order of their times.
        let begun_us = log.begun.elapsed().as_micros();
        entries.push(Entry { host, target: target.to_owned(), begun_us, ended: None });
        Self { log, index: entries.len() - 1, status: 0, retry_after: "-".to_owned() }
    }
}

impl Drop for OpenEntry<'_> {
    fn drop(&mut self) {
        let mut entries = self.log.entries();
        let at_us = self.log.begun.elapsed().as_micros();
        let retry_after = std::mem::take(&mut self.retry_after);
        entries[self.index].ended = Some(End { at_us, status: self.status, retry_after });
    }
}

fn robots(host: IpAddr) -> Response {
    match host {
        IpAddr::V4(host) if host.octets()[1] == 2 => {
            let delay = f64::from(host.octets()[2]) / 100.0;
            let rules = format!("User-agent: *\nCrawl-delay: {delay:.2}\nDisallow: /private/\n");
            Response::from_text(rules)
        }
        IpAddr::V4(host) if host.octets()[1] == 3 => {
            Response::from_status(StatusCode::SERVICE_UNAVAILABLE)
        }
        _ => Response::from_status(StatusCode::NOT_FOUND),
    }
}
