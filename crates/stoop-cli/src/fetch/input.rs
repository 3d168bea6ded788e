//! From a source to the cores, without ever holding more than a few thousand lines.

use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lane::{Batch, Closed, Lane};
use super::lines::Lines;
use super::plan::Source;
use super::target::core_of;

/// How far the reader is, for the progress display.
#[derive(Debug, Default)]
pub(super) struct InputGauge {
    /// Bytes of the source, 0 if unknown.
    pub(super) total_bytes: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) urls: AtomicU64,
}

/// Opens the source, and says how long it is if that can be known.
pub(super) fn open(source: &Source) -> io::Result<(Box<dyn Read + Send>, u64)> {
    Ok(match source {
        Source::Stdin => {
            let stdin = io::stdin();
            if stdin.is_terminal() {
                eprintln!(
                    "stoop: type or paste URLs, one a line; end with Ctrl-D (--help shows more)"
                );
            }
            (Box::new(stdin), 0)
        }
        Source::File(path) => {
            let file = File::open(path)?;
            let about = file.metadata()?;
            if about.is_dir() {
                return Err(io::ErrorKind::IsADirectory.into());
            }
            let length = if about.is_file() { about.len() } else { 0 };
            (Box::new(file), length)
        }
        Source::Text(text) => {
            let length = text.len() as u64;
            (Box::new(io::Cursor::new(text.clone())), length)
        }
    })
}

/// Reads the whole source, and gives each line to the lane of its core. Returns at the end of the
/// source, after `limit` URLs, or when the lanes were closed because the run is over.
///
/// # Errors
/// The source's own.
pub(super) fn feed(
    source: impl Read,
    limit: Option<u64>,
    lanes: &[Lane],
    gauge: &InputGauge,
) -> io::Result<()> {
    let mut lines = Lines::new(source);
    let mut staged: Vec<Batch> = lanes.iter().map(|_| Batch::default()).collect();
    let mut left = limit.unwrap_or(u64::MAX);
    loop {
        let mut taken = 0;
        let more = lines.read_some(&mut |line, extent| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            taken += 1;
            staged[core_of(line, lanes.len())].push(line, extent);
            ControlFlow::Continue(())
        });
        // What was read before an error is fetched all the same.
        if hand_over(&mut staged, lanes).is_err() {
            return Ok(());
        }
        gauge.urls.fetch_add(taken, Relaxed);
        gauge.bytes.store(lines.bytes, Relaxed);
        if !more? || left == 0 {
            return Ok(());
        }
    }
}

/// First to all cores that have room, then to those the reader has to wait for: a core that is
/// behind must not keep work from the others.
fn hand_over(staged: &mut [Batch], lanes: &[Lane]) -> Result<(), Closed> {
    for (lines, lane) in staged.iter_mut().zip(lanes) {
        lane.offer(lines)?;
    }
    staged.iter_mut().zip(lanes).try_for_each(|(lines, lane)| lane.push(lines))
}

#[cfg(test)]
mod tests {
    use super::super::lane::Found;
    use super::*;

    fn drain(lane: &Lane) -> Vec<String> {
        let mut all = Vec::new();
        let mut batch = Batch::default();
        while lane.refill(&mut batch) == Found::Lines {
            while let Some((line, _)) = batch.pop() {
                all.push(String::from_utf8_lossy(line).into_owned());
            }
        }
        all
    }

    #[test]
    fn the_limit_counts_urls_and_not_lines() {
        let lanes = [Lane::default()];
        let gauge = InputGauge::default();
        feed(&b"#\n\na\n#\nb\nc\n"[..], Some(2), &lanes, &gauge).expect("no error");
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
        let error = feed(source, None, &lanes, &InputGauge::default()).expect_err("on fire");
        assert_eq!(error.to_string(), "disk on fire");
        assert_eq!(drain(&lanes[0]), ["a", "b"]);
    }

    #[test]
    fn every_line_goes_to_exactly_one_lane() {
        let lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
        let input: String = (0..500).map(|n| format!("http://host-{}/{n}\n", n % 50)).collect();
        feed(input.as_bytes(), None, &lanes, &InputGauge::default()).expect("no error");
        let all: Vec<_> = lanes.iter().map(drain).collect();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 500);
        for lines in &all {
            assert!(!lines.is_empty());
        }
    }
}
