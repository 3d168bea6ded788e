//! The access log: where it goes, how it is opened anew, and its end.

use std::fs::{File, OpenOptions};
use std::net::SocketAddr;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, TryRecvError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustix::fs::{Access, AtFlags, CWD, OFlags, accessat, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use stoop::ServingEvent;
use stoop_web::{AccessLog, LogHandle};

use super::args::Settings;
use super::choices::LogFormat;
use super::log_file::{LastLine, LogFile};
use super::places;
use crate::failure::CommandFailure;
use crate::{stderr, streams};

/// How long the log may take to write its last lines.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many links Linux follows.
const LINKS_MAX: usize = 40;

/// The access log of now, if there is one.
#[derive(Clone, Default)]
pub(super) struct Log(Arc<Mutex<Current>>);

#[derive(Default)]
struct Current {
    written: Option<WrittenLog>,
    /// Which one it is: another one counts its losses anew.
    number: u64,
    /// Of logs that were replaced while requests ran, whose lines they get.
    replaced: Vec<LastLine>,
}

#[derive(Clone)]
struct WrittenLog {
    log: AccessLog,
    format: LogFormat,
    /// Standard output without one.
    path: Option<PathBuf>,
    file: LogFile,
}

/// The log as settings ask for it: opened, and not in its place yet.
#[derive(Default)]
pub(super) struct NextLog {
    written: Option<WrittenLog>,
    /// The file that was opened anew, for the log that there is.
    reopened: Option<File>,
}

impl Log {
    /// Opens what the settings ask for. Of the same format and file it is the log that there is, so that requests that
    /// run will have their lines in the file that is opened now.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if it cannot be opened; then nothing has changed.
    pub(super) fn open(&self, settings: &Settings) -> Result<NextLog, CommandFailure> {
        let Some(format) = settings.log_format() else { return Ok(NextLog::default()) };
        let path = settings.access_log_file.clone();
        let file = match &path {
            Some(path) => append_to(path)?,
            None => standard_output()?,
        };
        let is_same = |log: &WrittenLog| log.format == format && log.path == path;
        if let Some(log) = self.current().written.clone().filter(is_same) {
            return Ok(NextLog { written: Some(log), reopened: Some(file) });
        }
        let file = LogFile::new(file);
        let log = match format {
            LogFormat::Common => AccessLog::common(file.clone()),
            LogFormat::Combined => AccessLog::combined(file.clone()),
            LogFormat::Json => AccessLog::json(file.clone()),
            LogFormat::None => return Ok(NextLog::default()),
        };
        Ok(NextLog { written: Some(WrittenLog { log, format, path, file }), reopened: None })
    }

    /// Puts an opened log in its place. The one that was there still gets the lines of requests that run.
    pub(super) fn put(&self, next: NextLog) {
        let old = match (next.written, next.reopened) {
            (Some(log), Some(file)) => return log.file.replace(file),
            (written, _) => {
                let mut current = self.current();
                current.number += 1;
                let old = std::mem::replace(&mut current.written, written);
                current.replaced.retain(|last| last.try_recv() == Err(TryRecvError::Empty));
                current.replaced.extend(old.as_ref().map(|old| old.file.last_line()));
                old
            }
        };
        drop(old);
    }

    /// Opens the file of the log of now anew, if it has one: requests that run will have their lines there. Returns its path.
    ///
    /// # Errors
    /// [`CommandFailure::Io`] if it cannot be opened; then nothing has changed.
    pub(super) fn reopen(&self) -> Result<Option<PathBuf>, CommandFailure> {
        let Some(WrittenLog { path: Some(path), file, .. }) = self.current().written.clone() else {
            return Ok(None);
        };
        file.replace(append_to(&path)?);
        Ok(Some(path))
    }

    /// The log of now and its number, if there is one.
    pub(super) fn handle(&self) -> Option<(u64, LogHandle)> {
        let current = self.current();
        Some((current.number, current.written.as_ref()?.log.handle()))
    }

    /// Writes a line of what the server has answered by itself.
    pub(super) fn observe(&self, peer: Option<SocketAddr>, event: &ServingEvent<'_>) {
        if matches!(event, ServingEvent::Accepted { .. } | ServingEvent::Closed { .. }) {
            return;
        }
        if let Some((_, log)) = self.handle() {
            log.observe(peer, event);
        }
    }

    /// Waits until what is queued is written, of replaced logs too, unless a writer stands still.
    pub(super) fn end(&self) {
        let until = Instant::now() + PATIENCE;
        let mut last_lines = std::mem::take(&mut self.current().replaced);
        if let Some((_, log)) = self.handle() {
            let (held, flushed) = channel();
            std::thread::spawn(move || {
                log.flush();
                drop(held);
            });
            last_lines.push(flushed);
        }
        let is_written = |last: &LastLine| {
            let left = until.saturating_duration_since(Instant::now());
            last.recv_timeout(left) == Err(RecvTimeoutError::Disconnected)
        };
        if !last_lines.iter().all(is_written) {
            stderr::message("the access log takes no more lines: the last ones are lost");
        }
    }

    fn current(&self) -> MutexGuard<'_, Current> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl NextLog {
    /// The middleware that logs.
    pub(super) fn layer(&self) -> Option<AccessLog> {
        Some(self.written.as_ref()?.log.clone())
    }
}

/// Checks that the log can be written, as far as that shows without making its file.
///
/// # Errors
/// [`CommandFailure::Io`] if it cannot.
pub(super) fn check(settings: &Settings) -> Result<(), CommandFailure> {
    if settings.log_format().is_none() {
        return Ok(());
    }
    let Some(path) = &settings.access_log_file else { return standard_output().map(drop) };
    match path.try_exists() {
        Ok(false) => can_be_made(path)
            .map_err(|why| CommandFailure::Io(format!("cannot open {}: {why}", path.display()))),
        _ if is_pipe(path) => {
            // Opened and closed, it would be the end of what a reader reads who waits there already.
            let may = accessat(CWD, path, Access::WRITE_OK, AtFlags::EACCESS);
            let what = || format!("cannot open {}", path.display());
            may.map_err(|error| CommandFailure::io(&what(), &error.into()))
        }
        _ => append_to(path).map(drop),
    }
}

/// Whether the log goes to a named pipe, of which [`check`] does not find out whether it has a reader.
pub(super) fn needs_reader(settings: &Settings) -> bool {
    settings.log_format().is_some() && settings.access_log_file.as_deref().is_some_and(is_pipe)
}

fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|found| found.file_type().is_fifo())
}

