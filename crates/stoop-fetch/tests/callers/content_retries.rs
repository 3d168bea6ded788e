//! Retries of content that breaks off, as they are set by the client of a run.

use std::io::{Cursor, Write};
use std::sync::mpsc;
use std::time::Duration;

use bytes::Bytes;
use stoop::{Body, ClientBuilder, Error, Next, Request, Response, Retries};
use stoop_fetch::format::{JsonLines, RecordFormat};
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, Politeness, Record};

use super::{Written, run};

const HALF: usize = 600 << 10;

/// A site that breaks off the first response for `/half`, and tells what it is asked for.
fn site(paths: mpsc::Sender<String>) -> impl Fn(Request) -> Response + Clone + Send + Sync {
    let is_first = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    move |request: Request| {
        let _ = paths.send(request.path().to_owned());
        let is_broken =
            request.path() == "/half" && is_first.swap(false, std::sync::atomic::Ordering::SeqCst);
        if !is_broken {
            return Response::from_text("here");
        }
        let (sender, body) = Body::channel(1);
        tokio::spawn(async move {
            let sent = sender.send(Bytes::from(vec![b'x'; HALF])).await;
            sent.expect("it is read");
            // Dropped before its end, it fails.
        });
        Response::new(body)
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
