//! The thread that sorts the jobs of a run by the addresses of their hosts.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::runtime::Builder;

use super::ByAddress;
use super::sort::sort_by_address;
use crate::run_state::RunState;

/// The thread that sorts jobs by the addresses of their hosts.
pub(crate) fn run_sorter(run: &RunState) {
    let Some(ByAddress { intake, finder }) = &run.by_address else { return };
    sort(run, || {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(sort_by_address(intake, &run.lanes, finder, &run.stop));
        Ok(())
    });
}

/// Sorts by `sort`. However that ends, all lanes are closed, so that neither the reader nor the workers wait for it; and
/// if it fails or panics, the run ends with an error, since jobs that it has taken have no record.
fn sort(run: &RunState, sort: impl FnOnce() -> io::Result<()>) {
    let sorted = catch_unwind(AssertUnwindSafe(sort));
    let panicked = |_| Err(io::Error::other("what sorts jobs by addresses has panicked: a defect"));
    if let Err(error) = sorted.unwrap_or_else(panicked) {
        // Before the lanes are closed: what ends then must not take the run for complete.
        run.worker_failed(error);
    }
    run.close_lanes();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fetcher::Fetchers;
    use crate::lane::{Batch, Closed};
    use crate::settings::Settings;

    #[test]
    fn a_run_whose_sorter_fails_ends_with_an_error() {
        let fail = || Err(io::Error::other("no event loop"));
        let panic = || -> io::Result<()> { panic!("a defect") };
        for (sorts, expected) in [
            (&(|| Ok(())) as &dyn Fn() -> io::Result<()>, None),
            (&fail, Some("no event loop")),
            (&panic, Some("what sorts jobs by addresses has panicked: a defect")),
        ] {
            let settings = Settings { workers: 2, ..Settings::default() };
            let fetchers = Fetchers::new(&settings);
            let run = RunState::new(settings, fetchers, false);
            sort(&run, sorts);
            let error = run.take_worker_error().map(|error| error.to_string());
            assert_eq!(error.as_deref(), expected);
            assert_eq!(run.is_stopping(), expected.is_some());
            let mut batch = Batch::default();
            batch.push(crate::job::Job::new(b"http://a/"));
            assert!(run.lanes.iter().all(|lane| lane.try_push(&mut batch) == Err(Closed)));
        }
    }
}
