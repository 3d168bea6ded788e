//! [`ShardFormat`]: what a format is asked for where its records are written to files of a length.

use std::io::{self, Write};

use crate::format::{RecordFormat, pieces};

/// What a format is asked for besides, where its records are written to [`Shards`](super::Shards).
pub trait ShardFormat: RecordFormat {
    /// The extension of a file, such as `warc.gz`.
    fn extension(&self) -> &'static str;

    /// The extension of the index of a file. By default there is none.
    fn index_extension(&self) -> Option<&'static str> {
        None
    }

    /// Appends what stands at the beginning of a file of that name. By default what
    /// [`begin`](RecordFormat::begin) does.
    fn begin_shard(&mut self, name: &str, into: &mut Vec<u8>) {
        let _ = name;
        self.begin(into);
    }

    /// Writes to the file what it gets for a record, as it was formatted, now, and returns how many bytes that is: by
    /// default the record itself. A format that writes records otherwise than one after the other keeps it, and may write
    /// what it has for the file.
    ///
    /// # Errors
    /// Those of the file; and the format has no place for the record.
    fn encode(&mut self, record: &[u8], file: &mut dyn Write) -> io::Result<u64> {
        pieces::write_all(file, record)
    }

    /// How many bytes the file will have for the records that were kept so, nearly. By default 0.
    fn held_bytes(&self) -> u64 {
        0
    }

    /// Writes what stands at the end of a file, and returns how many bytes that is. By default what
    /// [`end`](RecordFormat::end) appends.
    ///
    /// # Errors
    /// Those of the file.
    fn end_shard(&mut self, file: &mut dyn Write) -> io::Result<u64> {
        let mut end = Vec::new();
        self.end(&mut end);
        pieces::write_all(file, &end)
    }

    /// Whether a file can be cut behind any of its records, and go on there, as a run with a
    /// [`RunFolder`](crate::RunFolder) does that was killed. By default it can. A file of another format is written anew
    /// then, of its records, which such a run keeps in a second file until the first is complete.
    fn can_be_cut(&self) -> bool {
        true
    }

    /// Appends what the index has to know of the record that was just formatted, in a form of the format's own.
    fn take_entry(&mut self, into: &mut Vec<u8>) {
        let _ = into;
    }

    /// The files are those of a run with a [`RunFolder`](crate::RunFolder): what was formatted and is not
    /// [`written`](Self::written) may be lost, and no record that is formatted from now on may need it. It is called before
    /// any record is formatted. Returns whether it wants to be told what the indexes of the files have that are there, by
    /// [`remember`](Self::remember). By default it does not.
    fn begin_resumable(&mut self) -> bool {
        false
    }

    /// A record with that entry of the index is in its file: what is formatted from now on is behind it. It is called on the
    /// writer's thread, of a clone of the format. By default nothing is done.
    fn written(&mut self, entry: &[u8]) {
        let _ = entry;
    }

    /// A record is in its file for which the index has that line. By default nothing is done.
    fn remember(&mut self, line: &[u8]) {
        let _ = line;
    }

    /// The lines of the index for a record that begins at `start` of the file `name`. The index of a file is sorted.
    fn index_lines(&self, entry: &[u8], start: u64, name: &str) -> Vec<Vec<u8>> {
        let _ = (entry, start, name);
        Vec::new()
    }
}

impl ShardFormat for crate::format::JsonLines {
    fn extension(&self) -> &'static str {
        "jsonl"
    }
}

#[cfg(feature = "csv")]
impl ShardFormat for crate::format::Csv {
    fn extension(&self) -> &'static str {
        "csv"
    }
}
