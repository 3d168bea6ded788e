//! Attempts to leave a directory, and to be held up in it, both ways of opening.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

use super::{OpenError, Symlinks, checked, components, known, list_directory, open_beneath};

/// A folder `root` to be served, and a secret beside it.
struct Tree(PathBuf);

impl Tree {
    fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let (process, count) = (std::process::id(), COUNT.fetch_add(1, Relaxed));
        let path = std::env::temp_dir().join(format!("stoop-beneath-{process}-{count}"));
        fs::create_dir_all(path.join("root/a/b")).unwrap();
        fs::write(path.join("secret"), "secret").unwrap();
        fs::write(path.join("root/f"), "f").unwrap();
        fs::write(path.join("root/a/b/deep"), "deep").unwrap();
        Self(path)
    }

    fn root(&self) -> File {
        File::open(self.0.join("root")).unwrap()
    }

    fn link(&self, name: &str, target: &str) {
        symlink(target, self.0.join("root").join(name)).unwrap();
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Open = fn(BorrowedFd<'_>, &OsStr, Symlinks) -> Result<OwnedFd, OpenError>;

/// The path by names, as systems without openat2 have it.
fn by_names(directory: &File, path: &Path, symlinks: Symlinks) -> Result<File, OpenError> {
    let open: Open = components::open;
    known(open(directory.as_fd(), checked(path)?, symlinks)?.into())
}

/// What both ways make of a path: the content of a file, `/` for a directory, or the error.
fn opened(tree: &Tree, path: impl AsRef<OsStr>, symlinks: Symlinks) -> String {
    let (root, path) = (tree.root(), Path::new(path.as_ref()));
    let show = |opened: Result<File, OpenError>| match opened {
        Ok(file) if file.metadata().unwrap().is_dir() => "/".to_owned(),
        Ok(mut file) => {
            let mut content = String::new();
            file.read_to_string(&mut content).unwrap();
            content
        }
        Err(error) => format!("{error:?}"),
    };
    let whole = show(open_beneath(root.as_fd(), path, symlinks));
    let steps = show(by_names(&root, path, symlinks));
    assert_eq!(whole, steps, "{path:?} with {symlinks:?}");
    whole
}

#[test]
fn files_and_directories_below_are_opened() {
    let tree = Tree::new();
    for symlinks in [Symlinks::Within, Symlinks::Refuse] {
        let open = |path: &str| opened(&tree, path, symlinks);
        assert_eq!(
            (open("f"), open("a/b/deep"), open("a//./b/deep")),
            ("f".into(), "deep".into(), "deep".into())
        );
        assert_eq!(
            (open(""), open("."), open("a"), open("a/b/")),
            ("/".into(), "/".into(), "/".into(), "/".into())
        );
        assert_eq!(
            (open("g"), open("f/"), open("f/g")),
            ("NotFound".into(), "NotFound".into(), "NotFound".into())
        );
    }
}

#[test]
fn no_path_leads_out() {
    let tree = Tree::new();
    let secret = tree.0.join("secret");
    let absolute = secret.to_str().unwrap();
    for path in [
        "..",
        "../secret",
        "a/../../secret",
        "a/..",
        "a/b/../../../secret",
        "/",
        absolute,
        "f\0",
        "\0",
    ] {
        for symlinks in [Symlinks::Within, Symlinks::Refuse] {
            assert_eq!(opened(&tree, path, symlinks), "Path", "{path:?}");
        }
    }
    // Only a whole name is the parent.
    for path in ["..secret", "...", "a/..b", "%2e%2e/secret", "..\\secret", "\u{2025}/secret"] {
        assert_eq!(opened(&tree, path, Symlinks::Within), "NotFound", "{path:?}");
    }
}

#[test]
fn links_are_followed_within_and_not_out() {
    let tree = Tree::new();
    let secret = tree.0.join("secret").to_str().unwrap().to_owned();
    let within = tree.0.join("root/f").to_str().unwrap().to_owned();
    let links = [
        ("in", "a/b/deep", "deep"),
        ("up", "a/../f", "f"),
        ("a/back", "../f", "f"),
        ("dir", "a/b", "/"),
        ("here", ".", "/"),
        ("a/root", "..", "/"),
        ("hop", "in", "deep"),
        ("slash", "f/", "NotFound"),
        ("gone", "nothing", "NotFound"),
        ("out", "../secret", "Outside"),
        ("a/far", "../../secret", "Outside"),
        ("twice", "a/far", "Outside"),
        ("parent", "..", "Outside"),
        ("absolute", &secret, "Outside"),
        ("own", &within, "Outside"),
        ("magic", "/proc/self/root", "Outside"),
        ("loop", "loop", "Symlink"),
        ("ping", "pong", "Symlink"),
        ("pong", "ping", "Symlink"),
    ];
    for (name, target, _) in links {
        tree.link(name, target);
    }
    for (name, _, expected) in links {
        assert_eq!(opened(&tree, name, Symlinks::Within), expected, "{name}");
        assert_eq!(opened(&tree, name, Symlinks::WithinVisible), expected, "{name}");
        assert_eq!(opened(&tree, name, Symlinks::Refuse), "Symlink", "{name}");
    }
    assert_eq!(opened(&tree, "dir/deep", Symlinks::Within), "deep");
    assert_eq!(opened(&tree, "dir/deep", Symlinks::Refuse), "Symlink");
    assert_eq!(opened(&tree, "parent/secret", Symlinks::Within), "Outside");
    assert_eq!(opened(&tree, "a/root/a/root/f", Symlinks::Within), "f");
}

/// Only names that links lead through are looked at: those of the path are the caller's to judge.
#[test]
fn links_are_not_followed_through_hidden_names() {
    let tree = Tree::new();
    for folder in [".git", "a/.well-known", ".well-known", "..2024_01_01"] {
        fs::create_dir(tree.0.join("root").join(folder)).unwrap();
        fs::write(tree.0.join("root").join(folder).join("x"), "x").unwrap();
    }
    let links = [
        ("file", ".git/x", false),
        ("folder", ".git", false),
        ("a/up", "../.git/x", false),
        ("through", ".git/../f", false),
        ("hop", "file", false),
        (".git/hop", "../.git/x", false),
        ("a/known", ".well-known/x", false),
        ("known", ".well-known/x", true),
        ("a/root-known", "../.well-known/x", true),
        (".git/own", "x", true),
        // As Kubernetes does it.
        ("..data", "..2024_01_01", true),
        ("mounted", "..data/x", true),
    ];
    for (name, target, _) in links {
        tree.link(name, target);
    }
    for (name, target, is_followed) in links {
        let all = opened(&tree, name, Symlinks::Within);
        assert!(["x", "f", "/"].contains(&&*all), "{name}: {all}");
        let expected = if is_followed { &*all } else { "Symlink" };
        assert_eq!(opened(&tree, name, Symlinks::WithinVisible), expected, "{name} -> {target}");
    }
    assert_eq!(opened(&tree, "folder/x", Symlinks::WithinVisible), "Symlink");
    assert_eq!(opened(&tree, ".git/x", Symlinks::WithinVisible), "x");
    let listed = list_directory(&tree.root(), Symlinks::WithinVisible, 100, |_| true).unwrap();
    let has = |name: &str| listed.entries.iter().any(|entry| entry.name == name);
    assert!(has("known") && has("mounted") && !has("file") && !has("folder"));
}

/// As the kernel has it: a directory on the way of a link need not be readable.
#[test]
fn a_directory_on_the_way_may_be_closed_to_readers() {
    let tree = Tree::new();
    tree.link("in", "a/b/deep");
    let folder = tree.0.join("root/a/b");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o311)).unwrap();
    let content = [Symlinks::Within, Symlinks::WithinVisible].map(|rule| opened(&tree, "in", rule));
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(content, ["deep", "deep"]);
}

