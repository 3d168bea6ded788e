//! Distributes the jobs of a source to the workers, without ever holding more than a few thousand.

use std::io;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::guarded::guarded;
use crate::job::{Extent, Job};
use crate::journal::{Admission, Numbering};
use crate::lane::{Batch, Closed, Lane};
use crate::politeness::HostGroup;
use crate::schedule::host_key;
use crate::source::JobSource;
use crate::stop::Stop;
use crate::target::{is_plain, worker_of, worker_of_key};

/// The progress of the reader, for the display.
#[derive(Debug, Default)]
pub(crate) struct InputGauge {
    /// Bytes read.
    pub(crate) bytes: AtomicU64,
    /// URLs read.
    pub(crate) urls: AtomicU64,
}

/// What is read of a source, and how.
#[derive(Default)]
pub(crate) struct Reading {
    /// How many jobs; all if there is none.
    pub(crate) limit: Option<u64>,
    /// What is one host, whose jobs all go to one worker; without it, an origin is.
    pub(crate) group: Option<HostGroup>,
    /// Passes over jobs that are done.
    pub(crate) numbering: Option<Numbering>,
}

/// Reads the whole source, and pushes each job into the lane of its worker. Returns at the end of the
/// source, after as many jobs as were asked for, or when the run ends: then the jobs read so far have been pushed too, to
/// be answered. `before_tls` is called, and may take long, before jobs that need TLS are pushed: the clock of a
/// job starts after that.
///
/// # Errors
/// The source's own, or that of the numbering, to which it is another than before.
pub(crate) fn distribute(
    source: &mut dyn JobSource,
    reading: Reading,
    lanes: &[Lane],
    gauge: &InputGauge,
    stop: &Stop,
    before_tls: impl Fn(),
) -> io::Result<()> {
    let Reading { limit, group, mut numbering } = reading;
    let mut staged: Vec<Batch> = lanes.iter().map(|_| Batch::default()).collect();
    let mut key = Vec::new();
    let mut urls_left = limit.unwrap_or(u64::MAX);
    loop {
        let mut urls_read = 0;
        let mut is_all_plain = true;
        let mut take = |mut job: Job<'_>| {
            if urls_left == 0 {
                return ControlFlow::Break(());
            }
            if let Some(numbering) = &mut numbering {
                match numbering.admit(&job) {
                    Admission::Fetch(number) => job.number = number,
                    Admission::Skip => {
                        (urls_left, urls_read) = (urls_left - 1, urls_read + 1);
                        return ControlFlow::Continue(());
                    }
                    Admission::Changed => return ControlFlow::Break(()),
                }
            }
            urls_left -= 1;
            urls_read += 1;
            is_all_plain &= is_plain(job.url);
            key.clear();
            let worker = match group {
                Some(group) if lanes.len() > 1 && host_key(job.url, group, &mut key) => {
                    worker_of_key(&key, lanes.len())
                }
                _ => worker_of(job.url, lanes.len()),
            };
            staged[worker].push(job);
            ControlFlow::Continue(())
        };
        let more = match stop.is_requested() {
            true => Ok(false),
            // The source is the caller's. What it reported before a panic is fetched as before an error.
            false => guarded("the source", || source.read(&mut take)),
        };
        // What was compressed cannot be read to its end once the input has ended early.
        let more = if stop.is_requested() { Ok(more.unwrap_or(false)) } else { more };
        let extent = match &more {
            Ok(true) => None,
            Ok(false) if !stop.is_requested() => Some(Extent::Whole),
            Ok(false) => Some(Extent::Interrupted),
            Err(_) => Some(Extent::InputFailed),
        };
        let finished = extent.map_or(Ok(()), |extent| {
            guarded("the source", || {
                source.finish(extent, &mut take);
                Ok(())
            })
        });
        let more = more.and_then(|more| finished.map(|()| more));
        if !is_all_plain {
            before_tls();
        }
        // What is fetched must be known when the run is resumed.
        numbering.as_mut().map_or(Ok(()), Numbering::commit)?;
        // Jobs that were read before an error are fetched all the same.
        push_all(&mut staged, lanes);
        gauge.urls.fetch_add(urls_read, Relaxed);
        gauge.bytes.store(source.position(), Relaxed);
        let is_ended = !more?;
        if is_ended && urls_left > 0 && !stop.is_requested() {
            return numbering.map_or(Ok(()), |numbering| numbering.end());
        }
        if is_ended || urls_left == 0 {
            return Ok(());
        }
    }
}

