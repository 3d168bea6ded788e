//! A server in a process of its own: this program again, which runs one test that is ignored otherwise.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Lines, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use stoop::{Address, ServerHandle};

/// A process whose server listens.
pub(super) struct ServerProcess {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    pub(super) address: SocketAddr,
}

impl ServerProcess {
    /// Runs the ignored test `name` of the server's behind `before`, a shell's command that sets a limit, and waits until
    /// its server listens.
    pub(super) fn start(name: &str, before: &str) -> Self {
        let run = format!("{before}; exec \"$0\" --exact server::{name} --ignored --nocapture");
        let mut child = Command::new("sh")
            .args(["-c", &run])
            .arg(std::env::current_exe().unwrap())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut process = Self { child, input, output, address: ([0, 0, 0, 0], 0).into() };
        process.address = process.told("listening on ").parse().unwrap();
        process
    }

    /// Waits for a line with `begin` in it. Returns what follows.
    pub(super) fn told(&mut self, begin: &str) -> String {
        loop {
            let line = self.output.next().expect("the process goes on").unwrap();
            if let Some((_, rest)) = line.split_once(begin) {
                return rest.to_owned();
            }
        }
    }

    /// Writes a line to its input.
    pub(super) fn tell(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("it is open"), "{line}").unwrap();
    }

    /// A number of KiB in the kernel's status of the process, by its name there; none where there is no such.
    pub(super) fn kib(&self, name: &str) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        line.trim().trim_end_matches(" kB").parse().ok()
    }

    /// Ends its input, and waits for its end. Returns what it has [counted](count).
    pub(super) fn finish(mut self) -> BTreeMap<String, u64> {
        drop(self.input.take());
        let mut counts = BTreeMap::new();
        for line in self.output.by_ref() {
            if let Some((_, counted)) = line.unwrap().split_once("counted ") {
                let (number, name) = counted.split_once(' ').expect("a number and a name");
                counts.insert(name.to_owned(), number.parse().unwrap());
            }
        }
        assert!(self.child.wait().unwrap().success());
        counts
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Tells, in the process, where its server listens.
pub(super) fn announce(server: &ServerHandle) {
    let Address::Inet(address) = server.endpoint().address() else { panic!("not TCP") };
    println!("listening on {address}");
}

/// Waits, in the process, for the end of its input.
pub(super) fn wait_for_the_end() {
    io::copy(&mut io::stdin(), &mut io::sink()).unwrap();
}

/// Tells, in the process, how much there was of something.
pub(super) fn count(name: &str, number: u64) {
    println!("counted {number} {name}");
}
