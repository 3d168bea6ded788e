//! Reading all content, as one buffer or piece by piece, and pauses between pieces.

use std::future::poll_fn;
use std::time::Instant;

use bytes::{Bytes, BytesMut};

use super::{Body, Kind};
use crate::error::{Error, ErrorKind, Phase};

impl Body {
    /// The next piece of content; `None` at its end.
    ///
    /// # Errors
    /// Those of the connection, the framing and the deadlines. The content is incomplete then.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        poll_fn(|cx| self.poll_chunk(cx)).await.transpose()
    }

    /// All content, if it is at most `max` bytes.
    ///
    /// # Errors
    /// [`ErrorKind::BodyTooLarge`] beyond `max`, and those of [`Body::chunk`]. A handler that passes the
    /// former on answers 502 if this is a response's content and 413 else: a stream is taken for the
    /// request's, decoded or watched.
    pub async fn bytes(mut self, max: usize) -> Result<Bytes, Error> {
        let is_response = self.is_response();
        let too_large = || {
            let error = Error::new(ErrorKind::BodyTooLarge, Phase::Receive);
            let error = error.with_detail(format_args!("more than {max} bytes"));
            if is_response { error } else { error.of_request() }
        };
        // What is announced as too large is not asked for.
        if self.len().is_some_and(|length| length > max as u64) {
            return Err(too_large());
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > max {
            return Err(too_large());
        }
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(piece) = next {
            if all.len() + piece.len() > max {
                return Err(too_large());
            }
            all.extend_from_slice(&piece);
            next = self.chunk().await?;
        }
        Ok(all.freeze())
    }

    /// Shows all content to `look`, piece by piece, without making buffers of it. Returns how many
    /// bytes there were.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn for_each(&mut self, mut look: impl FnMut(&[u8])) -> Result<u64, Error> {
        let mut total = 0;
        let mut count = |piece: &[u8]| {
            total += piece.len() as u64;
            look(piece);
        };
        if let Kind::Response(exchange) = &mut self.0 {
            poll_fn(|cx| exchange.poll_all(cx, &mut count)).await?;
            return Ok(total);
        }
        while let Some(piece) = poll_fn(|cx| self.poll_chunk(cx)).await.transpose()? {
            count(&piece);
        }
        Ok(total)
    }

    /// Says that the content of a client's response is not read for a while, because of the caller: a disk is slow,
    /// or memory is taken. The deadline of its request ([`ClientTime::total`](crate::ClientTime::total),
    /// [`Request::timeout`](crate::Request::timeout)) stands still until the next piece is asked for, and
    /// [`TotalTimeout`](ErrorKind::TotalTimeout) comes so much later. Without it, that time counts. The other limits
    /// never count time in which nothing is asked for.
    ///
    /// The server is held up meanwhile, and may have limits of its own: many close a connection that takes nothing
    /// for 30 to 60 s. Over HTTP/2, the server may send as much more on the connection as its window for the stream
    /// allows (256 KiB, and up to
    /// [`stream_window_bytes_max`](crate::limits::Http2Limits::stream_window_bytes_max)), so that the pause does not
    /// hold up the other streams.
    ///
    /// Content that is not received by a client has no deadline, and nothing changes. Where HTTP/1 still sends the
    /// request though the response has come, the deadline goes on.
    ///
    /// ```no_run
    /// # async fn example(client: stoop::Client, wait: impl Future<Output = ()>) -> Result<(), stoop::Error> {
    /// use std::time::Duration;
    ///
    /// let mut body = client.get("http://example.com/").timeout(Duration::from_secs(5)).await?.into_body();
    /// let first = body.chunk().await?;
    /// body.pause();
    /// wait.await; // for a minute
    /// let second = body.chunk().await?;
    /// # Ok(()) }
    /// ```
    pub fn pause(&mut self) {
        match &mut self.0 {
            Kind::Response(content) => content.pause(),
            Kind::Empty
            | Kind::Full(_)
            | Kind::Request(_)
            | Kind::File(_)
            | Kind::Replay(_)
            | Kind::Stream { .. } => {}
        }
    }

    /// By when all of the content has to come that a client receives, if there is a deadline
    /// ([`ClientTime::total`](crate::ClientTime::total), [`Request::timeout`](crate::Request::timeout)). A
    /// [pause](Self::pause) that goes on is counted as if it ended now.
    pub fn due(&self) -> Option<Instant> {
        match &self.0 {
            Kind::Response(content) => content.due(),
            _ => None,
        }
    }

    /// Content that a client receives is of a request that was called for then, and sent in so many attempts before.
    pub(crate) fn follows(&mut self, attempts: u32, called: Instant) {
        if let Kind::Response(content) = &mut self.0 {
            content.follows(attempts, called);
        }
    }

    /// The error of the deadline of content that a client receives, if that has passed: what comes then is not read any
    /// more, and its connection over HTTP/1 is closed, or its stream over HTTP/2. `None` as long as there is time.
    ///
    /// [`chunk`](Self::chunk) tells the deadline where it waits; content that has come already it may give out later. This is
    /// for a caller that reads content slowly on purpose. A [pause](Self::pause) ends.
    ///
    /// ```no_run
    /// # async fn example(client: stoop::Client, turn: impl Future<Output = ()>) -> Result<(), stoop::Error> {
    /// let mut body = client.get("http://example.com/").await?.into_body();
    /// turn.await;
    /// let piece = match body.overdue() {
    ///     Some(error) => return Err(error),
    ///     None => body.chunk().await?,
    /// };
    /// # drop(piece);
    /// # Ok(()) }
    /// ```
    pub fn overdue(&mut self) -> Option<Error> {
        match &mut self.0 {
            Kind::Response(content) => content.overdue(),
            _ => None,
        }
    }

    /// Reads and throws away all content. Returns how many bytes there were.
    ///
    /// # Errors
    /// As [`Body::chunk`].
    pub async fn discard(&mut self) -> Result<u64, Error> {
        self.for_each(|_| {}).await
    }
}
