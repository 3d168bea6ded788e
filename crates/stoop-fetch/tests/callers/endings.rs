//! Runs that are ended by their callers, and what is told of errors of the system.

use std::io;
use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use stoop::{Request, Response, StatusCode};
use stoop_fetch::format::JsonLines;
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, FetchError, Politeness, Stop};

use super::{LIMIT, Written, run};

/// A server that never answers, and URLs of it.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    (listener, (0..4).map(|n| format!("http://{address}/{n}\n")).collect())
}

/// The flag alone was seen at the next deadline of a job.
#[test]
fn a_request_to_stop_ends_all_runs_that_have_it_at_once() {
    let (listener, urls) = silent();
    let stop = Stop::new();
    let start = || {
        let written = Written::default();
        let fetch = Fetch::new().stop(stop.clone()).timeout(Duration::from_secs(600));
        let lines = Lines::new(io::Cursor::new(urls.clone()));
        (fetch.start(lines, JsonLines::new(), written.clone()).expect("it starts"), written)
    };
    let runs = [start(), start()];
    // One connection of each run.
    let connections = [0; 2].map(|_| listener.accept().expect("a connection"));
    while runs.iter().any(|(run, _)| run.progress().in_flight < 4) {
        thread::sleep(Duration::from_millis(5));
    }
    let begin = Instant::now();
    stop.request();
    for (run, written) in runs {
        assert!(run.is_stopping());
        let finished = run.wait();
        assert_eq!((finished.check().is_ok(), written.lines()), (true, 4));
        assert_eq!(finished.figures().errors.0, [("cancelled", 4)]);
    }
    assert!(begin.elapsed() < Duration::from_secs(20), "{:?}", begin.elapsed());
    drop(connections);
    // One that begins later reads nothing.
    let (run, written) = start();
    assert!(run.wait().check().is_ok());
    assert_eq!(written.lines(), 0);
}

#[test]
fn an_error_of_the_system_is_told_as_one() {
    struct Full;
    impl io::Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::Error::from_raw_os_error(28))
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let ran = Fetch::new().run(Lines::new("http:///\n".as_bytes()), JsonLines::new(), Full);
    match ran {
        Err(FetchError::Write(error)) => assert_eq!(error.raw_os_error(), Some(28), "{error:?}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_end_of_a_run_is_told_to_all_that_wait_for_it() {
    let fetch = Fetch::new();
    let lines = Lines::new(&b"http:///\n"[..]);
    let run = fetch.start(lines, JsonLines::new(), Written::default()).expect("it starts");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let waits = async {
        tokio::join!(run.ended(), run.ended());
        run.ended().await;
    };
    let waited =
        runtime.expect("a runtime").block_on(async { tokio::time::timeout(LIMIT, waits).await });
    waited.expect("it is told");
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let finished = runtime.block_on(run.finished());
    finished.check().expect("nothing went wrong");
    assert_eq!(finished.figures().total_urls, 1);
}

/// The wait is no part of the job's duration, and the run was told to have taken no longer than that.
#[test]
fn the_time_of_a_run_has_the_wait_of_its_last_job_for_the_turn_of_its_host() {
    let interval = Duration::from_millis(400);
    let site = |request: Request| match request.path() {
        "/" => with_location("/page"),
        _ => Response::from_text("a page"),
    };
    let fetch = Fetch::new()
        .politeness(Politeness::default().interval(interval))
        .client(move |client| client.handler(site));
    let list = Lines::new(&b"http://a.test/\n"[..]);
    let finished = run(fetch, list, JsonLines::new(), Written::default());
    finished.check().expect("nothing went wrong");
    let figures = finished.figures();
    assert_eq!((figures.total_urls, figures.ok), (1, 1));
    let whole = u64::try_from(interval.as_millis()).expect("small");
    assert!(figures.time >= whole && figures.max < figures.time, "{figures:?}");
}

fn with_location(to: &str) -> Response {
    let found = StatusCode::from_u16(302).expect("a status");
    Response::from_text("").with_status(found).with_field("location", to).expect("a field")
}
