//! The files of a folder that `stoop fetch` has written, as its manifests list them.

use std::cmp::Reverse;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::names::cannot_read;
use crate::failure::CommandFailure;
use crate::stderr;

/// How many runs of a folder are named one by one; the rest are counted.
const RUNS_NAMED: usize = 5;

/// A line of a manifest, as far as it counts here.
#[derive(Deserialize)]
struct Listed {
    file: String,
    bytes: u64,
    /// When the run began that wrote it.
    #[serde(default)]
    run: String,
    /// How often failed jobs had been begun anew by then.
    #[serde(default)]
    round: u32,
}

/// The files of a run, in the order in which they were written.
#[derive(Debug)]
pub(super) struct RunFiles {
    began: String,
    files: Vec<(u32, PathBuf)>,
}

impl RunFiles {
    /// Whether failed jobs were fetched again, so that there may be several lines of a job.
    pub(super) fn has_repeats(&self) -> bool {
        self.files.iter().any(|(round, _)| *round > 0)
    }

    /// The files with their rounds, the last round first.
    pub(super) fn into_last_first(mut self) -> Vec<(u32, PathBuf)> {
        self.files.sort_by_key(|(round, _)| Reverse(*round));
        self.files
    }
}

/// The runs whose files a folder has: one, or several. They are told where they are not the shards of one list.
///
/// # Errors
/// There is no manifest, or a file is not as one says, or of a format without lines.
pub(super) fn runs(folder: &Path) -> Result<Vec<RunFiles>, CommandFailure> {
    let names = names(folder).map_err(|error| cannot_read(folder, &error))?;
    let mut manifests = names.iter().filter(|name| name.ends_with(".manifest")).peekable();
    if manifests.peek().is_none() {
        let folder = folder.display();
        return Err(CommandFailure::Io(format!(
            "{folder} has no manifest, as 'stoop fetch -o FOLDER/' writes it at the end of its first file: name the \
             files one by one"
        )));
    }
    let mut runs = Vec::new();
    for manifest in manifests {
        let path = folder.join(manifest);
        let here = runs_of(&path, folder)?;
        if here.len() > 1 {
            tell_several(folder, &here);
        }
        runs.extend(here);
    }
    let partial = names.iter().filter(|name| is_part(name.strip_suffix(".partial"))).count();
    if partial > 0 {
        let are = if partial == 1 { "file is" } else { "files are" };
        let folder = folder.display();
        stderr::message(format_args!("{folder}: {partial} {are} not complete, and left out"));
    }
    Ok(runs)
}

/// The runs that a manifest lists, in their order.
fn runs_of(manifest: &Path, folder: &Path) -> Result<Vec<RunFiles>, CommandFailure> {
    let text = fs::read_to_string(manifest).map_err(|error| cannot_read(manifest, &error))?;
    let mut runs: Vec<RunFiles> = Vec::new();
    for line in text.lines() {
        let (Listed { run: began, round, .. }, path) = listed(line, folder, manifest)?;
        match runs.iter_mut().find(|run| run.began == began) {
            Some(run) => run.files.push((round, path)),
            None => runs.push(RunFiles { began, files: vec![(round, path)] }),
        }
    }
    Ok(runs)
}

/// Says that a folder has the files of several runs, and which.
fn tell_several(folder: &Path, runs: &[RunFiles]) {
    let (count, name) = (runs.len(), folder.display());
    let mut text = format!("{name} has the files of {count} runs, which are counted together:");
    for RunFiles { began, files } in &runs[..count.min(RUNS_NAMED)] {
        let began = if began.is_empty() { "at a time that is not known" } else { began };
        let paths: Vec<_> = files.iter().map(|(_, path)| path.display().to_string()).collect();
        let shown = match &paths[..] {
            [first, .., last] => format!("{} files, {first} to {last}", paths.len()),
            _ => paths.join(" "),
        };
        text += &format!("\n  begun {began}: {shown}");
    }
    if count > RUNS_NAMED {
        text += &format!("\n  and {} more", count - RUNS_NAMED);
    }
    text += "\nfor the report of one alone: cat its files | stoop report";
    stderr::message(text);
}

/// The names of what is in a folder, in order.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// A line of a manifest, and its file.
fn listed(line: &str, folder: &Path, manifest: &Path) -> Result<(Listed, PathBuf), CommandFailure> {
    let manifest = manifest.display();
    let Ok(listed) = serde_json::from_str::<Listed>(line) else {
        return Err(CommandFailure::Io(format!(
            "{manifest} has a line that is none of a manifest"
        )));
    };
    let Listed { file, bytes, .. } = &listed;
    if file.contains('/') {
        return Err(CommandFailure::Io(format!(
            "{manifest} names {file}, which is not in its folder"
        )));
    }
    let path = folder.join(file);
    if !is_part(Some(file)) {
        return Err(CommandFailure::Io(format!(
            "{} has no lines: a report is of csv and jsonl, and 'stoop fetch --report FILE' of any format",
            path.display()
        )));
    }
    let about = fs::metadata(&path).map_err(|error| cannot_read(&path, &error))?;
    match about.len() == *bytes {
        true => Ok((listed, path)),
        false => Err(CommandFailure::Io(format!(
            "{} has {} bytes, and {bytes} by {manifest}: it is not as it was written; to read it as it is, name it",
            path.display(),
            about.len()
        ))),
    }
}

/// Whether a name is that of a file of lines.
fn is_part(name: Option<&str>) -> bool {
    name.is_some_and(|name| [".csv", ".jsonl"].iter().any(|end| name.ends_with(end)))
}
