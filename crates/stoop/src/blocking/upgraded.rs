//! Connections that were switched to another protocol, read and written by threads that wait.

use std::fmt;
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::response::Response;
use super::runtime::{PIECE_BYTES, wait};
use crate::rt::{self, UpgradedStream};
use crate::upgrade::Upgraded as AsyncUpgraded;

/// What a server makes of a request to switch protocols, which [`Client::switch`](super::Client::switch) sends.
#[derive(Debug)]
pub enum Switch {
    /// It has switched: the connection, or the stream over HTTP/2, is the caller's.
    Accepted(Upgraded),
    /// It has not: this is its response.
    Declined(Response),
}

/// A connection that is no longer HTTP's, as [`crate::Upgraded`]. It is read and written as a
/// [`TcpStream`](std::net::TcpStream) is: a clone is the same connection, so that one thread can read while another
/// writes. It is closed when the last clone is dropped.
#[derive(Clone)]
pub struct Upgraded(Arc<Mutex<UpgradedStream>>);

impl Upgraded {
    pub(super) fn new(upgraded: AsyncUpgraded) -> Self {
        Self(Arc::new(Mutex::new(rt::stream(upgraded))))
    }

    /// Ends what is sent, after what was written: the peer reads the end, and may go on sending.
    ///
    /// # Errors
    /// Those of the connection.
    pub fn shutdown(&self) -> io::Result<()> {
        let connection = self.clone();
        wait(
            async move { poll_fn(|cx| Pin::new(&mut *connection.lock()).poll_shutdown(cx)).await },
        )?
    }

    /// Held for one poll, never while a thread waits.
    fn lock(&self) -> MutexGuard<'_, UpgradedStream> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Read for &Upgraded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (connection, room) = (Upgraded::clone(self), into.len().min(PIECE_BYTES));
        let read = wait(async move {
            let mut piece = vec![0; room];
            let mut buffer = ReadBuf::new(&mut piece);
            poll_fn(|cx| Pin::new(&mut *connection.lock()).poll_read(cx, &mut buffer)).await?;
            let read = buffer.filled().len();
            piece.truncate(read);
            Ok::<_, io::Error>(piece)
        })??;
        into.iter_mut().zip(&read).for_each(|(to, from)| *to = *from);
        Ok(read.len())
    }
}

impl Write for &Upgraded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let connection = Upgraded::clone(self);
        let piece = bytes.get(..PIECE_BYTES).unwrap_or(bytes).to_vec();
        wait(async move {
            poll_fn(|cx| Pin::new(&mut *connection.lock()).poll_write(cx, &piece)).await
        })?
    }

    fn flush(&mut self) -> io::Result<()> {
        let connection = Upgraded::clone(self);
        wait(async move { poll_fn(|cx| Pin::new(&mut *connection.lock()).poll_flush(cx)).await })?
    }
}

impl Read for Upgraded {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        (&*self).read(into)
    }
}

impl Write for Upgraded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        (&*self).flush()
    }
}

impl fmt::Debug for Upgraded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upgraded")
    }
}
