//! Runs whose source, format, filter or writer panics, and whose times are as long as can be: each comes to its end,
//! and all but that of the format says why.

mod bandwidth;
mod content_in_flight;
mod content_places;
mod content_retries;
mod endings;
mod givers;
mod records;
mod total_rate;

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Cursor, Write};
use std::net::{TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use stoop::{Request, Response, Retries, StatusCode};
use stoop_fetch::format::{JsonLines, RecordFormat, Warc};
use stoop_fetch::source::{Job, JobSource, Lines, Take};
use stoop_fetch::{Fetch, FetchError, Finished, Politeness, Record};

/// How long a run may take here that would otherwise never end.
const LIMIT: Duration = Duration::from_secs(60);

/// The memory that a run writes to.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Written {
    /// How many records there are.
    fn lines(&self) -> usize {
        self.0.lock().expect("no panic").iter().filter(|byte| **byte == b'\n').count()
    }
}

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Runs on a thread of its own, so that a run without an end fails here.
fn run(
    fetch: Fetch,
    source: impl JobSource + 'static,
    format: impl RecordFormat,
    writer: impl Write + Send + 'static,
) -> Finished {
    let (done, finished) = mpsc::channel();
    thread::spawn(move || {
        let run = fetch.start(source, format, writer).expect("it starts");
        done.send(run.wait()).expect("the test waits");
    });
    finished.recv_timeout(LIMIT).expect("the run comes to its end")
}

#[test]
fn a_writer_that_panics_is_an_error_however_many_records_follow() {
    struct Panics;
    impl Write for Panics {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            panic!("on purpose")
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    // Some megabytes of records, of which no job waits for a request.
    let jobs = Lines::new(Cursor::new("http:///\n".repeat(20_000)));
    let finished = run(Fetch::new(), jobs, JsonLines::new(), Panics);
    let error = finished.check().expect_err("nothing was written");
    assert!(matches!(error, FetchError::Write(_)), "{error:?}");
    assert!(error.to_string().contains("the writer panicked"), "{error}");
}

#[test]
fn a_source_that_panics_is_an_error_and_what_it_reported_has_records() {
    struct Panics;
    impl JobSource for Panics {
        fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
            assert_eq!(take(Job::new(b"http:///1")), ControlFlow::Continue(()));
            assert_eq!(take(Job::new(b"http:///2")), ControlFlow::Continue(()));
            panic!("on purpose")
        }
    }
    let written = Written::default();
    let finished = run(Fetch::new(), Panics, JsonLines::new(), written.clone());
    let error = finished.check().expect_err("the source has more");
    assert!(matches!(error, FetchError::Read(_)), "{error:?}");
    assert!(error.to_string().contains("the source panicked"), "{error}");
    assert_eq!((finished.figures().total_urls, written.lines()), (2, 2));
}

/// Writes the URL and the content of each record, and panics at one of them.
#[derive(Clone)]
struct Fragile;

impl RecordFormat for Fragile {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let url = String::from_utf8_lossy(record.url);
        assert!(!url.ends_with("/13"), "on purpose");
        let capture = record.outcome.capture.as_ref().expect("it needs content");
        let content = String::from_utf8_lossy(&capture.content);
        writeln!(into, "{url} {content}").expect("memory takes all");
    }

    fn needs_content(&self) -> bool {
        true
    }
}

#[test]
fn a_format_that_panics_costs_its_record_and_no_other() {
    for workers in [1, 2] {
        let urls: String = (0..500).map(|n| format!("http://{}.test/{n}\n", n % 7)).collect();
        let fetch = Fetch::new().workers(workers).client(|client| {
            client.handler(|request: Request| format!("content of {}", request.path()))
        });
        let written = Written::default();
        let finished = run(fetch, Lines::new(Cursor::new(urls)), Fragile, written.clone());
        finished.check().expect("nothing else went wrong");
        let written = written.0.lock().expect("no panic");
        let lines: BTreeSet<_> = std::str::from_utf8(&written).expect("text").lines().collect();
        let expected = (0..500).filter(|n| *n != 13);
        let expected: Vec<_> =
            expected.map(|n| format!("http://{}.test/{n} content of /{n}", n % 7)).collect();
        assert_eq!(lines, expected.iter().map(String::as_str).collect());
    }
}

/// The records were lost, and nothing said so: of errors, of answers, and of content that is worked on elsewhere.
#[test]
fn a_filter_that_panics_costs_no_record_and_is_told() {
    let urls: String = (0..60).map(|n| format!("http://a.test/{n}\n")).collect();
    for content in ["short".to_owned(), "long ".repeat(100_000)] {
        let fetch = Fetch::new()
            .sha256(true)
            .client(move |client| {
                let content = content.clone();
                client.handler(move |_: Request| content.clone())
            })
            .filter(|record| match record.url {
                [.., b'5'] => panic!("on purpose"),
                [.., b'7'] => false,
                _ => true,
            });
        let written = Written::default();
        let jobs = Lines::new(Cursor::new(format!("{urls}http:///5\n")));
        let finished = run(fetch, jobs, JsonLines::new(), written.clone());
        let error = finished.check().expect_err("it panicked");
        assert!(matches!(error, FetchError::Filter(_)), "{error:?}");
        assert_eq!(error.to_string(), "the filter panicked at 7 records, which were written");
        assert_eq!((finished.figures().total_urls, written.lines()), (61, 55));
    }
}

