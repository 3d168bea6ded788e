//! Puts a file in its place: whole or not at all, and over no other.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::names::{DISTINCT_DIGITS, hash_name};
use super::partial_folder::PartialFolder;
use super::unnamed::UnnamedFile;

/// How much of two files is compared at once.
const COMPARED_BYTES: usize = 64 << 10;

/// Content that is to be saved.
#[derive(Clone, Copy)]
pub(crate) enum Content<'a> {
    Memory(&'a [u8]),
    /// It is in a file without a name.
    File {
        file: &'a UnnamedFile,
        length: u64,
        /// Its BLAKE3, if that was needed already.
        blake3: Option<blake3::Hash>,
    },
}

impl Content<'_> {
    /// Its BLAKE3.
    ///
    /// # Errors
    /// The system's, of the file that has to be read for it.
    pub(super) fn blake3(self) -> io::Result<blake3::Hash> {
        match self {
            Self::Memory(content) => Ok(blake3::hash(content)),
            Self::File { blake3: Some(hash), .. } => Ok(hash),
            Self::File { file, .. } => {
                let mut hasher = blake3::Hasher::new();
                hasher.update_reader(File::open(file.path())?)?;
                Ok(hasher.finalize())
            }
        }
    }

    fn len(self) -> u64 {
        match self {
            Self::Memory(content) => content.len() as u64,
            Self::File { length, .. } => length,
        }
    }

    /// Whether `path` is a file with this content.
    fn is_in(self, path: &Path) -> bool {
        let is_file = fs::symlink_metadata(path)
            .is_ok_and(|about| about.is_file() && about.len() == self.len());
        is_file
            && match self {
                Self::Memory(content) => fs::read(path).is_ok_and(|there| there == content),
                Self::File { file, .. } => are_equal(file.path(), path).unwrap_or(false),
            }
    }

    /// The same; if `path` is an empty file that is about to be replaced, once it was.
    fn is_or_will_be_in(self, path: &Path) -> bool {
        if fs::symlink_metadata(path).is_ok_and(|about| about.len() == 0) {
            drop(REPLACING.lock().unwrap_or_else(PoisonError::into_inner));
        }
        self.is_in(path)
    }
}

/// Locked while an empty file has a name for content that replaces it.
static REPLACING: Mutex<()> = Mutex::new(());

/// Whether two files have the same content.
fn are_equal(first: &Path, second: &Path) -> io::Result<bool> {
    let open = |path| File::open(path).map(|file| BufReader::with_capacity(COMPARED_BYTES, file));
    let (mut first, mut second) = (open(first)?, open(second)?);
    loop {
        let (one, other) = (first.fill_buf()?, second.fill_buf()?);
        let length = one.len().min(other.len());
        if length == 0 {
            return Ok(one.len() == other.len());
        }
        if one[..length] != other[..length] {
            return Ok(false);
        }
        first.consume(length);
        second.consume(length);
    }
}

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

/// Gives the file `partial` the name `path`; false if that is taken by other content, or cannot be.
fn link(partial: &Path, path: &Path, content: Content<'_>) -> io::Result<bool> {
    match fs::hard_link(partial, path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match path.parent().map_or(Ok(()), fs::create_dir_all) {
                Err(error) if is_taken(&error) || is_refused(&error) => return Ok(false),
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
    content: Content<'_>,
) -> io::Result<bool> {
    match linked {
        Ok(()) => Ok(true),
        Err(error) if is_taken(&error) => Ok(content.is_or_will_be_in(path)),
        // A folder on the way is on another file system.
        Err(error) if error.kind() == ErrorKind::CrossesDevices => {
            let copy = Copied::beside(path, partial)?;
            match fs::hard_link(&copy.0, path) {
                Err(error) if error.kind() == ErrorKind::CrossesDevices => Err(error),
                linked => linked_or_taken(linked, &copy.0, path, content),
            }
        }
        // A file system without hard links.
        Err(error)
            if matches!(error.kind(), ErrorKind::PermissionDenied | ErrorKind::Unsupported) =>
        {
            moved_or_taken(partial, path, content)
        }
        Err(error) => Err(error),
    }
}

/// Moves a file to a name, where that is free and the file system has no hard links.
fn moved_or_taken(partial: &Path, path: &Path, content: Content<'_>) -> io::Result<bool> {
    match rename_new(partial, path) {
        // Some cannot tell either, and some do not take the name.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            replaced_or_taken(partial, path, content)
        }
        Err(error) if is_taken(&error) => Ok(content.is_or_will_be_in(path)),
        renamed => renamed.map(|()| true),
    }
}

/// The same by a file of our own, which takes the name, and which the other then replaces: it is there without content
/// for a moment, or from then on if the process ends.
fn replaced_or_taken(partial: &Path, path: &Path, content: Content<'_>) -> io::Result<bool> {
    let replacing = REPLACING.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = OpenOptions::new().write(true).create_new(true).open(path);
    match taken {
        Ok(_) => {
            let renamed = fs::rename(partial, path).inspect_err(|_| drop(fs::remove_file(path)));
            renamed.map(|()| true)
        }
        Err(error) if is_taken(&error) || is_refused(&error) => {
            drop(replacing);
            Ok(content.is_or_will_be_in(path))
        }
        Err(error) => Err(error),
    }
}

/// Renames a file, unless the name is taken.
#[cfg(target_os = "linux")]
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    Ok(renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE)?)
}

