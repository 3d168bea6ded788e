//! Content that is sent into a channel.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use stoop_proto::Fields;
use tokio::sync::mpsc;

use super::{Body, Kind};
use crate::error::BoxError;
use crate::header_map::into_map;

impl Body {
    /// Content that is sent into a channel by its producer, at most `pieces` ahead of the peer.
    ///
    /// It is complete once [`BodySender::finish`] or [`BodySender::trailers`] says so, and only then: a
    /// producer that returns early, panics or is aborted drops its sender, and the peer sees that the
    /// message is incomplete (RFC 9112 §8). A client's exchange then fails with
    /// [`ErrorKind::RequestBody`](crate::ErrorKind::RequestBody).
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use stoop::Body;
    ///
    /// let (sender, body) = Body::channel(1);
    /// tokio::spawn(async move {
    ///     sender.send("hello, ").await?;
    ///     sender.send("world").await?;
    ///     sender.finish().await
    /// });
    /// assert_eq!(body.bytes(100).await?, "hello, world");
    ///
    /// let (sender, body) = Body::channel(1);
    /// drop(sender);
    /// assert!(body.bytes(100).await.is_err());
    /// # Ok::<(), stoop::Error>(()) }).unwrap();
    /// ```
    ///
    /// # Panics
    /// If `pieces` is zero.
    pub fn channel(pieces: usize) -> (BodySender, Self) {
        let (sender, receiver) = mpsc::channel(pieces);
        (BodySender(sender), Self(Kind::stream(Channel { receiver, has_ended: false })))
    }
}

/// The sending end of [`Body::channel`].
///
/// Several clones may send into one channel, and any one of them may finish the content, or break it
/// off: what the others send after that is [`BodyDropped`]. If all are dropped before, it is broken off.
#[derive(Clone)]
pub struct BodySender(pub(crate) mpsc::Sender<ChannelItem>);

/// What a producer said.
pub(crate) enum ChannelItem {
    /// A piece, or trailers, which are the last.
    Frame(Frame<Bytes>),
    /// The content is complete.
    Finished,
    /// It never will be.
    Failed(BoxError),
}

/// The content is not wanted any more: its message was dropped, its connection is gone, or the content
/// has ended.
#[derive(Debug)]
pub struct BodyDropped;

impl fmt::Display for BodyDropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the content is not wanted any more")
    }
}

impl std::error::Error for BodyDropped {}

impl BodySender {
    /// Sends a piece, once there is room for it.
    ///
    /// # Errors
    /// [`BodyDropped`] if it will not be read.
    pub async fn send(&self, piece: impl Into<Bytes>) -> Result<(), BodyDropped> {
        self.push(ChannelItem::Frame(Frame::data(piece.into()))).await
    }

    /// Ends the content: it is complete. Waits for room, as [`BodySender::send`] does; dropped before
    /// that, it has not finished.
    ///
    /// # Errors
    /// [`BodyDropped`] if it will not be read.
    pub async fn finish(self) -> Result<(), BodyDropped> {
        self.push(ChannelItem::Finished).await
    }

    /// Ends the content with a trailer section: it is complete.
    ///
    /// # Errors
    /// [`BodyDropped`] if it will not be read.
    pub async fn trailers(self, fields: &Fields) -> Result<(), BodyDropped> {
        self.push(ChannelItem::Frame(Frame::trailers(into_map(fields)))).await
    }

    /// Breaks the content off, so that the peer sees it is incomplete.
    pub async fn fail(self, error: impl Into<BoxError>) {
        let _ = self.push(ChannelItem::Failed(error.into())).await;
    }

