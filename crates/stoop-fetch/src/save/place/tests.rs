use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::Duration;

use super::*;
use crate::save::content::COMPARED_BYTES;
use crate::save::link::{moved_or_taken, replaced_or_taken};

struct Folder(PathBuf, PartialFolder);

impl Folder {
    fn new(name: &str) -> Self {
        let process = std::process::id();
        let path = std::env::temp_dir().join(format!("stoop-place-{process}-{name}"));
        let partial = PartialFolder::begin(&path).expect("a folder");
        Self(path, partial)
    }

    fn place(&self, name: &str, content: Content<'_>) -> io::Result<String> {
        place(&self.0, &self.1, name, content, Manner::default())
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

fn modified(path: &Path) -> SystemTime {
    fs::metadata(path).and_then(|about| about.modified()).expect("there")
}

#[test]
fn a_file_is_replaced_where_that_is_wanted_and_has_the_time_of_its_content() {
    let folder = Folder::new("replaced");
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let later = at + Duration::from_secs(7);
    let place = |content, modified| {
        let manner = Manner { replaces: true, modified: Some(modified) };
        place(&folder.0, &folder.1, "h/a", Content::Memory(content), manner).expect("placed")
    };
    assert_eq!(place(b"one", at), "h/a");
    let path = folder.0.join("h/a");
    assert_eq!(modified(&path), at);
    assert_eq!(place(b"two", later), "h/a");
    assert_eq!((folder.content("h/a"), modified(&path)), (b"two".to_vec(), later));
    let inode = fs::metadata(&path).expect("there").ino();
    assert_eq!(place(b"two", at), "h/a");
    assert_eq!((modified(&path), fs::metadata(&path).expect("there").ino()), (at, inode));
    assert_eq!(fs::read_dir(folder.0.join("h")).expect("a folder").count(), 1);
    assert_eq!(folder.unnamed(), 0);
    // A file of an earlier run keeps its time where nothing is to be replaced.
    let manner = Manner { replaces: false, modified: Some(later) };
    let content = Content::Memory(b"two");
    super::place(&folder.0, &folder.1, "h/a", content, manner).expect("placed");
    assert_eq!(modified(&path), at);
}

#[test]
fn neither_a_folder_nor_what_a_link_leads_to_is_replaced() {
    let folder = Folder::new("not-replaced");
    folder.place("h/a/b", Content::Memory(b"below")).expect("placed");
    let outside = folder.0.join("outside");
    fs::write(&outside, b"kept").expect("written");
    std::os::unix::fs::symlink(&outside, folder.0.join("h/link")).expect("linked");
    let place = |name| {
        let manner = Manner { replaces: true, modified: None };
        place(&folder.0, &folder.1, name, Content::Memory(b"new!"), manner).expect("placed")
    };
    let above = place("h/a");
    assert!(above.starts_with("h/a~"), "{above}");
    assert_eq!(folder.content("h/a/b"), b"below");
    assert_eq!(place("h/link"), "h/link");
    assert_eq!(
        (folder.content("h/link"), fs::read(&outside).expect("there")),
        (b"new!".into(), b"kept".into())
    );
}

/// All of the folder may be removed while a run goes on.
#[test]
fn what_is_not_there_is_named() {
    let folder = Folder::new("lost");
    let mut file = UnnamedFile::begin(&folder.1).expect("made");
    file.append(b"one").expect("written");
    let content = Content::File { file: &file, length: 3, blake3: None };
    fs::remove_dir_all(&folder.0).expect("there");
    let error = folder.place("h/a", content).expect_err("its content is gone");
    let text = format!("cannot save {}: No such file", file.path().display());
    assert!(error.to_string().starts_with(&text), "{error}");
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let error = file.append(b"two").expect_err("gone");
    assert!(error.to_string().starts_with(&text), "{error}");
    // What is in memory is saved all the same.
    assert_eq!(folder.place("h/a", Content::Memory(b"one")).expect("placed"), "h/a");
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
    assert_eq!((folder.content("h/a"), folder.content(&second)), (b"one".into(), b"two".into()));
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
    let (one, mut two) = (vec![b'x'; 3 * COMPARED_BYTES + 7], vec![b'x'; 3 * COMPARED_BYTES + 7]);
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
