//! Jobs of another source, each URL once.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::ops::ControlFlow;

use super::{Extent, Job, JobSource, Take};

/// The jobs of another source without those whose URL was there before, byte for byte. What is passed over has no
/// record. Jobs with a method, fields or content of their own are all reported.
///
/// It remembers 16 bytes of each different URL, a hash under random keys: two URLs are taken for one with a probability
/// of n²/2¹²⁹ for n of them.
#[derive(Debug)]
pub struct Distinct<S> {
    source: S,
    seen: HashSet<u128>,
    keys: [RandomState; 2],
}

impl<S: JobSource> Distinct<S> {
    /// Each job of `source` once.
    pub fn new(source: S) -> Self {
        Self { source, seen: HashSet::new(), keys: [RandomState::new(), RandomState::new()] }
    }
}

impl<S: JobSource> JobSource for Distinct<S> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let Self { source, seen, keys } = self;
        source.read(&mut |job| if_new(job, seen, keys, take))
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let Self { source, seen, keys } = self;
        source.finish(extent, &mut |job| if_new(job, seen, keys, take));
    }

    fn position(&self) -> u64 {
        self.source.position()
    }
}

/// Calls `take` unless the URL was seen. One that is not whole, or has another request than the run's, was not.
fn if_new(
    job: Job<'_>,
    seen: &mut HashSet<u128>,
    [first, second]: &[RandomState; 2],
    take: &mut Take<'_>,
) -> ControlFlow<()> {
    let hash = u128::from(first.hash_one(job.url)) << 64 | u128::from(second.hash_one(job.url));
    let is_like_others = job.options.as_ref().is_none_or(|options| options.has_run_request());
    let is_job = job.extent == Extent::Whole && is_like_others;
    if is_job && !seen.insert(hash) {
        return ControlFlow::Continue(());
    }
    take(job)
}

#[cfg(test)]
mod tests {
    use super::super::Lines;
    use super::*;

    #[test]
    fn each_url_is_reported_once_and_what_is_cut_always() {
        let mut source = Distinct::new(Lines::new(&b"a\nb\na\n b \nA\na"[..]));
        let mut urls = Vec::new();
        let mut take = |job: Job<'_>| {
            urls.push(String::from_utf8_lossy(job.url).into_owned());
            ControlFlow::Continue(())
        };
        while source.read(&mut take).expect("readable") {}
        source.finish(Extent::Interrupted, &mut take);
        assert_eq!(urls, ["a", "b", "A", "a"]);
        assert_eq!(source.position(), 13);
    }
}
