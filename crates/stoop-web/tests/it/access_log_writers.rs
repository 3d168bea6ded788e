//! Writers of the access log, and functions that write its lines: those that are full, stand still, fail or panic.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use stoop::{Answer, Handler, IntoHandler, Request, Versions};
use stoop_web::{AccessLog, Router, get};

use crate::access_log::{Lines, ask};

#[tokio::test]
async fn a_full_queue_drops_lines_and_counts_them() {
    let lines = Lines::default();
    let log = AccessLog::custom(lines.clone(), |_, line| line.extend_from_slice(&[b'x'; 100]));
    let log = log.queue_bytes_max(50);
    let handle = log.handle();
    ask(log, Versions::Http1).await;
    handle.flush();
    assert_eq!((lines.text().as_str(), handle.dropped_lines()), ("", 1));
}

#[tokio::test]
async fn the_writer_is_replaced_and_the_end_writes_what_is_queued() {
    let (old, new) = (Lines::default(), Lines::default());
    let log = AccessLog::custom(old.clone(), |entry, line| {
        line.extend_from_slice(entry.target().as_bytes());
    });
    let handle = log.handle();
    ask(log.clone(), Versions::Http1).await;
    // The client may have its response before the server notes that it is sent.
    while old.text().is_empty() {
        tokio::task::yield_now().await;
        handle.flush();
    }
    handle.replace(new.clone());
    assert_eq!(old.text(), "/?q\n");
    ask(log, Versions::Http1).await;
    while new.text().is_empty() {
        tokio::task::yield_now().await;
        handle.flush();
    }
    drop(handle);
    assert_eq!((old.text(), new.text()), ("/?q\n".to_owned(), "/?q\n".to_owned()));
}

/// A writer that stands still until it is told to go on, as a pipe that is not read does.
struct StandsStill {
    begun: Sender<()>,
    goes_on: Receiver<()>,
    written: Lines,
}

impl Write for StandsStill {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.begun.send(()).unwrap();
        let _ = self.goes_on.recv();
        self.written.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn the_last_owner_does_not_wait_for_a_writer_that_stands_still_and_its_line_is_written() {
    let ((begun, has_begun), (go_on, goes_on)) = (channel(), channel());
    let written = Lines::default();
    let log =
        AccessLog::custom(StandsStill { begun, goes_on, written: written.clone() }, |_, line| {
            line.extend_from_slice(b"a line");
        });
    ask(log.clone(), Versions::Http1).await;
    has_begun.recv_timeout(Duration::from_secs(10)).unwrap();
    // It would wait for ever.
    drop(log);
    assert_eq!(written.text(), "");
    go_on.send(()).unwrap();
    let waits = async {
        while written.text().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap();
    assert_eq!(written.text(), "a line\n");
}

/// A writer that hands its text on, and whose receiver learns when it is dropped.
struct HandsOn(Sender<String>);

impl Write for HandsOn {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As where an application takes the place of another one, with another log.
#[test]
fn an_exchange_that_outlives_the_application_has_its_line_and_then_the_log_ends() {
    let wait = Duration::from_secs(10);
    for (path, expected) in [("/now", "/now Some(200)\n"), ("/later", "/later None\n")] {
        let (tell, lines) = channel();
        let log = AccessLog::custom(HandsOn(tell), |entry, line| {
            let status = entry.status().map(|status| status.as_u16());
            line.extend_from_slice(format!("{} {status:?}", entry.target()).as_bytes());
        });
        let router = Router::new().route("/now", get(|| "hello"));
        let router = router.route("/later", get(std::future::pending::<&str>)).layer(log);
        let handler = router.build().unwrap().into_handler();
        let answer = handler.call(Request::get(&format!("http://a.test{path}")).unwrap());
        assert_eq!(matches!(answer, Answer::Now(_)), path == "/now");
        drop(handler);
        // The log goes on: its writer is not dropped, which would be told at once.
        assert_eq!(lines.recv_timeout(wait / 100), Err(RecvTimeoutError::Timeout), "{path}");
        drop(answer);
        assert_eq!(lines.recv_timeout(wait).as_deref(), Ok(expected));
        assert_eq!(lines.recv_timeout(wait), Err(RecvTimeoutError::Disconnected));
    }
}

/// A writer of a full disk.
struct Full;

impl Write for Full {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_that_fails_is_counted_and_the_log_goes_on() {
    let lines = Lines::default();
    let log = AccessLog::custom(Full, |entry, line| {
        line.extend_from_slice(entry.target().as_bytes());
    });
    let handle = log.handle();
    ask(log.clone(), Versions::Http1).await;
    handle.flush();
    assert_eq!((handle.write_failures(), handle.dropped_lines()), (1, 0));
    handle.replace(lines.clone());
    ask(log, Versions::Http2).await;
    handle.flush();
    assert_eq!((lines.text().as_str(), handle.write_failures()), ("/?q\n", 1));
}

/// A function of the caller's that panics within its line.
#[tokio::test]
async fn a_line_whose_format_panics_is_dropped_whole() {
    for versions in [Versions::Http1, Versions::Http2] {
        let lines = Lines::default();
        let is_first = AtomicBool::new(true);
        let log = AccessLog::custom(lines.clone(), move |_, line| {
            line.extend_from_slice(b"a line");
            assert!(!is_first.swap(false, Ordering::Relaxed), "on purpose");
        });
        let handle = log.handle();
        ask(log.clone(), versions).await;
        ask(log, versions).await;
        handle.flush();
        assert_eq!((lines.text().as_str(), handle.dropped_lines()), ("a line\n", 1));
    }
}

struct Panics;

impl Write for Panics {
    fn write(&mut self, _: &[u8]) -> io::Result<usize> {
        panic!("on purpose")
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_writer_that_panics_is_counted_and_the_log_goes_on() {
    let lines = Lines::default();
    let log = AccessLog::custom(Panics, |_, line| line.extend_from_slice(b"a line"));
    let handle = log.handle();
    ask(log.clone(), Versions::Http1).await;
    handle.flush();
    assert_eq!((handle.write_failures(), handle.dropped_lines()), (1, 0));
    handle.replace(lines.clone());
    ask(log, Versions::Http1).await;
    handle.flush();
    assert_eq!((lines.text().as_str(), handle.write_failures()), ("a line\n", 1));
}
