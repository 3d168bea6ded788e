//! Content counts in the progress of a run while it arrives, whatever is done with it.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{Duration, Instant};

use stoop_fetch::Fetch;
use stoop_fetch::format::{JsonLines, RecordFormat, Warc};
use stoop_fetch::source::Lines;

use crate::LIMIT;

const FIRST: usize = 200_000;
const ALL: usize = 300_000;

/// A server of one response, whose content stands still after its first 200,000 bytes until it is told to go on.
fn server() -> (SocketAddr, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("bound");
    let (go_on, told) = mpsc::channel();
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("the run");
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).expect("a request");
            head.extend(byte);
        }
        write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {ALL}\r\n\r\n").expect("it is read");
        stream.write_all(&[b'x'; FIRST]).expect("it is read");
        told.recv().expect("the test");
        stream.write_all(&[b'x'; ALL - FIRST]).expect("it is read");
    });
    (address, go_on)
}

fn counts_while_it_arrives(fetch: Fetch, format: impl RecordFormat) {
    let (address, go_on) = server();
    let jobs = Lines::new(io::Cursor::new(format!("http://{address}/\n")));
    let run = fetch.timeout(LIMIT).start(jobs, format, io::sink()).expect("it starts");
    let since = Instant::now();
    while run.progress().content_bytes < FIRST as u64 {
        assert!(since.elapsed() < LIMIT, "{:?}", run.progress());
        thread::sleep(Duration::from_millis(5));
    }
    let progress = run.progress();
    assert_eq!((progress.content_bytes, progress.done), (FIRST as u64, 0));
    go_on.send(()).expect("the server");
    let finished = run.wait();
    let figures = finished.figures();
    assert_eq!((figures.ok, figures.body_bytes), (1, ALL as u64));
}

#[test]
fn content_that_is_only_counted() {
    counts_while_it_arrives(Fetch::new(), JsonLines::new());
}

#[test]
fn content_that_is_kept() {
    counts_while_it_arrives(Fetch::new(), Warc::new());
}
