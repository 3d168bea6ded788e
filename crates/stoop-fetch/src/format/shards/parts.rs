//! The files of a folder: one that is being written, and those that are complete.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::spool::Spool;
use crate::error::in_context;
use crate::format::timestamp::TimestampFormatter;
use crate::record::unix_ms;

/// A file that is being written.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) name: String,
    pub(super) origin: Origin,
    pub(super) file: BufWriter<File>,
    pub(super) bytes: u64,
    pub(super) counts: Counts,
    pub(super) index: Vec<Vec<u8>>,
    pub(super) index_bytes: usize,
    /// Where the index is kept besides, as it comes, if the run can be resumed.
    pub(super) index_file: Option<BufWriter<File>>,
    /// Its records, if it cannot be cut and the run can be resumed.
    pub(super) spool: Option<Spool>,
}

/// Records are gathered to writes of this many bytes: those that are written at once are flushed then.
pub(super) const BUFFER_BYTES: usize = 256 << 10;

/// A file whose records are gathered.
pub(super) fn buffered(file: File) -> BufWriter<File> {
    BufWriter::with_capacity(BUFFER_BYTES, file)
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    pub(super) records: u64,
    pub(super) ok: u64,
    pub(super) errors: u64,
}

/// Which run the records of a file are of.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Origin {
    /// When it began; empty where that is not known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) run: String,
    /// How often failed jobs had been begun anew.
    #[serde(default, skip_serializing_if = "is_first")]
    pub(super) round: u32,
}

impl Origin {
    /// That of a run that begins now.
    pub(super) fn of_now() -> Self {
        let mut run = Vec::new();
        TimestampFormatter::default().push(unix_ms(), &mut run);
        Self { run: String::from_utf8_lossy(&run).into_owned(), round: 0 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_first(round: &u32) -> bool {
    *round == 0
}

/// A line of the manifest.
#[derive(Serialize)]
pub(super) struct ManifestLine<'a> {
    pub(super) file: &'a str,
    pub(super) bytes: u64,
    #[serde(flatten)]
    pub(super) counts: Counts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) index: Option<&'a str>,
    #[serde(flatten)]
    pub(super) origin: &'a Origin,
}

/// What a writer keeps of its files where the run can be resumed.
#[derive(Debug, Default)]
pub(super) struct Resumable {
    /// Complete files without their names.
    pub(super) finished: Vec<FinishedShard>,
}

impl Shard {
    /// What is known of it once no record follows.
    pub(super) fn finished(&self) -> FinishedShard {
        let Self { name, origin, bytes, counts, .. } = self;
        let (name, origin) = (name.clone(), origin.clone());
        FinishedShard { name, bytes: *bytes, counts: *counts, origin }
    }

    /// Has what was written outlive the process.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        self.file.flush()?;
        match &mut self.index_file {
            Some(index) => index.flush(),
            None => Ok(()),
        }
    }
}

/// A file that is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct FinishedShard {
    pub(super) name: String,
    pub(super) bytes: u64,
    pub(super) counts: Counts,
    #[serde(default)]
    pub(super) origin: Origin,
}

impl FinishedShard {
    /// Its line of the manifest.
    pub(super) fn manifest_line<'a>(&'a self, index: Option<&'a str>) -> ManifestLine<'a> {
        let Self { name, bytes, counts, origin } = self;
        ManifestLine { file: name, bytes: *bytes, counts: *counts, index, origin }
    }
}

impl Resumable {
    /// Takes a file whose last byte was written.
    pub(super) fn close(&mut self, mut shard: Shard) -> io::Result<()> {
        if let Some(index) = &mut shard.index_file {
            index.flush()?;
        }
        // Nothing has it synced later.
        shard.file.get_ref().sync_data()?;
        self.finished.push(shard.finished());
        Ok(())
    }
}

/// The same error, with the path that it is of.
pub(super) fn with_path(error: &io::Error, path: &Path) -> io::Error {
    in_context(format!("{}: {error}", path.display()), error)
}
