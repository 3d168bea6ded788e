//! The cookies of a run, which are those of a file, and written back to it.

use std::fs::{self, File};
use std::io::{BufReader, ErrorKind};
use std::path::PathBuf;

use stoop::CookieJar;

use crate::failure::CommandFailure;

/// A file of cookies, and the jar that all cores share.
#[derive(Clone, Debug)]
pub(crate) struct CookieFile {
    path: PathBuf,
    pub(super) jar: CookieJar,
}

impl CookieFile {
    /// The cookies of the file at `path`, of which there are none if it is not there.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] for a file that cannot be read.
    pub(super) fn open(path: PathBuf) -> Result<Self, CommandFailure> {
        let jar = CookieJar::new();
        let loaded = match File::open(&path) {
            Ok(file) => jar.load_netscape(BufReader::new(file)).map(drop),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        let context = format!("cannot read {}", path.display());
        loaded.map_err(|error| CommandFailure::io(&context, &error))?;
        Ok(Self { path, jar })
    }

    /// Writes the cookies to the file.
    ///
    /// # Errors
    /// [`CommandFailure::Io`].
    pub(super) fn save(&self) -> Result<(), CommandFailure> {
        let mut text = Vec::new();
        let saved = self.jar.save_netscape(&mut text).and_then(|()| fs::write(&self.path, &text));
        let context = format!("cannot write {}", self.path.display());
        saved.map_err(|error| CommandFailure::io(&context, &error))
    }
}