/// Pushes first into all lanes that have room, then into those the reader has to wait for: a worker that
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
    use std::io::Read;

    use super::*;
    use crate::lane::Refill;
    use crate::source::Lines;

    fn drain(lane: &Lane) -> Vec<String> {
        extents(lane).into_iter().map(|(line, _)| line).collect()
    }

    fn extents(lane: &Lane) -> Vec<(String, Extent)> {
        let mut all = Vec::new();
        let mut batch = Batch::default();
        while lane.refill(&mut batch) == Refill::Lines {
            while let Some(job) = batch.pop() {
                all.push((String::from_utf8_lossy(job.url).into_owned(), job.extent));
            }
        }
        all
    }

    #[test]
    fn the_limit_counts_urls_and_not_lines() {
        let lanes = [Lane::default()];
        let gauge = InputGauge::default();
        let mut source = Lines::new(&b"#\n\na\n#\nb\nc\n"[..]);
        let reading = Reading { limit: Some(2), ..Reading::default() };
        distribute(&mut source, reading, &lanes, &gauge, &Stop::new(), || ()).expect("no error");
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
        let mut source = Lines::new(b"a\nb\nunfinished".chain(Fails));
        let gauge = InputGauge::default();
        let error =
            distribute(&mut source, Reading::default(), &lanes, &gauge, &Stop::new(), || ())
                .expect_err("on fire");
        assert_eq!(error.to_string(), "disk on fire");
        let last = ("unfinished".to_owned(), Extent::InputFailed);
        let whole = |line: &str| (line.to_owned(), Extent::Whole);
        assert_eq!(extents(&lanes[0]), [whole("a"), whole("b"), last]);
    }

    #[test]
    fn a_run_that_is_stopped_reads_no_more_and_answers_what_was_read_in_part() {
        let lanes = [Lane::default()];
        let stop = Stop::new();
        let mut source = Lines::new(b"a\nunfinished".chain(io::repeat(b'x')));
        let mut nothing = |_: Job<'_>| ControlFlow::Continue(());
        while source.position() < 10 {
            source.read(&mut nothing).expect("readable");
        }
        stop.request();
        let gauge = InputGauge::default();
        distribute(&mut source, Reading::default(), &lanes, &gauge, &stop, || ())
            .expect("no error");
        assert_eq!(extents(&lanes[0]), [("unfinished".to_owned(), Extent::Interrupted)]);
    }

    #[test]
    fn every_line_goes_to_exactly_one_lane() {
        let lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
        let input: String = (0..500).map(|n| format!("http://host-{}/{n}\n", n % 50)).collect();
        let mut source = Lines::new(input.as_bytes());
        let gauge = InputGauge::default();
        distribute(&mut source, Reading::default(), &lanes, &gauge, &Stop::new(), || ())
            .expect("no error");
        let all: Vec<_> = lanes.iter().map(drain).collect();
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 500);
        for lines in &all {
            assert!(!lines.is_empty());
        }
    }

    #[test]
    fn all_ports_of_a_host_go_to_one_lane_where_hosts_count() {
        let input: String = (0..500).map(|n| format!("http://a.example:{}/\n", 8000 + n)).collect();
        let lanes_used = |group| {
            let lanes: Vec<_> = (0..3).map(|_| Lane::default()).collect();
            let mut source = Lines::new(input.as_bytes());
            let (gauge, stop) = (InputGauge::default(), Stop::new());
            let reading = Reading { group, ..Reading::default() };
            distribute(&mut source, reading, &lanes, &gauge, &stop, || ()).expect("no error");
            lanes.iter().filter(|lane| !drain(lane).is_empty()).count()
        };
        assert_eq!(lanes_used(Some(HostGroup::Host)), 1);
        assert_eq!(lanes_used(None), 3);
    }
}
