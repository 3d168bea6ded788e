//! Looks up the path of a request below the directory.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use stoop::files::{OpenError, Opened, OpenedFile};

use super::coding::FileCoding;
use super::found::Found;
use super::options::Files;
use super::path::FilePath;
use super::representation::{Content, Description, FoundFile, Representation};
use super::types::content_type;

/// Content of up to so many bytes is kept in memory with what else is remembered of a file; a larger one is sent by the
/// kernel (`Body::from_file`), which takes a call, but no copy.
const SMALL_BYTES_MAX: u64 = 16 * 1024;

impl Files {
    /// What is at a path: `rest` is what is behind its first slash, as it was sent. Of codings, those listed are looked
    /// for.
    ///
    /// # Errors
    /// What the system says, such as that too many files are open.
    pub(super) async fn load(
        &self,
        rest: &str,
        codings: &[FileCoding],
    ) -> Result<Found, OpenError> {
        let Some(path) = FilePath::parse(rest, self.serves_hidden) else {
            return Ok(Found::Nothing);
        };
        if !path.is_directory {
            return Ok(match self.open(path.as_path()).await? {
                Some(Opened::File(file)) => self.file(path.as_path(), file, codings).await?,
                Some(Opened::Directory(_)) => Found::Redirect,
                None => Found::Nothing,
            });
        }
        for name in &self.index {
            let index = path.join(name);
            if let Some(Opened::File(file)) = self.open(&index).await? {
                return self.file(&index, file, codings).await;
            }
        }
        if self.listing_max.is_none() {
            return Ok(Found::Nothing);
        }
        Ok(match self.open(path.as_path()).await? {
            Some(Opened::Directory(_)) => Found::Listing,
            _ => Found::Nothing,
        })
    }

    /// The file at a path that the caller has given, such as that of a page for what is not there.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub(super) async fn load_page(
        &self,
        page: &Path,
        codings: &[FileCoding],
    ) -> Result<Found, OpenError> {
        match self.open(page).await? {
            Some(Opened::File(file)) => self.file(page, file, codings).await,
            _ => Ok(Found::Nothing),
        }
    }

    /// Opens what is at a path. What must not be opened is not there: to tell more would be to tell what is there.
    async fn open(&self, path: &Path) -> Result<Option<Opened>, OpenError> {
        match self.directory.open(path).await {
            Ok(opened) => Ok(Some(opened)),
            Err(OpenError::Io(error)) => Err(OpenError::Io(error)),
            Err(_) => Ok(None),
        }
    }

    async fn file(
        &self,
        path: &Path,
        opened: OpenedFile,
        codings: &[FileCoding],
    ) -> Result<Found, OpenError> {
        let mut coded = Vec::new();
        for coding in codings {
            let mut beside: OsString = path.as_os_str().to_owned();
            beside.push(coding.suffix());
            if let Some(Opened::File(file)) = self.open(Path::new(&beside)).await? {
                coded.push((*coding, self.representation(path, file, Some(*coding)).await));
            }
        }
        let plain = self.representation(path, opened, None).await;
        let varies = !self.codings.is_empty();
        Ok(Found::File(Arc::new(FoundFile { plain, coded, varies })))
    }

    async fn representation(
        &self,
        path: &Path,
        file: OpenedFile,
        coding: Option<FileCoding>,
    ) -> Representation {
        let about = Description {
            content_type: content_type(path, &self.types),
            cache_control: self.cache_control.of(path),
            coding,
            varies: !self.codings.is_empty(),
        };
        let metadata = file.metadata().clone();
        let content = self.content(file).await;
        Representation::new(content, &metadata, about)
    }

    /// What is small is read, if it is to be remembered; a file that has become shorter meanwhile is left to break off the
    /// response.
    async fn content(&self, file: OpenedFile) -> Content {
        let len = file.metadata().len();
        if self.cache.is_some() && len <= SMALL_BYTES_MAX {
            let read = file.body().bytes(SMALL_BYTES_MAX as usize).await;
            if let Ok(bytes) = read
                && bytes.len() as u64 == len
            {
                return Content::Memory(bytes);
            }
        }
        Content::File(file)
    }
}