    /// Waits until the content is not wanted any more, as [`BodyDropped`] says: for a producer that has nothing to send for
    /// long, and would notice only by its next piece that its client is gone.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
    /// use std::time::Duration;
    /// use stoop::Body;
    ///
    /// let (sender, body) = Body::channel(1);
    /// let producer = tokio::spawn(async move {
    ///     tokio::select! {
    ///         () = tokio::time::sleep(Duration::from_secs(60)) => sender.send("news").await.is_ok(),
    ///         () = sender.closed() => false,
    ///     }
    /// });
    /// drop(body);
    /// assert!(!producer.await.unwrap());
    /// # });
    /// ```
    pub async fn closed(&self) {
        self.0.closed().await;
    }

    async fn push(&self, what: ChannelItem) -> Result<(), BodyDropped> {
        self.0.send(what).await.map_err(|_| BodyDropped)
    }
}

/// The receiving end.
struct Channel {
    receiver: mpsc::Receiver<ChannelItem>,
    has_ended: bool,
}

/// Why content failed whose producer is gone.
#[derive(Debug)]
struct Unfinished;

impl fmt::Display for Unfinished {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its producer dropped the sender and did not finish the content")
    }
}

impl std::error::Error for Unfinished {}

impl http_body::Body for Channel {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.has_ended {
            return Poll::Ready(None);
        }
        let said = match ready!(self.receiver.poll_recv(cx)) {
            Some(ChannelItem::Frame(frame)) if frame.is_data() => {
                return Poll::Ready(Some(Ok(frame)));
            }
            Some(ChannelItem::Frame(trailers)) => Some(Ok(trailers)),
            Some(ChannelItem::Finished) => None,
            Some(ChannelItem::Failed(error)) => Some(Err(error)),
            None => Some(Err(Unfinished.into())),
        };
        self.has_ended = true;
        // Other senders may still be there.
        self.receiver.close();
        Poll::Ready(said)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    #[tokio::test]
    async fn any_one_of_several_senders_finishes_the_content() {
        let (sender, mut body) = Body::channel(4);
        let other = sender.clone();
        sender.send("a").await.unwrap();
        other.send("b").await.unwrap();
        sender.finish().await.unwrap();
        assert_eq!(body.chunk().await.unwrap().unwrap(), "a");
        assert_eq!(body.chunk().await.unwrap().unwrap(), "b");
        assert!(body.chunk().await.unwrap().is_none());
        assert!(other.send("c").await.is_err() && other.finish().await.is_err());
        assert!(body.is_empty() && body.chunk().await.unwrap().is_none());
    }

    #[tokio::test]
    async fn content_is_broken_off_when_the_last_sender_is_dropped() {
        let (sender, mut body) = Body::channel(4);
        let other = sender.clone();
        drop(sender);
        other.send("a").await.unwrap();
        drop(other);
        assert_eq!(body.chunk().await.unwrap().unwrap(), "a");
        assert_eq!(body.chunk().await.unwrap_err().kind(), ErrorKind::RequestBody);
        assert!(body.chunk().await.unwrap().is_none(), "an error is said once");
    }

    #[tokio::test]
    async fn finishing_that_was_given_up_has_not_finished() {
        let (sender, mut body) = Body::channel(1);
        sender.send("a").await.unwrap();
        let mut finishing = Box::pin(sender.finish());
        let mut cx = Context::from_waker(std::task::Waker::noop());
        assert!(finishing.as_mut().poll(&mut cx).is_pending(), "there is no room");
        drop(finishing);
        body.chunk().await.unwrap();
        body.chunk().await.unwrap_err();
    }

    #[tokio::test]
    async fn trailers_and_failures_end_it_too() {
        let mut fields = Fields::new();
        fields.push("x", b"y").unwrap();
        let (sender, mut body) = Body::channel(1);
        sender.trailers(&fields).await.unwrap();
        assert!(body.chunk().await.unwrap().is_none());
        assert_eq!(body.take_trailers().unwrap().first("x"), Some(&b"y"[..]));
        let (sender, mut body) = Body::channel(1);
        sender.fail("the source is gone").await;
        let text = body.chunk().await.unwrap_err().to_string();
        assert!(text.contains("the source is gone"), "{text}");
    }
}
