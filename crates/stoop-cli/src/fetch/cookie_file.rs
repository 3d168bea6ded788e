//! The cookies of a run, which are those of a file, and written back to it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, ErrorKind};
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

use stoop::CookieJar;

use super::whole_file::WholeFile;
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
    /// [`CommandFailure::Io`] for a file that cannot be read, or not be written: that is found before the run.
    pub(super) fn open(path: PathBuf) -> Result<Self, CommandFailure> {
        if fs::metadata(&path).is_ok_and(|there| there.file_type().is_fifo()) {
            return Err(CommandFailure::Usage(format!(
                "--cookie-jar {} is a pipe: cookies are read before the run and written after it, which takes a file",
                path.display()
            )));
        }
        let jar = CookieJar::new();
        let loaded = match File::open(&path) {
            Ok(file) => jar.load_netscape(BufReader::new(file)).map(drop),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
        };
        let context = format!("--cookie-jar: cannot read {}", path.display());
        loaded.map_err(|error| CommandFailure::io(&context, &error))?;
        let file = Self { path, jar };
        let writable = match OpenOptions::new().append(true).open(&file.path) {
            // It is there for as long as that takes, if the folder lets it.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                WholeFile::at(&file.path).map(drop)
            }
            opened => opened.map(drop),
        };
        writable.map_err(|error| file.cannot_write(&error))?;
        Ok(file)
    }

    /// Writes the cookies to the file, which is then there as a whole, or as it was.
    ///
    /// # Errors
    /// [`CommandFailure::Io`].
    pub(super) fn save(&self) -> Result<(), CommandFailure> {
        let mut text = Vec::new();
        let saved = self.jar.save_netscape(&mut text).and_then(|()| self.write(&text));
        saved.map_err(|error| self.cannot_write(&error))
    }

    fn write(&self, text: &[u8]) -> io::Result<()> {
        let Some(whole) = WholeFile::at(&self.path)? else { return fs::write(&self.path, text) };
        if let Ok(there) = fs::metadata(&self.path) {
            // Who may read the old one may read the new one, and no other.
            fs::set_permissions(whole.partial(), there.permissions())?;
        }
        fs::write(whole.partial(), text).and_then(|()| whole.finish())
    }

    fn cannot_write(&self, error: &io::Error) -> CommandFailure {
        CommandFailure::io(&format!("--cookie-jar: cannot write {}", self.path.display()), error)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// It was found out when all was fetched, and what was in the file was lost where the disk was full.
    #[test]
    fn a_file_that_cannot_be_written_is_found_before_the_run_and_one_is_replaced_as_a_whole() {
        let folder = std::env::temp_dir().join(format!("stoop-cookies-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        let names = || {
            let all = fs::read_dir(&folder).expect("readable").flatten();
            all.map(|entry| entry.file_name()).collect::<Vec<_>>()
        };
        let error = CookieFile::open(folder.join("none/cookies")).expect_err("no such folder");
        assert!(
            matches!(&error, CommandFailure::Io(why) if why.starts_with("--cookie-jar: cannot write ")),
            "{error:?}"
        );
        let path = folder.join("cookies");
        let file = CookieFile::open(path.clone()).expect("it can be made");
        assert!(names().is_empty(), "not there before the end");
        file.save().expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
        let inode = |path: &PathBuf| {
            std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).expect("there"))
        };
        let before = inode(&path);
        CookieFile::open(path.clone()).and_then(|file| file.save()).expect("written");
        assert_ne!(inode(&path), before, "another file");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!((mode & 0o777, names()), (0o600, vec!["cookies".into()]));
        fs::remove_dir_all(&folder).expect("ours");
    }
}
