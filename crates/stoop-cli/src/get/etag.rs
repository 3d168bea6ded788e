//! `--etag-compare` and `--etag-save`: the ETag of what is there, in a file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use stoop::{Response, StatusCode};

use super::condition_args::ConditionArgs;
use super::exit;
use super::failure::GetFailure;
use super::output::write_file;
use crate::request_options::Header;

/// Bytes of a file with an ETag that are read.
const ETAG_BYTES_MAX: u64 = 64 * 1024;

/// What `--etag-save` is to write.
#[derive(Debug, Default)]
pub(super) enum ETagFound {
    /// What is in the file stays: there was no other content.
    #[default]
    Kept,
    /// That of the content, or none.
    Of(Option<Vec<u8>>),
}

impl ConditionArgs {
    /// The field that asks for content with another ETag than the one that is known, if that is asked for.
    ///
    /// # Errors
    /// Those of the file: without one any content is wanted, if the file is to be written.
    pub(super) fn compared(&self) -> Result<Option<Header>, GetFailure> {
        let Some(path) = &self.etag_compare else { return Ok(None) };
        let known = match read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.etag_save.is_some() => None,
            read => {
                Some(read.map_err(|error| GetFailure::read(&path.display().to_string(), &error))?)
            }
        };
        // None has this one.
        let known = known.unwrap_or_else(|| b"\"\"".to_vec());
        Ok((!known.is_empty()).then(|| Header::Sent("If-None-Match".to_owned(), known)))
    }

    /// Looks whether the file of `--etag-save` can be written, and makes it if it is not there.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn prepare(&self) -> Result<(), GetFailure> {
        let Some(path) = self.etag_save.as_deref().filter(|path| path.as_os_str() != "-") else {
            return Ok(());
        };
        let opened = OpenOptions::new().create(true).append(true).open(path);
        let failed = |error| format!("cannot write {}: {error}", path.display());
        opened.map(drop).map_err(|error| GetFailure::new(exit::READ_ERROR, failed(error)))
    }

    /// The ETag of a response, which is written to standard output at once.
    ///
    /// # Errors
    /// Those of writing it there.
    pub(super) fn found(&self, response: &Response) -> Result<ETagFound, GetFailure> {
        let Some(path) = &self.etag_save else { return Ok(ETagFound::Kept) };
        let etag = response.field("etag").map(<[u8]>::to_vec).filter(|etag| !etag.is_empty());
        match etag {
            None if response.status() == StatusCode::NOT_MODIFIED => Ok(ETagFound::Kept),
            Some(etag) if path.as_os_str() == "-" => {
                write(path, &etag)?;
                Ok(ETagFound::Kept)
            }
            etag => Ok(ETagFound::Of(etag)),
        }
    }

    /// Writes the ETag of content that is here as a whole.
    ///
    /// # Errors
    /// Those of the file.
    pub(super) fn save(&self, found: ETagFound) -> Result<(), GetFailure> {
        match (&self.etag_save, found) {
            (Some(path), ETagFound::Of(etag)) if path.as_os_str() != "-" => {
                write(path, &etag.unwrap_or_default())
            }
            _ => Ok(()),
        }
    }
}

/// Writes an ETag on a line of its own, or nothing, if there is none.
fn write(path: &Path, etag: &[u8]) -> Result<(), GetFailure> {
    let line = if etag.is_empty() { Vec::new() } else { [etag, b"\n"].concat() };
    write_file(path, &line, false).map_err(|error| GetFailure::write(&error))
}

/// The ETag in a file: its text without line ends. An empty file has one that nothing has.
fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    File::open(path)?.take(ETAG_BYTES_MAX + 1).read_to_end(&mut text)?;
    if text.is_empty() {
        return Ok(b"\"\"".to_vec());
    }
    text.retain(|byte| !matches!(byte, b'\r' | b'\n' | 0));
    if text.len() as u64 > ETAG_BYTES_MAX {
        return Err(io::Error::other("longer than 64 KiB, which no ETag is"));
    }
    Ok(text.trim_ascii().to_vec())
}
