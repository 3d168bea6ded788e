//! Commands that this program runs: from the root of the workspace or a folder in it, with their
//! output streamed. Each is printed so that it can be pasted into a shell.

use crate::workspace;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{self, ExitStatus, Stdio};

/// How much of a command is printed.
const SHOWN_CHARS_MAX: usize = 2_000;

/// A command under construction. It displays as it would be typed into a shell.
#[derive(Clone)]
pub(crate) struct Command {
    env: Vec<(&'static str, OsString)>,
    folder: &'static str,
    program: OsString,
    args: Vec<OsString>,
}

impl Command {
    pub(crate) fn new(program: impl AsRef<OsStr>) -> Self {
        let program = program.as_ref().to_owned();
        Self { env: Vec::new(), folder: "", program, args: Vec::new() }
    }

    pub(crate) fn cargo(subcommand: &str) -> Self {
        Self::new("cargo").arg(subcommand)
    }

    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_owned());
        self
    }

    pub(crate) fn args<A: AsRef<OsStr>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.env.push((name, value.as_ref().to_owned()));
        self
    }

    /// The same behind other commands: by cargo with one process, which gives way to all others.
    pub(crate) fn behind(self) -> Self {
        let mut args = vec!["-n".into(), "19".into(), self.program];
        args.extend(self.args);
        Self { program: "nice".into(), args, ..self }.env("CARGO_BUILD_JOBS", "1")
    }

    /// Runs it in this folder of the workspace.
    pub(crate) fn in_folder(mut self, folder: &'static str) -> Self {
        self.folder = folder;
        self
    }

    /// The standard library's command, from the root of the workspace and without input: no command
    /// may wait for a user to type.
    pub(crate) fn build(&self) -> process::Command {
        let mut command = self.bare();
        command.current_dir(workspace::root().join(self.folder)).stdin(Stdio::null());
        command
    }

    fn bare(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.args).envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Replaces this process by it, in the folder where the user is: relative paths, signals and the
    /// exit status are its own. It returns only if that failed, with the reason.
    pub(crate) fn exec(&self) -> String {
        self.announce();
        self.cannot_start(&self.bare().stdin(Stdio::null()).exec())
    }

    /// Runs it with its output streamed. An error says how it ended.
    pub(crate) fn run(&self) -> Result<(), String> {
        self.announce();
        let status = self.build().status().map_err(|error| self.cannot_start(&error))?;
        ended(status)
    }

    /// Runs it with its output streamed, and calls `on_line` with each line of its standard output.
    pub(crate) fn run_with(&self, mut on_line: impl FnMut(&str)) -> Result<(), String> {
        self.announce();
        let mut child = self
            .build()
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| self.cannot_start(&error))?;
        let mut out = io::stdout().lock();
        if let Some(stdout) = child.stdout.take() {
            // By bytes: a test may print what is not UTF-8, and this must read to the end of it.
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                let _ = out.write_all(&line).and_then(|()| out.write_all(b"\n"));
                on_line(&String::from_utf8_lossy(&line));
            }
        }
        let _ = out.flush();
        ended(child.wait().map_err(|error| self.cannot_start(&error))?)
    }

    /// Runs it and returns what it prints to its standard output; its standard error is streamed.
    pub(crate) fn output(&self) -> Result<String, String> {
        let output = self.build().stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| self.cannot_start(&error))?;
        ended(output.status).map_err(|how| format!("`{self}` {how}"))?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs it without showing its output, and says whether it succeeds.
    pub(crate) fn succeeds(&self) -> bool {
        let status = self.build().stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    /// Prints it; of one that fills pages, its beginning.
    pub(crate) fn announce(&self) {
        let text = self.to_string();
        match text.char_indices().nth(SHOWN_CHARS_MAX) {
            None => println!("$ {text}"),
            Some((end, _)) => println!("$ {} … ({} arguments)", &text[..end], self.args.len()),
        }
    }

    fn cannot_start(&self, error: &io::Error) -> String {
        format!("cannot start `{}`: {error}; is it installed?", self.program.display())
    }
}

fn ended(status: ExitStatus) -> Result<(), String> {
    if status.success() { Ok(()) } else { Err(format!("ended with {status}")) }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.folder.is_empty() {
            write!(f, "(cd {} && ", quoted(self.folder.as_ref()))?;
        }
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        write!(f, "{}", quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))?;
        if self.folder.is_empty() { Ok(()) } else { f.write_str(")") }
    }
}

fn quoted(text: &OsStr) -> String {
    let text = text.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,/:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_can_be_pasted() {
        let command =
            Command::cargo("doc").env("RUSTDOCFLAGS", "-D warnings").args(["--x", "it's"]);
        assert_eq!(command.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --x 'it'\\''s'");
    }

    #[test]
    fn a_command_runs_behind_others() {
        let command = Command::cargo("build").env("A", "b").behind().to_string();
        assert_eq!(command, "A=b CARGO_BUILD_JOBS=1 nice -n 19 cargo build");
    }

    #[test]
    fn a_command_shows_the_folder_that_it_runs_in() {
        let command = Command::new("sh").args(["-c", "basename \"$PWD\""]).in_folder("xtask");
        assert_eq!(command.output().unwrap(), "xtask\n");
        assert!(command.to_string().starts_with("(cd xtask && sh "), "{command}");
        assert!(command.to_string().ends_with(')'), "{command}");
    }

    #[test]
    fn output_is_handed_over_line_by_line() {
        let mut lines = Vec::new();
        let command = Command::new("printf").arg("a\\nb");
        command.run_with(|line| lines.push(line.to_owned())).unwrap();
        assert_eq!(lines, ["a", "b"]);
    }

    #[test]
    fn a_failed_command_says_how_it_failed() {
        assert!(Command::new("false").run().unwrap_err().contains("exit status"));
        assert!(Command::new("no such program").run().unwrap_err().contains("installed"));
    }
}
