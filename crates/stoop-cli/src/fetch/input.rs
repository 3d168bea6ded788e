//! From a source to the cores, without ever holding more than a few thousand lines.

use std::io::{self, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lane::{Batch, Closed, Extent, Lane};
use super::lines::Lines;
use super::source::Stop;
use super::target::{core_of, is_plain};

/// How far the reader is, for the progress display.
#[derive(Debug, Default)]
pub(super) struct InputGauge {
    /// Bytes of the source, 0 if unknown.
    pub(super) total_bytes: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) urls: AtomicU64,
}

/// Reads the whole source, and gives each line to the lane of its core. Returns at the end of the
/// source, after `limit` URLs, or when the source stops because the run is over: then what was
/// read has been handed over too, to be answered. `before_tls` is called, and may take its time,
/// before lines that need TLS are handed over: a URL's clock starts after that.
///
/// # Errors
/// The source's own.
pub(super) fn feed(
    source: impl Read,
    limit: Option<u64>,
    lanes: &[Lane],
    gauge: &InputGauge,
    stop: &Stop,
    before_tls: impl Fn(),
) -> io::Result<()> {
    let mut lines = Lines::new(source);
    let mut staged: Vec<Batch> = lanes.iter().map(|_| Batch::default()).collect();
    let mut left = limit.unwrap_or(u64::MAX);
    loop {
        let mut taken = 0;
        let mut plain = true;
        let mut each = |line: &[u8], extent| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            taken += 1;
            plain &= is_plain(line);
            staged[core_of(line, lanes.len())].push(line, extent);
            ControlFlow::Continue(())
        };
        let more = lines.read_some(&mut each);
        match &more {
            Ok(true) => {}
            Ok(false) if !stop.is_asked() => lines.finish(Extent::Whole, &mut each),
            Ok(false) => lines.finish(Extent::Torn, &mut each),
            Err(_) => lines.finish(Extent::Broken, &mut each),
        }
        if !plain {
            before_tls();
        }
        // What was read before an error is fetched all the same.
        hand_over(&mut staged, lanes);
        gauge.urls.fetch_add(taken, Relaxed);
        gauge.bytes.store(lines.bytes, Relaxed);
        if !more? || left == 0 {
            return Ok(());
        }
    }
}

/// First to all cores that have room, then to those the reader has to wait for: a core that is
/// behind must not keep work from the others, and neither must one that failed.
fn hand_over(staged: &mut [Batch], lanes: &[Lane]) {
    for (lines, lane) in staged.iter_mut().zip(lanes) {
        let _ = lane.offer(lines);
    }
    for (lines, lane) in staged.iter_mut().zip(lanes) {
        if lane.push(lines) == Err(Closed) {
            *lines = Batch::default();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::Found;
    use super::*;

    fn drain(lane: &Lane) -> Vec<String> {
        extents(lane).into_iter().map(|(line, _)| line).collect()
    }

    fn extents(lane: &Lane) -> Vec<(String, Extent)> {
        let mut all = Vec::new();
        let mut batch = Batch::default();
        while lane.refill(&mut batch) == Found::Lines {
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
        feed(&b"#\n\na\n#\nb\nc\n"[..], Some(2), &lanes, &gauge, &Stop::default(), || ())
            .expect("no error");
        assert_eq!(drain(&lanes[0]), ["a", "b"]);
        assert_eq!(gauge.urls.load(Relaxed), 2);
    }

    #[test]
    fn what_was_read_before_an_error_is_handed_over() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("disk on fire"))
            }
        }
        let lanes = [Lane::default()];
        let source = b"a\nb\nunfinished".chain(Fails);
        let error = feed(source, None, &lanes, &InputGauge::default(), &Stop::default(), || ())
            .expect_err("on fire");
        assert_eq!(error.to_string(), "disk on fire");
        let last = ("unfinished".to_owned(), Extent::Broken);
        let whole = |line: &str| (line.to_owned(), Extent::Whole);
        assert_eq!(extents(&lanes[0]), [whole("a"), whole("b"), last]);
    }

    #[test]
    fn every_line_goes_to_exactly_one_lane() {
        let lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
        let input: String = (0..500).map(|n| format!("http://host-{}/{n}\n", n % 50)).collect();
        feed(input.as_bytes(), None, &lanes, &InputGauge::default(), &Stop::default(), || ())
            .expect("no error");
        let all: Vec<_> = lanes.iter().map(drain).collect();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 500);
        for lines in &all {
            assert!(!lines.is_empty());
        }
    }
}
