//! A peer that says what it is told to, byte for byte, and understands just enough of HTTP/1 to
//! read what is said to it.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// One end of a connection, in the hands of a test.
#[derive(Debug)]
pub struct Peer<S> {
    stream: S,
    /// Received and not looked at yet.
    unread: Vec<u8>,
}

/// A response as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The three digits.
    pub status: u16,
    /// Status line and field lines, without the empty line.
    pub head: String,
    /// The content, after transfer coding.
    pub body: Vec<u8>,
    /// The trailer section's lines.
    pub trailers: String,
}

impl Reply {
    /// The value of a field; names are compared as the server writes them, in lower case.
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.head, name)
    }

    /// The content as text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or("not UTF-8")
    }
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    /// A peer at this end of `stream`.
    pub fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Sends these bytes. That the other end is gone is no failure of the test.
    pub async fn say(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.try_say(bytes).await;
    }

    /// Sends these bytes, and tells whether they could be.
    ///
    /// # Errors
    /// The stream's.
    pub async fn try_say(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Ends our direction; reading goes on.
    pub async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// The stream itself, with what was received and not looked at.
    pub fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.unread)
    }

    /// The stream itself.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Receives some more; false at the end.
    async fn more(&mut self) -> io::Result<bool> {
        let mut some = [0; 8192];
        let n = self.stream.read(&mut some).await?;
        self.unread.extend_from_slice(&some[..n]);
        Ok(n > 0)
    }

    /// The next `n` bytes.
    ///
    /// # Errors
    /// The stream's, and `UnexpectedEof`.
    pub async fn bytes(&mut self, n: usize) -> io::Result<Vec<u8>> {
        while self.unread.len() < n {
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.unread.drain(..n).collect())
    }

    /// Everything up to and with `mark`.
    async fn until(&mut self, mark: &[u8]) -> io::Result<String> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                let bytes = self.unread.drain(..at + mark.len()).collect();
                return String::from_utf8(bytes).map_err(io::Error::other);
            }
            if !self.more().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// Everything that still comes, to the end.
    ///
    /// # Errors
    /// The stream's, such as a reset.
    pub async fn rest(&mut self) -> io::Result<Vec<u8>> {
        while self.more().await? {}
        Ok(std::mem::take(&mut self.unread))
    }

    /// Whether the other end closes without another byte.
    pub async fn is_closed(&mut self) -> bool {
        matches!(self.rest().await.as_deref(), Ok([]))
    }

    /// The head of the next response, interim ones included.
    ///
    /// # Errors
    /// The stream's, and `UnexpectedEof`.
    pub async fn head(&mut self) -> io::Result<String> {
        let mut head = self.until(b"\r\n\r\n").await?;
        head.truncate(head.len() - 4);
        Ok(head)
    }

    /// The next response.
    ///
    /// # Errors
    /// The stream's, and `UnexpectedEof` if it is not whole.
    pub async fn reply(&mut self) -> io::Result<Reply> {
        self.reply_to("GET").await
    }

    /// The next response, to a request of that method.
    ///
    /// # Errors
    /// As [`Peer::reply`].
    pub async fn reply_to(&mut self, method: &str) -> io::Result<Reply> {
        let head = self.head().await?;
        let status = head.get(9..12).and_then(|status| status.parse().ok());
        let status: u16 = status.ok_or_else(|| io::Error::other(format!("no status: {head:?}")))?;
        let (mut body, mut trailers) = (Vec::new(), String::new());
        if method == "HEAD" || status < 200 || matches!(status, 204 | 304) {
        } else if field(&head, "transfer-encoding") == Some("chunked") {
            loop {
                let line = self.until(b"\r\n").await?;
                let size = usize::from_str_radix(line.trim_end(), 16).map_err(io::Error::other)?;
                if size == 0 {
                    break;
                }
                body.extend(self.bytes(size).await?);
                if self.bytes(2).await? != b"\r\n" {
                    return Err(io::Error::other("a chunk without its CRLF"));
                }
            }
            loop {
                match self.until(b"\r\n").await? {
                    line if line == "\r\n" => break,
                    line => trailers.push_str(&line),
                }
            }
        } else if let Some(length) = field(&head, "content-length") {
            body = self.bytes(length.parse().map_err(io::Error::other)?).await?;
        } else {
            body = self.rest().await?;
        }
        Ok(Reply { status, head, body, trailers })
    }
}
