//! [`ListenerCopier`]: copies of a listening socket, for another process.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Weak};

use socket2::Socket;

use super::socket_file::SocketFile;

/// Copies the socket of a [`Listener`](super::Listener) that belongs to another thread, to hand it to another process.
#[derive(Clone)]
pub struct ListenerCopier {
    socket: Weak<Socket>,
    file: Option<Weak<SocketFile>>,
}

impl ListenerCopier {
    pub(super) fn new(socket: &Arc<Socket>, file: Option<&Arc<SocketFile>>) -> Self {
        Self { socket: Arc::downgrade(socket), file: file.map(Arc::downgrade) }
    }

    /// A copy of the listening socket, which shares its queue; `None` once the listener is gone. The file of a Unix
    /// socket stays from now on: another process may listen on it.
    ///
    /// # Errors
    /// Those of `dup`.
    pub fn copy(&self) -> io::Result<Option<OwnedFd>> {
        let Some(socket) = self.socket.upgrade() else { return Ok(None) };
        let copy = socket.try_clone()?;
        if let Some(file) = self.file.as_ref().and_then(Weak::upgrade) {
            file.keep();
        }
        Ok(Some(copy.into()))
    }
}
