//! The files of a folder that `stoop fetch` has written, as its manifests list them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::names::cannot_read;
use crate::failure::CommandFailure;
use crate::stderr;

/// A line of a manifest, as far as it counts here.
#[derive(Deserialize)]
struct Listed {
    file: String,
    bytes: u64,
}

/// The files of a folder whose lines are those of one run, or of several whose files were put together there.
///
/// # Errors
/// There is no manifest, or a file is not as one says, or of a format without lines.
pub(super) fn files(folder: &Path) -> Result<Vec<PathBuf>, CommandFailure> {
    let names = names(folder).map_err(|error| cannot_read(folder, &error))?;
    let mut manifests = names.iter().filter(|name| name.ends_with(".manifest")).peekable();
    if manifests.peek().is_none() {
        let folder = folder.display();
        return Err(CommandFailure::Io(format!(
            "{folder} has no manifest, as 'stoop fetch -o FOLDER/' writes it at the end of its first file: name the \
             files one by one"
        )));
    }
    let mut files = Vec::new();
    for manifest in manifests {
        let path = folder.join(manifest);
        let text = fs::read_to_string(&path).map_err(|error| cannot_read(&path, &error))?;
        for line in text.lines() {
            files.push(listed(line, folder, &path)?);
        }
    }
    let partial = names.iter().filter(|name| is_part(name.strip_suffix(".partial"))).count();
    if partial > 0 {
        let are = if partial == 1 { "file is" } else { "files are" };
        let folder = folder.display();
        stderr::message(format_args!("{folder}: {partial} {are} not complete, and left out"));
    }
    Ok(files)
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

/// The file of a line of a manifest.
fn listed(line: &str, folder: &Path, manifest: &Path) -> Result<PathBuf, CommandFailure> {
    let manifest = manifest.display();
    let Ok(Listed { file, bytes }) = serde_json::from_str(line) else {
        return Err(CommandFailure::Io(format!(
            "{manifest} has a line that is none of a manifest"
        )));
    };
    if file.contains('/') {
        return Err(CommandFailure::Io(format!(
            "{manifest} names {file}, which is not in its folder"
        )));
    }
    let path = folder.join(&file);
    if !is_part(Some(&file)) {
        return Err(CommandFailure::Io(format!(
            "{} has no lines: a report is of csv and jsonl, and 'stoop fetch --report FILE' of any format",
            path.display()
        )));
    }
    let about = fs::metadata(&path).map_err(|error| cannot_read(&path, &error))?;
    match about.len() == bytes {
        true => Ok(path),
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
