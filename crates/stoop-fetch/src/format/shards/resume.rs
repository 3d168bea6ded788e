//! Files of a run that can be resumed: what is certain of them, and the way back to it.
//!
//! A file is complete in two steps: the journal says so first, and then it gets its name, its index and its line of the
//! manifest. When the process ends between the two, the second is done by the run that goes on.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::parts::{BUFFER_BYTES, FinishedShard, Resumable, Shard, buffered, with_path};
use super::spool::Spool;
use super::writer::add;
use super::{ShardFormat, ShardWriter};
use crate::journal::{Checkpoint, ResumableWriter, cut, no_state};

/// A file that is being written.
#[derive(Debug, Serialize, Deserialize)]
struct OpenShard {
    #[serde(flatten)]
    shard: FinishedShard,
    /// The length of its index so far.
    index_bytes: u64,
    /// That of its records, if it cannot be cut.
    spool_bytes: Option<u64>,
}

/// Where the files of a folder are.
#[derive(Debug, Serialize, Deserialize)]
struct State {
    /// When the run began.
    #[serde(default)]
    run: String,
    next: u64,
    finished: Vec<FinishedShard>,
    open: Option<OpenShard>,
}

impl<F: ShardFormat> ResumableWriter for ShardWriter<F> {
    fn restore(&mut self, state: Option<&[u8]>) -> io::Result<()> {
        self.resumable = Some(Resumable::default());
        let remembers = self.format.begin_resumable();
        let state =
            state.map(|state| serde_json::from_slice::<State>(state).map_err(|_| no_state()));
        let Some(State { run, next, finished, open }) = state.transpose()? else {
            return self.remove_unknown(0);
        };
        self.origin.run = run;
        for shard in &finished {
            self.publish_once(shard)?;
        }
        if remembers {
            self.remember_all()?;
        }
        if let Some(open) = open {
            let shard = match open.spool_bytes {
                Some(length) => self.rewrite(open.shard, length)?,
                None => {
                    let index_bytes = open.index_bytes;
                    let shard = self.reopen(open)?;
                    if remembers {
                        self.remember(&self.index_partial(&shard.name), index_bytes)?;
                    }
                    shard
                }
            };
            self.current = Some(shard);
        }
        self.remove_unknown(next)?;
        self.next = self.next.max(next);
        Ok(())
    }

    fn begin_round(&mut self, round: u32) -> io::Result<()> {
        self.origin.round = round;
        // Each file is of one round, so that its line of the manifest tells which records are later ones.
        match self.current.as_ref().is_some_and(|shard| shard.origin.round != round) {
            true => self.close(),
            false => Ok(()),
        }
    }

    fn checkpoint(&mut self) -> io::Result<Checkpoint> {
        self.check_whole()?;
        let mut open = None;
        if let Some(shard) = &mut self.current {
            let index_bytes = shard.index_bytes as u64;
            let mut there = OpenShard { shard: shard.finished(), index_bytes, spool_bytes: None };
            match &mut shard.spool {
                Some(spool) => {
                    spool.flush()?;
                    there.spool_bytes = Some(spool.bytes);
                }
                None => shard.flush()?,
            }
            open = Some(there);
        }
        let finished = self.resumable.get_or_insert_default().finished.clone();
        let state = State { run: self.origin.run.clone(), next: self.next, finished, open };
        Ok(Checkpoint { state: serde_json::to_vec(&state)?, records: None })
    }

    fn removes(&self) -> bool {
        let finished = self.resumable.as_ref().is_some_and(|it| !it.finished.is_empty());
        finished && !self.format.can_be_cut()
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
        if let Some(spool) = &mut shard.spool {
            return spool.sync();
        }
        shard.flush()?;
        shard.file.get_ref().sync_data()?;
        match &shard.index_file {
            Some(index) => index.get_ref().sync_data(),
            None => Ok(()),
        }
    }
}

