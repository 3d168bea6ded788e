//! Retries of content that breaks off, as they are set by the client of a run.

use std::io::{Cursor, Write};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bytes::Bytes;
use stoop::{Body, ClientBuilder, Error, Next, Request, Response, Retries};
use stoop_fetch::format::{JsonLines, RecordFormat};
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, Politeness, Record};

use super::{Written, run};

const HALF: usize = 600 << 10;

/// A response whose content breaks off behind this.
fn broken(content: impl Into<Bytes>) -> Response {
    let (sender, body) = Body::channel(1);
    let content = content.into();
    tokio::spawn(async move {
        let sent = sender.send(content).await;
        sent.expect("it is read");
        // Dropped before its end, it fails.
    });
    Response::new(body)
}

/// A site that breaks off the first response for `/half`, and tells what it is asked for.
fn site(paths: mpsc::Sender<String>) -> impl Fn(Request) -> Response + Clone + Send + Sync {
    let is_first = Arc::new(AtomicBool::new(true));
    move |request: Request| {
        let _ = paths.send(request.path().to_owned());
        match request.path() == "/half" && is_first.swap(false, SeqCst) {
            true => broken(vec![b'x'; HALF]),
            false => Response::from_text("here"),
        }
    }
}

/// Writes the path and the length of the content of each record.
#[derive(Clone)]
struct Lengths;

impl RecordFormat for Lengths {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let capture = record.outcome.capture.as_ref().expect("it needs content");
        let url = String::from_utf8_lossy(record.url);
        let details = record.outcome.details.as_ref().expect("it needs details");
        let (length, attempts) = (capture.content.len(), details.attempts);
        writeln!(into, "{url} {length} {attempts:?}").expect("memory takes all");
    }

    fn needs_content(&self) -> bool {
        true
    }

    fn needs_details(&self) -> bool {
        true
    }
}

#[test]
fn the_memory_of_content_that_broke_off_is_free_while_the_retry_waits() {
    let (paths, seen) = mpsc::channel();
    let site = site(paths);
    let delay = Duration::from_secs(4);
    let configure = move |client: ClientBuilder| {
        client.retries(Retries::up_to(1).delay(delay, delay)).handler(site.clone())
    };
    let fetch = Fetch::new()
        .concurrency(1)
        .workers(1)
        .politeness(Politeness::default().interval(Duration::from_millis(1)))
        .timeout(Duration::from_secs(60))
        // The content that breaks off takes more than half of it, so that no job starts.
        .content_memory(1 << 20)
        .client(configure);
    let written = Written::default();
    let lines = Lines::new(&b"http://a/half\nhttp://b/1\n"[..]);
    run(fetch, lines, Lengths, written.clone()).check().expect("nothing went wrong");
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), ["/half", "/1", "/half"]);
    let written = written.0.lock().expect("no panic");
    let written = std::str::from_utf8(&written).expect("text");
    assert_eq!(written, "http://b/1 4 None\nhttp://a/half 4 Some(2)\n");
}

#[test]
fn with_middleware_there_is_one_attempt_for_content() {
    async fn through(request: Request, next: Next) -> Result<Response, Error> {
        next.run(request).await
    }
    let (paths, seen) = mpsc::channel();
    let site = site(paths);
    let fetch = Fetch::new().workers(1).client(move |client| {
        client.retries(Retries::up_to(3)).middleware(through).handler(site.clone())
    });
    let lines = Lines::new(Cursor::new("http://a/half\n"));
    let finished = run(fetch, lines, JsonLines::new(), Written::default());
    assert_eq!(finished.summary.kinds().len(), 1);
    assert_eq!(seen.try_iter().count(), 1);
}

/// Its pages were left out, as those of an origin whose robots.txt could not be read.
#[test]
fn a_robots_txt_that_breaks_off_is_asked_for_again() {
    let is_first = AtomicBool::new(true);
    let site = Arc::new(move |request: Request| match request.path() {
        "/robots.txt" if is_first.swap(false, SeqCst) => broken("User-agent: *\n"),
        "/robots.txt" => Response::from_text("User-agent: *\nDisallow: /private\n"),
        _ => Response::from_text("here"),
    });
    let fetch = Fetch::new()
        .workers(1)
        .politeness(Politeness::default().robots("examplebot"))
        .timeout(Duration::from_secs(60))
        .client(move |client| {
            let site = Arc::clone(&site);
            client.retries(Retries::up_to(1)).handler(move |request: Request| site(request))
        });
    let lines = Lines::new(&b"http://a/private\nhttp://a/public\n"[..]);
    let finished = run(fetch, lines, JsonLines::new(), Written::default());
    assert_eq!((finished.figures().ok, finished.summary.kinds()), (1, vec![("robots_denied", 1)]));
}
