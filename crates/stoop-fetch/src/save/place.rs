//! Puts a file in its place: whole or not at all, and over no other.

use std::fs::{self, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use super::names::{DISTINCT_DIGITS, hash_name};

/// The folder of files that are being written.
const PARTIAL: &str = ".partial";

/// How old a half-written file is that no process writes any more: content is written in moments.
const ABANDONED_AGE: Duration = Duration::from_secs(3600);

/// Makes `folder`, and removes the half-written files of processes that are gone, as their age tells: numbers of
/// processes are not those of another container.
pub(super) fn prepare(folder: &Path) -> io::Result<()> {
    let partial = folder.join(PARTIAL);
    let of = |error: io::Error| with_path(&error, &partial);
    fs::create_dir_all(&partial).map_err(of)?;
    for entry in fs::read_dir(&partial).map_err(of)?.flatten() {
        let written = entry.metadata().and_then(|about| about.modified());
        let age = written.ok().and_then(|written| written.elapsed().ok());
        if age.is_some_and(|age| age > ABANDONED_AGE) {
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
        // A file has the name of a folder on the way, or the name is too long for the system.
        let (top, file) = (name.split('/').next().unwrap_or(name), name.rsplit('/').next());
        let elsewhere = format!("{top}/~{}/{}", distinct(), file.unwrap_or(name));
        if link(&partial, &folder.join(&elsewhere), content)? {
            return Ok(elsewhere);
        }
        let by_content = hash_name(content);
        match link(&partial, &folder.join(&by_content), content)? {
            true => Ok(by_content),
            false => Err(io::Error::from(ErrorKind::AlreadyExists)),
        }
    })();
    let _ = fs::remove_file(&partial);
    placed
}

/// Writes a file that no other has the name of.
fn write_partial(folder: &Path, content: &[u8]) -> io::Result<PathBuf> {
    static KEYS: OnceLock<RandomState> = OnceLock::new();
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Other processes with the same folder may have the same number, in containers of their own.
    let number = NEXT.fetch_add(1, Relaxed);
    let random = KEYS.get_or_init(RandomState::new).hash_one(number);
    let path = folder.join(PARTIAL).join(format!("{random:016x}-{number}"));
    let create = || OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file = match create() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Another process with the same folder came to its end.
            fs::create_dir_all(folder.join(PARTIAL))?;
            create()?
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
            // The name is taken by a file of our own, which the content then replaces.
            match OpenOptions::new().write(true).create_new(true).open(path) {
                Ok(_) => fs::rename(partial, path).map(|()| true),
                Err(error) if is_taken(&error) => Ok(has(path, content)),
                Err(error) => Err(error),
            }
        }
        Err(error) => Err(error),
    }
}

/// Whether an error says that something else has the name, or that of a folder on the way, or that it cannot be one.
fn is_taken(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, InvalidFilename, IsADirectory, NotADirectory};
    matches!(error.kind(), AlreadyExists | InvalidFilename | IsADirectory | NotADirectory)
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
            let process = std::process::id();
            let path = std::env::temp_dir().join(format!("stoop-place-{process}-{name}"));
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
    fn what_is_old_and_half_written_is_removed() {
        let folder = Folder::new("gone");
        let path = |name: &str| folder.0.join(PARTIAL).join(name);
        fs::write(path("old"), b"half").expect("written");
        fs::write(path("new"), b"half").expect("written");
        let then = std::time::SystemTime::now() - 2 * ABANDONED_AGE;
        let old = OpenOptions::new().write(true).open(path("old")).expect("there");
        old.set_modified(then).expect("settable");
        prepare(&folder.0).expect("there already");
        assert!(!path("old").exists());
        assert!(path("new").exists());
    }

    #[test]
    fn a_name_that_no_system_takes_is_replaced() {
        let folder = Folder::new("long");
        let name = format!("h/{}index.html", "a/".repeat(3000));
        let placed = place(&folder.0, &name, b"deep").expect("placed");
        assert!(placed.starts_with("h/~") && placed.ends_with("/index.html"), "{placed}");
        assert_eq!(folder.content(&placed), b"deep");
        fs::write(folder.0.join("host"), b"a file").expect("written");
        let placed = place(&folder.0, "host/a/b", b"below").expect("placed");
        assert_eq!(
            (placed.as_str(), folder.content(&placed)),
            (&*hash_name(b"below"), b"below".to_vec())
        );
    }
}
