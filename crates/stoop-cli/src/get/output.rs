//! Where the content goes: standard output, or a file, perhaps behind what is there; and the progress beside it.

use std::fs::{self, File, FileTimes, OpenOptions};
use std::io::{self, ErrorKind, IsTerminal, Write, stdout};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use indicatif::ProgressBar;

use super::exit;
use super::failure::GetFailure;
use super::output_args::OutputArgs;
use super::progress;
use crate::streams;

/// The first bytes of content, in which a NUL means that it is no text.
const LOOKED_AT_BYTES: usize = 2_000;

/// The last number behind the name of a file that is not to be written over, as curl has it.
const NUMBER_MAX: u32 = 99;

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

/// What becomes of a file that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clobber {
    /// It is written over, unless it is the server that named it.
    IfNamedHere,
    /// It is written over.
    Always,
    /// It is kept, and another name is taken.
    Never,
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
    /// The server named it.
    is_named_by_server: bool,
    clobber: Clobber,
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
            is_named_by_server: false,
            clobber: Clobber::IfNamedHere,
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

    /// The same, with what becomes of a file that is there already.
    pub(super) fn with_clobber(self, clobber: Clobber) -> Self {
        Self { clobber, ..self }
    }

    /// Goes to a file of that name in the same folder, which the server named.
    pub(super) fn rename(&mut self, name: &str) {
        self.path = self.path.take().map(|path| path.with_file_name(name));
        self.is_named_by_server = true;
    }

    /// Removes the file that was written, if it is one of content and no device.
    pub(super) fn remove(&mut self) -> io::Result<()> {
        match (self.file.take(), &self.path) {
            (Some(file), Some(path)) if file.metadata()?.is_file() => {
                fs::remove_file(path).map_err(|error| self.named(&error))
            }
            _ => Ok(()),
        }
    }

    /// Gives the file that was written this time, in seconds since 1970.
    pub(super) fn set_time(&mut self, seconds: i64) -> io::Result<()> {
        let (Some(file), Some(_)) = (&self.file, &self.path) else { return Ok(()) };
        if !file.metadata()?.is_file() {
            return Ok(());
        }
        let since = Duration::from_secs(seconds.unsigned_abs());
        let at = match seconds {
            0.. => UNIX_EPOCH.checked_add(since),
            _ => UNIX_EPOCH.checked_sub(since),
        };
        let Some(at) = at else { return Ok(()) };
        let set = file.set_times(FileTimes::new().set_accessed(at).set_modified(at));
        set.map_err(|error| self.named(&error))
    }

    /// The file's name, or none.
    pub(super) fn name(&self) -> String {
        self.path.as_ref().map_or_else(String::new, |path| path.display().to_string())
    }

    /// Shows progress, unless the content goes to a terminal itself.
    pub(super) fn show_progress(&mut self, total: Option<u64>) {
        if self.path.is_some() || !stdout().is_terminal() {
            self.progress = Some(progress::line(total));
        }
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
                    if self.makes_folders {
                        make_folders(path)?;
                    }
                    let is_new = self.is_named_by_server && self.clobber == Clobber::IfNamedHere;
                    let (file, path) = match self.clobber {
                        Clobber::Never if !self.appends => open_new(path)?,
                        _ => (open(path, self.appends, is_new)?, path.clone()),
                    };
                    self.path = Some(path);
                    file
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
    opened.map_err(|error| named(path, &error))
}

/// Opens a new file: one with a number behind its name, where there is one already, as curl has it.
fn open_new(path: &Path) -> io::Result<(File, PathBuf)> {
    let mut candidate = path.to_owned();
    for number in 1..=NUMBER_MAX {
        match open(&candidate, false, true) {
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::IsADirectory) => {}
            opened => return Ok((opened?, candidate)),
        }
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number}"));
        candidate = name.into();
    }
    Ok((open(&candidate, false, true)?, candidate))
}

/// Makes the folders of a file where they are missing.
pub(super) fn make_folders(path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent() else { return Ok(()) };
    fs::create_dir_all(folder).map_err(|error| named(folder, &error))
}

/// Writes `text` to the file of an option, of which `-` is standard output; behind what is there, or in its place.
pub(super) fn write_file(path: &Path, text: &[u8], appends: bool) -> io::Result<()> {
    if path.as_os_str() == "-" {
        return streams::output()?.write_all(text);
    }
    open(path, appends, false)?.write_all(text).map_err(|error| named(path, &error))
}

/// An error of a file, with its name.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
