//! Content from a file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use tokio::task::spawn_blocking;

use super::file_content::FileContent;
use super::{Body, Kind};

impl Body {
    /// The content of the file at `path`, with its length as it is now. It is opened here, on one of tokio's threads for
    /// blocking work, and stays open as long as the body is there, or a copy of it; what becomes of the path
    /// meanwhile does not matter. A request with it can be sent again. [`Body::from_file`] says how it is sent.
    ///
    /// # Errors
    /// If it cannot be opened, or is no regular file.
    pub async fn file(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref().to_owned();
        let opened = spawn_blocking(move || open(&path)).await;
        let (file, length) = opened.map_err(io::Error::other)??;
        Ok(Self::from_file(file, 0..length))
    }

    /// The bytes `range` of an open file, by their offsets. Nothing is read here, and no system call made: that the
    /// file has those bytes is the caller's promise. The file's own position does not count, so that one
    /// descriptor serves any number of bodies at once: share it as an `Arc<File>`.
    ///
    /// Over HTTP/1 without TLS the kernel sends it (sendfile, on Linux, unless SIGPIPE would end the process); over TLS,
    /// over HTTP/2 and in this process it is read, 64 KiB at a time at most. What is not in the page cache is read on
    /// tokio's threads for blocking work, so that no other connection waits for the disk; this takes a runtime
    /// of tokio.
    ///
    /// A file that becomes shorter, or cannot be read, breaks the message off, as an error of [`Body::stream`] would.
    /// What is added to it is not sent; what is changed in it may be, in part: replace files by renaming, rather
    /// than by writing over them.
    ///
    /// ```
    /// use std::fs::File;
    /// use std::sync::Arc;
    /// use stoop::Body;
    ///
    /// let file = Arc::new(File::open("Cargo.toml")?);
    /// let whole = Body::from_file(Arc::clone(&file), 0..file.metadata()?.len());
    /// let part = Body::from_file(file, 10..20);
    /// assert_eq!(part.len(), Some(10));
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn from_file(file: impl Into<Arc<File>>, range: Range<u64>) -> Self {
        let left = range.end.saturating_sub(range.start);
        if left == 0 {
            return Self::empty();
        }
        Self(Kind::File(Box::new(FileContent::new(file.into(), range.start, left))))
    }

    /// The file it is the content of, if it is one.
    pub(crate) fn file_mut(&mut self) -> Option<&mut FileContent> {
        match &mut self.0 {
            Kind::File(file) => Some(file),
            Kind::Replay(replay) => replay.body_mut().file_mut(),
            _ => None,
        }
    }

    /// The same, and the body is empty afterwards.
    pub(crate) fn take_file(&mut self) -> Option<Box<FileContent>> {
        match std::mem::replace(&mut self.0, Kind::Empty) {
            Kind::File(file) => Some(file),
            kind => {
                self.0 = kind;
                None
            }
        }
    }
}

fn open(path: &Path) -> io::Result<(File, u64)> {
    let irregular = || io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file");
    // To open a FIFO would wait for its writer.
    if !path.metadata()?.is_file() {
        return Err(irregular());
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_file() { Ok((file, metadata.len())) } else { Err(irregular()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Body {
        Body::from_file(File::open("Cargo.toml").unwrap(), 1..11)
    }

    #[tokio::test]
    async fn a_copy_has_what_is_left_of_a_file() {
        let content = std::fs::read("Cargo.toml").unwrap();
        let mut body = manifest();
        let copy = body.try_clone().unwrap();
        assert_eq!((copy.len(), body.is_empty()), (Some(10), false));
        assert_eq!(body.chunk().await.unwrap().unwrap(), content[1..11]);
        assert!(body.is_empty() && body.chunk().await.unwrap().is_none());
        assert_eq!(copy.bytes(10).await.unwrap(), content[1..11]);
    }

    #[test]
    fn a_file_within_a_stream_stays_one() {
        assert!(Body::stream(manifest()).file_mut().is_some());
        let response = crate::Response::from_stream(manifest()).boxed();
        assert!(response.into_body().file_mut().is_some());
    }

    #[cfg(feature = "compression")]
    #[tokio::test]
    async fn an_encoded_file_can_be_sent_again() {
        let body = manifest().encoded(crate::body::ContentCoding::Gzip);
        let (first, second) = (body.try_clone().unwrap(), body);
        assert_eq!(first.bytes(100).await.unwrap(), second.bytes(100).await.unwrap());
    }

    #[tokio::test]
    async fn a_fifo_is_no_file_and_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("stoop-fifo-{}", std::process::id()));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        let error = Body::file(&path).await.unwrap_err();
        std::fs::remove_file(&path).unwrap();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
    }
}
