//! The content of a request as it is sent: at a rate, with or without its length, and counted. It is sent again where
//! it can be read again, as the content of a file or of an option can.

use std::error::Error as StdError;
use std::fmt;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::Frame;
use stoop::{Body, BoxError};

use super::pace::Pace;

/// How content is sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendTerms {
    /// The most bytes a second.
    pub(super) rate: Option<u64>,
    /// Its length is not told.
    pub(super) is_chunked: bool,
    /// How much of it was sent is asked for.
    pub(super) is_counted: bool,
}

/// What was sent of a request's content.
#[derive(Clone, Debug, Default)]
pub(super) struct SentContent(Arc<SentCounts>);

#[derive(Debug, Default)]
struct SentCounts {
    bytes: AtomicU64,
    is_spent: AtomicBool,
}

impl SentContent {
    /// How many bytes were sent by the last attempt.
    pub(super) fn bytes(&self) -> u64 {
        self.0.bytes.load(Relaxed)
    }

    /// Another attempt begins.
    pub(super) fn begin(&self) {
        self.0.bytes.store(0, Relaxed);
    }

    /// Whether content was read that cannot be read again.
    pub(super) fn is_spent(&self) -> bool {
        self.0.is_spent.load(Relaxed)
    }
}

/// Content that is sent on these terms. Content that these change nothing of stays as it is.
pub(super) fn on_terms(body: Body, terms: SendTerms, sent: &SentContent) -> Body {
    let is_counted = terms.is_counted || body.len().is_none();
    let is_changed = terms.rate.is_some() || terms.is_chunked || is_counted;
    if body.is_empty() || !is_changed && body.try_clone().is_some() {
        return body;
    }
    let (length, rate) = (body.len().filter(|_| !terms.is_chunked), terms.rate);
    let (source, sent) = (Arc::new(Mutex::new(Some(body))), sent.clone());
    Body::replayable(move || {
        let content = WatchedContent {
            source: Arc::clone(&source),
            sent: sent.clone(),
            body: None,
            pace: rate.map(Pace::new),
            rest: Bytes::new(),
            given: 0,
        };
        match length {
            Some(length) => Body::sized(length, content),
            None => Body::stream(content),
        }
    })
}

/// Whether an error is that content would have to be sent again that can be read only once.
pub(super) fn is_not_rewound(error: &stoop::Error) -> bool {
    error.source().is_some_and(|source| source.is::<NotRewound>())
}

/// Content can be read only once, and was.
#[derive(Debug)]
struct NotRewound;

impl fmt::Display for NotRewound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("it is to be sent again, and it can be read only once")
    }
}

impl StdError for NotRewound {}

/// Content that is sent once, by one attempt.
struct WatchedContent {
    source: Arc<Mutex<Option<Body>>>,
    sent: SentContent,
    /// What is read, once it was asked for.
    body: Option<Body>,
    pace: Option<Pace>,
    /// What was read and not given out yet.
    rest: Bytes,
    /// What was given out last. It counts as sent when more is asked for.
    given: u64,
}

impl WatchedContent {
    /// What is read: a copy of the source, or the source itself, if it can be read only once.
    fn body(&mut self) -> Result<&mut Body, NotRewound> {
        if self.body.is_none() {
            let mut source = self.source.lock().unwrap_or_else(PoisonError::into_inner);
            self.body = match source.as_ref().and_then(Body::try_clone) {
                Some(copy) => Some(copy),
                None => {
                    self.sent.0.is_spent.store(true, Relaxed);
                    source.take()
                }
            };
        }
        self.body.as_mut().ok_or(NotRewound)
    }

    fn count(&mut self) {
        self.sent.0.bytes.fetch_add(std::mem::take(&mut self.given), Relaxed);
    }
}

impl http_body::Body for WatchedContent {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = self.get_mut();
        this.count();
        while this.rest.is_empty() {
            let body = match this.body() {
                Ok(body) => body,
                Err(error) => return Poll::Ready(Some(Err(error.into()))),
            };
            match ready!(Pin::new(body).poll_frame(cx)) {
                None => return Poll::Ready(None),
                Some(Err(error)) => return Poll::Ready(Some(Err(error.into()))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
                },
            }
        }
        let mut bytes = this.rest.len();
        if let Some(pace) = &mut this.pace {
            bytes = bytes.min(pace.step());
            ready!(pace.poll_wait(cx, bytes));
        }
        this.given = bytes as u64;
        let piece = this.rest.split_to(bytes);
        if this.rest.is_empty() && this.body.as_ref().is_some_and(Body::is_empty) {
            // Nothing more will be asked for.
            this.count();
        }
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: SendTerms = SendTerms { rate: None, is_chunked: false, is_counted: false };

    #[tokio::test]
    async fn content_that_can_be_read_again_is_sent_again_on_the_same_terms() {
        for (terms, length) in [
            (SendTerms { rate: Some(1 << 20), ..PLAIN }, Some(3)),
            (SendTerms { is_chunked: true, ..PLAIN }, None),
            (SendTerms { is_counted: true, ..PLAIN }, Some(3)),
        ] {
            let sent = SentContent::default();
            let body = on_terms("abc".into(), terms, &sent);
            assert_eq!(body.len(), length);
            let again = body.try_clone().unwrap();
            assert_eq!((body.bytes(9).await.unwrap(), sent.bytes()), ("abc".into(), 3));
            sent.begin();
            assert_eq!((again.bytes(9).await.unwrap(), sent.bytes()), ("abc".into(), 3));
            assert!(!sent.is_spent());
        }
    }

    #[tokio::test]
    async fn content_that_is_read_once_can_be_sent_again_until_then() {
        let (sender, once) = Body::channel(1);
        let sent = SentContent::default();
        let body = on_terms(once, PLAIN, &sent);
        let (second, third) = (body.try_clone().unwrap(), body.try_clone().unwrap());
        drop(body);
        assert!(!sent.is_spent());
        sender.send("abc").await.unwrap();
        let reading = tokio::spawn(second.bytes(9));
        sender.finish().await.unwrap();
        assert_eq!(reading.await.unwrap().unwrap(), "abc");
        assert!(sent.is_spent());
        let error = third.bytes(9).await.unwrap_err();
        assert!(is_not_rewound(&error), "{error}");
    }

    #[test]
    fn content_that_nothing_changes_stays_as_it_is() {
        let body = on_terms("abc".into(), PLAIN, &SentContent::default());
        assert_eq!(format!("{body:?}"), "Body(3 bytes)");
    }
}