#[test]
fn times_may_be_as_long_as_can_be() {
    let busy = |_: Request| {
        let response = Response::from_text("busy").with_status(StatusCode::TOO_MANY_REQUESTS);
        response.with_field("retry-after", "99999999999999999999").expect("a field")
    };
    let always = Duration::MAX;
    let fetch = Fetch::new()
        .timeout(always)
        .setup_timeout(always)
        .politeness(Politeness::default().interval(always).pause_max(always))
        .sha256(true)
        .client(move |client| client.handler(busy));
    let finished = run(
        fetch,
        Lines::new(&b"http://a/\nhttp://b/\n"[..]),
        JsonLines::new(),
        Written::default(),
    );
    finished.check().expect("nothing went wrong");
    assert_eq!((finished.figures().total_urls, finished.figures().client_errors), (2, 2));
    assert_eq!(finished.overdue, 0);
}

#[test]
fn a_host_is_left_alone_for_its_retry_after_also_where_the_content_fails() {
    let pause = Duration::from_secs(1);
    let (times, seen) = mpsc::channel();
    let busy = move |_: Request| {
        let _ = times.send(Instant::now());
        let response = Response::from_text("x".repeat(100));
        let response = response.with_status(StatusCode::SERVICE_UNAVAILABLE);
        response.with_field("retry-after", "1").expect("a field")
    };
    let fetch = Fetch::new()
        .politeness(Politeness::default().per_host(1))
        .body_bytes_max(Some(10))
        .client(move |client| client.handler(busy.clone()));
    let finished = run(
        fetch,
        Lines::new(&b"http://a/1\nhttp://a/2\n"[..]),
        JsonLines::new(),
        Written::default(),
    );
    assert_eq!(finished.summary.kinds(), [("body_too_large", 2)]);
    let times: Vec<_> = seen.try_iter().collect();
    assert_eq!(times.len(), 2);
    assert!(times[1] - times[0] >= pause, "{:?}", times[1] - times[0]);
}

#[test]
fn the_delay_of_a_retry_holds_up_no_other_host() {
    let (paths, seen) = mpsc::channel();
    let site = move |request: Request| {
        let _ = paths.send(request.path().to_owned());
        let response = Response::from_text("here");
        match request.path() == "/busy" {
            true => response
                .with_status(StatusCode::SERVICE_UNAVAILABLE)
                .with_field("retry-after", "3")
                .expect("a field"),
            false => response,
        }
    };
    let fetch = Fetch::new()
        .concurrency(1)
        .timeout(Duration::from_secs(60))
        .client(move |client| client.retries(Retries::up_to(1)).handler(site.clone()));
    let lines = Lines::new(&b"http://c/busy\nhttp://a/1\nhttp://b/2\n"[..]);
    let finished = run(fetch, lines, JsonLines::new(), Written::default());
    let expected = ["/busy", "/1", "/2", "/busy"];
    assert_eq!(seen.try_iter().collect::<Vec<_>>(), expected);
    let figures = finished.figures();
    assert_eq!((figures.ok, figures.server_errors), (2, 1));
    assert!(figures.max >= 3_000, "its clock goes on: {} ms", figures.max);
}

/// While a writer is busy no URL begins, and all that were in flight come to their end. Half of their connections were closed
/// then, and made anew.
#[test]
fn a_slow_writer_closes_no_connection() {
    const AT_ONCE: usize = 64;
    fn answer(stream: &TcpStream) -> io::Result<()> {
        let answer = [&b"HTTP/1.1 200 OK\r\ncontent-length: 10240\r\n\r\n"[..], &[b'x'; 10_240]];
        for line in BufReader::new(stream).lines() {
            if line?.is_empty() {
                (&mut &*stream).write_all(&answer.concat())?;
            }
        }
        Ok(())
    }
    struct Slow;
    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            thread::sleep(Duration::from_millis(50));
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let accepted = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&accepted);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            count.fetch_add(1, SeqCst);
            thread::spawn(move || answer(&stream));
        }
    });
    let list: String = (0..1500).map(|n| format!("http://127.0.0.1:{port}/{n}\n")).collect();
    let fetch = Fetch::new().politeness(None).concurrency(AT_ONCE).workers(1).timeout(LIMIT);
    let finished = run(fetch, Lines::new(Cursor::new(list)), Warc::new().uncompressed(), Slow);
    finished.check().expect("a whole run");
    assert_eq!(finished.figures().total_urls, 1500);
    let accepted = accepted.load(SeqCst);
    assert!(accepted <= AT_ONCE, "{accepted}");
}
