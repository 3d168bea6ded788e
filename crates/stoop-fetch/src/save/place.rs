//! Puts a file in its place: whole or not at all, and over no other.

use std::io::{self, ErrorKind};
use std::path::Path;

use super::content::Content;
use super::link::link;
use super::names::{DISTINCT_DIGITS, hash_name};
use super::partial_folder::PartialFolder;
use super::unnamed::UnnamedFile;

/// Saves `content` as `folder/name`, or beside it if that is taken; what is in memory is written to `partial` first. Returns
/// the name it has.
pub(super) fn place(
    folder: &Path,
    partial: &PartialFolder,
    name: &str,
    content: Content<'_>,
) -> io::Result<String> {
    let distinct = || content.blake3().map(|hash| hash.to_hex()[..DISTINCT_DIGITS].to_owned());
    if content.is_in(&folder.join(name)) {
        return Ok(name.to_owned());
    }
    let mut written = None;
    let partial = match content {
        Content::Memory(bytes) => written.insert(UnnamedFile::with_content(partial, bytes)?).path(),
        Content::File { file, .. } => file.path(),
    };
    if link(partial, &folder.join(name), content)? {
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
