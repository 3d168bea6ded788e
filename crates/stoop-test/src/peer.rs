//! A client over HTTP/1 that sends the bytes a test gives it, and parses just enough of the protocol to
//! read the responses.

use std::io;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The client's end of a connection, with the bytes that a test has not read yet.
#[derive(Debug)]
pub struct RawPeer<S> {
    stream: S,
    /// Bytes that were received and not read yet.
    unread: Vec<u8>,
}

/// A response as it was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawResponse {
    /// The three digits.
    pub status: u16,
    /// Status line and field lines, without the empty line.
    pub head: String,
    /// The content, after transfer coding.
    pub body: Vec<u8>,
    /// The trailer section's lines.
    pub trailers: String,
}

impl RawResponse {
    /// The value of a field by its name, which the server writes in lower case.
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

impl<S: AsyncRead + AsyncWrite + Unpin> RawPeer<S> {
    /// A client at this end of `stream`.
    pub fn new(stream: S) -> Self {
        Self { stream, unread: Vec::new() }
    }

    /// Sends these bytes. A test may go on after the server has closed, so errors are ignored.
    pub async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.try_send(bytes).await;
    }

    /// Sends these bytes.
    ///
    /// # Errors
    /// The stream's.
    pub async fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await
    }

    /// Ends the client's direction; reading goes on.
    pub async fn finish(&mut self) {
        let _ = self.stream.shutdown().await;
    }

    /// The stream, with the bytes that were received and not read.
    pub fn into_parts(self) -> (S, Vec<u8>) {
        (self.stream, self.unread)
    }

    /// The stream.
    pub fn stream(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Receives some bytes. Returns false at the end of the stream.
    async fn fill(&mut self) -> io::Result<bool> {
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
            if !self.fill().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.unread.drain(..n).collect())
    }

    /// The bytes up to and including `mark`.
    async fn until(&mut self, mark: &[u8]) -> io::Result<String> {
        loop {
            if let Some(at) = self.unread.windows(mark.len()).position(|window| window == mark) {
                let bytes = self.unread.drain(..at + mark.len()).collect();
                return String::from_utf8(bytes).map_err(io::Error::other);
            }
            if !self.fill().await? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }

    /// The bytes up to the end of the stream.
    ///
    /// # Errors
    /// The stream's, such as a reset.
    pub async fn rest(&mut self) -> io::Result<Vec<u8>> {
        while self.fill().await? {}
        Ok(std::mem::take(&mut self.unread))
    }

    /// Waits for the end of the stream. Returns whether it came without an error or another byte.
    pub async fn is_closed(&mut self) -> bool {
        matches!(self.rest().await.as_deref(), Ok([]))
    }

    /// The head of the next response, be it interim or final.
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
    pub async fn response(&mut self) -> io::Result<RawResponse> {
        self.response_to("GET").await
    }

    /// The next response, to a request of that method.
    ///
    /// # Errors
    /// As [`RawPeer::response`].
    pub async fn response_to(&mut self, method: &str) -> io::Result<RawResponse> {
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
        Ok(RawResponse { status, head, body, trailers })
    }
}
