//! The thread that runs what blocking clients wait for.

use std::future::{Future, pending};
use std::io::Read;
use std::sync::{OnceLock, mpsc};
use std::thread;

use tokio::runtime::{Builder, Handle};

use crate::body::Body;
use crate::error::{Error, ErrorKind, Phase};

/// Bytes that are read or written at once, at most.
pub(super) const PIECE_BYTES: usize = 64 * 1024;

/// The runtime of the thread, which is started with the first use, or why there is none.
pub(super) fn runtime() -> Result<&'static Handle, Error> {
    static RUNTIME: OnceLock<Result<Handle, String>> = OnceLock::new();
    let started = RUNTIME.get_or_init(|| {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| error.to_string())?;
        let handle = runtime.handle().clone();
        let thread = thread::Builder::new().name("stoop-blocking".to_owned());
        let spawned = thread.spawn(move || runtime.block_on(pending::<()>()));
        spawned.map(|_| handle).map_err(|error| error.to_string())
    });
    started.as_ref().map_err(|why| {
        let error = Error::new(ErrorKind::TooManyFiles, Phase::Request);
        error.with_text(format_args!("the thread for blocking clients cannot be started: {why}"))
    })
}

/// Runs a future on the thread and waits for it.
///
/// # Errors
/// The thread cannot be started, or the future panicked.
pub(super) fn wait<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T, Error> {
    received(&start(future)?)
}

/// Runs a future on the thread, whose outcome is to be [`received`].
///
/// # Errors
/// The thread cannot be started.
pub(super) fn start<T: Send + 'static>(
    future: impl Future<Output = T> + Send + 'static,
) -> Result<mpsc::Receiver<T>, Error> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime()?.spawn(async move {
        let _ = sender.send(future.await);
    });
    Ok(receiver)
}

/// Waits for the outcome of a future.
///
/// # Errors
/// It panicked.
pub(super) fn received<T>(outcome: &mpsc::Receiver<T>) -> Result<T, Error> {
    outcome.recv().map_err(|_| {
        Error::new(ErrorKind::Internal, Phase::Request).with_detail("what was waited for panicked")
    })
}

/// Content that is read as it is sent.
pub(super) fn from_reader(mut reader: impl Read + Send + 'static) -> Body {
    let (sender, body) = Body::channel(1);
    let handle = match runtime() {
        Ok(handle) => handle,
        Err(error) => {
            let _ = sender.0.try_send(crate::body::ChannelItem::Failed(error.into()));
            return body;
        }
    };
    handle.spawn_blocking(move || {
        let mut piece = vec![0; PIECE_BYTES];
        loop {
            let sent = match reader.read(&mut piece) {
                Ok(0) => return drop(handle.block_on(sender.finish())),
                Ok(read) => {
                    let filled = piece.get(..read).unwrap_or_default().to_vec();
                    handle.block_on(sender.send(filled))
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return handle.block_on(sender.fail(error)),
            };
            if sent.is_err() {
                return;
            }
        }
    });
    body
}
