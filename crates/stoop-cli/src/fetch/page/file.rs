//! The file of a page: there as a whole or not at all.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use crate::fetch::whole_file::WholeFile;

/// A file that gets its content at the end of a run. What cannot be written is found when the run begins.
#[derive(Debug)]
pub(in crate::fetch) struct PageFile {
    /// None for a path that is no file of its own, such as a pipe.
    whole: Option<WholeFile>,
    file: File,
}

impl PageFile {
    /// Takes a place for the file at `path`. What is there stays until it is replaced.
    ///
    /// # Errors
    /// The system's.
    pub(in crate::fetch) fn begin(path: &Path) -> io::Result<Self> {
        let whole = WholeFile::at(path)?;
        let file = match &whole {
            Some(whole) => File::create(whole.partial())?,
            None => OpenOptions::new().write(true).open(path)?,
        };
        Ok(Self { whole, file })
    }

    /// Writes the content, and gives the file its name.
    ///
    /// # Errors
    /// The system's. What was there before is there still.
    pub(in crate::fetch) fn finish(mut self, content: &str) -> io::Result<()> {
        self.file.write_all(content.as_bytes())?;
        match self.whole {
            Some(whole) => self.file.sync_all().and_then(|()| whole.finish()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_or_stays() {
        let folder = std::env::temp_dir().join(format!("stoop-page-file-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("writable");
        let path = folder.join("report.html");
        fs::write(&path, "before").expect("writable");
        let content = || fs::read_to_string(&path).expect("there");
        let names = || {
            let all = fs::read_dir(&folder).expect("readable").flatten();
            all.map(|entry| entry.file_name()).collect::<Vec<_>>()
        };
        let given_up = PageFile::begin(&path).expect("writable");
        assert_eq!((names().len(), content()), (2, "before".into()));
        let another = PageFile::begin(&path).unwrap_err();
        assert_eq!(another.to_string(), "another process is writing it");
        assert_eq!(names().len(), 2);
        drop(given_up);
        assert_eq!(names(), ["report.html"]);
        PageFile::begin(&path).and_then(|file| file.finish("after")).expect("writable");
        assert_eq!((names().len(), content()), (1, "after".into()));
        assert!(PageFile::begin(&folder).is_err());
        assert!(PageFile::begin(&folder.join("no/a")).is_err());
        let null = PageFile::begin(Path::new("/dev/null")).and_then(|file| file.finish("x"));
        null.expect("Unix has it");
        fs::remove_dir_all(&folder).expect("ours");
    }
}
