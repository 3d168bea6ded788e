//! Responses: sent by a server, received by a client, one type.

mod failures;
mod http_crate;
mod into_response;
mod made;
mod read;
mod received;
mod retry_after;
mod save;
mod sent;
mod tuples;

use std::any::Any;
use std::fmt;

use bytes::Bytes;
use http::{Extensions, StatusCode, Version};
use stoop_proto::{BodySize, Fields, ResponseHead};

use crate::body::Body;
use crate::conn::recycle::Recycle;
use crate::request::RequestParts;
use crate::upgrade::UpgradeSender;

pub use failures::{ContentError, HandlerError};
pub use into_response::IntoResponse;
pub(crate) use read::Asked;
pub(crate) use sent::SentHook;
pub use sent::{CutShort, SentResponse};

static NO_FIELDS: Fields = Fields::new();

/// A response: status, fields, content.
///
/// The short ways to make one ([`from_text`](Response::from_text), [`from_bytes`](Response::from_bytes),
/// [`from_status`](Response::from_status)) allocate nothing.
///
/// ```
/// use stoop::Response;
///
/// let response = Response::from_text("Hello, world!").with_field("cache-control", "no-store")?;
/// assert_eq!(response.status(), 200);
/// # Ok::<(), stoop::Misuse>(())
/// ```
pub struct Response<B = Body> {
    status: StatusCode,
    content_type: Option<&'static str>,
    head: Option<Recycle<ResponseHead>>,
    pub(crate) payload: Payload<B>,
    pub(crate) upgrade: Option<UpgradeSender>,
    pub(crate) close: bool,
    pub(crate) redirects: u16,
    /// How many bytes of content may be collected.
    pub(crate) collect_max: u64,
    /// How many bytes of content may be written to a file.
    pub(crate) save_max: u64,
    extensions: Extensions,
    /// The request it answers, as it was sent last.
    pub(crate) sent: Option<Recycle<RequestParts>>,
    /// What its client keeps of the request, to send that again where the content fails: a type of the client's, of which
    /// responses that a server sends know nothing.
    pub(crate) next_attempt: Option<Box<dyn Any + Send + Sync>>,
    /// Who is to be told when it was sent.
    pub(crate) hook: SentHook,
}

/// Content, told apart so that buffers need no stream.
pub(crate) enum Payload<B> {
    Full(Bytes),
    Stream(B),
}

impl Response {
    /// The content.
    pub fn into_body(self) -> Body {
        match self.payload {
            Payload::Full(bytes) => bytes.into(),
            Payload::Stream(body) => body,
        }
    }

    /// The content, to read.
    pub fn body_mut(&mut self) -> &mut Body {
        if let Payload::Full(bytes) = &mut self.payload {
            self.payload = Payload::Stream(std::mem::take(bytes).into());
        }
        match &mut self.payload {
            Payload::Stream(body) => body,
            Payload::Full(_) => unreachable!("made a stream above"),
        }
    }

    /// Whether the content is made, or received, while it is sent: it is neither in memory nor a file.
    pub fn is_streamed(&self) -> bool {
        match &self.payload {
            Payload::Full(_) => false,
            Payload::Stream(body) => body.is_streamed(),
        }
    }

    pub(crate) fn received(head: Recycle<ResponseHead>, body: Body) -> Self {
        let mut response = Self::with_payload(head.status(), None, Payload::Stream(body));
        response.head = Some(head);
        response
    }
}

impl<B> Response<B> {
    /// The status.
    pub fn status(&self) -> StatusCode {
        self.status
    }

    /// The version the server speaks; HTTP/1.1 for one that was made here.
    pub fn version(&self) -> Version {
        self.head.as_ref().map_or(Version::HTTP_11, |head| head.version())
    }

    /// The fields; without the Content-Type of the short ways to make a response.
    pub fn fields(&self) -> &Fields {
        self.head.as_ref().map_or(&NO_FIELDS, |head| head.fields())
    }

    /// The fields, to change.
    pub fn fields_mut(&mut self) -> &mut Fields {
        self.head.get_or_insert_with(Recycle::new).fields_mut()
    }

    /// What the caller keeps with the response: it is never sent. Nothing is allocated for none.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// What the caller keeps with the response, to change.
    pub fn extensions_mut(&mut self) -> &mut Extensions {
        &mut self.extensions
    }

    /// The value of the first field of that name.
    pub fn field(&self, name: &str) -> Option<&[u8]> {
        let found = self.fields().first(name);
        let typed = name.eq_ignore_ascii_case("content-type");
        found.or_else(|| self.content_type.filter(|_| typed).map(str::as_bytes))
    }

    pub(crate) fn content_type(&self) -> Option<&'static str> {
        self.content_type
    }
}

impl<B: http_body::Body> Response<B> {
    pub(crate) fn size(&self) -> BodySize {
        match &self.payload {
            Payload::Full(bytes) => BodySize::Exact(bytes.len() as u64),
            Payload::Stream(body) => {
                body.size_hint().exact().map_or(BodySize::Unknown, BodySize::Exact)
            }
        }
    }
}

impl<B> fmt::Debug for Response<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:?}", self.status, self.fields())
    }
}
