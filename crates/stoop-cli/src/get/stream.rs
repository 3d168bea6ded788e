//! Content from what has no length: pipes, devices, standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

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
