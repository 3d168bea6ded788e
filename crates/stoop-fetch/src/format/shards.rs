//! Records in files of a length, each there whole or not at all, with an index and a manifest.

mod parts;
mod records;
mod resume;
#[cfg(test)]
mod resume_tests;
mod shard_format;
#[cfg(all(test, feature = "tar", feature = "warc"))]
mod split_tests;
mod spool;
mod writer;

use std::fs;
use std::io;
use std::path::PathBuf;

pub use self::records::ShardRecords;
pub use self::shard_format::ShardFormat;
pub use self::writer::ShardWriter;
use crate::source::Shard;

/// A folder of files, each with the records of a format up to a length: `PREFIX-00000.EXTENSION` and so on, after those
/// that are there. No file is overwritten.
///
/// A file that is being written has `.partial` after its name; it gets its name with its last record. In a run with a
/// [`RunFolder`](crate::RunFolder) it does so after the journal says that it is complete, and never changes then. The manifest,
/// `PREFIX.manifest`, has a line of JSON for each file that is complete: `file`, `bytes`, `records`, `ok` (a status of
/// 2xx), `errors`, `index`, if it has one, and `run`, the time when its run began, by which the files of several runs are
/// told apart. Where failed jobs were begun anew ([`RunFolder::retry_failed`](crate::RunFolder::retry_failed)), the new
/// records are in other files than those before, and `round` says how often that was done by then: of a job the
/// record of the last round counts. A pattern such as `*.jsonl` matches the files alone.
///
/// ```
/// use stoop_fetch::{Fetch, format::{Shards, Warc}, source::Lines};
///
/// # let out = std::env::temp_dir().join(format!("stoop-fetch-shards-example-{}", std::process::id()));
/// let (format, writer) = Shards::new(&out).bytes_max(100 << 20).open(Warc::new())?;
/// let finished = Fetch::new().run(Lines::new(&b"http://127.0.0.1:1/\n"[..]), format, writer)?;
/// # assert_eq!(finished.figures().total_urls, 1);
/// # assert!(out.join("part-00000.warc.gz").exists() && out.join("part.manifest").exists());
/// # std::fs::remove_dir_all(&out).ok();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Shards {
    folder: PathBuf,
    prefix: String,
    shard: Option<Shard>,
    bytes_max: u64,
    is_exclusive: bool,
}

impl Shards {
    /// Files of 1 GiB in `folder`, which is made if it is not there.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            prefix: "part".to_owned(),
            shard: None,
            bytes_max: 1 << 30,
            is_exclusive: false,
        }
    }

    /// What the names of the files begin with. By default `part`.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// The shard of the list that the run fetches, which the names of the files have then: `part-2of4-00000.EXTENSION`, and
    /// `part-2of4.manifest`. So the files of all shards can be put into one folder. By default none.
    #[must_use]
    pub fn of_shard(self, shard: impl Into<Option<Shard>>) -> Self {
        Self { shard: shard.into(), ..self }
    }

    /// The length that a file has at most, in bytes, unless a single record is longer; what stands at its end comes on
    /// top. By default 1 GiB. A file whose index has 16 MiB is not filled further.
    #[must_use]
    pub fn bytes_max(self, bytes_max: u64) -> Self {
        Self { bytes_max, ..self }
    }

    /// Whether nothing else ever writes to the folder than the run whose [`RunFolder`](crate::RunFolder) belongs to these
    /// files. Files that it had just begun when it was killed, and knows nothing of, are removed then when it is resumed;
    /// otherwise they stay there, with `.partial` after their names. Off by default.
    #[must_use]
    pub fn exclusive(self, is_exclusive: bool) -> Self {
        Self { is_exclusive, ..self }
    }

    /// The first number that no file has.
    pub(super) fn next_number(&self) -> io::Result<u64> {
        let mut next = 0;
        for entry in fs::read_dir(&self.folder)? {
            let number = entry?.file_name().to_str().and_then(|name| self.number(name));
            next = number.map_or(next, |number| next.max(number.saturating_add(1)));
        }
        Ok(next)
    }

    /// The number that a name has.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        let rest = name.strip_prefix(&self.prefix)?.strip_prefix('-')?;
        rest.split('.').next()?.parse().ok()
    }
}