/// Expects that a file that is not there can be made: where a link leads nowhere, the one that it leads to would be.
///
/// # Errors
/// Why it cannot.
fn can_be_made(path: &Path) -> Result<(), String> {
    let mut path = path.to_owned();
    // Links in a circle are an error before this, unless they are changed meanwhile.
    for _ in 0..LINKS_MAX {
        places::can_be_file(&path)?;
        let Ok(target) = path.read_link() else { return Ok(()) };
        path = places::directory(&path).join(target);
    }
    Err("too many links".to_owned())
}

fn standard_output() -> Result<File, CommandFailure> {
    streams::check_output()?;
    streams::output().map_err(|error| CommandFailure::io(streams::CANNOT_WRITE, &error))
}

/// A file to write at its end. A pipe has to have its reader already, which would be waited for otherwise.
fn append_to(path: &Path) -> Result<File, CommandFailure> {
    let what = format!("cannot open {}", path.display());
    let mut options = OpenOptions::new();
    options.create(true).append(true).custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.open(path).map_err(|error| match error.raw_os_error() {
        Some(number) if number == Errno::NXIO.raw_os_error() && is_pipe(path) => {
            CommandFailure::Io(format!("{what}: it is a pipe without a reader: start that first"))
        }
        _ => CommandFailure::io(&what, &error),
    })?;
    // The thread of the log may wait where there is a reader, and loses nothing by it.
    let blocks = fcntl_getfl(&file).and_then(|flags| fcntl_setfl(&file, flags - OFlags::NONBLOCK));
    blocks.map_err(|error| CommandFailure::io(&what, &error.into()))?;
    Ok(file)
}
