//! Server-sent events: a stream of them that reconnects (HTML Living Standard §9.2).

mod parser;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use tokio::time::{Sleep, sleep};

use super::{Client, RequestBuilder};
use crate::body::Body;
use crate::error::{Culprit, Error, ErrorKind, Phase};
use crate::request::{Request, RequestDeadlines};
use crate::response::{Asked, Response};
pub use parser::ServerEvent;
use parser::{EventParser, TooLarge};

/// How long to wait before reconnecting, if neither the server nor the caller says so.
const RETRY: Duration = Duration::from_secs(3);

/// The least delay that a server may ask for: by none it would be asked without end.
const RETRY_MIN: Duration = Duration::from_millis(100);

/// The longest delay that a server may ask for, and that repeated failures lead to.
const RETRY_MAX: Duration = Duration::from_secs(60);

/// The default of [`EventSource::event_bytes_max`].
const EVENT_BYTES_MAX: usize = 1024 * 1024;

impl RequestBuilder {
    /// Sends the request when the first event is asked for, and reads its response as a stream of server-sent
    /// events, `text/event-stream`.
    pub fn events(self) -> EventSource {
        EventSource::new(self)
    }
}

/// A stream of server-sent events, which reconnects: [`RequestBuilder::events`].
///
/// When the response ends or its connection fails, the request is sent again with the id of the last event as
/// Last-Event-ID: after 3 s, or the server's `retry`, and twice as long for each failure in a row, up to a
/// minute. A request whose method is not idempotent is not repeated: its events end with the first response. A
/// 204 ends the stream; any other status but 200, and any content but `text/event-stream`, is an error that
/// ends it.
///
/// The [total and head deadlines](crate::ClientTime) of the client do not hold, as an event may be a long time coming;
/// [`read_idle`](crate::ClientTime::read_idle) does, after which the stream reconnects.
///
/// ```
/// # let prices = |_: stoop::Request| {
/// #     stoop::Response::new("event: price\ndata: 17\n\n").with_field("content-type", "text/event-stream").unwrap()
/// # };
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// # let client = stoop::Client::builder().handler(prices).build()?;
/// let mut events = client.get("https://example.com/prices").events();
/// while let Some(event) = events.next().await {
///     let event = event?;
///     println!("{}: {}", event.event, event.data);
/// #   assert_eq!((&*event.event, &*event.data), ("price", "17"));
/// #   break;
/// }
/// # Ok::<(), stoop::Error>(()) }).unwrap();
/// ```
pub struct EventSource {
    client: Client,
    /// What is sent each time; the error of a step that failed, until it is told.
    request: Result<Request, Option<Error>>,
    state: SourceState,
    parser: EventParser,
    retry: Duration,
    /// Attempts in a row that brought no event.
    failures: u32,
    reconnects_max: u32,
    event_bytes_max: usize,
    /// Of the last response.
    asked: Asked,
}

type Sending = Pin<Box<dyn Future<Output = Result<Response, Error>> + Send>>;

enum SourceState {
    Unsent,
    Waiting(Pin<Box<Sleep>>),
    Connecting(Sending),
    Open { body: Body, piece: Bytes },
    Ended,
}

impl EventSource {
    fn new(builder: RequestBuilder) -> Self {
        let client = builder.client.clone();
        let request = builder.build().and_then(prepare).map_err(Some);
        Self {
            client,
            request,
            state: SourceState::Unsent,
            parser: EventParser::default(),
            retry: RETRY,
            failures: 0,
            reconnects_max: u32::MAX,
            event_bytes_max: EVENT_BYTES_MAX,
            asked: Asked::default(),
        }
    }

    /// How long to wait before reconnecting, until the server says something else: 3 s.
    pub fn retry(mut self, delay: Duration) -> Self {
        self.retry = delay;
        self
    }

    /// How many times in a row to reconnect without an event in between: no limit. Beyond it the last error is
    /// returned, or the stream ends.
    pub fn reconnects_max(mut self, times: u32) -> Self {
        self.reconnects_max = times;
        self
    }

    /// The largest event: 1 MiB. Beyond it the stream ends with [`ErrorKind::BodyTooLarge`].
    pub fn event_bytes_max(mut self, bytes: usize) -> Self {
        self.event_bytes_max = bytes;
        self
    }

    /// Begins behind the event of this id, as a program does that was started again: sent as Last-Event-ID.
    pub fn after(mut self, id: impl Into<String>) -> Self {
        self.parser.id = id.into();
        self
    }

    /// The id of the last event that had one, to go on [after](Self::after) it.
    pub fn last_event_id(&self) -> &str {
        &self.parser.id
    }

