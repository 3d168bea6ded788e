//! Runs programs of other projects. A test whose program is not installed is skipped, and reported.

use std::net::{Ipv4Addr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::corpora::skipped;
use crate::free_port::free_port;

/// How long a program may run, so that one that hangs does not hang the test.
const LIMIT: Duration = Duration::from_secs(300);

/// The output of a program that has ended.
#[derive(Debug)]
pub(crate) struct ProgramOutput {
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl ProgramOutput {
    /// Its standard output as text.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }
}

/// Whether one of these programs is missing, which is reported with the name of the test.
pub(crate) fn are_missing(name: &str, programs: &[&str]) -> bool {
    let missing: Vec<&str> =
        programs.iter().copied().filter(|program| find(program).is_none()).collect();
    if !missing.is_empty() {
        skipped(name, &format!("needs {}", missing.join(" and ")));
    }
    !missing.is_empty()
}

/// Where `cargo xtask test --only install` keeps what no package has.
const TOOLS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/tools");

/// The file of a program. Servers are in /usr/sbin, which is not on every user's path.
fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin", TOOLS].map(PathBuf::from));
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

fn command(program: &str) -> Command {
    Command::new(find(program).unwrap_or_else(|| program.into()))
}

/// Runs a program to its end, and asserts that it succeeds.
pub(crate) async fn run(program: &str, arguments: &[String], input: &[u8]) -> ProgramOutput {
    let mut command = command(program);
    command.args(arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap_or_else(|error| panic!("{program}: {error}"));
    let (mut stdin, input) = (child.stdin.take().expect("it is piped"), input.to_vec());
    let run = tokio::task::spawn_blocking(move || {
        let writer = thread::spawn(move || std::io::Write::write_all(&mut stdin, &input));
        let output = child.wait_with_output();
        let _ = writer.join();
        output
    });
    let output = tokio::time::timeout(LIMIT, run).await.unwrap().unwrap().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {} {stderr}", output.status);
    ProgramOutput { stdout: output.stdout, stderr }
}

/// Runs a program to its end, whose output is of no interest. Returns whether it succeeds.
pub(crate) fn succeeds(program: &str, arguments: &[String]) -> bool {
    let mut command = command(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A folder for one test, removed at its end.
pub(crate) struct TestFolder(PathBuf);

impl TestFolder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("stoop-it-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Writes a file into the folder. Returns its path.
    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.0.join(name);
        std::fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The path of a file beside the tests' sources.
pub(crate) fn source(file: &str) -> String {
    format!("{}/tests/it/{file}", env!("CARGO_MANIFEST_DIR"))
}

/// A program that runs until this is dropped.
pub(crate) struct RunningProgram(Child);

impl RunningProgram {
    pub(crate) fn new(program: &str, arguments: &[String]) -> Self {
        Self::with_errors_to(program, arguments, Stdio::inherit())
    }

    fn with_errors_to(program: &str, arguments: &[String], errors: Stdio) -> Self {
        let mut command = command(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(errors);
        Self(command.spawn().unwrap_or_else(|error| panic!("{program}: {error}")))
    }

    /// Whether the program has not ended by itself.
    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.0.try_wait(), Ok(None))
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How long a program may take until it listens.
const START_LIMIT: Duration = Duration::from_secs(20);

/// A program that listens on a port of 127.0.0.1, ended when this is dropped.
pub(crate) struct ListeningProgram {
    pub(crate) port: u16,
    _program: RunningProgram,
    _folder: TestFolder,
}

impl ListeningProgram {
    /// Starts a program with what `describe` makes of a free port and a folder: its arguments. `None` if it is
    /// missing, which is reported with the name of the test.
    pub(crate) fn start(
        name: &str,
        program: &str,
        describe: impl FnOnce(u16, &TestFolder) -> Vec<String>,
    ) -> Option<Self> {
        if are_missing(name, &[program]) {
            return None;
        }
        let port = free_port();
        let folder = TestFolder::new(&format!("{program}-{port}"));
        let arguments = describe(port, &folder);
        // Some write a line for each request.
        let log = folder.write("stderr", "");
        let errors = std::fs::File::create(&log).unwrap();
        let mut started = RunningProgram::with_errors_to(program, &arguments, errors.into());
        let begun = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            let said = || std::fs::read_to_string(&log).unwrap_or_default();
            assert!(started.is_running(), "{program} ended: {}", said());
            assert!(begun.elapsed() < START_LIMIT, "{program} does not listen: {}", said());
            thread::sleep(Duration::from_millis(20));
        }
        Some(Self { port, _program: started, _folder: folder })
    }

    /// Its URL, of which `scheme` is what comes before the address.
    pub(crate) fn url(&self, scheme: &str) -> String {
        format!("{scheme}127.0.0.1:{}", self.port)
    }
}
