//! Files of a run that can be resumed: what is certain of them, and the way back to it.
//!
//! A file is complete in two steps: the journal says so first, and then it gets its name, its index and its line of the
//! manifest. When the process ends between the two, the second is done by the run that goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::parts::{FinishedShard, ManifestLine, Resumable, Shard, with_path};
use super::{ShardFormat, ShardWriter};
use crate::journal::{Checkpoint, ResumableWriter, cut, no_state};

/// A file that is being written.
#[derive(Debug, Serialize, Deserialize)]
struct OpenShard {
    #[serde(flatten)]
    shard: FinishedShard,
    /// The length of its index so far.
    index_bytes: u64,
}

/// Where the files of a folder are.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    next: u64,
    finished: Vec<FinishedShard>,
    open: Option<OpenShard>,
    /// A file that is begun anew.
    dropped: Option<String>,
}

impl<F: ShardFormat> ResumableWriter for ShardWriter<F> {
    fn restore(&mut self, state: Option<&[u8]>) -> io::Result<()> {
        self.resumable = Some(Resumable::default());
        let state =
            state.map(|state| serde_json::from_slice::<State>(state).map_err(|_| no_state()));
        let Some(State { next, finished, open, dropped }) = state.transpose()? else {
            return self.remove_unknown(0);
        };
        for shard in &finished {
            self.publish_once(shard)?;
        }
        if let Some(name) = dropped {
            remove(&self.path(&format!("{name}.partial")))?;
            remove(&self.index_partial(&name))?;
        }
        if let Some(open) = open {
            self.current = Some(self.reopen(open)?);
        }
        self.remove_unknown(next)?;
        self.next = self.next.max(next);
        Ok(())
    }

    fn checkpoint(&mut self) -> io::Result<Checkpoint> {
        let can_be_cut = self.format.can_be_cut();
        let mut open = None;
        if let Some(shard) = &mut self.current
            && can_be_cut
        {
            shard.file.flush()?;
            if let Some(index) = &mut shard.index_file {
                index.flush()?;
            }
            let Shard { name, bytes, counts, index_bytes, .. } = shard;
            let shard = FinishedShard { name: name.clone(), bytes: *bytes, counts: *counts };
            open = Some(OpenShard { shard, index_bytes: *index_bytes as u64 });
        }
        let dropped = self.current.as_ref().filter(|_| !can_be_cut);
        let dropped = dropped.map(|shard| shard.name.clone());
        let resumable = self.resumable.get_or_insert_default();
        let records = (!can_be_cut).then_some(resumable.records_finished);
        let finished = resumable.finished.clone();
        let state = State { next: self.next, finished, open, dropped };
        Ok(Checkpoint { state: serde_json::to_vec(&state)?, records })
    }

    fn committed(&mut self) -> io::Result<()> {
        let finished =
            self.resumable.as_mut().map(|resumable| std::mem::take(&mut resumable.finished));
        finished.unwrap_or_default().iter().try_for_each(|shard| self.publish_once(shard))
    }

    fn end(&mut self, end: &[u8]) -> io::Result<()> {
        self.write_all(end)
    }

    fn sync(&mut self) -> io::Result<()> {
        let Some(shard) = &mut self.current else { return Ok(()) };
        shard.file.flush()?;
        shard.file.get_ref().sync_data()?;
        let Some(index) = &mut shard.index_file else { return Ok(()) };
        index.flush()?;
        index.get_ref().sync_data()
    }
}

impl<F: ShardFormat> ShardWriter<F> {
    /// Gives a complete file its name, its index and its line of the manifest, as far as it does not have them.
    fn publish_once(&self, shard: &FinishedShard) -> io::Result<()> {
        let FinishedShard { name, bytes, counts } = shard;
        let index_partial = self.index_partial(name);
        if self.path(&format!("{name}.partial")).try_exists()? {
            let index = match self.format.index_extension() {
                Some(_) => fs::read(&index_partial)?,
                None => Vec::new(),
            };
            let lines = index.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            self.publish(name, *bytes, *counts, lines)?;
        } else if !self.is_in_manifest(name)? {
            let index =
                self.format.index_extension().map(|extension| format!("{name}.{extension}"));
            let index = index.as_deref();
            self.add_to_manifest(&ManifestLine {
                file: name,
                bytes: *bytes,
                counts: *counts,
                index,
            })?;
        }
        remove(&index_partial)
    }

    fn is_in_manifest(&self, name: &str) -> io::Result<bool> {
        match fs::read_to_string(self.manifest()) {
            Ok(text) => {
                let begin = format!("{{\"file\":{},", serde_json::to_string(name)?);
                Ok(text.lines().any(|line| line.starts_with(&begin)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a file that was being written, and its index, at the end that they had.
    fn reopen(&self, open: OpenShard) -> io::Result<Shard> {
        let OpenShard { shard: FinishedShard { name, bytes, counts }, index_bytes } = open;
        let at = |path: PathBuf, length| {
            let opened = OpenOptions::new().write(true).open(&path);
            let opened = opened.and_then(|mut file: File| cut(&mut file, length).map(|()| file));
            opened.map(BufWriter::new).map_err(|error| with_path(&error, &path))
        };
        let file = at(self.path(&format!("{name}.partial")), bytes)?;
        let index_file = match self.format.index_extension() {
            Some(_) => Some(at(self.index_partial(&name), index_bytes)?),
            None => None,
        };
        let index_bytes = usize::try_from(index_bytes).unwrap_or(usize::MAX);
        Ok(Shard { name, file, bytes, counts, index: Vec::new(), index_bytes, index_file })
    }

    /// Removes files that were begun and are not known, which have numbers from `next` on.
    fn remove_unknown(&mut self, next: u64) -> io::Result<()> {
        if !self.shards.is_exclusive {
            return Ok(());
        }
        for entry in fs::read_dir(&self.shards.folder)? {
            let name = entry?.file_name();
            let Some(name) = name.to_str().filter(|name| name.ends_with(".partial")) else {
                continue;
            };
            if self.shards.number(name).is_some_and(|number| number >= next) {
                remove(&self.path(name))?;
            }
        }
        self.next = self.shards.next_number()?;
        Ok(())
    }
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(with_path(&error, path)),
        _ => Ok(()),
    }
}
