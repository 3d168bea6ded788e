//! Formats of a caller's, through the public interface of the library alone.

use std::collections::BTreeSet;
use std::io::{Cursor, Write};
use std::sync::{Arc, Mutex};

use stoop::Request;
use stoop_fetch::format::RecordFormat;
use stoop_fetch::source::Lines;
use stoop_fetch::{Fetch, Record};

/// Writes the URL and the content of each record, and panics at one of them.
#[derive(Clone)]
struct Fragile;

impl RecordFormat for Fragile {
    fn format(&mut self, record: &Record<'_>, into: &mut Vec<u8>) {
        let url = String::from_utf8_lossy(record.url);
        assert!(!url.ends_with("/13"), "a defect of the format");
        let capture = record.outcome.capture.as_ref().expect("it needs content");
        let content = String::from_utf8_lossy(&capture.content);
        writeln!(into, "{url} {content}").expect("memory takes all");
    }

    fn needs_content(&self) -> bool {
        true
    }
}

/// The memory that a run writes to.
#[derive(Clone, Default)]
struct Written(Arc<Mutex<Vec<u8>>>);

impl Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("no panic").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_format_that_panics_costs_its_record_and_no_other() {
    for workers in [1, 2] {
        let written = Written::default();
        let urls: String = (0..500).map(|n| format!("http://{}.test/{n}\n", n % 7)).collect();
        let fetch = Fetch::new().workers(workers).client(|client| {
            client.handler(|request: Request| format!("content of {}", request.path()))
        });
        let finished = fetch.run(Lines::new(Cursor::new(urls)), Fragile, written.clone());
        finished.expect("it runs").check().expect("nothing else went wrong");
        let written = written.0.lock().expect("no panic");
        let lines: BTreeSet<_> = std::str::from_utf8(&written).expect("text").lines().collect();
        let expected = (0..500).filter(|n| *n != 13);
        let expected: Vec<_> =
            expected.map(|n| format!("http://{}.test/{n} content of /{n}", n % 7)).collect();
        assert_eq!(lines, expected.iter().map(String::as_str).collect());
    }
}