    /// The next event; `None` once there will be none. Nothing is lost if the future is dropped.
    ///
    /// # Errors
    /// Those of [`Client::send`] and [`Body::chunk`], if the request is not to be repeated;
    /// [`HttpStatus`](ErrorKind::HttpStatus), [`Decode`](ErrorKind::Decode) if it is no event stream, and
    /// [`BodyTooLarge`](ErrorKind::BodyTooLarge). Nothing follows an error.
    pub async fn next(&mut self) -> Option<Result<ServerEvent, Error>> {
        poll_fn(|cx| self.poll_event(cx)).await
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<ServerEvent, Error>>> {
        loop {
            let broken = match &mut self.state {
                SourceState::Unsent => match self.send() {
                    Ok(()) => continue,
                    Err(error) => Break::Final(error),
                },
                SourceState::Waiting(sleep) => {
                    ready!(sleep.as_mut().poll(cx));
                    self.state = SourceState::Unsent;
                    continue;
                }
                SourceState::Connecting(sending) => match ready!(sending.as_mut().poll(cx)) {
                    Ok(response) => match self.open(response) {
                        Ok(()) => continue,
                        Err(error) => Break::Final(error),
                    },
                    Err(error) => Break::Passing(Some(error)),
                },
                SourceState::Open { body, piece } => {
                    match self.parser.next_event(piece, self.event_bytes_max) {
                        Ok(Some(event)) => {
                            self.failures = 0;
                            return Poll::Ready(Some(Ok(event)));
                        }
                        Ok(None) => match ready!(body.poll_chunk(cx)) {
                            Some(Ok(next)) => {
                                *piece = next;
                                continue;
                            }
                            Some(Err(error)) => Break::Passing(Some(error)),
                            None => Break::Passing(None),
                        },
                        Err(TooLarge) => Break::Final(Some(self.too_large())),
                    }
                }
                SourceState::Ended => return Poll::Ready(None),
            };
            if let Some(end) = self.break_off(broken) {
                return Poll::Ready(end.map(Err));
            }
        }
    }

    /// Begins to connect; with an error, or with none, if that cannot be.
    fn send(&mut self) -> Result<(), Option<Error>> {
        let request = self.request.as_mut().map_err(Option::take)?;
        let mut next = match request.try_clone() {
            Some(next) => next,
            // Content that cannot be sent twice: it is sent once.
            None => std::mem::replace(&mut self.request, Err(None)).map_err(|_| None)?,
        };
        if !self.parser.id.is_empty() {
            // An id that no field can carry is left out.
            let _ = next.fields_mut().set("last-event-id", self.parser.id.as_bytes());
        }
        let client = self.client.clone();
        self.state = SourceState::Connecting(Box::pin(async move { client.send(next).await }));
        Ok(())
    }

    /// Begins to read; with an error, or with none, if there is nothing to be read.
    fn open(&mut self, response: Response) -> Result<(), Option<Error>> {
        match response.status() {
            StatusCode::OK => {}
            StatusCode::NO_CONTENT => return Err(None),
            _ => return Err(Some(response.unexpected_status())),
        }
        let content_type = response.field("content-type").unwrap_or_default();
        let essence = content_type.split(|byte| *byte == b';').next().unwrap_or_default();
        if !essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream") {
            let error = Error::new(ErrorKind::Decode, Phase::Receive).with_detail(format_args!(
                "Content-Type is {:?} and not \"text/event-stream\"",
                String::from_utf8_lossy(content_type)
            ));
            return Err(Some(response.asked().explain(error)));
        }
        self.asked = response.asked();
        self.parser.restart();
        self.state = SourceState::Open { body: response.into_body(), piece: Bytes::new() };
        Ok(())
    }

    fn too_large(&self) -> Error {
        let error = Error::new(ErrorKind::BodyTooLarge, Phase::Receive);
        let max = self.event_bytes_max;
        let error = error.with_detail(format_args!("an event has more than {max} bytes"));
        self.asked.clone().explain(error)
    }

    /// Waits before it reconnects, or ends: then with what is to be told of it.
    fn break_off(&mut self, broken: Break) -> Option<Option<Error>> {
        self.state = SourceState::Ended;
        let error = match broken {
            Break::Final(error) => return Some(error),
            Break::Passing(error) => error,
        };
        let repeats = self.request.as_ref().is_ok_and(|request| request.method().is_idempotent());
        let is_futile = error.as_ref().is_some_and(is_futile);
        if !repeats || is_futile || self.failures >= self.reconnects_max {
            return Some(error);
        }
        let of_server = self.parser.retry.map(|retry| retry.clamp(RETRY_MIN, RETRY_MAX));
        let delay = of_server.unwrap_or(self.retry);
        let doubled = delay.saturating_mul(2u32.saturating_pow(self.failures));
        self.failures += 1;
        self.state = SourceState::Waiting(Box::pin(sleep(doubled.min(RETRY_MAX.max(delay)))));
        None
    }
}

/// Why a response's events ended.
enum Break {
    /// There will be no others.
    Final(Option<Error>),
    /// There may be more of another response.
    Passing(Option<Error>),
}

/// Whether an error does not come right by waiting.
fn is_futile(error: &Error) -> bool {
    let kind = error.kind();
    kind.culprit() == Culprit::Caller
        || error.is_redirect()
        || error.is_decode()
        || matches!(
            kind,
            ErrorKind::TlsCertExpired | ErrorKind::TlsCertName | ErrorKind::TlsCertUntrusted
        )
}

/// Adds what the standard asks for.
fn prepare(mut request: Request) -> Result<Request, Error> {
    let fields = request.fields_mut();
    for (name, value) in [("accept", "text/event-stream"), ("cache-control", "no-store")] {
        if !fields.contains(name) {
            fields.push(name, value.as_bytes())?;
        }
    }
    Ok(match request.parts.deadlines {
        RequestDeadlines::Default => request.timeout(Duration::MAX),
        RequestDeadlines::Total(_) | RequestDeadlines::Until { .. } | RequestDeadlines::Endless => {
            request
        }
    })
}

impl fmt::Debug for EventSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = match self.state {
            SourceState::Unsent => "unsent",
            SourceState::Waiting(_) => "waiting to reconnect",
            SourceState::Connecting(_) => "connecting",
            SourceState::Open { .. } => "open",
            SourceState::Ended => "ended",
        };
        let id = &self.parser.id;
        f.debug_struct("EventSource").field("state", &state).field("last_event_id", id).finish()
    }
}

#[cfg(feature = "stream")]
impl futures_core::Stream for EventSource {
    type Item = Result<ServerEvent, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_event(cx)
    }
}
