//! Reads requests from a connection: the head is kept, the body forgotten.

use tokio::time::Instant;

use super::{ByteStream, Disconnected, IDLE_MAX, OriginConnection, REQUEST_MAX};
use crate::log::EntryEnd;
use crate::request::{self, ParseResult, ReceivedRequest, RequestFraming};

impl<S: ByteStream> OriginConnection<S> {
    /// Whether the client's first bytes are `first`; nothing is consumed.
    pub(crate) async fn begins_with(&mut self, first: &[u8]) -> Result<bool, Disconnected> {
        let until = Instant::now() + IDLE_MAX;
        while self.buffer.len() < first.len() && first.starts_with(&self.buffer) {
            if let Err(disconnected) = self.receive(until).await {
                if self.buffer.is_empty() {
                    self.line.unused();
                }
                return Err(disconnected);
            }
        }
        Ok(self.buffer.starts_with(first))
    }

    /// What was received and not yet consumed.
    pub(crate) fn received(&self) -> &[u8] {
        &self.buffer
    }

    /// Forgets the first bytes of that.
    pub(crate) fn consume(&mut self, length: usize) {
        self.buffer.drain(..length);
    }

    /// The head of the next request and its length. Nothing is consumed, so that the next call returns it
    /// too.
    pub(crate) async fn peek_request(&mut self) -> Result<(ReceivedRequest, usize), Disconnected> {
        if self.buffer.is_empty() {
            // An idle connection holds no buffers.
            (self.buffer, self.out) = (Vec::new(), Vec::new());
            if let Err(disconnected) = self.receive(Instant::now() + IDLE_MAX).await {
                self.line.unused();
                return Err(disconnected);
            }
        }
        self.line.begin();
        let until = Instant::now() + REQUEST_MAX;
        loop {
            match request::parse(&self.buffer) {
                ParseResult::Whole(request, length) => return Ok((request, length)),
                ParseResult::Partial => self.receive(until).await?,
                ParseResult::Bad => return Err(Disconnected(EntryEnd::BadRequest)),
            }
        }
    }

    /// The next request, its body read and forgotten.
    pub(crate) async fn request(&mut self) -> Result<ReceivedRequest, Disconnected> {
        let (request, length) = self.peek_request().await?;
        self.buffer.drain(..length);
        self.line.head(&request.target, false);
        let until = Instant::now() + REQUEST_MAX;
        if request.expects_continue {
            self.put(b"HTTP/1.1 100 Continue\r\n\r\n");
            self.flush().await?;
        }
        match request.body {
            RequestFraming::Length(length) => self.discard(length, until).await?,
            RequestFraming::Chunked => self.discard_chunks(until).await?,
        }
        Ok(request)
    }

    async fn discard(&mut self, mut left: u64, until: Instant) -> Result<(), Disconnected> {
        loop {
            let here = usize::try_from(left).unwrap_or(usize::MAX).min(self.buffer.len());
            self.buffer.drain(..here);
            left -= here as u64;
            if left == 0 {
                return Ok(());
            }
            self.receive(until).await?;
        }
    }

    /// Reads to the end of a chunked body, lenient wherever that does no harm: it is forgotten.
    async fn discard_chunks(&mut self, until: Instant) -> Result<(), Disconnected> {
        loop {
            let line = self.discard_line(until).await?;
            let size = line.split(|byte| *byte == b';').next().unwrap_or_default();
            let size = std::str::from_utf8(size).ok().map(str::trim);
            let size = size.and_then(|size| u64::from_str_radix(size, 16).ok());
            match size.ok_or(Disconnected(EntryEnd::BadRequest))? {
                0 => break,
                size => self.discard(size.saturating_add(2), until).await?,
            }
        }
        while !self.discard_line(until).await?.is_empty() {}
        Ok(())
    }

    /// One line without its end.
    async fn discard_line(&mut self, until: Instant) -> Result<Vec<u8>, Disconnected> {
        loop {
            if let Some(end) = self.buffer.windows(2).position(|two| two == b"\r\n") {
                let mut line: Vec<u8> = self.buffer.drain(..end + 2).collect();
                line.truncate(end);
                return Ok(line);
            }
            if self.buffer.len() > request::HEAD_BYTES_MAX {
                return Err(Disconnected(EntryEnd::BadRequest));
            }
            self.receive(until).await?;
        }
    }
}
