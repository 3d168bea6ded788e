//! The permissions of the files of Unix sockets, also of those that a process hands over.

use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use super::{Folder, Messages, Served};
use crate::stoop::stoop;

/// A folder with a file of options, which names a port and a socket.
struct Site {
    folder: Folder,
    options: &'static str,
}

impl Site {
    fn new(options: &'static str) -> Self {
        let site = Self { folder: Folder::new(&[("f", "content")]), options };
        site.configure("'127.0.0.1:0', 'unix:run.sock'", "0600");
        site
    }

    fn configure(&self, listen: &str, mode: &str) {
        let text = format!("directory = '.'\nlisten = [{listen}]\nunix-mode = '{mode}'\n");
        self.folder.write("serve.toml", &text);
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("run.sock")
    }

    fn serve(&self) -> Served {
        let mut command = stoop("serve");
        command.arg("--config").arg(self.folder.path().join("serve.toml"));
        command.args(self.options.split_whitespace());
        Served::run(command)
    }

    /// The permissions of the socket's file, or of what is linked there.
    fn mode(&self) -> u32 {
        std::fs::metadata(self.socket()).unwrap().permissions().mode() & 0o777
    }
}

/// Has another process take over, and ends that one.
fn is_taken_over(served: &mut Served, messages: &mut Messages) {
    served.signal("USR2");
    let told = messages.next();
    assert!(told.ends_with(" took over"), "{told}");
    let process = told.split_whitespace().nth(1).unwrap();
    assert_eq!(served.ended(), Some(0));
    served.until("/f", "content");
    assert!(Command::new("kill").arg(process).status().unwrap().success());
}

/// From the moment when it listens; and those that the next process is to have, which takes the socket over.
#[test]
fn the_file_of_a_socket_has_the_permissions_that_are_asked_for() {
    for (options, expected) in [("", 0o600), ("--unix-mode 666", 0o666)] {
        let site = Site::new(options);
        let _served = site.serve();
        assert_eq!(site.mode(), expected, "{options}");
    }
    let site = Site::new("");
    let mut served = site.serve();
    let mut messages = served.messages();
    site.configure("'127.0.0.1:0', 'unix:run.sock'", "0660");
    served.signal("HUP");
    let said = messages.next();
    assert!(said.ends_with("with the next process change: --unix-mode"), "{said}");
    assert_eq!(site.mode(), 0o600);
    is_taken_over(&mut served, &mut messages);
    assert_eq!(site.mode(), 0o660);
}

/// As the documentation says: no umask makes it again.
#[test]
fn without_the_option_a_socket_that_is_handed_over_keeps_its_permissions() {
    let site = Site::new("");
    let mut served = site.serve();
    let mut messages = served.messages();
    let text = "directory = '.'\nlisten = ['127.0.0.1:0', 'unix:run.sock']\n";
    site.folder.write("serve.toml", text);
    is_taken_over(&mut served, &mut messages);
    assert_eq!(site.mode(), 0o600);
}

/// Neither through a link nor in the place of the socket: the file of another keeps its permissions, and the process that
/// serves goes on.
#[test]
fn what_is_no_socket_keeps_its_permissions() {
    for is_link in [true, false] {
        let site = Site::new("--unix-mode 666");
        let mut served = site.serve();
        let mut messages = served.messages();
        std::fs::remove_file(site.socket()).unwrap();
        let file = site.folder.path().join(if is_link { "private" } else { "run.sock" });
        std::fs::write(&file, "private").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
        if is_link {
            symlink("private", site.socket()).unwrap();
        }
        served.signal("USR2");
        let mut said = messages.next();
        while !said.contains(" hand over: ") && !said.ends_with(" took over") {
            assert!(said.ends_with("run.sock: it is no socket"), "{said}");
            said = messages.next();
        }
        assert!(said.starts_with("cannot hand over: "), "{said}");
        assert_eq!(site.mode(), 0o600, "{is_link}");
        served.until("/f", "content");
    }
}

/// Clients of the socket that is handed over may be connected, and others come by TCP.
#[test]
fn a_socket_whose_file_is_gone_is_handed_over() {
    let site = Site::new("");
    let mut served = site.serve();
    let mut messages = served.messages();
    std::fs::remove_file(site.socket()).unwrap();
    is_taken_over(&mut served, &mut messages);
}

#[test]
fn a_hand_over_that_fails_leaves_the_permissions() {
    let site = Site::new("");
    let mut served = site.serve();
    let mut messages = served.messages();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = listener.local_addr().unwrap();
    site.configure(&format!("'127.0.0.1:0', 'unix:run.sock', '{taken}'"), "0666");
    served.signal("USR2");
    while !messages.next().starts_with("cannot hand over: ") {}
    assert_eq!(site.mode(), 0o600);
    served.until("/f", "content");
}
