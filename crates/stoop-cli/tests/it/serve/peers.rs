//! Other projects' programs beside the server: how they are found, run and ended.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

#[path = "../../../../stoop-test/tests/it/free_port.rs"]
mod free_port;

use super::Folder;
use crate::stoop::{skip, wait_for};

/// The file of a program. Servers are in /usr/sbin, which is not on every user's path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain([PathBuf::from("/usr/sbin")]);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Whether one of these files or programs is missing, which is reported with the name of the test.
pub(super) fn are_missing(name: &str, programs: &[&str]) -> bool {
    let missing: Vec<&str> =
        programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if !missing.is_empty() {
        skip(&format!("serve::{name}"), &format!("needs {}", missing.join(" and ")));
    }
    !missing.is_empty()
}

/// A program with these arguments.
pub(super) fn program(name: &str, arguments: &[&str]) -> Command {
    let mut command = Command::new(find(name).unwrap_or_else(|| name.into()));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The standard output of a program, which is to succeed.
#[track_caller]
pub(super) fn output(name: &str, arguments: &[&str]) -> String {
    let output = program(name, arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{name} {arguments:?}: {} {said}", output.status);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What curl prints with these arguments, without what its user has configured.
#[track_caller]
pub(super) fn curl(arguments: &[&str]) -> String {
    let always = ["-q", "-sS", "--noproxy", "*", "--max-time", "60"];
    output("curl", &[&always[..], arguments].concat())
}

/// A program that serves, and is killed at the end.
pub(super) struct Running(Child);

impl Running {
    /// Starts it, and waits until it listens on all of these ports.
    pub(super) fn start(mut command: Command, ports: &[u16]) -> Self {
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let mut running = Self(command.spawn().unwrap());
        wait_for("a program that listens", || {
            let ended = running.0.try_wait().unwrap();
            assert!(ended.is_none(), "{command:?} has ended: {ended:?}");
            ports.iter().all(|port| TcpStream::connect(("127.0.0.1", *port)).is_ok())
        });
        running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Ports on which nothing listens now.
pub(super) fn free_ports<const N: usize>() -> [u16; N] {
    [(); N].map(|()| free_port::free_port())
}

/// nginx with these blocks, `http` or `stream`, in a folder of its own.
pub(super) fn nginx(folder: &Folder, blocks: &str, ports: &[u16]) -> Running {
    let path = folder.path().display();
    // One process, so that none is left when it is killed.
    let settings = "daemon off; master_process off; pid nginx.pid; error_log stderr crit;";
    // Modules have to be loaded before the first block.
    folder.write("nginx.conf", &format!("{settings}\n{blocks}\nevents {{ }}\n"));
    let (prefix, file) = (path.to_string(), format!("{path}/nginx.conf"));
    Running::start(program("nginx", &["-p", &prefix, "-e", "stderr", "-c", &file]), ports)
}

/// Where Debian has nginx's module for streams of bytes.
pub(super) const STREAM_MODULE: &str = "/usr/lib/nginx/modules/ngx_stream_module.so";

/// HAProxy with these sections.
pub(super) fn haproxy(folder: &Folder, sections: &str, ports: &[u16]) -> Running {
    let defaults = "defaults\n  timeout connect 20s\n  timeout client 20s\n  timeout server 20s\n";
    folder.write("haproxy.cfg", &format!("{defaults}{sections}\n"));
    let file = folder.path().join("haproxy.cfg").display().to_string();
    Running::start(program("haproxy", &["-db", "-f", &file]), ports)
}
