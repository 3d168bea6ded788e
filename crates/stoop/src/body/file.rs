//! Content from a file.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::sync::mpsc;
use tokio::task::spawn_blocking;

use super::Body;

/// How much of a file is read at a time.
const PIECE_BYTES: usize = 64 * 1024;

/// Pieces that are read ahead of the peer.
const PIECES_MAX: usize = 2;

impl Body {
    /// The content of the file at `path`, with its length as it is now. It is read piece by piece, 128 KiB
    /// ahead at most, on tokio's threads for blocking work. A request with it can be sent again: the
    /// file is opened once more then, and is expected to have the same length.
    ///
    /// A file that becomes shorter, or cannot be read, breaks the message off. What is added to it while it
    /// is sent is not sent.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file.
    pub async fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let opened = spawn_blocking(move || open(&path).map(|(_, length)| (path, length))).await;
        let (path, length) = opened.map_err(io::Error::other)??;
        Ok(Self::replayable(move || {
            let reader = Reader::Unopened(path.clone());
            Self::stream(FileContent { left: length, reader })
        }))
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    match metadata.is_file() {
        true => Ok((file, metadata.len())),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

/// The first `left` bytes of a file, which is opened when the first of them is wanted.
struct FileContent {
    left: u64,
    reader: Reader,
}

enum Reader {
    Unopened(PathBuf),
    Reading(mpsc::Receiver<io::Result<Bytes>>),
}

impl http_body::Body for FileContent {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        if let Reader::Unopened(path) = &mut self.reader {
            let (path, length) = (std::mem::take(path), self.left);
            let (sender, receiver) = mpsc::channel(PIECES_MAX);
            drop(spawn_blocking(move || read(&path, length, &sender)));
            self.reader = Reader::Reading(receiver);
        }
        let Reader::Reading(receiver) = &mut self.reader else { return Poll::Ready(None) };
        let piece = ready!(receiver.poll_recv(cx));
        let piece = piece.unwrap_or_else(|| Err(io::Error::other("its reader was stopped")));
        self.left = piece.as_ref().map_or(0, |piece| self.left.saturating_sub(piece.len() as u64));
        Poll::Ready(Some(piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        self.left == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

/// Sends the first `length` bytes of a file, until they end or are not wanted any more.
fn read(path: &Path, length: u64, pieces: &mpsc::Sender<io::Result<Bytes>>) {
    let send = |piece| pieces.blocking_send(piece).is_ok();
    let mut file = match open(path) {
        Ok((file, _)) => file.take(length),
        Err(error) => {
            send(Err(error));
            return;
        }
    };
    while file.limit() > 0 {
        let wanted = usize::try_from(file.limit()).unwrap_or(PIECE_BYTES).min(PIECE_BYTES);
        let mut piece = vec![0; wanted];
        let read = match file.read(&mut piece) {
            Ok(0) => Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter")),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Ok(read) => {
                piece.truncate(read);
                Ok(piece.into())
            }
            Err(error) => Err(error),
        };
        let is_last = read.is_err();
        if !send(read) || is_last {
            return;
        }
    }
}