#[test]
fn forty_links_are_followed_and_one_more_is_not() {
    let tree = Tree::new();
    for n in 0..41 {
        tree.link(&format!("l{n}"), &if n == 0 { "f".to_owned() } else { format!("l{}", n - 1) });
    }
    assert_eq!(opened(&tree, "l39", Symlinks::Within), "f");
    assert_eq!(opened(&tree, "l40", Symlinks::Within), "Symlink");
}

/// Neither a FIFO without a writer nor a device holds the caller up, and neither is given out.
#[test]
fn only_regular_files_and_directories_are_given_out() {
    let tree = Tree::new();
    let fifo = tree.0.join("root/fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(tree.0.join("root/socket")).unwrap();
    let zero = tree.0.join("root/zero");
    let device = Command::new("mknod").arg(&zero).args(["c", "1", "5"]).output().unwrap();
    assert_eq!(opened(&tree, "fifo", Symlinks::Within), "Special");
    assert_eq!(opened(&tree, "socket", Symlinks::Within), "Special");
    if device.status.success() {
        assert_eq!(opened(&tree, "zero", Symlinks::Within), "Special");
    }
    let listed = list_directory(&tree.root(), Symlinks::Within, 100, |_| true).unwrap();
    let names: Vec<_> = listed.entries.iter().map(|entry| entry.name.to_str().unwrap()).collect();
    assert_eq!(names, ["a", "f"]);
}

#[test]
fn magic_links_of_proc_lead_nowhere() {
    let Ok(proc) = File::open("/proc/self") else { return };
    for path in ["root/etc/passwd", "cwd", "exe", "fd/0"] {
        for result in [
            open_beneath(proc.as_fd(), Path::new(path), Symlinks::Within),
            by_names(&proc, Path::new(path), Symlinks::Within),
        ] {
            let error = result.unwrap_err();
            assert!(matches!(error, OpenError::Symlink | OpenError::Outside), "{path}: {error:?}");
        }
    }
}

#[test]
fn long_and_odd_names_are_not_found_or_opened_as_they_are() {
    let tree = Tree::new();
    for path in ["x".repeat(256), "x/".repeat(3_000), "x".repeat(100_000)] {
        assert_eq!(opened(&tree, path, Symlinks::Within), "NotFound");
    }
    let odd = OsStr::from_bytes(b"caf\xe9 \xff\n");
    if fs::write(tree.0.join("root").join(odd), "odd").is_ok() {
        assert_eq!(opened(&tree, odd, Symlinks::Refuse), "odd");
        let listed = list_directory(&tree.root(), Symlinks::Within, 100, |_| true).unwrap();
        assert!(listed.entries.iter().any(|entry| entry.name == odd && entry.len == 3));
    }
}

#[test]
fn what_may_not_be_read_is_denied() {
    let tree = Tree::new();
    fs::set_permissions(tree.0.join("root/f"), PermissionsExt::from_mode(0o000)).unwrap();
    if File::open(tree.0.join("root/f")).is_ok() {
        // The test runs as root.
        return;
    }
    assert_eq!(opened(&tree, "f", Symlinks::Within), "Denied");
}

#[test]
fn a_listing_is_sorted_bounded_and_without_links_that_are_not_followed() {
    let tree = Tree::new();
    tree.link("in", "a/b/deep");
    tree.link("out", "../secret");
    let list = |symlinks, max| {
        let listing = list_directory(&tree.root(), symlinks, max, |_| true).unwrap();
        let entries = listing.entries.iter();
        let names: Vec<String> = entries
            .map(|entry| {
                format!(
                    "{}:{}:{}",
                    entry.name.display(),
                    entry.is_directory,
                    if entry.is_directory { 0 } else { entry.len }
                )
            })
            .collect();
        (names.join(" "), listing.is_cut)
    };
    assert_eq!(list(Symlinks::Within, 9), ("a:true:0 f:false:1 in:false:4".into(), false));
    assert_eq!(list(Symlinks::Refuse, 9), ("a:true:0 f:false:1".into(), false));
    let (cut, is_cut) = list(Symlinks::Within, 1);
    assert!(is_cut && cut.split(' ').count() <= 1);
    // What is left out, of whatever kind, counts for nothing.
    let some = list_directory(&tree.root(), Symlinks::Refuse, 1, |name| name != "a").unwrap();
    assert_eq!((some.entries.len(), &*some.entries[0].name, some.is_cut), (1, "f".as_ref(), false));
    let listing = list_directory(&tree.root(), Symlinks::Refuse, 9, |_| true).unwrap();
    let modified = listing.entries[1].modified;
    assert_eq!(modified, fs::metadata(tree.0.join("root/f")).unwrap().modified().ok());
}

/// A directory that is exchanged for a link out, again and again, is opened as either, and never by its link.
#[test]
fn an_exchange_in_the_middle_of_the_way_leads_nowhere_else() {
    let tree = Tree::new();
    let (root, is_over) = (tree.0.join("root"), AtomicBool::new(false));
    fs::create_dir(tree.0.join("b")).unwrap();
    fs::write(tree.0.join("b/deep"), "secret").unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let _ = fs::rename(root.join("a/b"), root.join("a/c"));
                let _ = symlink("../../b", root.join("a/b"));
                let _ = fs::remove_file(root.join("a/b"));
                let _ = fs::rename(root.join("a/c"), root.join("a/b"));
            }
        });
        let directory = tree.root();
        for n in 0..4_000 {
            let path = Path::new("a/b/deep");
            let result = match n % 3 {
                0 => open_beneath(directory.as_fd(), path, Symlinks::Within),
                1 => open_beneath(directory.as_fd(), path, Symlinks::WithinVisible),
                _ => by_names(&directory, path, Symlinks::Within),
            };
            if let Ok(mut file) = result {
                let mut content = String::new();
                file.read_to_string(&mut content).unwrap();
                assert_eq!(content, "deep");
            }
        }
        is_over.store(true, Relaxed);
    });
}
