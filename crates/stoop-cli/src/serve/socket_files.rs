//! The permissions of the files of Unix sockets that were handed over.
//!
//! What is at the path need not be the socket any more. Nothing but a socket is changed, and no link is followed: otherwise
//! a user who may write in that directory could have the server change any file.

use std::fs::{Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::failure::CommandFailure;

/// Files that are to be given permissions, once nothing else can fail.
#[derive(Default)]
pub(super) struct SocketFiles(Vec<SocketFile>);

impl SocketFiles {
    /// Adds the file at `path`, if there is one. A file that was removed needs none.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if it is no socket, or cannot be looked at.
    pub(super) fn add(&mut self, path: &Path) -> Result<(), CommandFailure> {
        match SocketFile::open(path) {
            Ok(file) => self.0.push(file),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(failed(path, &error)),
        }
        Ok(())
    }

    /// Gives all of them these permissions.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if one of them cannot have them; then the others have again what they had.
    pub(super) fn set_mode(&self, mode: u32) -> Result<(), CommandFailure> {
        for (index, file) in self.0.iter().enumerate() {
            if let Err(error) = file.set(Permissions::from_mode(mode)) {
                for changed in &self.0[..index] {
                    let _ = changed.set(changed.before.clone());
                }
                return Err(failed(&file.path, &error));
            }
        }
        Ok(())
    }
}

fn failed(path: &Path, error: &io::Error) -> CommandFailure {
    CommandFailure::io(&format!("cannot set the mode of {}", path.display()), error)
}

/// The file of a socket.
struct SocketFile {
    path: PathBuf,
    /// The permissions that it had when it was opened.
    before: Permissions,
    #[cfg(target_os = "linux")]
    file: std::fs::File,
}

/// # Errors
/// If it is of something else.
fn of_socket(found: &Metadata) -> io::Result<Permissions> {
    match found.file_type().is_socket() {
        true => Ok(found.permissions()),
        false => Err(io::Error::other("it is no socket")),
    }
}

#[cfg(target_os = "linux")]
impl SocketFile {
    fn open(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, open};
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = std::fs::File::from(open(path, flags, Mode::empty())?);
        let before = of_socket(&file.metadata()?)?;
        Ok(Self { path: path.to_owned(), before, file })
    }

    /// fchmod(2) refuses a descriptor that is but a path (O_PATH), and a socket's file has no other.
    fn set(&self, permissions: Permissions) -> io::Result<()> {
        use std::os::fd::AsRawFd;
        let open = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        match std::fs::set_permissions(open, permissions.clone()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                set_by_path(&self.path, permissions)
            }
            set => set,
        }
    }
}

#[cfg(not(target_os = "linux"))]
impl SocketFile {
    fn open(path: &Path) -> io::Result<Self> {
        let before = of_socket(&path.symlink_metadata()?)?;
        Ok(Self { path: path.to_owned(), before })
    }

    fn set(&self, permissions: Permissions) -> io::Result<()> {
        set_by_path(&self.path, permissions)
    }
}

/// Where there is no /proc: what is there is looked at once more, and a link that comes in just that moment is followed.
fn set_by_path(path: &Path, permissions: Permissions) -> io::Result<()> {
    let set = path.symlink_metadata().and_then(|found| of_socket(&found));
    match set.and_then(|_| std::fs::set_permissions(path, permissions)) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        set => set,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        /// With a socket `a` of mode 600, and a file `file` of mode 640.
        fn new(name: &str) -> Self {
            let name = format!("stoop-socket-files-{}-{name}", std::process::id());
            let folder = Self(std::env::temp_dir().join(name));
            fs::create_dir_all(&folder.0).unwrap();
            drop(UnixListener::bind(folder.path("a")).unwrap());
            fs::write(folder.path("file"), "").unwrap();
            for (name, mode) in [("a", 0o600), ("file", 0o640)] {
                fs::set_permissions(folder.path(name), Permissions::from_mode(mode)).unwrap();
            }
            folder
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.join(name)
        }

        fn mode(&self, name: &str) -> u32 {
            fs::symlink_metadata(self.path(name)).unwrap().permissions().mode() & 0o777
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn sockets_alone_are_changed() {
        let folder = Folder::new("alone");
        symlink("file", folder.path("link")).unwrap();
        symlink("a", folder.path("link-to-socket")).unwrap();
        let mut files = SocketFiles::default();
        for name in ["file", "link", "link-to-socket"] {
            let Err(CommandFailure::Io(message)) = files.add(&folder.path(name)) else {
                panic!("{name}")
            };
            assert!(message.ends_with(&format!("/{name}: it is no socket")), "{message}");
            assert!(set_by_path(&folder.path(name), Permissions::from_mode(0o666)).is_err());
        }
        files.add(&folder.path("a")).unwrap();
        files.add(&folder.path("gone")).unwrap();
        assert_eq!(files.0.len(), 1);
        files.set_mode(0o660).unwrap();
        assert_eq!((folder.mode("a"), folder.mode("file")), (0o660, 0o640));
        set_by_path(&folder.path("a"), Permissions::from_mode(0o666)).unwrap();
        set_by_path(&folder.path("gone"), Permissions::from_mode(0o666)).unwrap();
        assert_eq!((folder.mode("a"), folder.mode("file")), (0o666, 0o640));
    }

    /// What has come to the path since then is not it.
    #[test]
    #[cfg(target_os = "linux")]
    fn the_socket_that_was_found_is_changed() {
        let folder = Folder::new("found");
        let mut files = SocketFiles::default();
        files.add(&folder.path("a")).unwrap();
        fs::rename(folder.path("a"), folder.path("b")).unwrap();
        symlink("file", folder.path("a")).unwrap();
        files.set_mode(0o666).unwrap();
        assert_eq!((folder.mode("b"), folder.mode("file")), (0o666, 0o640));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn all_are_changed_or_none() {
        let folder = Folder::new("all");
        let mut files = SocketFiles::default();
        files.add(&folder.path("a")).unwrap();
        // The permissions of what the kernel shows of a process are not even the superuser's to change.
        let path = PathBuf::from("/proc/self/stat");
        let before = Permissions::from_mode(0o444);
        files.0.push(SocketFile { file: fs::File::open(&path).unwrap(), path, before });
        assert!(files.set_mode(0o666).is_err());
        assert_eq!(folder.mode("a"), 0o600);
    }
}
