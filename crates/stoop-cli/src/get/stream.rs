//! Content from what has no length: pipes, devices, standard input.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use stoop::Body;

/// Bytes that it is read by.
const PIECE_BYTES: usize = 64 * 1024;

/// Whether it is a file without a length: a pipe, as of a shell's <(COMMAND), or a device.
///
/// # Errors
/// Those of looking at it.
pub(super) fn is_stream(path: &Path) -> io::Result<bool> {
    let kind = fs::metadata(path)?.file_type();
    Ok(!(kind.is_file() || kind.is_dir()))
}

/// Such a file, as it comes. To open a pipe waits for its writer.
///
/// # Errors
/// Those of opening it.
pub(super) async fn stream(path: &Path) -> io::Result<Body> {
    let path = path.to_owned();
    let opened = tokio::task::spawn_blocking(move || File::open(path)).await;
    Ok(streamed(opened.map_err(io::Error::other)??))
}

/// Standard input, as it comes. One that is a file is read again from where it was, if it is to be sent again.
///
/// # Errors
/// Those of looking at it.
pub(super) fn standard_input() -> io::Result<Body> {
    let mut input = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    if !input.metadata()?.is_file() {
        return Ok(streamed(input));
    }
    let begin = input.stream_position()?;
    let file = Arc::new(input);
    Ok(Body::replayable(move || streamed(Rest { file: Arc::clone(&file), at: begin })))
}

/// What is in a file behind a place. Where others read it does not change.
struct Rest {
    file: Arc<File>,
    at: u64,
}

impl Read for Rest {
    fn read(&mut self, piece: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(piece, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

/// What is read, as it comes.
pub(super) fn streamed(mut input: impl Read + Send + 'static) -> Body {
    let (sender, body) = Body::channel(1);
    tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Handle::current();
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let sent = match input.read(&mut piece) {
                Ok(0) => return drop(runtime.block_on(sender.finish())),
                Ok(n) => runtime.block_on(sender.send(piece[..n].to_vec())),
                Err(error) => return runtime.block_on(sender.fail(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    body
}