impl<F: ShardFormat> ShardWriter<F> {
    /// Gives a complete file its name, its index and its line of the manifest, as far as it does not have them.
    fn publish_once(&self, shard: &FinishedShard) -> io::Result<()> {
        let name = &shard.name;
        let index_partial = self.index_partial(name);
        if self.path(&format!("{name}.partial")).try_exists()? {
            let index = match self.format.index_extension() {
                Some(_) => fs::read(&index_partial)?,
                None => Vec::new(),
            };
            let lines = index.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
            self.publish(shard, lines)?;
        } else if !self.is_in_manifest(name)? {
            let index =
                self.format.index_extension().map(|extension| format!("{name}.{extension}"));
            self.add_to_manifest(&shard.manifest_line(index.as_deref()))?;
        }
        remove(&self.spool(name))?;
        remove(&index_partial)
    }

    /// Tells the format what the indexes of complete files have, in the order of the files, as far as both are there.
    fn remember_all(&mut self) -> io::Result<()> {
        let Some(extension) = self.format.index_extension() else { return Ok(()) };
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.shards.folder)? {
            let name = entry?.file_name();
            let number = name.to_str().and_then(|name| self.shards.number(name));
            let index =
                name.to_str().and_then(|name| name.strip_suffix(extension)?.strip_suffix('.'));
            if let (Some(number), Some(file)) = (number, index)
                && self.path(file).try_exists()?
            {
                names.push((number, format!("{file}.{extension}")));
            }
        }
        names.sort_unstable();
        names.iter().try_for_each(|(_, name)| self.remember(&self.path(name), u64::MAX))
    }

    /// Tells the format what an index has in its first bytes.
    fn remember(&mut self, index: &Path, bytes: u64) -> io::Result<()> {
        let file = File::open(index).map_err(|error| with_path(&error, index))?;
        let mut lines = BufReader::with_capacity(BUFFER_BYTES, file.take(bytes));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line)? > 0 {
            self.format.remember(&line);
            line.clear();
        }
        Ok(())
    }

    /// Whether the manifest has the line of a file. What is no whole line at its end, where it could not be written, is
    /// taken away.
    fn is_in_manifest(&self, name: &str) -> io::Result<bool> {
        match fs::read_to_string(self.manifest()) {
            Ok(text) => {
                let whole = text.rfind('\n').map_or(0, |at| at + 1);
                if whole < text.len() {
                    let manifest = OpenOptions::new().write(true).open(self.manifest())?;
                    manifest.set_len(whole as u64)?;
                }
                let begin = format!("{{\"file\":{},", serde_json::to_string(name)?);
                Ok(text[..whole].lines().any(|line| line.starts_with(&begin)))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Opens a file that was being written, and its index, at the end that they had.
    fn reopen(&self, open: OpenShard) -> io::Result<Shard> {
        let OpenShard { shard: FinishedShard { name, bytes, counts, origin }, .. } = open;
        let index_bytes = open.index_bytes;
        let at = |path: PathBuf, length| {
            let opened = OpenOptions::new().write(true).open(&path);
            let opened = opened.and_then(|mut file: File| cut(&mut file, length).map(|()| file));
            opened.map(buffered).map_err(|error| with_path(&error, &path))
        };
        let file = at(self.path(&format!("{name}.partial")), bytes)?;
        let index_file = match self.format.index_extension() {
            Some(_) => Some(at(self.index_partial(&name), index_bytes)?),
            None => None,
        };
        let index_bytes = usize::try_from(index_bytes).unwrap_or(usize::MAX);
        let index = Vec::new();
        let spool = None;
        Ok(Shard { name, origin, file, bytes, counts, index, index_bytes, index_file, spool })
    }

    /// Writes a file anew that cannot be cut, of its records, which have that length.
    fn rewrite(&mut self, of: FinishedShard, length: u64) -> io::Result<Shard> {
        let FinishedShard { name, origin, .. } = of;
        let path = self.path(&format!("{name}.partial"));
        let file = File::create(&path).map_err(|error| with_path(&error, &path))?;
        let mut shard = self.begin_with(name, file)?;
        shard.origin = origin;
        let path = self.spool(&shard.name);
        let format = &mut self.format;
        let spool = Spool::reopen(&path, length, |frame| add(format, &mut shard, frame));
        shard.spool = Some(spool.map_err(|error| with_path(&error, &path))?);
        Ok(shard)
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
