//! Content of requests and responses, streamed.

mod channel;
#[cfg(feature = "compression")]
pub(crate) mod coding;
mod convert;
mod file;
pub(crate) mod file_content;
mod frames;
#[cfg(feature = "multipart")]
mod multipart;
pub(crate) mod queue;
mod read;
mod replay;
pub(crate) mod request_body;
mod sized;
mod traits;

use std::any::Any;
use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::Bytes;
use stoop_proto::Fields;

use crate::error::BoxError;
use crate::error::{Error, ErrorKind, Phase};
use crate::header_map::from_map;
use file_content::FileContent;
use frames::BoxedFrames;
use request_body::RequestBodyReader;

pub(crate) use channel::ChannelItem;
pub use channel::{BodyDropped, BodySender};
#[cfg(feature = "compression")]
pub use coding::ContentCoding;
pub use convert::{BufferKind, IntoBody, StreamKind};
#[cfg(feature = "multipart")]
pub use multipart::{Form, Part};

/// The content of a message: nothing, a buffer, or a stream.
///
/// Of a received message it is read piece by piece as it is wanted: a peer that sends faster than
/// its content is read is held up. Dropping it unread is fine: see `drain_bytes_max` of the limits.
///
/// It implements [`http_body::Body`]; the methods here do without that trait.
///
/// ```
/// # async fn example(mut body: stoop::Body) -> Result<(), stoop::Error> {
/// while let Some(piece) = body.chunk().await? {
///     println!("{} bytes", piece.len());
/// }
/// # Ok(()) }
/// ```
pub struct Body(pub(crate) Kind);

/// Content that is being received.
pub(crate) trait Incoming: Send + Sync {
    /// The next piece; `None` at the end.
    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Error>>>;

    /// Shows all content to `look`, piece by piece, which need not be made buffers for that.
    fn poll_all(
        &mut self,
        cx: &mut Context<'_>,
        look: &mut dyn FnMut(&[u8]),
    ) -> Poll<Result<(), Error>> {
        while let Some(piece) = ready!(self.poll_chunk(cx)) {
            look(&piece?);
        }
        Poll::Ready(Ok(()))
    }

    /// The trailer section, once the content has ended and if one came.
    fn take_trailers(&mut self) -> Option<Box<Fields>>;

    /// How many bytes are still to be read, if that is known.
    fn remaining(&self) -> Option<u64>;

    /// How many bytes have been read of content that is decoded, as they came.
    fn wire_bytes(&self) -> Option<u64> {
        None
    }

    /// Nothing is asked for until the next piece is: see [`Body::pause`].
    fn pause(&mut self) {}

    /// By when all of it has to come, if there is a deadline.
    fn due(&self) -> Option<Instant> {
        None
    }

    /// Its request was called for then, and sent in so many attempts before: its errors tell so.
    fn follows(&mut self, _attempts: u32, _called: Instant) {}

    /// The error of its deadline, if that has passed: see [`Body::overdue`]. For those who have long work with a piece
    /// before they ask for another, which would tell it too late.
    fn overdue(&mut self) -> Option<Error> {
        None
    }
}

pub(crate) enum Kind {
    Empty,
    Full(Bytes),
    Request(RequestBodyReader),
    Response(Box<dyn Incoming>),
    /// Boxed, because it is rare and as large as the others.
    File(Box<FileContent>),
    /// Boxed, because it is rare and has a body within.
    Replay(Box<Replay>),
    Stream {
        frames: BoxedFrames,
        trailers: Option<Box<Fields>>,
    },
}

/// Content, and the function that makes it: when it is first asked for anything, so that a copy that is never sent makes
/// none.
pub(crate) struct Replay {
    make: Arc<dyn Fn() -> Body + Send + Sync>,
    made: OnceLock<Body>,
}

impl Kind {
    fn stream<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self::Stream { frames: BoxedFrames::new(body), trailers: None }
    }
}

impl Body {
    /// No content.
    pub const fn empty() -> Self {
        Self(Kind::Empty)
    }

