//! Jobs of another source, each URL once.

mod normal;

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::ops::ControlFlow;

use self::normal::normal;
use super::{Extent, Job, JobSource, Take};

/// The jobs of another source without those whose URL was there before, as it is requested: `HTTP://Example.com:80`,
/// `http://example.com/` and `http://example.com/a/..#top` are one, and so are `example.com` and `https://example.com/`.
/// Paths in other letters, and what is percent-encoded in one and not in the other, are different. What is passed over
/// has no record. Jobs with a method, fields or content of their own are all reported.
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
    let is_like_others = job.options.as_ref().is_none_or(|options| options.has_run_request());
    if job.extent == Extent::Whole && is_like_others {
        let url = normal(job.url);
        let hash = u128::from(first.hash_one(&url)) << 64 | u128::from(second.hash_one(&url));
        if !seen.insert(hash) {
            return ControlFlow::Continue(());
        }
    }
    take(job)
}

#[cfg(test)]
mod tests {
    use super::super::Lines;
    use super::*;

    #[test]
    fn each_url_is_reported_once_and_what_is_cut_always() {
        let mut source =
            Distinct::new(Lines::new(&b"a/x\nb\na/x\n b \na/X\nhttps://A:443/y/../x#z\na/x"[..]));
        let mut urls = Vec::new();
        let mut take = |job: Job<'_>| {
            urls.push(String::from_utf8_lossy(job.url).into_owned());
            ControlFlow::Continue(())
        };
        while source.read(&mut take).expect("readable") {}
        source.finish(Extent::Interrupted, &mut take);
        assert_eq!(urls, ["a/x", "b", "a/X", "a/x"]);
        assert_eq!(source.position(), 44);
    }
}
