//! Distributes the lines of a source to the cores, without ever holding more than a few thousand.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lane::{Batch, Closed, Extent, Lane};
use super::line_reader::LineReader;
use super::source::Stop;
use super::target::{core_of, is_plain};

/// The progress of the reader, for the display.
#[derive(Debug, Default)]
pub(super) struct InputGauge {
    /// The length of the source, 0 if unknown.
    pub(super) total_bytes: AtomicU64,
    /// Bytes read.
    pub(super) bytes: AtomicU64,
    /// URLs read.
    pub(super) urls: AtomicU64,
}

/// Reads the whole source, and pushes each line into the lane of its core. Returns at the end of the
/// source, after `limit` URLs, or when the source ends because the run does: then the lines read so
/// far have been pushed too, to be answered. `before_tls` is called, and may take long, before lines
/// that need TLS are pushed: a URL's clock starts after that.
///
/// # Errors
/// The source's own.
pub(super) fn distribute(
    source: impl Read,
    limit: Option<u64>,
    lanes: &[Lane],
    gauge: &InputGauge,
    stop: &Stop,
    before_tls: impl Fn(),
) -> io::Result<()> {
    let mut lines = LineReader::new(source);
    let mut staged: Vec<Batch> = lanes.iter().map(|_| Batch::default()).collect();
    let mut urls_left = limit.unwrap_or(u64::MAX);
    loop {
        let mut urls_read = 0;
        let mut is_all_plain = true;
        let mut each = |line: &[u8], extent| {
            if urls_left == 0 {
                return ControlFlow::Break(());
            }
            urls_left -= 1;
            urls_read += 1;
            is_all_plain &= is_plain(line);
            staged[core_of(line, lanes.len())].push(line, extent);
            ControlFlow::Continue(())
        };
        let more = lines.read_some(&mut each);
        match &more {
            Ok(true) => {}
            Ok(false) if !stop.is_requested() => lines.finish(Extent::Whole, &mut each),
            Ok(false) => lines.finish(Extent::Interrupted, &mut each),
            Err(_) => lines.finish(Extent::InputFailed, &mut each),
        }
        if !is_all_plain {
            before_tls();
        }
        // Lines that were read before an error are fetched all the same.
        push_all(&mut staged, lanes);
        gauge.urls.fetch_add(urls_read, Relaxed);
        gauge.bytes.store(lines.bytes, Relaxed);
        if !more? || urls_left == 0 {
            return Ok(());
        }
    }
}

/// Pushes first into all lanes that have room, then into those the reader has to wait for: a core that
/// is behind must not keep work from the others, and neither must one that failed.
fn push_all(staged: &mut [Batch], lanes: &[Lane]) {
    for (lines, lane) in staged.iter_mut().zip(lanes) {
        let _ = lane.try_push(lines);
    }
    for (lines, lane) in staged.iter_mut().zip(lanes) {
        if lane.push(lines) == Err(Closed) {
            *lines = Batch::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::Refill;
    use super::*;

    fn drain(lane: &Lane) -> Vec<String> {
        extents(lane).into_iter().map(|(line, _)| line).collect()
    }

    fn extents(lane: &Lane) -> Vec<(String, Extent)> {
        let mut all = Vec::new();
        let mut batch = Batch::default();
        while lane.refill(&mut batch) == Refill::Lines {
            while let Some((line, extent)) = batch.pop() {
                all.push((String::from_utf8_lossy(line).into_owned(), extent));
            }
        }
        all
    }

    #[test]
    fn the_limit_counts_urls_and_not_lines() {
        let lanes = [Lane::default()];
        let gauge = InputGauge::default();
        distribute(&b"#\n\na\n#\nb\nc\n"[..], Some(2), &lanes, &gauge, &Stop::default(), || ())
            .expect("no error");
        assert_eq!(drain(&lanes[0]), ["a", "b"]);
        assert_eq!(gauge.urls.load(Relaxed), 2);
    }

    #[test]
    fn lines_read_before_an_error_are_pushed() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("disk on fire"))
            }
        }
        let lanes = [Lane::default()];
        let source = b"a\nb\nunfinished".chain(Fails);
        let error =
            distribute(source, None, &lanes, &InputGauge::default(), &Stop::default(), || ())
                .expect_err("on fire");
        assert_eq!(error.to_string(), "disk on fire");
        let last = ("unfinished".to_owned(), Extent::InputFailed);
        let whole = |line: &str| (line.to_owned(), Extent::Whole);
        assert_eq!(extents(&lanes[0]), [whole("a"), whole("b"), last]);
    }

    #[test]
    fn every_line_goes_to_exactly_one_lane() {
        let lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
        let input: String = (0..500).map(|n| format!("http://host-{}/{n}\n", n % 50)).collect();
        distribute(input.as_bytes(), None, &lanes, &InputGauge::default(), &Stop::default(), || ())
            .expect("no error");
        let all: Vec<_> = lanes.iter().map(drain).collect();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 500);
        for lines in &all {
            assert!(!lines.is_empty());
        }
    }
}
