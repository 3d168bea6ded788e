//! Jobs of another source, each with an identifier of its own.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;
use std::ops::ControlFlow;

use super::{Extent, Job, JobOptions, JobSource, Take};

/// The jobs of another source, where an identifier is that of one job: one without an identifier, or whose identifier an
/// earlier job has, is not fetched, and has a record of the kind `invalid_job`. What names things by identifiers, as
/// [`Tar::keys_by_id`](crate::format::Tar::keys_by_id) does, names each by its own then.
///
/// It remembers 16 bytes of each identifier, a hash under random keys: two are taken for one with a probability of
/// n²/2¹²⁹ for n of them. Where a list has several [shards](super::Sharded), these are made of this source, so that an
/// identifier is that of one job in all of them.
#[derive(Debug)]
pub struct DistinctIds<S> {
    source: S,
    seen: Seen,
}

#[derive(Debug)]
struct Seen {
    /// What has the identifiers, for errors.
    column: Box<str>,
    ids: HashSet<u128>,
    keys: [RandomState; 2],
}

impl<S: JobSource> DistinctIds<S> {
    /// The jobs of `source`.
    pub fn new(source: S) -> Self {
        let keys = [RandomState::new(), RandomState::new()];
        Self { source, seen: Seen { column: "id".into(), ids: HashSet::new(), keys } }
    }

    /// The name or the number of the column that the source takes identifiers from, which the record of a job without one
    /// tells. By default `id`.
    #[must_use]
    pub fn id_column(mut self, name: impl Into<Box<str>>) -> Self {
        self.seen.column = name.into();
        self
    }
}

impl<S: JobSource> JobSource for DistinctIds<S> {
    fn read(&mut self, take: &mut Take<'_>) -> io::Result<bool> {
        let Self { source, seen } = self;
        source.read(&mut |job| seen.check(job, take))
    }

    fn finish(&mut self, extent: Extent, take: &mut Take<'_>) {
        let Self { source, seen } = self;
        source.finish(extent, &mut |job| seen.check(job, take));
    }

    fn position(&self) -> u64 {
        self.source.position()
    }
}

impl Seen {
    /// Calls `take` with a job, which is none if its identifier is not its own. What is no job already has no identifier.
    fn check(&mut self, mut job: Job<'_>, take: &mut Take<'_>) -> ControlFlow<()> {
        let options = job.options.get_or_insert_default();
        if options.fault.is_none() && job.extent == Extent::Whole {
            options.fault = self.fault(options);
        }
        take(job)
    }

    /// Why a job with these options is none.
    fn fault(&mut self, options: &JobOptions) -> Option<Box<str>> {
        let Some(id) = options.id.as_deref().filter(|id| !id.is_empty()) else {
            let text =
                format!("it has no id (column {:?}), by which it would be named", self.column);
            return Some(text.into());
        };
        let [first, second] = &self.keys;
        let hash = u128::from(first.hash_one(id)) << 64 | u128::from(second.hash_one(id));
        (!self.ids.insert(hash)).then(|| "an earlier job has its id".into())
    }
}

#[cfg(test)]
mod tests {
    use super::super::JsonJobs;
    use super::*;

    #[test]
    fn an_identifier_is_that_of_the_first_job_that_has_it() {
        let list = [
            "{\"url\":\"a\",\"id\":\"x\"}",
            "{\"url\":\"b\",\"id\":\"x\"}",
            "{\"url\":\"c\"}",
            "{\"url\":\"d\",\"id\":\"\"}",
            "{\"url\":\"e\",\"id\":\"X\"}",
            "no JSON",
        ];
        let list = list.join("\n");
        let mut source = DistinctIds::new(JsonJobs::new(list.as_bytes())).id_column("id");
        let mut faults = Vec::new();
        let mut take = |job: Job<'_>| {
            let fault = job.options.and_then(|options| options.fault);
            faults.push(fault.map(String::from).unwrap_or_default());
            ControlFlow::Continue(())
        };
        while source.read(&mut take).expect("readable") {}
        source.finish(Extent::Whole, &mut take);
        let none = "it has no id (column \"id\"), by which it would be named";
        assert_eq!(faults[..5], ["", "an earlier job has its id", none, none, ""]);
        assert!(faults[5].starts_with("job 6"), "{}", faults[5]);
        assert_eq!(source.position(), list.len() as u64);
    }
}
