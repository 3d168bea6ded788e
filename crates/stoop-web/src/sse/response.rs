//! [`Sse`]: a response that is a stream of events.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_core::Stream;
use http_body::Frame;
use stoop::{Body, BodyDropped, BoxError, Draining, IntoResponse, Response};
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep};

use crate::extract::{FromHead, Head, Rejection};
use crate::sse::event::Event;

/// How long a stream may be silent before a comment is sent: proxies commonly end what is silent for 30 or 60 s, and
/// the HTML standard (§9.2.7) proposes 15 s.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Bytes of events that are ready together and leave together.
const PIECE_BYTES: usize = 16 * 1024;

/// A response that is a stream of server-sent events, which browsers read by `EventSource` and this project's client
/// by [`events`](stoop::RequestBuilder::events).
///
/// After 15 s without an event a comment is sent, so that neither a proxy nor the client takes the connection for lost,
/// and so that a client that is gone is noticed. Nothing stores it: `Cache-Control: no-store`; and nginx does not hold
/// it back: `X-Accel-Buffering: no`.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// use stoop::Client;
/// use stoop_web::{Event, Router, Sse, get};
///
/// async fn count() -> Sse {
///     let (sender, events) = Sse::channel(1);
///     tokio::spawn(async move {
///         for number in 1..=3 {
///             // An error says that the client is gone.
///             if sender.send(Event::data(number.to_string())).await.is_err() {
///                 break;
///             }
///         }
///     });
///     events
/// }
///
/// let app = Router::new().route("/count", get(count)).build()?;
/// let client = Client::builder().handler(app).build()?;
/// let mut events = client.get("http://a.test/count").events();
/// let first = events.next().await.unwrap()?;
/// assert_eq!(first.data, "1");
/// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
/// ```
pub struct Sse {
    source: Source,
    heartbeat: Option<Duration>,
    farewell: Option<Farewell>,
}

/// What ends a stream before its source does, and the last event of it then.
type Farewell = (Draining, Option<Event>);

type Source = Pin<Box<dyn Stream<Item = Result<Event, BoxError>> + Send>>;

impl Sse {
    /// The events of a stream. An error breaks the response off, so that the client connects again.
    pub fn new<S, E>(events: S) -> Self
    where
        S: Stream<Item = Result<Event, E>> + Send + 'static,
        E: Into<BoxError> + 'static,
    {
        Self::of(Box::pin(Events(Box::pin(events))))
    }

    /// Events that are sent into a channel, at most `events` ahead of the client. They end when all senders are dropped.
    ///
    /// # Panics
    /// If `events` is zero.
    pub fn channel(events: usize) -> (EventSender, Self) {
        let (sender, receiver) = mpsc::channel(events);
        (EventSender(sender), Self::of(Box::pin(Channel(receiver))))
    }

    fn of(source: Source) -> Self {
        Self { source, heartbeat: Some(HEARTBEAT), farewell: None }
    }

    /// Ends the stream once the server drains, behind the events that are ready then, and with `last` behind them. Without
    /// it a drain waits for the source to end, up to its grace. The client connects again, to another server or the next
    /// one of this place; `last` may say when ([`Event::retry`]).
    ///
    /// ```
    /// use std::time::Duration;
    /// use stoop::Draining;
    /// use stoop_web::{Event, Router, Sse, get};
    ///
    /// let events = |draining: Draining| {
    ///     let (sender, events) = Sse::channel(1);
    ///     // …
    ///     # drop(sender);
    ///     events.end_on_drain(draining, Some(Event::comment("again").retry(Duration::from_secs(1))))
    /// };
    /// let app = Router::new().route("/events", get(events)).build()?;
    /// # Ok::<(), stoop_web::RouterError>(())
    /// ```
    pub fn end_on_drain(mut self, draining: Draining, last: Option<Event>) -> Self {
        self.farewell = Some((draining, last));
        self
    }

    /// How long the stream may be silent before a comment is sent: 15 s by default; `None` for no comments.
    pub fn heartbeat(mut self, interval: Option<Duration>) -> Self {
        self.heartbeat = interval;
        self
    }
}

