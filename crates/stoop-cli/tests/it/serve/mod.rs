//! `stoop serve`: what it prints, what it answers, and what it does on signals.

mod answers;
mod balancer;
mod browser;
#[cfg(feature = "tls")]
mod certificates;
mod clients;
mod documented;
mod drains;
mod life;
mod log;
mod manager;
mod overload;
mod peers;
mod proxies;
mod readiness;
#[cfg(feature = "tls")]
mod redirects;
mod refusals;
mod settings;
mod signals;
mod status;
mod unix_mode;
mod users;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use crate::stoop::stoop;

/// A folder with files, which is gone when the test ends.
pub(super) struct Folder(pub(super) PathBuf);

impl Folder {
    pub(super) fn new(files: &[(&str, &str)]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("stoop-serve-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = Self(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).unwrap();
        files.iter().for_each(|(name, content)| folder.write(name, content));
        folder
    }

    pub(super) fn write(&self, name: &str, content: &str) {
        let path = self.0.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Makes a named pipe in it.
    pub(super) fn pipe(&self, name: &str) -> PathBuf {
        let path = self.0.join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A command that serves.
pub(super) struct Served {
    pub(super) child: Child,
    pub(super) output: BufReader<ChildStdout>,
    /// The authority of the first place.
    pub(super) authority: String,
}

impl Served {
    /// Serves the folder, with further options, on a free port.
    pub(super) fn start(folder: &Folder, options: &str) -> Self {
        Self::run(command(folder, options))
    }

    pub(super) fn run(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert!(line.starts_with("serving /"), "{line}");
        line.clear();
        output.read_line(&mut line).unwrap();
        let authority = line.trim().trim_end_matches('/').split_once("://").unwrap().1.to_owned();
        Self { child, output, authority }
    }

    /// The response to a request, its head and its content.
    pub(super) fn get(&self, path: &str, fields: &str) -> (String, String) {
        exchange(
            &self.authority,
            &format!("GET {path} HTTP/1.1\r\nhost: {}\r\n{fields}", self.authority),
        )
    }

    pub(super) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Its messages.
    pub(super) fn messages(&mut self) -> Messages {
        Messages(BufReader::new(self.child.stderr.take().unwrap()))
    }

    /// Waits for its end, and returns its exit code; fails if it does not come.
    pub(super) fn ended(&mut self) -> Option<i32> {
        let mut status = None;
        crate::stoop::wait_for("the end", || {
            status = self.child.try_wait().unwrap();
            status.is_some()
        });
        status.unwrap().code()
    }

    /// Waits until `line` begins a line of its standard output, and returns that one.
    pub(super) fn line(&mut self, begin: &str) -> String {
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "no line begins with {begin:?}");
            if line.trim_start().starts_with(begin) {
                return line;
            }
        }
    }

    /// Asks until `path` is answered with that content.
    pub(super) fn until(&self, path: &str, content: &str) {
        for _ in 0..500 {
            if self.get(path, "").1 == content {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("{path} is not answered {content:?}");
    }
}

/// What a server says on standard error.
pub(super) struct Messages(BufReader<ChildStderr>);

impl Messages {
    /// The next one, without the program's name.
    pub(super) fn next(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "it says no more");
        line.trim_end().trim_start_matches("stoop: ").to_owned()
    }

    /// The rest, once all processes that may write there have ended.
    pub(super) fn rest(mut self) -> String {
        let mut rest = String::new();
        self.0.read_to_string(&mut rest).unwrap();
        rest
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(super) fn command(folder: &Folder, options: &str) -> Command {
    let mut command = stoop("serve");
    command.arg(folder.path()).args(options.split_whitespace());
    if !options.contains("-l ") && !options.contains("--config") {
        command.args(["-l", "127.0.0.1:0"]);
    }
    command
}

/// Sends the beginning of a head, and reads to the end.
pub(super) fn exchange(authority: &str, head: &str) -> (String, String) {
    let mut stream = TcpStream::connect(authority).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(format!("{head}connection: close\r\n\r\n").as_bytes()).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let response = String::from_utf8_lossy(&response).into_owned();
    let (head, content) = response.split_once("\r\n\r\n").expect("a whole head");
    (head.to_owned(), content.to_owned())
}
