//! Where the content goes: standard output, or a file, perhaps behind what is there; and the progress beside it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, IsTerminal, Write, stderr, stdout};
use std::path::{Path, PathBuf};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit;
use super::failure::GetFailure;
use super::output_args::OutputArgs;
use crate::streams;
use crate::terminal;

/// The first bytes of content, in which a NUL means that it is no text.
const LOOKED_AT_BYTES: usize = 2_000;

/// The file that content is written to, or none.
pub(super) fn path(args: &OutputArgs, url: &str) -> Result<Option<PathBuf>, GetFailure> {
    let path = match args.remote_name {
        true => Some(remote_name(url)?),
        false => args.file.clone(),
    };
    Ok(match (path, &args.output_dir) {
        (Some(path), Some(folder)) if path.as_os_str() != "-" => {
            // As curl has it, also an absolute path is one in that folder.
            let mut joined = folder.clone().into_os_string();
            joined.push("/");
            joined.push(path);
            Some(joined.into())
        }
        (path, _) => path,
    })
}

/// The last name in a URL's path.
fn remote_name(url: &str) -> Result<PathBuf, GetFailure> {
    let path = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let name = path.split_once('/').and_then(|(_, path)| path.rsplit('/').next());
    match name.filter(|name| !name.is_empty() && !matches!(*name, "." | "..")) {
        Some(name) => Ok(name.into()),
        None => {
            Err(GetFailure::new(exit::WRITE_ERROR, "-O: the URL's path has no name at its end"))
        }
    }
}

/// Where content is written to.
#[derive(Debug)]
pub(super) struct Output {
    /// None is standard output.
    path: Option<PathBuf>,
    /// Content is written behind what is in the file.
    appends: bool,
    /// Its folders are made.
    makes_folders: bool,
    /// It may not be there yet: a server named it.
    is_new: bool,
    /// Bytes that are no text are not written.
    is_guarded: bool,
    file: Option<File>,
    written: u64,
    progress: Option<ProgressBar>,
}

impl Output {
    /// `path` is none, or `-`, for standard output; which is guarded as a terminal unless it was named.
    pub(super) fn new(path: Option<&Path>, appends: bool) -> Self {
        let is_stdout = path.is_none_or(|path| path.as_os_str() == "-");
        Self {
            path: path.filter(|_| !is_stdout).map(Path::to_owned),
            appends,
            makes_folders: false,
            is_new: false,
            is_guarded: path.is_none() && stdout().is_terminal(),
            file: None,
            written: 0,
            progress: None,
        }
    }

    /// The same, whose folders are made where they are missing.
    pub(super) fn with_folders(self) -> Self {
        Self { makes_folders: true, ..self }
    }

    /// Goes to a new file of that name in the same folder.
    pub(super) fn rename(&mut self, name: &str) {
        self.path = self.path.take().map(|path| path.with_file_name(name));
        self.is_new = true;
    }

    /// The file's name, or none.
    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }

    /// Shows progress on the terminal, if there is one that the content does not go to.
    pub(super) fn show_progress(&mut self, total: Option<u64>) {
        let is_terminal =
            stderr().is_terminal() && !terminal::is_dumb(|name| std::env::var_os(name));
        if !is_terminal || self.path.is_none() && stdout().is_terminal() {
            return;
        }
        let target = ProgressDrawTarget::stderr_with_hz(10);
        let bar = ProgressBar::with_draw_target(total, target);
        let template = match total {
            Some(_) => "{bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
            None => "{bytes}, {bytes_per_sec}, {elapsed}",
        };
        bar.set_style(ProgressStyle::with_template(template).expect("a good template"));
        self.progress = Some(bar);
    }

    /// Writes heads, which are text.
    pub(super) fn write_text(&mut self, text: &[u8]) -> io::Result<()> {
        let written = self.file()?.write_all(text);
        written.map_err(|error| self.named(&error))
    }

    /// Writes content.
    pub(super) fn write(&mut self, content: &[u8]) -> io::Result<()> {
        let before = usize::try_from(self.written).unwrap_or(usize::MAX);
        let looked_at = LOOKED_AT_BYTES.saturating_sub(before).min(content.len());
        if self.is_guarded && content[..looked_at].contains(&0) {
            return Err(io::Error::other(
                "the content is no text, and a terminal could not show it: '-o FILE' writes it to a file, \
                 '-o -' to the terminal all the same",
            ));
        }
        let written = self.file()?.write_all(content);
        written.map_err(|error| self.named(&error))?;
        self.written += content.len() as u64;
        if let Some(progress) = &self.progress {
            progress.inc(content.len() as u64);
        }
        Ok(())
    }

    /// Ends the content: an empty one makes a file, too.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        self.file()?;
        self.stop_progress();
        Ok(())
    }

    /// Removes the progress from the terminal.
    pub(super) fn stop_progress(&mut self) {
        if let Some(progress) = self.progress.take() {
            progress.finish_and_clear();
        }
    }

    /// An error with the name of where it was written to.
    fn named(&self, error: &io::Error) -> io::Error {
        let name = if self.path.is_none() { "standard output".to_owned() } else { self.name() };
        io::Error::new(error.kind(), format!("{name}: {error}"))
    }

    fn file(&mut self) -> io::Result<&mut File> {
        let file = match self.file.take() {
            Some(file) => file,
            None => match &self.path {
                None => streams::output()?,
                Some(path) => {
                    if let Some(folder) = path.parent().filter(|_| self.makes_folders) {
                        let made = fs::create_dir_all(folder);
                        made.map_err(|error| {
                            let name = folder.display();
                            io::Error::new(error.kind(), format!("{name}: {error}"))
                        })?;
                    }
                    open(path, self.appends, self.is_new)?
                }
            },
        };
        Ok(self.file.insert(file))
    }
}

fn open(path: &Path, appends: bool, is_new: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).create_new(is_new).append(appends).write(true).truncate(!appends);
    let opened = options.open(path);
    opened.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Writes `text` to the file of an option, of which `-` is standard output; behind what is there, or in its place.
pub(super) fn write_file(path: &Path, text: &[u8], appends: bool) -> io::Result<()> {
    match path.as_os_str() == "-" {
        true => streams::output()?.write_all(text),
        false => open(path, appends, false)?.write_all(text),
    }
}
