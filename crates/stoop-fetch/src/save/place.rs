//! Puts a file in its place: whole or not at all, and over no other.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::names::DISTINCT_DIGITS;

/// The folder of files that are being written.
const PARTIAL: &str = ".partial";

/// Makes `folder`, and removes the half-written files of processes that are gone.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    let partial = folder.join(PARTIAL);
    let of = |error: io::Error| with_path(&error, &partial);
    fs::create_dir_all(&partial).map_err(of)?;
    for entry in fs::read_dir(&partial).map_err(of)?.flatten() {
        let name = entry.file_name();
        let process = name.to_str().and_then(|name| name.split('-').next()?.parse::<u32>().ok());
        if process.is_some_and(|id| !Path::new("/proc").join(id.to_string()).exists()) {
            // Another process may have removed it.
            let _ = fs::remove_file(entry.path());
        }
    }
    Ok(())
}

/// Removes the folder of half-written files, unless another process has some in it.
pub(super) fn finish(folder: &Path) {
    let _ = fs::remove_dir(folder.join(PARTIAL));
}

/// Saves `content` as `folder/name`, or beside it if that is taken. Returns the name it has.
pub(super) fn place(folder: &Path, name: &str, content: &[u8]) -> io::Result<String> {
    let distinct = || blake3::hash(content).to_hex()[..DISTINCT_DIGITS].to_owned();
    if has(&folder.join(name), content) {
        return Ok(name.to_owned());
    }
    let partial = write_partial(folder, content)?;
    let placed = (|| {
        if link(&partial, &folder.join(name), content)? {
            return Ok(name.to_owned());
        }
        let beside = format!("{name}~{}", distinct());
        if link(&partial, &folder.join(&beside), content)? {
            return Ok(beside);
        }
        // A file has the name of a folder on the way.
        let (top, file) = (name.split('/').next().unwrap_or(name), name.rsplit('/').next());
        let elsewhere = format!("{top}/~{}/{}", distinct(), file.unwrap_or(name));
        match link(&partial, &folder.join(&elsewhere), content)? {
            true => Ok(elsewhere),
            false => Err(io::Error::from(ErrorKind::AlreadyExists)),
        }
    })();
    let _ = fs::remove_file(&partial);
    placed
}

/// Writes a file that no other has the name of.
fn write_partial(folder: &Path, content: &[u8]) -> io::Result<PathBuf> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("{}-{}", process::id(), NEXT.fetch_add(1, Relaxed));
    let path = folder.join(PARTIAL).join(name);
    let mut file = match File::create(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Another process with the same folder came to its end.
            fs::create_dir_all(folder.join(PARTIAL))?;
            File::create(&path)?
        }
        file => file?,
    };
    match file.write_all(content) {
        Ok(()) => Ok(path),
        Err(error) => {
            let _ = fs::remove_file(&path);
            Err(error)
        }
    }
}

/// Gives the file `partial` the name `path`; false if that is taken by other content, or cannot be.
fn link(partial: &Path, path: &Path, content: &[u8]) -> io::Result<bool> {
    match fs::hard_link(partial, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match path.parent().map_or(Ok(()), fs::create_dir_all) {
                Err(error) if is_taken(&error) => return Ok(false),
                made => made?,
            }
        }
        linked => return linked_or_taken(linked, partial, path, content),
    }
    linked_or_taken(fs::hard_link(partial, path), partial, path, content)
}

fn linked_or_taken(
    linked: io::Result<()>,
    partial: &Path,
    path: &Path,
    content: &[u8],
) -> io::Result<bool> {
    match linked {
        Ok(()) => Ok(true),
        Err(error) if is_taken(&error) => Ok(has(path, content)),
        // A file system without hard links.
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            if path.exists() {
                return Ok(has(path, content));
            }
            fs::rename(partial, path).map(|()| true)
        }
        Err(error) => Err(error),
    }
}

/// Whether an error says that something else has the name, or that of a folder on the way.
fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory)
}

/// Whether `path` is a file with this content.
fn has(path: &Path, content: &[u8]) -> bool {
    let is_file = fs::symlink_metadata(path)
        .is_ok_and(|about| about.is_file() && about.len() == content.len() as u64);
    is_file && fs::read(path).is_ok_and(|there| there == content)
}

/// The same error, with the path that it is of.
pub(super) fn with_path(error: &io::Error, path: &Path) -> io::Error {
    io::Error::new(error.kind(), format!("cannot save {}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("stoop-place-{}-{name}", process::id()));
            prepare(&path).expect("a folder");
            Self(path)
        }

        fn content(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.join(name)).expect("saved")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn no_file_is_overwritten_and_the_same_content_is_saved_once() {
        let folder = Folder::new("taken");
        let first = place(&folder.0, "h/a", b"one").expect("placed");
        assert_eq!((first.as_str(), folder.content("h/a")), ("h/a", b"one".to_vec()));
        assert_eq!(place(&folder.0, "h/a", b"one").expect("placed"), "h/a");
        let second = place(&folder.0, "h/a", b"two").expect("placed");
        assert!(second.starts_with("h/a~") && second.len() == 4 + DISTINCT_DIGITS, "{second}");
        assert_eq!(folder.content(&second), b"two");
        assert_eq!(place(&folder.0, "h/a", b"two").expect("placed"), second);
        assert_eq!(folder.content("h/a"), b"one");
        assert_eq!(fs::read_dir(folder.0.join(PARTIAL)).expect("there").count(), 0);
    }

    #[test]
    fn a_name_may_be_a_folder_and_a_file() {
        let folder = Folder::new("both");
        place(&folder.0, "h/a/b", b"below").expect("placed");
        let file = place(&folder.0, "h/a", b"above").expect("placed");
        assert_eq!(folder.content(&file), b"above");
        place(&folder.0, "h/c", b"above").expect("placed");
        let below = place(&folder.0, "h/c/d", b"below").expect("placed");
        assert_eq!(folder.content(&below), b"below");
        assert!(below.starts_with("h/~") && below.ends_with("/d"), "{below}");
    }

    #[test]
    fn a_symbolic_link_is_not_followed() {
        let folder = Folder::new("link");
        let outside = folder.0.join("outside");
        fs::write(&outside, b"kept").expect("written");
        fs::create_dir(folder.0.join("h")).expect("made");
        std::os::unix::fs::symlink(&outside, folder.0.join("h/a")).expect("linked");
        let name = place(&folder.0, "h/a", b"new!").expect("placed");
        assert_ne!(name, "h/a");
        assert_eq!(fs::read(&outside).expect("there"), b"kept");
    }

    #[test]
    fn files_of_processes_that_are_gone_are_removed() {
        let folder = Folder::new("gone");
        let path = |name: &str| folder.0.join(PARTIAL).join(name);
        // The largest process number of Linux is below 2^22.
        fs::write(path("4194305-0"), b"half").expect("written");
        fs::write(path(&format!("{}-9", process::id())), b"half").expect("written");
        prepare(&folder.0).expect("there already");
        assert!(!path("4194305-0").exists());
        assert!(path(&format!("{}-9", process::id())).exists());
    }
}
