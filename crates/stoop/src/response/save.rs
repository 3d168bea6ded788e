//! Writes a response's content to a file, which appears when it is complete.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use tokio::sync::mpsc::{self, Sender};
use tokio::task::spawn_blocking;

use super::Response;
use crate::body::Body;
use crate::error::{Error, ErrorKind, Phase};

/// Pieces that wait for the disk.
const PIECES_MAX: usize = 8;

/// Told apart within this process.
static NUMBER: AtomicU32 = AtomicU32::new(0);

impl Response {
    /// Writes all content to the file at `path` and returns how many bytes there were. The file appears,
    /// or is replaced, when the content is complete; until then it is written beside it under a hidden name
    /// that ends in `.part`, which is removed if the content does not come to its end, or the future is
    /// dropped. What was written may still be in the system's memory: there is no `fsync`.
    ///
    /// # Errors
    /// [`File`](ErrorKind::File) if it cannot be written, [`BodyTooLarge`](ErrorKind::BodyTooLarge) beyond a
    /// [limit](Self::limit), and those of [`Body::chunk`](crate::Body::chunk).
    pub async fn save(self, path: impl AsRef<Path>) -> Result<u64, Error> {
        let (asked, max) = (self.asked(), self.save_max);
        let path = path.as_ref();
        let failed = |error| file_error(path, error);
        let saved = async {
            let mut body = self.into_body();
            if body.len().is_some_and(|length| length > max) {
                return Err(too_large(max));
            }
            let (sender, receiver) = mpsc::channel(PIECES_MAX);
            let to = path.to_owned();
            let writer = spawn_blocking(move || write(&to, receiver));
            let received = receive(&mut body, sender, max).await;
            // Also where that failed: the error is told when the file is gone.
            let written = writer.await.unwrap_or_else(|stopped| Err(io::Error::other(stopped)));
            let total = received?;
            written.map(|()| total).map_err(failed)
        };
        saved.await.map_err(|error| asked.explain(error))
    }
}

/// Hands all content on to the writer, and returns how many bytes there were.
async fn receive(body: &mut Body, writer: Sender<WriteStep>, max: u64) -> Result<u64, Error> {
    let mut total = 0;
    while let Some(piece) = body.chunk().await? {
        total += piece.len() as u64;
        if total > max {
            return Err(too_large(max));
        }
        // A writer that has gone says why itself.
        if writer.send(WriteStep::Piece(piece)).await.is_err() {
            break;
        }
    }
    let _ = writer.send(WriteStep::End).await;
    Ok(total)
}

/// What the writer does next. A channel that ends without [`WriteStep::End`] means that the content did.
enum WriteStep {
    Piece(Bytes),
    End,
}

fn write(path: &Path, mut steps: mpsc::Receiver<WriteStep>) -> io::Result<()> {
    let mut part = PartialFile::create(path)?;
    loop {
        match steps.blocking_recv() {
            Some(WriteStep::Piece(piece)) => part.file.write_all(&piece)?,
            Some(WriteStep::End) => return part.complete(path),
            None => return Ok(()),
        }
    }
}

/// A file under its temporary name, removed unless it is completed.
struct PartialFile {
    file: File,
    name: PathBuf,
}

impl PartialFile {
    fn create(path: &Path) -> io::Result<Self> {
        if path.file_name().is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"));
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Not made of the file's own name, which may be as long as names can be.
        let name = path.with_file_name(format!(".stoop-{}-{number}.part", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&name)?;
        Ok(Self { file, name })
    }

    fn complete(mut self, path: &Path) -> io::Result<()> {
        fs::rename(&self.name, path)?;
        self.name.clear();
        Ok(())
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        if !self.name.as_os_str().is_empty() {
            let _ = fs::remove_file(&self.name);
        }
    }
}

fn too_large(max: u64) -> Error {
    Error::new(ErrorKind::BodyTooLarge, Phase::Receive)
        .with_detail(format_args!("more than {max} bytes"))
}

fn file_error(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::File, Phase::Receive).with_detail(path.display()).with_source(error)
}
