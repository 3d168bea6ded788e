//! Puts a file in its place: whole or not at all, and over another only where that is wanted.

use std::io::{self, ErrorKind};
use std::path::Path;
use std::time::SystemTime;

use super::content::Content;
use super::last_modified;
use super::link::{link, replace};
use super::names::{DISTINCT_DIGITS, hash_name};
use super::partial_folder::{PartialFolder, with_path};
use super::unnamed::UnnamedFile;

/// How a file is put in its place.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Manner {
    /// It replaces one that has its name.
    pub(super) replaces: bool,
    /// The time that it has, if that is known.
    pub(super) modified: Option<SystemTime>,
}

/// Saves `content` as `folder/name`, or beside it if that is taken; what is in memory is written to `partial` first. Returns
/// the name it has.
///
/// # Errors
/// The system's, with the path.
pub(super) fn place(
    folder: &Path,
    partial: &PartialFolder,
    name: &str,
    content: Content<'_>,
    manner: Manner,
) -> io::Result<String> {
    let path = folder.join(name);
    if content.is_in(&path) {
        // It is as if it had been replaced.
        if let Some(at) = manner.modified.filter(|_| manner.replaces) {
            last_modified::set(&path, at);
        }
        return Ok(name.to_owned());
    }
    let mut written = None;
    let partial = match content {
        Content::Memory(bytes) => written.insert(UnnamedFile::with_content(partial, bytes)?).path(),
        Content::File { file, .. } => file.path(),
    };
    if let Some(at) = manner.modified {
        last_modified::set(partial, at);
    }
    give_name(folder, partial, name, content, manner).map_err(|error| {
        let is_lost = error.kind() == ErrorKind::NotFound && !partial.exists();
        with_path(&error, if is_lost { partial } else { &path })
    })
}

/// Gives the file `partial`, which has `content`, the name `folder/name`, or one beside it.
fn give_name(
    folder: &Path,
    partial: &Path,
    name: &str,
    content: Content<'_>,
    manner: Manner,
) -> io::Result<String> {
    let distinct = || content.blake3().map(|hash| hash.to_hex()[..DISTINCT_DIGITS].to_owned());
    let path = folder.join(name);
    if manner.replaces && replace(partial, &path)? || link(partial, &path, content)? {
        return Ok(name.to_owned());
    }
    let beside = format!("{name}~{}", distinct()?);
    if link(partial, &folder.join(&beside), content)? {
        return Ok(beside);
    }
    // A file has the name of a folder on the way, or the name is too long for the system.
    let (top, file) = (name.split('/').next().unwrap_or(name), name.rsplit('/').next());
    let elsewhere = format!("{top}/~{}/{}", distinct()?, file.unwrap_or(name));
    if link(partial, &folder.join(&elsewhere), content)? {
        return Ok(elsewhere);
    }
    let by_content = hash_name(content.blake3()?);
    match link(partial, &folder.join(&by_content), content)? {
        true => Ok(by_content),
        false => Err(io::Error::from(ErrorKind::AlreadyExists)),
    }
}

#[cfg(test)]
mod tests;