#[cfg(not(target_os = "linux"))]
fn rename_new(_: &Path, _: &Path) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

/// A copy of a file, which is gone when this is dropped.
struct Copied(PathBuf);

impl Copied {
    /// Copies a file into the folder of `path`.
    fn beside(path: &Path, partial: &Path) -> io::Result<Self> {
        let random = RandomState::new().hash_one(path);
        let copy = Self(path.with_file_name(format!(".{random:016x}.partial")));
        fs::copy(partial, &copy.0).map(|_| copy)
    }
}

impl Drop for Copied {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Whether an error says that something else has the name, or that of a folder on the way, or that it cannot be one.
fn is_taken(error: &io::Error) -> bool {
    use ErrorKind::{AlreadyExists, InvalidFilename, InvalidInput, IsADirectory, NotADirectory};
    // The last of FAT, of a colon and the like.
    matches!(
        error.kind(),
        AlreadyExists | InvalidFilename | IsADirectory | NotADirectory | InvalidInput
    )
}

/// Whether an error says that what is to be made cannot have its name: FAT says so in user space, of a colon and the like.
fn is_refused(error: &io::Error) -> bool {
    error.kind() == ErrorKind::NotFound
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Folder(PathBuf, PartialFolder);

    impl Folder {
        fn new(name: &str) -> Self {
            let process = std::process::id();
            let path = std::env::temp_dir().join(format!("stoop-place-{process}-{name}"));
            let partial = PartialFolder::begin(&path).expect("a folder");
            Self(path, partial)
        }

        fn place(&self, name: &str, content: Content<'_>) -> io::Result<String> {
            place(&self.0, &self.1, name, content)
        }

        fn content(&self, name: &str) -> Vec<u8> {
            fs::read(self.0.join(name)).expect("saved")
        }

        /// How many files have no name.
        fn unnamed(&self) -> usize {
            let next = self.1.next_path();
            fs::read_dir(next.parent().expect("a folder")).expect("there").count()
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
        let first = folder.place("h/a", Content::Memory(b"one")).expect("placed");
        assert_eq!((first.as_str(), folder.content("h/a")), ("h/a", b"one".to_vec()));
        assert_eq!(folder.place("h/a", Content::Memory(b"one")).expect("placed"), "h/a");
        let second = folder.place("h/a", Content::Memory(b"two")).expect("placed");
        assert!(second.starts_with("h/a~") && second.len() == 4 + DISTINCT_DIGITS, "{second}");
        assert_eq!(folder.content(&second), b"two");
        assert_eq!(folder.place("h/a", Content::Memory(b"two")).expect("placed"), second);
        assert_eq!(folder.content("h/a"), b"one");
        assert_eq!(folder.unnamed(), 0);
    }

    #[test]
    fn a_name_may_be_a_folder_and_a_file() {
        let folder = Folder::new("both");
        folder.place("h/a/b", Content::Memory(b"below")).expect("placed");
        let file = folder.place("h/a", Content::Memory(b"above")).expect("placed");
        assert_eq!(folder.content(&file), b"above");
        folder.place("h/c", Content::Memory(b"above")).expect("placed");
        let below = folder.place("h/c/d", Content::Memory(b"below")).expect("placed");
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
        let name = folder.place("h/a", Content::Memory(b"new!")).expect("placed");
        assert_ne!(name, "h/a");
        assert_eq!(fs::read(&outside).expect("there"), b"kept");
    }

    #[test]
    fn without_hard_links_a_file_is_moved_and_takes_no_name_of_another() {
        let folder = Folder::new("moved");
        for (name, can_rename) in [("a", true), ("b", false)] {
            let path = folder.0.join(name);
            let moved = |content: &[u8]| {
                let partial = UnnamedFile::with_content(&folder.1, content).expect("written");
                let content = Content::Memory(content);
                let moved = match can_rename {
                    true => moved_or_taken(partial.path(), &path, content),
                    false => replaced_or_taken(partial.path(), &path, content),
                };
                moved.expect("moved")
            };
            assert!(moved(b"one"));
            assert!(!moved(b"two"));
            assert!(moved(b"one"), "it is there");
            assert_eq!(folder.content(name), b"one");
        }
        assert_eq!(folder.unnamed(), 0);
    }

    #[test]
    fn equal_content_that_is_saved_at_once_without_hard_links_has_one_file() {
        let folder = Folder::new("at-once");
        for round in 0..100 {
            let path = folder.0.join(round.to_string());
            let place = || {
                let partial = UnnamedFile::with_content(&folder.1, b"one").expect("written");
                replaced_or_taken(partial.path(), &path, Content::Memory(b"one")).expect("placed")
            };
            std::thread::scope(|threads| {
                let placed: Vec<_> = (0..4).map(|_| threads.spawn(place)).collect();
                assert!(placed.into_iter().all(|placed| placed.join().expect("no panic")));
            });
        }
    }

    /// `/dev/shm` is memory.
    #[test]
    fn a_folder_may_be_on_another_file_system() {
        let folder = Folder::new("mounted");
        let elsewhere = format!("/dev/shm/stoop-place-{}", std::process::id());
        fs::create_dir(&elsewhere).expect("made");
        std::os::unix::fs::symlink(&elsewhere, folder.0.join("h")).expect("linked");
        assert_eq!(folder.place("h/a", Content::Memory(b"one")).expect("placed"), "h/a");
        assert_eq!(folder.place("h/a", Content::Memory(b"one")).expect("placed"), "h/a");
        let second = folder.place("h/a", Content::Memory(b"two")).expect("placed");
        assert_eq!(
            (folder.content("h/a"), folder.content(&second)),
            (b"one".into(), b"two".into())
        );
        assert_eq!(fs::read_dir(&elsewhere).expect("there").count(), 2);
        fs::remove_dir_all(elsewhere).expect("ours");
    }

    #[test]
    fn a_name_that_no_system_takes_is_replaced() {
        let folder = Folder::new("long");
        let name = format!("h/{}index.html", "a/".repeat(3000));
        let placed = folder.place(&name, Content::Memory(b"deep")).expect("placed");
        assert!(placed.starts_with("h/~") && placed.ends_with("/index.html"), "{placed}");
        assert_eq!(folder.content(&placed), b"deep");
        fs::write(folder.0.join("host"), b"a file").expect("written");
        let placed = folder.place("host/a/b", Content::Memory(b"below")).expect("placed");
        assert_eq!(
            (placed.as_str(), folder.content(&placed)),
            (&*hash_name(blake3::hash(b"below")), b"below".to_vec())
        );
    }

    /// No folder can be made in `/proc`, and that is told as if there were none to make it in: so does FAT in user space, of a
    /// name with a colon.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_refused_as_if_it_were_not_there_is_replaced() {
        let folder = Folder::new("refused");
        std::os::unix::fs::symlink("/proc", folder.0.join("h")).expect("linked");
        let placed = folder.place("h/a/b", Content::Memory(b"below")).expect("placed");
        assert_eq!(placed, hash_name(blake3::hash(b"below")));
        assert_eq!(folder.content(&placed), b"below");
        let path = folder.0.join("h/a");
        let partial = UnnamedFile::with_content(&folder.1, b"one").expect("written");
        assert!(!replaced_or_taken(partial.path(), &path, Content::Memory(b"one")).expect("told"));
    }

    #[test]
    fn content_that_is_in_a_file_is_placed_by_the_same_rules() {
        let folder = Folder::new("file");
        let place = |bytes: &[u8], name| {
            let mut file = UnnamedFile::begin(&folder.1).expect("made");
            bytes.chunks(10_000).for_each(|part| file.append(part).expect("written"));
            let length = bytes.len() as u64;
            folder.place(name, Content::File { file: &file, length, blake3: None })
        };
        let (one, mut two) =
            (vec![b'x'; 3 * COMPARED_BYTES + 7], vec![b'x'; 3 * COMPARED_BYTES + 7]);
        two.extend_from_slice(b"y");
        two.remove(0);
        assert_eq!(place(&one, "h/a").expect("placed"), "h/a");
        assert_eq!(place(&one, "h/a").expect("placed"), "h/a");
        let beside = format!("h/a~{}", &blake3::hash(&two).to_hex()[..DISTINCT_DIGITS]);
        assert_eq!(place(&two, "h/a").expect("placed"), beside);
        assert_eq!(place(&two, "h/a").expect("placed"), beside);
        assert_eq!((folder.content("h/a"), folder.content(&beside)), (one, two));
        assert_eq!(folder.unnamed(), 0);
    }
}