    /// Content that is made piece by piece. It is asked for more only while the peer takes it.
    ///
    /// If its size hint is not exact, a Content-Length among the fields of its message says how long it
    /// is; else it is sent without one. If it then turns out longer or shorter, the message is broken
    /// off so that the peer sees it is incomplete, and a client's exchange fails with
    /// [`ErrorKind::RequestBody`]. The message ends when its content does: a stream that has made all it
    /// announced keeps its connection until it says that it has ended.
    pub fn stream<B>(body: B) -> Self
    where
        B: http_body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let mut body = body;
        // A file stays one, so that it can be sent as one.
        if let Some(file) = take_file(&mut body) {
            return Self(Kind::File(file));
        }
        Self(Kind::stream(body))
    }

    /// Content that is being received.
    pub(crate) fn incoming(content: impl Incoming + 'static) -> Self {
        Self(Kind::Response(Box::new(content)))
    }

    /// The same content again, if it can be sent twice: a stream cannot, unless it is
    /// [replayable](Self::replayable).
    pub fn try_clone(&self) -> Option<Self> {
        match &self.0 {
            Kind::Empty => Some(Self::empty()),
            Kind::Full(bytes) => Some(bytes.clone().into()),
            Kind::File(file) => Some(Self(Kind::File(file.clone()))),
            Kind::Replay(replay) => Some(replay.again()),
            Kind::Request(_) | Kind::Response(_) | Kind::Stream { .. } => None,
        }
    }

    /// Whether it is made, or received, while it is read: it is neither in memory nor a file.
    pub(crate) fn is_streamed(&self) -> bool {
        match &self.0 {
            Kind::Empty | Kind::Full(_) | Kind::File(_) => false,
            Kind::Request(_) | Kind::Response(_) | Kind::Replay(_) | Kind::Stream { .. } => true,
        }
    }

    /// Whether this is the content of a response that a server sent. Any other may be the request's that
    /// a handler was called with, decoded or watched.
    pub(crate) fn is_response(&self) -> bool {
        matches!(self.0, Kind::Response(_))
    }

    /// The trailer section, once the content has been read to its end and if one came.
    pub fn take_trailers(&mut self) -> Option<Box<Fields>> {
        match &mut self.0 {
            Kind::Request(reader) => reader.take_trailers(),
            Kind::Response(exchange) => exchange.take_trailers(),
            Kind::Stream { trailers, .. } => trailers.take(),
            Kind::Replay(replay) => replay.body_mut().take_trailers(),
            Kind::Empty | Kind::Full(_) | Kind::File(_) => None,
        }
    }

    pub(crate) fn poll_chunk(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Error>>> {
        match &mut self.0 {
            Kind::Empty => Poll::Ready(None),
            Kind::Full(bytes) => {
                let bytes = std::mem::take(bytes);
                self.0 = Kind::Empty;
                Poll::Ready((!bytes.is_empty()).then_some(Ok(bytes)))
            }
            Kind::Request(reader) => reader.poll(cx),
            Kind::Response(exchange) => exchange.poll_chunk(cx),
            Kind::File(file) => {
                let read = ready!(file.poll_bytes(cx));
                Poll::Ready(read.map(|read| read.map_err(|error| request_body(error.into()))))
            }
            Kind::Replay(replay) => replay.body_mut().poll_chunk(cx),
            Kind::Stream { frames, trailers } => loop {
                return Poll::Ready(match ready!(frames.poll_frame(cx)) {
                    None => None,
                    Some(Ok(frame)) => match frame.into_data() {
                        Ok(data) => Some(Ok(data)),
                        Err(frame) => {
                            if let Ok(map) = frame.into_trailers() {
                                from_map(&map, trailers.get_or_insert_default());
                            }
                            continue;
                        }
                    },
                    Some(Err(error)) => Some(Err(request_body(error))),
                });
            },
        }
    }

    /// How many bytes have been read of content that is [decoded](crate::ClientBuilder::decode_content), as they
    /// came; `None` if it is not decoded, and came as it was read.
    pub fn wire_bytes(&self) -> Option<u64> {
        match &self.0 {
            Kind::Response(content) => content.wire_bytes(),
            Kind::Empty
            | Kind::Full(_)
            | Kind::Request(_)
            | Kind::File(_)
            | Kind::Replay(_)
            | Kind::Stream { .. } => None,
        }
    }

    /// All of it, if it is in memory.
    #[cfg(any(feature = "digest-auth", feature = "testing"))]
    pub(crate) fn in_memory(&self) -> Option<&[u8]> {
        match &self.0 {
            Kind::Empty => Some(b""),
            Kind::Full(bytes) => Some(bytes),
            Kind::Request(_)
            | Kind::Response(_)
            | Kind::File(_)
            | Kind::Replay(_)
            | Kind::Stream { .. } => None,
        }
    }

    /// How many bytes there are, if that is known.
    pub fn len(&self) -> Option<u64> {
        match &self.0 {
            Kind::Empty => Some(0),
            Kind::Full(bytes) => Some(bytes.len() as u64),
            Kind::Request(reader) => reader.remaining(),
            Kind::Response(exchange) => exchange.remaining(),
            Kind::File(file) => Some(file.left()),
            Kind::Replay(replay) => replay.body().len(),
            Kind::Stream { frames, .. } => frames.size_hint().exact(),
        }
    }

    /// Whether there is surely no content left.
    pub fn is_empty(&self) -> bool {
        match &self.0 {
            Kind::Request(reader) => reader.is_end(),
            Kind::Replay(replay) => replay.body().is_empty(),
            Kind::Stream { frames, .. } => frames.is_end_stream(),
            _ => self.len() == Some(0),
        }
    }
}

/// The file that a body of any type is the content of, if it is a [`Body`] of one; which is empty afterwards.
pub(crate) fn take_file<B: 'static>(body: &mut B) -> Option<Box<FileContent>> {
    let body: &mut dyn Any = body;
    body.downcast_mut::<Body>()?.take_file()
}

/// What the error of a stream means: what it says, if it is one of ours. Decoders and readers carry ours in
/// an [`io::Error`].
pub(crate) fn request_body(error: BoxError) -> Error {
    let error = match error.downcast::<io::Error>() {
        Ok(io) if io.get_ref().is_some_and(|inner| inner.is::<Error>()) => match io.into_inner() {
            Some(inner) => inner,
            None => return Error::new(ErrorKind::RequestBody, Phase::Send),
        },
        Ok(io) => io,
        Err(other) => other,
    };
    match error.downcast::<Error>() {
        Ok(ours) => *ours,
        Err(other) => Error::new(ErrorKind::RequestBody, Phase::Send).with_source(other),
    }
}

impl Default for Body {
    fn default() -> Self {
        Self::empty()
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.len() {
            Some(length) => write!(f, "Body({length} bytes)"),
            None => f.write_str("Body(stream)"),
        }
    }
}