impl IntoResponse for Sse {
    type Body = Body;
    fn into_response(self) -> Response {
        let Self { source, heartbeat, farewell } = self;
        let (silence, error, has_ended) = (None, None, false);
        let body = EventBody { source, heartbeat, farewell, silence, error, has_ended };
        let fields = [
            ("content-type", "text/event-stream"),
            ("cache-control", "no-store"),
            ("x-accel-buffering", "no"),
        ];
        (fields, Response::new(Body::stream(body))).into_response()
    }
}

/// The sending end of [`Sse::channel`]. Clones send into the same stream.
#[derive(Clone, Debug)]
pub struct EventSender(mpsc::Sender<Event>);

impl EventSender {
    /// Sends an event, once there is room for it.
    ///
    /// # Errors
    /// [`BodyDropped`] if the client is gone.
    pub async fn send(&self, event: Event) -> Result<(), BodyDropped> {
        self.0.send(event).await.map_err(|_| BodyDropped)
    }

    /// Sends an event if there is room for it: whether there was. A client that is slow, or gone, misses it.
    pub fn try_send(&self, event: Event) -> bool {
        self.0.try_send(event).is_ok()
    }

    /// Waits until the client is gone.
    pub async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The id of the last event that a client has read, by which it connects again: the field Last-Event-ID. `None` for
/// a client that connects for the first time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastEventId(pub Option<String>);

impl FromHead for LastEventId {
    fn from_head(head: &Head<'_>) -> Result<Self, Rejection> {
        let id = head.request().field("last-event-id").filter(|id| !id.is_empty());
        Ok(Self(id.map(|id| String::from_utf8_lossy(id).into_owned())))
    }
}

/// A stream of the caller's, with its errors boxed.
struct Events<S>(Pin<Box<S>>);

impl<S, E> Stream for Events<S>
where
    S: Stream<Item = Result<Event, E>>,
    E: Into<BoxError>,
{
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx).map_err(Into::into)
    }
}

struct Channel(mpsc::Receiver<Event>);

impl Stream for Channel {
    type Item = Result<Event, BoxError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(cx).map(|event| event.map(Ok))
    }
}

/// The content of a response of events.
struct EventBody {
    source: Source,
    heartbeat: Option<Duration>,
    farewell: Option<Farewell>,
    /// Runs since the last event, once there was none to send.
    silence: Option<Pin<Box<Sleep>>>,
    /// What the source failed by, behind events that are sent first.
    error: Option<BoxError>,
    has_ended: bool,
}

impl EventBody {
    /// The events that are ready.
    fn gather(&mut self, cx: &mut Context<'_>) -> String {
        let mut text = String::new();
        while !self.has_ended && text.len() < PIECE_BYTES {
            match self.source.as_mut().poll_next(cx) {
                Poll::Ready(Some(Ok(event))) => text.push_str(event.as_str()),
                Poll::Ready(Some(Err(error))) => (self.error, self.has_ended) = (Some(error), true),
                Poll::Ready(None) => self.has_ended = true,
                Poll::Pending => break,
            }
        }
        if !self.has_ended && self.poll_farewell(cx).is_ready() {
            let last = self.farewell.take().and_then(|(_, last)| last);
            text.push_str(last.as_ref().map_or("", Event::as_str));
            self.has_ended = true;
        }
        text
    }

    /// Ready once the server drains, if that ends the stream.
    fn poll_farewell(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        match &mut self.farewell {
            Some((draining, _)) => Pin::new(draining).poll(cx),
            None => Poll::Pending,
        }
    }

    fn poll_silence(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(interval) = self.heartbeat else { return Poll::Pending };
        let silence = self.silence.get_or_insert_with(|| Box::pin(sleep(interval)));
        silence.as_mut().poll(cx)
    }

    fn end_silence(&mut self) {
        if let (Some(silence), Some(interval)) = (&mut self.silence, self.heartbeat) {
            silence.as_mut().reset(Instant::now() + interval);
        }
    }
}

impl http_body::Body for EventBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let events = self.gather(cx);
        if !events.is_empty() {
            self.end_silence();
            return Poll::Ready(Some(Ok(Frame::data(events.into()))));
        }
        if self.has_ended {
            return Poll::Ready(self.error.take().map(Err));
        }
        if self.poll_silence(cx).is_pending() {
            return Poll::Pending;
        }
        self.end_silence();
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))))
    }
}
